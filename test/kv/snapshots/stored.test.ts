/** Snapshots in a bucket and keys in pages: the order of uploads and removals, complete sizes, lost connections. */
import { describe, expect, it } from 'vitest';
import {
  applyChanges,
  catalogue,
  parseManifest,
  readKeys,
  removeSnapshots,
  snapshotName,
  writeManifest,
  type Destination,
  type SnapshotManifest,
  storeFile,
} from '../../../src/kv/snapshots/catalog.ts';
import {
  bucketFailure,
  bucketUrlProblem,
  directoryDestination,
  openDestination,
} from '../../../src/kv/snapshots/destination.ts';
import { asLocalFile, verifyStored } from '../../../src/kv/snapshots/trial-restore.ts';
import { dbFile, trailer } from '../../../src/etcd-sim/disk/db-file.ts';
import type { Store } from '../../../src/kv/client/etcd-client.ts';
import { AppError } from '../../../src/core/problem.ts';
import { type Bucket, BucketError, type BucketPlace, type Host } from '../../../src/platform/host.ts';
import { fakeHost } from '../../support/fake-host.ts';
import { pause, slowHost } from '../../support/slow-host.ts';
import { expectInOrder } from '../../support/trace.ts';
import { covers } from '../../support/covers.ts';
import { partlyMade } from '../../support/context.ts';

const body = dbFile({ key: [], meta: [{ key: Buffer.from('term'), value: Buffer.from('1') }] });
const whole = Buffer.concat([body, trailer(body)]);
type Call = { readonly key: string; readonly sizeBytes?: number; readonly signal?: AbortSignal | undefined };
/** A bucket in memory. Each call has an entry at its start and one at its completion. */
const bucketScene = (change: (bucket: Bucket) => Partial<Bucket> = () => ({}), env = {}) => {
  const objects = new Map<string, Buffer>();
  const entries: string[] = [];
  const calls: (Call & { readonly what: string })[] = [];
  const places: BucketPlace[] = [];
  let closed = 0;
  const slow = async <T>(what: string, call: Call, act: () => Promise<T>): Promise<T> => {
    entries.push(`${what} ${call.key}`);
    calls.push({ what, ...call });
    await pause();
    const result = await act();
    entries.push(`${what} ${call.key} done`);
    return result;
  };
  const bucket: Bucket = {
    put: (key, data, sizeBytes, signal) =>
      slow('put', { key, sizeBytes, signal }, async () => {
        const parts: Uint8Array[] = [];
        for await (const part of data) parts.push(part);
        objects.set(key, Buffer.concat(parts));
      }),
    stream: (key, signal) =>
      slow('stream', { key, signal }, async () => {
        const data = objects.get(key);
        if (data === undefined) return undefined;
        return (async function* () {
          for (let at = 0; at < data.length; at += 700) yield data.subarray(at, at + 700);
        })();
      }),
    sizeOf: (key) => slow('size of', { key }, async () => objects.get(key)?.length),
    async *list(prefix) {
      for (const [key, { length: sizeBytes }] of objects)
        if (key.startsWith(prefix)) yield { key, sizeBytes, modifiedMs: 0 };
    },
    remove: (key) => slow('remove', { key }, async () => void objects.delete(key)),
    discardUploads: async (prefix, beforeMs) => {
      entries.push(`discard ${prefix} ${beforeMs}`);
      return 3;
    },
    close: () => {
      closed += 1;
    },
  };
  const base = fakeHost({ env });
  const host: Host = {
    ...base,
    bucket: async (place) => {
      places.push(place);
      return { ...bucket, ...change(bucket) };
    },
  };
  const open = (prefix = 'a', options = {}): Promise<Destination> =>
    openDestination(host, `s3://backups/${prefix}`, { workDirectory: '/tmp/work', ...options });
  return { objects, entries, calls, places, host, base, open, closed: () => closed };
};
const name = snapshotName('prod', Date.parse('2026-11-01T01:00:00Z'), 7);
const manifest = (file_sha256: string): SnapshotManifest => ({
  ...{ format: 1, cluster: 'prod', member: 'n1', taken_at: '2026-11-01T01:00:00.000Z', revision: 7 },
  ...{ total_key: 1, hash: 'ab', size_bytes: whole.length, file_sha256 },
});

