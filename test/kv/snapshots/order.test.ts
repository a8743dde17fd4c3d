/** The order of the effects of a snapshot and of its verification, as one trace: requests, files and processes. */
import { describe, expect, it } from 'vitest';
import { parseManifest, takeStored } from '../../../src/kv/snapshots/catalog.ts';
import { directoryDestination } from '../../../src/kv/snapshots/destination.ts';
import { verifyStored } from '../../../src/kv/snapshots/trial-restore.ts';
import { accessWith } from '../../../src/kv/engine/access.ts';
import { dbFile, trailer } from '../../../src/etcd-sim/disk/db-file.ts';
import { AppError } from '../../../src/core/problem.ts';
import type { Finished, Host } from '../../../src/platform/host.ts';
import { type Bed, type MakeBed, expectEachEffectMayFail } from '../../support/failing-effects.ts';
import { smallCluster } from '../../support/small-cluster.ts';
import { brokenIfSlow } from '../../support/slow-host.ts';
import { type Fault, type Traced, expectInOrder, expectNoneBetween } from '../../support/trace.ts';
import { traceCluster } from '../../support/traced-cluster.ts';
import { naming } from '../../support/facts.ts';

/** A database with the revision 10 and no keys: every revision is a deletion. */
const database = (): Buffer => {
  const rows = Array.from({ length: 9 }, (_, i) => {
    const key = Buffer.alloc(18, 't');
    key.writeBigUInt64BE(BigInt(i + 2), 0);
    return { key, value: Buffer.from([0x0a, 1, 0x61]) };
  });
  const body = dbFile({ key: rows, meta: [{ key: Buffer.from('term'), value: Buffer.from('1') }] });
  return Buffer.concat([body, trailer(body)]);
};
const makeScene = (fault?: Fault, isSlow = false) => {
  const small = smallCluster('restart');
  small.state.snapshot = database();
  const traced = traceCluster(small, fault, isSlow);
  const take = (host: Host = traced.host, signal = new AbortController().signal) =>
    takeStored({
      ...{ host, cluster: 'test', member: 'n1', signal },
      store: accessWith(host, undefined, undefined).store(small.cluster.members[0]?.client_url as string),
      destination: directoryDestination(host, '/snapshots'),
    });
  const manifestOf = (name: string) => parseManifest(small.host.files.readNow(`/snapshots/${name}.json`));
  return { small, traced, take, manifestOf };
};
const indexOf = ({ entries }: Traced, pattern: RegExp): number =>
  entries.findIndex((entry) => pattern.test(entry));

