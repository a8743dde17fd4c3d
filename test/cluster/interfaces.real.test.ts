import { readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { execFileSync } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Host } from '../../src/platform/host.ts';
import {
  type Binaries,
  binariesOf,
  call,
  hasBinaries,
  pair,
  type RealCluster,
  startCluster,
} from '../support/cluster.ts';
import { opsctl, type Ran } from '../support/program.ts';
import { makeDirectory } from '../support/directory.ts';
import { covers } from '../support/covers.ts';
import { errorOf } from '../support/facts.ts';

/**
 * Runs the same commands against a real member of each version, although the versions use different names.
 */
const minors = [...(pair.from === '3.2' ? ['3.2'] : []), '3.3', '3.4', '3.5'].filter((minor) =>
  hasBinaries(minor),
);
const home = makeDirectory();
const clusters = new Map<string, RealCluster>();
beforeAll(async () => {
  for (const minor of minors) clusters.set(minor, await startCluster({ size: 1, from: minor, to: minor }));
});
afterAll(async () => {
  for (const cluster of clusters.values()) await cluster.stop();
});
const typing = (host: Host, data: Uint8Array): Host => ({
  ...host,
  terminal: {
    ...host.terminal,
    stdin: {
      ...host.terminal.stdin,
      bytes: async function* () {
        yield data;
      },
    },
  },
});
const clusterOf = (minor: string): RealCluster => clusters.get(minor) as RealCluster;
const endpoint = (minor: string): string => (clusterOf(minor).urls[0] as string).replace('http://', '');
const kv = (minor: string, ...words: string[]): Promise<Ran> =>
  opsctl(['kv', ...words, '--endpoints', endpoint(minor)], { home });
/** Errors are JSON only with `-o json`. */
const failing = (minor: string, ...words: string[]): Promise<Ran> => kv(minor, ...words, '-o', 'json');
const error = (ran: Ran) => errorOf(ran) as { code: string; message: string };