describe('an upload to a bucket', () => {
  it('is complete before its size is read, and both are done before the next step', async () => {
    const { entries, calls, base, open } = bucketScene();
    await base.files.replace('/tmp/work/x.db', 'data', 0o600);
    const destination = await open();
    const { signal } = new AbortController();
    await destination.put('x.db', '/tmp/work/x.db', 4, signal);
    entries.push('the command ends');
    expectInOrder(
      entries,
      ...['put a/x.db', 'put a/x.db done', 'size of a/x.db', 'size of a/x.db done', 'the command ends'],
    );
    expect(calls[0]).toEqual({ what: 'put', key: 'a/x.db', sizeBytes: 4, signal });
    entries.length = 0;
    await destination.putText('x.db.json', '{}');
    entries.push('the command ends');
    expectInOrder(entries, 'put a/x.db.json done', 'size of a/x.db.json done', 'the command ends');
  });
  it('of a new snapshot receives the signal of its command', async () => {
    const { calls, base, host } = bucketScene();
    await base.files.replaceStream(
      '/tmp/work/s.db',
      (async function* () {
        yield whole;
      })(),
      0o600,
    );
    const { signal } = new AbortController();
    const destination = await openDestination(host, 's3://backups/a', { workDirectory: '/tmp/work' });
    const taking = {
      ...{ host, cluster: 'prod', member: 'n1', destination, signal },
      takenMs: host.now(),
      atStart: 0,
    };
    const { name: stored } = await storeFile(taking, '/tmp/work/s.db');
    expect(calls.find(({ key }) => key === `a/${stored}`)?.signal).toBe(signal);
  });
  it('of a new snapshot is not started when its verification is aborted', async () => {
    const { calls, base, host } = bucketScene();
    const rows = Array.from({ length: 60 }, (_, i) => {
      const key = Buffer.alloc(18, 't');
      key.writeBigUInt64BE(BigInt(i + 2), 0);
      return { key, value: Buffer.from([0x0a, 1, 0x61]) };
    });
    const body = dbFile({ key: rows, meta: [{ key: Buffer.from('term'), value: Buffer.from('1') }] });
    const content = Buffer.concat([body, trailer(body)]);
    await base.files.replace('/tmp/work/s.db', content, 0o600);
    const abort = new AbortController();
    const destination = await openDestination(host, 's3://backups/a', { workDirectory: '/tmp/work' });
    let elapsed = 0;
    const late = {
      ...host,
      elapsed: () => (elapsed += 100),
      // The checksum is complete: only the reading of the records yields.
      turn: async () => abort.abort(new Error('Ctrl-C')),
    };
    const taking = {
      ...{ host: late, cluster: 'prod', member: 'n1', destination, signal: abort.signal },
      ...{ takenMs: host.now(), atStart: 0 },
    };
    await expect(storeFile(taking, '/tmp/work/s.db')).rejects.toThrow('Ctrl-C');
    expect(calls.filter(({ what }) => what === 'put')).toEqual([]);
  });
  it.each([
    [3, 'has 3 bytes after its upload, expected 4'],
    [undefined, 'has no bytes after its upload, expected 4'],
    [5, 'has 5 bytes after its upload, expected 4'],
  ])('with the size %s afterwards is incomplete', async (size, message) => {
    const { base, open } = bucketScene(() => ({ sizeOf: async () => size }));
    await base.files.replace('/tmp/work/x.db', 'data', 0o600);
    await expect((await open()).put('x.db', '/tmp/work/x.db', 4)).rejects.toMatchObject({
      message: expect.stringContaining(message),
      detail: { code: 'UPLOAD_INCOMPLETE', retryable: true },
    });
  });
  it('unfinished uploads older than a day are discarded', async () => {
    const { host, entries, open } = bucketScene();
    expect(await (await open()).discardUnfinished()).toBe(3);
    expect(entries).toEqual([`discard a/ ${host.now() - 86_400_000}`]);
  });
});

describe('the URL of a bucket', () => {
  it.each([
    ['s3://backups', true],
    ['s3://backups/', true],
    ['s3://backups/a/b.c', true],
    ['s3://backups/a/../b', false],
    ['s3://backups/./b', false],
    ['s3://backups/a/..', false],
    ['s3://backups/a//b', false],
  ])('%s is valid: %s', (url, isValid) => {
    expect(bucketUrlProblem(url) === undefined).toBe(isValid);
  });
});