describe('the order of a snapshot', () => {
  it('the start revision is read first, and the manifest follows the complete snapshot', async () => {
    const { traced, take, manifestOf } = makeScene(undefined, true);
    const { name } = await take();
    traced.note('the command ends');
    const partial = traced.entries.find((entry) => /^replaceStream .*partial/.test(entry)) ?? 'no file';
    expectInOrder(
      traced.entries,
      ...['POST n1 /v3/maintenance/status done', 'POST n1 /v3/maintenance/snapshot', `${partial} done`],
      ...[`${partial.replace('replaceStream', 'rename')} done`, `replace ${name}.json`],
      ...[`replace ${name}.json done`, 'the command ends'],
    );
    expectNoneBetween(
      traced.entries,
      'POST n1 /v3/maintenance/snapshot',
      'the command ends',
      'POST n1 /v3/maintenance/status',
    );
    expect(manifestOf(name)).toMatchObject({ revision: 10, verified_by: 'checksum', member: 'n1' });
  });
  it('a snapshot that is older than the start of its member is not stored', async () => {
    const { small, take } = makeScene();
    const [first = ''] = small.cluster.members.map(({ client_url }) => client_url);
    await small.access.store(first).put('key', 'value');
    await expect(take()).rejects.toMatchObject({ detail: { code: 'SNAPSHOT_OLD' } });
    expect(await small.host.files.list('/snapshots')).toEqual([]);
  });
  it('a manifest that cannot be written fails the snapshot', async () => {
    const calm = makeScene();
    await calm.take();
    const effect = calm.traced.effects.findIndex((one) => /^replace .*\.json$/.test(one)) + 1;
    const { take } = makeScene({ effect, failure: 'reject' });
    await expect(take()).rejects.toMatchObject({ code: 'ENOSPC' });
  });
  it('every effect may fail: a name belongs to a whole snapshot, and the next one succeeds', async () => {
    const make: MakeBed = async (fault): Promise<Bed> => {
      const { small, traced, take } = makeScene(fault);
      const { files } = small.host;
      return {
        start: (signal) => ({ traced, result: take(traced.host, signal) }),
        check: async () => {
          small.host.advance(1000);
          const last = await take(small.host).then(
            ({ name }) => [name],
            (error: unknown) => [String(error)],
          );
          const names = await files.list('/snapshots');
          const stored = names.filter((name) => name.endsWith('.db'));
          const bad = stored.filter((name) => files.readNow(`/snapshots/${name}`)?.length === 0);
          const alone = names.filter((name) => name.endsWith('.json') && !stored.includes(name.slice(0, -5)));
          return [
            ...bad.map((name) => `${name} is empty`),
            ...alone.map((name) => `${name} has no snapshot`),
            ...last.filter((name) => !stored.includes(name)),
          ];
        },
      };
    };
    await expectEachEffectMayFail(make, 15);
  });
});

describe('a snapshot from another directory', () => {
  it('the directory exists before the file is written', async () => {
    const { traced, small } = makeScene();
    await small.host.files.replace('/work/a.db', 'x', 0o600);
    await directoryDestination(traced.host, '/snapshots').put('a.db', '/work/a.db', 1);
    expectInOrder(traced.entries, 'makeDirectory snapshots done', 'replaceStream a.db');
  });
});

/** Verifies the stored snapshot with a private member, which responds like n1, and with n2 as the live member. */
const verified = async (
  change: (small: ReturnType<typeof smallCluster>) => void = () => {},
  healthyAfterMs = 0,
  endsOn: 'SIGTERM' | 'SIGKILL' = 'SIGTERM',
  slow: (host: Host) => Host = (host) => host,
  signal = new AbortController().signal,
  built: Partial<Finished> = {},
) => {
  const { small, traced, take, manifestOf } = makeScene();
  const builds: (AbortSignal | undefined)[] = [];
  const timeouts = new Set<number | undefined>();
  const signals: (AbortSignal | undefined)[] = [];
  const { name } = await take(small.host);
  const before = manifestOf(name);
  small.host.advance(3_600_000);
  change(small);
  const [first, second] = small.cluster.members.map(({ client_url }) => client_url) as [string, string];
  let started = 0;
  let exit = (): void => {};
  const host: Host = {
    ...traced.host,
    network: {
      ...traced.host.network,
      freePorts: async () => [10_240, 10_241],
      request: async (request) => {
        const url = new URL(request.url);
        if (url.port !== '10240') return traced.host.network.request(request);
        timeouts.add(request.timeoutMs);
        signals.push(request.signal);
        small.members('n1').isHealthy = small.host.elapsed() - started >= healthyAfterMs;
        return small.host.network.request({ ...request, url: `${first}${url.pathname}` });
      },
    },
    processes: {
      ...small.host.processes,
      run: async (_command, _words, options) => {
        builds.push(options?.signal);
        traced.note('build the data directory');
        return { code: 0, signal: null, stdout: '', stderr: '', timedOut: false, ...built };
      },
      start: async () => {
        started = small.host.elapsed();
        traced.note('start the private member');
        const exited = new Promise<never>((resolve) => {
          exit = () => resolve({ code: 0, signal: null } as never);
        }).finally(() => traced.note('the private member has exited'));
        const kill = (signal = 'SIGTERM'): boolean => {
          traced.note(`${signal} after ${Math.round((small.host.elapsed() - started) / 1000)} s`);
          if (signal === endsOn) void small.host.sleep(1000).then(exit);
          return true;
        };
        return { pid: 77, exited, kill, async *lines() {} };
      },
    },
  };
  const result = await verifyStored({
    ...{ host: slow(host), place: `/snapshots/${name}`, bucket: {}, signal },
    trial: {
      ...{ ctl: '/bin/etcdutl', server: '/bin/etcd' },
      live: small.access.store(second),
    },
  }).catch((error: unknown) => error);
  traced.note('the command ends');
  return { traced, result, before, timeouts, signals, builds, after: manifestOf(name) };
};