describe.each(minors)('the interfaces of %s', (minor) => {
  it('the interface returns health, version and endpoint health in the documented form', async () => {
    expect((await kv(minor, 'health')).json()).toEqual([
      { endpoint: endpoint(minor), health: 'true', status: 200 },
    ]);
    const [version] = (await kv(minor, 'version')).json();
    expect(version.kvserver.startsWith(`${minor}.`)).toBe(true);
    expect(version.kvcluster).toBe(`${minor}.0`);
    const line = await kv(minor, 'endpoint', 'health');
    expect(line.stdout).toMatch(
      new RegExp(
        `^${endpoint(minor)} is healthy: successfully committed proposal: took = [0-9.]+(µs|ms|s)\n$`,
      ),
    );
  });
  it('an endpoint without a listener is unhealthy, with an exit code', async () => {
    const ran = await opsctl(['kv', 'endpoint', 'health', '--endpoints', `127.0.0.1:1,${endpoint(minor)}`], {
      home,
    });
    expect(ran.code).toBe(20);
    expect(ran.stdout.split('\n')[0]).toMatch(/^127\.0\.0\.1:1 is unhealthy: failed to commit proposal: /);
    expect(ran.stdout.split('\n')[1]).toContain('is healthy');
  });
  it('put, get, prefixes, delete', async () => {
    expect((await kv(minor, 'put', 'a/1', 'eins')).code).toBe(0);
    expect((await kv(minor, 'put', 'a/2', 'zwei ✓')).code).toBe(0);
    expect((await kv(minor, 'put', 'b', 'nicht')).code).toBe(0);
    expect((await kv(minor, 'get', 'a/2')).json()).toMatchObject({ key: 'a/2', value: 'zwei ✓', version: 1 });
    expect((await kv(minor, 'get', 'a/', '--prefix')).json().map(({ key }: { key: string }) => key)).toEqual([
      'a/1',
      'a/2',
    ]);
    expect((await kv(minor, 'get', 'a', 'b')).json()).toHaveLength(2);
    expect((await kv(minor, 'get', 'c')).code).toBe(6);
    expect((await kv(minor, 'del', 'a/', '--prefix')).code).toBe(2);
    expect((await kv(minor, 'del', 'a/', '--prefix', '--yes')).json()).toMatchObject({ deleted: 2 });
    expect((await kv(minor, 'get', 'a/1')).code).toBe(6);
  });
  it('prefixes end where their bytes end, "" --prefix is every key, and values need not be text', async () => {
    for (const key of ['é1', 'é2', 'ê', 'z']) expect((await kv(minor, 'put', key, 'v')).code).toBe(0);
    expect((await kv(minor, 'del', 'é', '--prefix', '--yes')).json()).toMatchObject({ deleted: 2 });
    const all = (await kv(minor, 'get', '', '--prefix')).json().map(({ key }: { key: string }) => key);
    expect(all).toEqual(expect.arrayContaining(['z', 'ê']));
    expect((await failing(minor, 'get', '')).stderr).toContain('must not be empty');
    const bytes = Buffer.from([0, 255, 254, 10]);
    const put = await opsctl(['kv', 'put', 'bin', '-', '--endpoints', endpoint(minor)], {
      home,
      host: (host) => typing(host, bytes),
    });
    expect(put.code === 0 ? '' : put.stderr).toBe('');
    expect((await kv(minor, 'get', 'bin')).json().value_base64).toBe(bytes.toString('base64'));
    expect((await kv(minor, 'get', 'bin')).stderr).toContain('not text');
  });
  it('a write over the server limit is "request is too large" (spec/store#errors)', async () => {
    writeFileSync(join(home, 'big'), 'x');
    const ran = await failing(minor, 'put', 'big', 'x'.repeat(1_600_000));
    expect(ran.code).toBe(5);
    expect(error(ran)).toMatchObject({ code: 'REQUEST_TOO_LARGE' });
    expect(error(ran).message).toContain('request is too large');
  });
  it(
    'a write over the client send size is ResourceExhausted with both sizes, and is not sent',
    covers('spec/store#items-4', 'spec/store#errors-2'),
    async () => {
      const ran = await failing(minor, 'put', 'big', 'x'.repeat(2_097_152));
      expect(ran.code).toBe(5);
      expect(error(ran)).toMatchObject({ code: 'RESOURCE_EXHAUSTED' });
      expect(error(ran).message).toContain('(2097162 vs. 2097152)');
      const small = await failing(minor, 'put', 'big', 'x'.repeat(100), '--max-send-bytes', '50');
      expect(error(small).message).toMatch(/larger than max \(10\d vs\. 50\)/);
    },
  );
  it('a read over the client receive size is ResourceExhausted', covers('spec/store#errors-2'), async () => {
    await kv(minor, 'put', 'wide', 'x'.repeat(10_000));
    const ran = await failing(minor, 'get', 'wide', '--max-receive-bytes', '1000');
    expect(ran.code).toBe(5);
    expect(error(ran)).toMatchObject({ code: 'RESOURCE_EXHAUSTED' });
  });
  it('leases: alive, and expired in the words of the document', async () => {
    const url = clusterOf(minor).urls[0] as string;
    const { ID } = JSON.parse(
      (await call(`${url}${minor === '3.2' ? '/v3alpha' : '/v3beta'}/lease/grant`, { TTL: '60' })).text,
    );
    const id = BigInt(ID).toString(16).padStart(16, '0');
    expect((await kv(minor, 'put', 'leased', 'x', '--lease', id)).code).toBe(0);
    expect((await kv(minor, 'get', 'leased')).json()).toMatchObject({ value: 'x', lease: id });
    const [keyOnly] = (await kv(minor, 'get', 'leased', '--prefix', '--keys-only')).json();
    expect(Object.keys(keyOnly)).not.toContain('value');
    expect((await kv(minor, 'lease', 'timetolive', id, '--keys')).stdout).toMatch(
      new RegExp(
        `^lease ${id} granted with TTL\\(60s\\), remaining\\(\\d+s\\), attached keys\\(\\[leased\\]\\)\n$`,
      ),
    );
    if (minor !== '3.2') expect((await kv(minor, 'lease', 'list')).json()).toEqual([{ id }]);
    else expect(error(await failing(minor, 'lease', 'list'))).toMatchObject({ code: 'UNIMPLEMENTED' });
    expect((await kv(minor, 'lease', 'timetolive', '1234abcd')).stdout).toBe(
      'lease 000000001234abcd already expired\n',
    );
    expect((await kv(minor, 'lease', 'timetolive', 'xyz')).code).toBe(2);
  });
  it('members and alarms', async () => {
    const [member] = (await kv(minor, 'member', 'list')).json();
    expect(member).toMatchObject({
      name: 'n1',
      status: 'started',
      is_learner: false,
      client_urls: clusterOf(minor).urls,
    });
    expect((await kv(minor, 'alarm', 'list')).json()).toEqual([]);
    expect((await kv(minor, 'alarm', 'disarm')).json()).toEqual({ disarmed: 0, still_raised: 0 });
    expect((await kv(minor, 'move-leader', 'n1')).json()).toEqual({ from: 'n1', to: 'n1' });
    expect((await kv(minor, 'move-leader', 'n9')).code).toBe(6);
  });
  it('a snapshot is verified, the ctl of every version accepts it, and reads the same in it', async () => {
    const file = join(home, `${minor}.db`);
    const saved = await kv(minor, 'snapshot', 'save', file);
    expect(saved.code).toBe(0);
    const ours = await opsctl(['kv', 'snapshot', 'status', file], { home });
    for (const other of minors.filter((one) => (binariesOf(one) as Binaries).ctl !== '')) {
      const { ctl } = binariesOf(other) as Binaries;
      const theirs = JSON.parse(
        execFileSync(ctl, ['snapshot', 'status', file, '-w', 'json'], {
          env: { ETCDCTL_API: '3' },
          stdio: ['ignore', 'pipe', 'ignore'],
        }).toString(),
      );
      expect(ours.json()).toMatchObject({
        hash: theirs.hash,
        revision: theirs.revision,
        total_key: theirs.totalKey,
        total_size: theirs.totalSize,
      });
    }
    expect(saved.json().revision).toBe(ours.json().revision);
  });
  it.runIf(['3.2', '3.3'].includes(minor))(
    'a snapshot contains the v3 data and no v2 data',
    covers('spec/store#interfaces-5', 'spec/store#procedure-2'),
    async () => {
      const [url] = clusterOf(minor).urls;
      const put = await fetch(`${url}/v2/keys/old`, {
        method: 'PUT',
        body: new URLSearchParams({ value: 'only-in-v2' }),
      });
      expect(put.status).toBe(201);
      expect((await kv(minor, 'put', 'new', 'only-in-v3')).code).toBe(0);
      const file = join(home, `${minor}-v2.db`);
      expect((await kv(minor, 'snapshot', 'save', file)).code).toBe(0);
      const saved = readFileSync(file);
      expect([saved.includes('only-in-v3'), saved.includes('only-in-v2')]).toEqual([true, false]);
    },
  );
  it('a snapshot file that was damaged or cut off is found out', async () => {
    const file = join(home, `${minor}-bad.db`);
    await kv(minor, 'snapshot', 'save', file);
    const bytes = readFileSync(file);
    bytes.writeUInt8((bytes[5000] as number) ^ 1, 5000);
    writeFileSync(file, bytes);
    const damaged = await opsctl(['kv', 'snapshot', 'verify', file, '-o', 'json'], { home });
    expect(damaged.code).toBe(20);
    expect(error(damaged)).toMatchObject({ code: 'SNAPSHOT_DAMAGED' });
    // A file of whole pages without a checksum may also be a copied db file.
    for (const [size, code] of [
      [4096, 'SNAPSHOT_NO_CHECKSUM'],
      [4000, 'SNAPSHOT_TRUNCATED'],
    ] as const) {
      truncateSync(file, size);
      const truncated = await opsctl(['kv', 'snapshot', 'verify', file, '-o', 'json'], { home });
      expect([truncated.code, error(truncated).code]).toEqual([20, code]);
    }
  });
  it('status names the member, its version and its role', async () => {
    const status = (await kv(minor, 'status')).json();
    expect(status.members[0]).toMatchObject({ is_healthy: true, is_leader: true });
    expect(status.leader).toBe(endpoint(minor));
    expect((await kv(minor, 'endpoint', 'status')).json()[0]).toMatchObject({ is_leader: true });
  });
});