describe('the removal of snapshots', () => {
  it('removes each snapshot before its manifest, and each before the next', async () => {
    const { entries, open } = bucketScene();
    const stored = ['1', '2'].map((one) => ({
      ...{ name: one, cluster: 'prod', taken_at: '' },
      revision: 1,
      size_bytes: 1,
    }));
    await removeSnapshots(await open(), stored);
    entries.push('the command ends');
    expect(entries).toEqual([
      ...['1', '1.json', '2', '2.json'].flatMap((one) => [`remove a/${one}`, `remove a/${one} done`]),
      'the command ends',
    ]);
  });
  it('a snapshot that cannot be removed keeps its manifest', async () => {
    const { entries, open } = bucketScene(() => ({
      remove: async () => Promise.reject(new BucketError('AccessDenied', 'no', 403)),
    }));
    const one = { ...{ name: '1', cluster: 'prod', taken_at: '' }, revision: 1, size_bytes: 1 };
    await expect(removeSnapshots(await open(), [one])).rejects.toBeInstanceOf(AppError);
    expect(entries).toEqual([]);
  });
});

describe('the list of a bucket', () => {
  it('contains the files below the prefix with their sizes and readable manifests', async () => {
    const { objects, open } = bucketScene();
    const other = snapshotName('prod', Date.parse('2026-10-01T01:00:00Z'), 6);
    objects.set(`a/${name}`, whole).set(`a/${name}.json`, Buffer.from(JSON.stringify(manifest('s'))));
    objects.set(`a/${other}`, whole).set(`a/${other}.json`, Buffer.from('{'));
    objects.set(`a/deeper/${name}`, whole).set(`b/${name}`, whole).set('a/notes.txt', whole);
    expect(await catalogue(await open(), 'prod')).toEqual([
      {
        name: other,
        size_bytes: whole.length,
        cluster: 'prod',
        taken_at: '2026-10-01T01:00:00.000Z',
        revision: 6,
      },
      {
        ...{
          name,
          size_bytes: whole.length,
          cluster: 'prod',
          taken_at: '2026-11-01T01:00:00.000Z',
          revision: 7,
        },
        manifest: manifest('s'),
      },
    ]);
  });
  it.each([
    ['no JSON', '{'],
    ['another format', JSON.stringify({ ...manifest('s'), format: 2 })],
    ['no hash', JSON.stringify({ ...manifest('s'), file_sha256: undefined })],
    ['no revision', JSON.stringify({ ...manifest('s'), revision: '7' })],
    ['an object as its time', JSON.stringify({ ...manifest('s'), verified_at: { a: 1 } })],
    ['another method', JSON.stringify({ ...manifest('s'), verified_by: '\u001b[31m' })],
    ['a list as its cluster', JSON.stringify({ ...manifest('s'), cluster: ['..'] })],
    ['a negative revision', JSON.stringify({ ...manifest('s'), revision: -1 })],
    ['an infinite size', JSON.stringify(manifest('s')).replace(/"size_bytes":\d+/, '"size_bytes":1e999')],
    ['many levels', '['.repeat(200_000)],
    ['no size', JSON.stringify({ ...manifest('s'), size_bytes: null })],
  ])('a manifest with %s does not count', (_, text) => {
    expect(parseManifest(text)).toBeUndefined();
  });
});