describe('no effect of a snapshot outlasts its command', () => {
  it('taking a snapshot', async () => {
    const broken = await brokenIfSlow(async (slow) => {
      const { take, small, manifestOf } = makeScene();
      const { name } = await take(slow(small.host));
      return manifestOf(name) === undefined ? ['the manifest is missing'] : [];
    });
    expect(broken).toEqual([]);
  });
  it('its verification with a private member', async () => {
    const broken = await brokenIfSlow(async (slow) => {
      const { result, after } = await verified(undefined, 0, 'SIGTERM', slow);
      return after?.verified_by === 'trial restore' ? [] : [`it ended with ${String(result)}`];
    });
    expect(broken).toEqual([]);
  });
});

describe('the verification of a snapshot', () => {
  it('the private member has exited before its data goes, and a success is recorded last', async () => {
    const { traced, result, before, after } = await verified();
    expect(result).toMatchObject({ ok: true });
    expectInOrder(
      traced.entries,
      ...['build the data directory', 'start the private member', 'the private member has exited'],
      'the command ends',
    );
    const exited = traced.entries.indexOf('the private member has exited');
    const removed = indexOf(traced, /^remove opsctl-trial-\w+$/);
    const recorded = indexOf(traced, /^replace .*\.json done$/);
    expect(removed).toBeGreaterThan(exited);
    expect(recorded).toBeGreaterThan(removed);
    expect(traced.entries.indexOf('the command ends')).toBeGreaterThan(recorded);
    expect(after).toEqual({ ...before, verified_by: 'trial restore', verified_at: after?.verified_at });
    expect(after?.verified_at).not.toBe(before?.verified_at);
  });
  it.each([
    ['/bin/etcdutl', 'build the data directory'],
    ['/bin/etcd', 'start the private member'],
  ])('%s does not run if other users can change it', async (program, effect) => {
    const { traced, result } = await verified(({ host }) => void host.files.replace(program, 'x', 0o777));
    expect(result).toMatchObject({ detail: { code: 'UNTRUSTED' } });
    expect(traced.entries).not.toContain(effect);
  });
  it('each request to the private member has five seconds', async () => {
    expect([...(await verified()).timeouts]).toEqual([5000]);
  });
  it('Ctrl-C ends the program that builds the data directory, and each request to the private member', async () => {
    const stop = new AbortController();
    const given = [undefined, 0, 'SIGTERM', (host: Host) => host, stop.signal] as const;
    const { builds, signals } = await verified(...given);
    expect(builds).toEqual([stop.signal, stop.signal]);
    stop.abort();
    expect(signals.map((signal) => signal?.aborted)).toEqual(signals.map(() => true));
    expect(signals.length).toBeGreaterThan(0);
  });
  it.each([
    [
      'cannot start',
      { code: null, startError: 'spawn ENOENT', stderr: 'one\ntwo\n' },
      'config',
      'spawn ENOENT',
    ],
    ['ends with an error', { code: 1, stderr: 'one\ntwo\n' }, 'no', 'two'],
    ['ends without a word', { code: 1, stderr: '' }, 'no', 'etcdutl'],
  ] as const)('a program that %s is the reason, and no member starts', async (_, built, category, word) => {
    const given = [undefined, 0, 'SIGTERM', (host: Host) => host, undefined, built] as const;
    const { result, traced, before, after } = await verified(...given);
    expect(result).toMatchObject({
      category,
      detail: { code: 'TRIAL_RESTORE_FAILED' },
      message: naming(word),
    });
    expect(traced.entries).not.toContain('start the private member');
    expect(after).toEqual(before);
  });
  it('Ctrl-C ends the wait for the private member, which exits before its data is removed', async () => {
    const stop = new AbortController();
    const ending = verified(
      ({ host }) => void host.sleep(5000).then(() => stop.abort(new AppError('interrupted', 'Ctrl-C'))),
      ...([60_000, 'SIGTERM', (host: Host) => host, stop.signal] as const),
    );
    const { traced, result, before, after } = await ending;
    expect(result).toMatchObject({ category: 'interrupted' });
    expect(after).toEqual(before);
    const [asked = ''] = traced.entries.filter((entry) => entry.startsWith('SIG'));
    expect(asked).toMatch(/^SIGTERM after [45] s$/);
    const exited = traced.entries.indexOf('the private member has exited');
    expect(exited).toBeGreaterThan(0);
    expect(indexOf(traced, /^remove opsctl-trial-\w+$/)).toBeGreaterThan(exited);
  });
  it('a comparison that differs leaves the manifest unchanged', async () => {
    const { result, before, after, traced } = await verified(({ state }) => state.hash.set('n2', '8'));
    expect(result).toMatchObject({ ok: false });
    expect(after).toEqual(before);
    expect(indexOf(traced, /^replace .*\.json/)).toBe(-1);
  });
  it('a private member that does not end is killed after ten seconds, and its data goes after its exit', async () => {
    const { traced, result } = await verified(undefined, 0, 'SIGKILL');
    expect(result).toMatchObject({ ok: true });
    expectInOrder(traced.entries, 'SIGTERM after 0 s', 'SIGKILL after 10 s', 'the private member has exited');
    const exited = traced.entries.indexOf('the private member has exited');
    expect(indexOf(traced, /^remove opsctl-trial-\w+$/)).toBeGreaterThan(exited);
    const { traced: calm } = await verified();
    expect(calm.entries.filter((entry) => entry.startsWith('SIG'))).toEqual(['SIGTERM after 0 s']);
  });
  it.each([
    ['keys', '/kv/range', 'n1'],
    ['hash', '/maintenance/hashkv', 'n2'],
  ])('%s that cannot be compared are not a difference', async (check, failing, member) => {
    const { result, after } = await verified(({ state }) => {
      state.replyOf = (name, call) =>
        call === failing && name === member
          ? { status: 500, body: { error: 'broken', code: 2, message: 'broken' } }
          : undefined;
    });
    expect(result).toMatchObject({ ok: true });
    expect((result as { comparisons: object[] }).comparisons).toContainEqual({
      ...{ check, ok: null },
      detail: naming('not', 'compared', 'broken'),
    });
    expect(after?.verified_by).toBe('trial restore');
  });
  it('every check but one that cannot be made must agree', async () => {
    const { result } = await verified(({ state }) => {
      state.replyOf = (name, call) =>
        call === '/maintenance/hashkv' && name === 'n2'
          ? { status: 500, body: { error: 'broken', code: 2, message: 'broken' } }
          : call === '/kv/range' && name === 'n1'
            ? { body: { header: { revision: '10' }, count: '5', more: false, kvs: [] } }
            : undefined;
    });
    expect(result).toMatchObject({ ok: false });
  });
  it.each([
    [59_000, { ok: true }],
    [61_000, { detail: { code: 'TRIAL_RESTORE_FAILED' }, message: naming(' 60 s') }],
  ])('a private member that is healthy after %i ms', async (ms, expected) => {
    expect((await verified(undefined, ms)).result).toMatchObject(expected);
  });
});