describe('the settings of a bucket', () => {
  const placeFor = async (options: object, env: object): Promise<BucketPlace | undefined> => {
    const { open, places } = bucketScene(undefined, env);
    await open('a', options);
    return places[0];
  };
  it.each([
    ['nothing', {}, {}, { addressing: 'virtual' }],
    [
      'the flag',
      { endpoint: 'http://flag' },
      { AWS_ENDPOINT_URL: 'http://all' },
      { endpoint: 'http://flag', addressing: 'path', region: 'us-east-1' },
    ],
    [
      'the variable of S3 before the general one',
      {},
      { AWS_ENDPOINT_URL_S3: 'http://s3', AWS_ENDPOINT_URL: 'http://all' },
      { endpoint: 'http://s3', addressing: 'path', region: 'us-east-1' },
    ],
    [
      'an empty variable',
      {},
      { AWS_ENDPOINT_URL_S3: '', AWS_REGION: 'eu' },
      { addressing: 'virtual', region: 'eu' },
    ],
    [
      'the region before the default region',
      {},
      { AWS_REGION: 'eu', AWS_DEFAULT_REGION: 'us' },
      { addressing: 'virtual', region: 'eu' },
    ],
    ['the default region', {}, { AWS_DEFAULT_REGION: 'us' }, { addressing: 'virtual', region: 'us' }],
    [
      'the flags of both',
      { endpoint: 'http://f', region: 'x', addressing: 'virtual' },
      { AWS_REGION: 'eu' },
      { endpoint: 'http://f', region: 'x', addressing: 'virtual' },
    ],
  ])('come from %s', async (_, options, env, expected) => {
    expect(await placeFor(options, env)).toEqual({ bucket: 'backups', ...expected });
  });
});

describe('a failure of a bucket', () => {
  const place: BucketPlace = { bucket: 'backups', addressing: 'path' };
  it('is described by its code, then by its status, and by its category otherwise', () => {
    const failed = (code: string, status?: number) =>
      bucketFailure(place, new BucketError(code, 'why', status));
    expect(failed('SlowDown', 403)).toMatchObject({
      category: 'network',
      detail: { code: 'STORAGE_FAILED', retryable: true, httpStatus: 403 },
    });
    expect(failed('Other', 500)).toMatchObject({ category: 'network', detail: { code: 'STORAGE_FAILED' } });
    expect(failed('Other', 499)).toMatchObject({ category: 'refused', detail: { code: 'STORAGE_FAILED' } });
    expect(failed('Other')).toMatchObject({ category: 'network' });
  });
  it('names the endpoint, or S3 with its region', () => {
    const messageAt = (more: Partial<BucketPlace>): string =>
      (bucketFailure({ ...place, ...more }, new BucketError('Odd', 'why', 400)) as Error).message;
    expect(messageAt({ endpoint: 'http://minio' })).toMatch(/^http:\/\/minio, bucket backups/);
    expect(messageAt({ region: 'eu' })).toMatch(/^S3 in eu, bucket backups/);
    expect(messageAt({})).toMatch(/^S3, bucket backups/);
  });
  it('every call of the bucket converts it, including a stream that breaks', async () => {
    const broken = async (): Promise<never> => Promise.reject(new BucketError('ECONNRESET', 'reset'));
    const breaks = async function* (): AsyncGenerator<never> {
      await broken();
      yield* [];
    };
    const { open, base } = bucketScene(() => ({
      ...{ put: broken, sizeOf: broken, remove: broken, discardUploads: broken, list: breaks },
      stream: async () => breaks(),
    }));
    await base.files.replace('/tmp/work/x', 'x', 0o600);
    const destination = await open();
    const read = async (): Promise<void> => {
      for await (const _ of (await destination.stream('x')) ?? []);
    };
    const all = [
      ...[destination.put('x', '/tmp/work/x', 1), destination.putText('x', 'y'), destination.text('x')],
      ...[destination.names(), destination.remove('x'), destination.discardUnfinished(), read()],
    ];
    for (const one of await Promise.allSettled<unknown>(all))
      expect(one).toMatchObject({
        status: 'rejected',
        reason: { category: 'network', detail: { code: 'STORAGE_FAILED' } },
      });
  });
});

describe('a snapshot that is read from a bucket', () => {
  const place = `s3://backups/a/${name}`;
  it('is complete and verified when its local copy has its name', async () => {
    const { objects, entries, base, host, closed } = bucketScene();
    objects.set(`a/${name}`, whole);
    const slowHost: Host = {
      ...host,
      files: {
        ...host.files,
        makeDirectory: async (path, mode) => {
          await pause(30);
          entries.push('the directory exists');
          return host.files.makeDirectory(path, mode);
        },
        replaceStream: async (path, chunks, mode) => {
          entries.push('the copy begins');
          const sizeBytes = await host.files.replaceStream(path, chunks, mode);
          await pause();
          entries.push('the copy is complete');
          return sizeBytes;
        },
      },
    };
    const path = await asLocalFile(slowHost, place, { directory: '/tmp/copy' });
    entries.push('the command ends');
    expectInOrder(
      entries,
      'the directory exists',
      'the copy begins',
      'the copy is complete',
      'the command ends',
    );
    expect(path).toMatch(new RegExp(`^/tmp/copy/[0-9a-f]{8}-${name}$`));
    expect(Buffer.from((await base.files.readBytes(path)) as Uint8Array).equals(whole)).toBe(true);
    expect(closed()).toBe(1);
  });
  it(
    'leaves no local copy if it is damaged or missing, and closes the bucket',
    covers('spec/store#measured-snapshots-2'),
    async () => {
      const damaged = Buffer.from(whole);
      damaged[10] = (damaged[10] ?? 0) + 1;
      for (const [content, code] of [
        [damaged, 'SNAPSHOT_DAMAGED'],
        [whole.subarray(0, whole.length - 1), 'SNAPSHOT_TRUNCATED'],
        [undefined, 'NO_SNAPSHOT'],
      ] as const) {
        const { objects, base, host, closed } = bucketScene();
        if (content !== undefined) objects.set(`a/${name}`, content);
        await expect(asLocalFile(host, place, { directory: '/tmp/copy' })).rejects.toMatchObject({
          detail: { code },
        });
        expect(await base.files.list('/tmp/copy')).toEqual([]);
        expect(closed()).toBe(1);
      }
    },
  );
  it('is verified as a stream, and the manifest is written last', async () => {
    const { objects, entries, calls, host, closed } = bucketScene();
    objects.set(`a/${name}`, whole);
    const { signal } = new AbortController();
    const first = await verifyStored({ host, place, bucket: {}, signal });
    expect(first).toMatchObject({ ok: true, manifest: 'none', path: place });
    expect(calls.filter(({ what }) => what === 'put')).toEqual([]);
    expect(calls.find(({ what }) => what === 'stream')?.signal).toBe(signal);
    const destination = await openDestination(host, 's3://backups/a', { workDirectory: '/tmp' });
    await writeManifest(destination, name, manifest(first.file_sha256));
    entries.length = 0;
    expect(await verifyStored({ host, place, bucket: {}, signal })).toMatchObject({
      ok: true,
      manifest: 'same',
    });
    entries.push('the command ends');
    expectInOrder(
      entries,
      ...[
        `stream a/${name} done`,
        `put a/${name}.json`,
        `put a/${name}.json done`,
        `size of a/${name}.json done`,
      ],
      'the command ends',
    );
    expect(parseManifest(objects.get(`a/${name}.json`)?.toString())).toMatchObject({
      verified_by: 'checksum',
    });
    expect(closed()).toBe(2);
  });
  it('another file than the one of the manifest is not recorded as verified', async () => {
    const { objects, host } = bucketScene();
    objects.set(`a/${name}`, whole);
    objects.set(`a/${name}.json`, Buffer.from(JSON.stringify(manifest('another'))));
    const { signal } = new AbortController();
    await expect(verifyStored({ host, place, bucket: {}, signal })).rejects.toMatchObject({
      detail: { code: 'SNAPSHOT_DAMAGED' },
    });
    expect(parseManifest(objects.get(`a/${name}.json`)?.toString())).not.toHaveProperty('verified_at');
  });
  it('leaves no effect behind when the command ends', async () => {
    const { objects, host } = bucketScene();
    objects.set(`a/${name}`, whole);
    const slow = slowHost(host);
    const { signal } = new AbortController();
    await verifyStored({ host: slow.host, place, bucket: {}, signal });
    expect(slow.pending()).toEqual([]);
    await asLocalFile(slow.host, place, { directory: '/tmp/copy' });
    expect(slow.pending()).toEqual([]);
  });
  it('the connections of the bucket are closed even if the work directory cannot be removed', async () => {
    const { objects, host, closed } = bucketScene();
    objects.set(`a/${name}`, whole);
    const full = async (): Promise<never> => {
      throw Object.assign(new Error('EBUSY: resource busy'), { code: 'EBUSY' });
    };
    const busy: Host = { ...host, files: { ...host.files, remove: full } };
    const { signal } = new AbortController();
    await expect(verifyStored({ host: busy, place, bucket: {}, signal })).rejects.toMatchObject({
      code: 'EBUSY',
    });
    expect(closed()).toBe(1);
  });
  it('Ctrl-C ends the verification between two parts', async () => {
    const { objects, host } = bucketScene();
    objects.set(`a/${name}`, whole);
    const stop = new AbortController();
    stop.abort(new AppError('interrupted', 'Ctrl-C'));
    await expect(verifyStored({ host, place, bucket: {}, signal: stop.signal })).rejects.toMatchObject({
      category: 'interrupted',
    });
  });
});

describe('Ctrl-C during a long reading of a snapshot', () => {
  const parts = async function* () {
    for (let at = 0; at < whole.length; at += 700) yield whole.subarray(at, at + 700);
  };
  it('ends before an upload', async () => {
    const signal = AbortSignal.abort(new AppError('interrupted', 'Ctrl-C'));
    const { base, host, entries, open } = bucketScene();
    await base.files.replaceStream('/tmp/work/s.db', parts(), 0o600);
    const taking = { host, cluster: 'prod', member: 'n1', destination: await open(), signal };
    await expect(storeFile({ ...taking, takenMs: 1000, atStart: 0 }, '/tmp/work/s.db')).rejects.toMatchObject(
      { category: 'interrupted' },
    );
    expect(entries).toEqual([]);
  });
  it('ends the verification of a local file and the copy of an object', async () => {
    const signal = AbortSignal.abort(new AppError('interrupted', 'Ctrl-C'));
    const local = fakeHost();
    await local.files.replaceStream('/tmp/work/s.db', parts(), 0o600);
    const given = { host: local, place: '/tmp/work/s.db', bucket: {}, signal };
    await expect(verifyStored(given)).rejects.toMatchObject({ category: 'interrupted' });
    const { objects, host, calls } = bucketScene();
    objects.set(`a/${name}`, whole);
    const place = `s3://backups/a/${name}`;
    const trial = { ctl: '/bin/etcdutl', server: '/bin/etcd' };
    const copies = [
      asLocalFile(host, place, { directory: '/tmp/copy' }, signal),
      verifyStored({ host, place, bucket: {}, signal, trial }),
    ];
    for (const copy of copies) await expect(copy).rejects.toMatchObject({ category: 'interrupted' });
    expect(calls.filter(({ what }) => what === 'stream').map((call) => call.signal)).toEqual([
      signal,
      signal,
    ]);
  });
});

describe('a directory of snapshots', () => {
  const slowPlace = async () => {
    const slow = slowHost(fakeHost());
    await slow.host.files.makeDirectory('/snapshots', 0o700);
    await slow.host.files.makeDirectory('/work', 0o700);
    await slow.host.files.replace('/work/a.db', 'data', 0o600);
    return { slow, destination: directoryDestination(slow.host, '/snapshots') };
  };
  it('each of its changes is complete when its call ends', async () => {
    const { slow, destination } = await slowPlace();
    const { files } = slow.host;
    await destination.put('a.db', '/work/a.db', 4);
    expect([slow.pending(), await files.read('/snapshots/a.db')]).toEqual([[], 'data']);
    await files.replace('/snapshots/b.part', 'more', 0o600);
    await destination.put('b.db', '/snapshots/b.part', 4);
    expect([slow.pending(), await files.list('/snapshots')]).toEqual([[], ['a.db', 'b.db']]);
    await destination.putText('a.db.json', '{}');
    expect([slow.pending(), await files.read('/snapshots/a.db.json')]).toEqual([[], '{}']);
    await destination.remove('a.db');
    expect([slow.pending(), await files.list('/snapshots')]).toEqual([[], ['b.db', 'a.db.json']]);
  });
  it('unfinished copies go after a day, one after the other, and other files stay', async () => {
    const base = fakeHost();
    const slow = slowHost(base);
    const put = (name: string) => base.files.replace(`/snapshots/${name}`, 'x', 0o600);
    await base.files.makeDirectory('/snapshots', 0o700);
    for (const name of ['.a-1.partial-7', '.b-2.partial', 'c.db']) await put(name);
    const { discardUnfinished } = directoryDestination(slow.host, '/snapshots');
    base.advance(24 * 3_600_000);
    expect(await discardUnfinished()).toBe(0);
    base.advance(1);
    await put('.d-3.partial-9');
    expect([await discardUnfinished(), slow.pending(), slow.overlaps]).toEqual([2, [], []]);
    expect(await base.files.list('/snapshots')).toEqual(['c.db', '.d-3.partial-9']);
  });
  it('a copy has its directory before its first part', async () => {
    const { objects, host } = bucketScene();
    objects.set(`a/${name}`, whole);
    const place = `s3://backups/a/${name}`;
    const slow = slowHost(host);
    const path = await asLocalFile(slow.host, place, { directory: '/tmp/new/copy' });
    expect([slow.pending(), (await host.files.info(path))?.sizeBytes]).toEqual([[], whole.length]);
    expect(slow.overlaps).toEqual([]);
  });
});

describe('the keys of a cluster', () => {
  const rows = (count: number) =>
    Array.from({ length: count }, (_, i) => ({
      ...{
        key: `k${String(i).padStart(4, '0')}`,
        value: `v${i}`,
        mod_revision: 9,
        create_revision: 9,
        version: 1,
      },
    }));
  /** A store whose keys change after the first page unless the request names the revision. */
  const storeOf = (count: number) => {
    const asked: { from: string; end: string; limit: number; revision: number | undefined }[] = [];
    const store = partlyMade<Store>({
      range: async (from: Uint8Array, given: { rangeEnd: Uint8Array; limit: number; revision?: number }) => {
        const start = Buffer.from(from).toString();
        asked.push({
          from: start,
          end: Buffer.from(given.rangeEnd).toString(),
          limit: given.limit,
          revision: given.revision,
        });
        const found = rows(count)
          .filter(({ key }) => key >= start)
          .slice(0, given.limit);
        return { kvs: found, count, revision: given.revision ?? 20 + asked.length };
      },
    });
    return { store, asked };
  };
  it.each([
    [0, 1],
    [499, 1],
    [500, 2],
    [501, 2],
    [1000, 3],
  ])(
    '%i keys are read once each, at the revision of the first page, in %i requests',
    async (count, requests) => {
      const { store, asked } = storeOf(count);
      const { revision, keys } = await readKeys(store, 'k');
      expect(keys.map(({ key }) => key)).toEqual(rows(count).map(({ key }) => key));
      expect(revision).toBe(21);
      expect(asked).toHaveLength(requests);
      expect(asked.map((one) => one.revision)).toEqual([
        undefined,
        ...Array.from({ length: requests - 1 }, () => 21),
      ]);
      for (const one of asked) expect(one).toMatchObject({ limit: 500, end: 'l' });
    },
  );
  it('a requested revision is used for every page, and bytes that are not text stay', async () => {
    const { store, asked } = storeOf(500);
    expect((await readKeys(store, 'k', 7)).revision).toBe(7);
    expect(asked.map((one) => one.revision)).toEqual([7, 7]);
    const binary = {
      key: '?',
      key_base64: '/w==',
      value: '?',
      value_base64: '/v8=',
      mod_revision: 3,
      lease: '5',
    };
    const one = partlyMade<Store>({ range: async () => ({ kvs: [binary], count: 1, revision: 4 }) });
    expect((await readKeys(one, '')).keys).toEqual([{ key: 'ÿ', value: '/v8=', mod: 3, lease: '5' }]);
  });
  it('a change names the revision of the comparison, and conflicts are returned', async () => {
    const changes: unknown[][] = [];
    const store = partlyMade<Store>({
      change: async (key: Buffer, mod: number, value: Buffer | undefined) => {
        changes.push([key.toString('latin1'), mod, value?.toString()]);
        return key.toString('latin1') !== 'b';
      },
    });
    const at = (key: string, mod: number, text: string) => ({
      key,
      mod,
      value: Buffer.from(text).toString('base64'),
    });
    const conflicts = await applyChanges(store, [
      { key: 'a', change: 'added', after: at('a', 5, 'new') },
      { key: 'b', change: 'changed', before: at('b', 3, 'old'), after: at('b', 8, 'next') },
      { key: 'c', change: 'removed', before: at('c', 4, 'old') },
    ]);
    expect(conflicts).toEqual(['b']);
    expect(changes).toEqual([
      ['a', 0, 'new'],
      ['b', 3, 'next'],
      ['c', 4, undefined],
    ]);
  });
});
