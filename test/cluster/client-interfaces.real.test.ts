import { execFileSync } from 'node:child_process';
import { Agent, request } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { binariesOf, hasBinaries, type RealCluster, startCluster } from '../support/cluster.ts';
import { opsctl } from '../support/program.ts';
import { makeDirectory } from '../support/directory.ts';

const home = makeDirectory();
type Finding = {
  readonly guard: string;
  readonly level: string;
  readonly member?: string;
  readonly message: string;
};
const checked = async (cluster: RealCluster): Promise<Finding[]> => {
  const ran = await opsctl(['kv', 'check', '--cluster', cluster.file, '-o', 'json'], { home });
  const { findings } = ran.json() as { findings: Finding[] };
  return findings.filter(({ guard }) => guard === 'client-interfaces');
};
const read = (cluster: RealCluster, key: string, options: object, member = 1): Promise<number> =>
  new Promise((resolve, reject) => {
    request(`${cluster.urls[member]}/v2/keys/${key}`, options, (response) => {
      response.resume().on('end', () => resolve(response.statusCode ?? 0));
    })
      .on('error', reject)
      .end();
  });

/** The upgrade, the flags of the running members, and the level if a client uses the v2 interface. */
const rows = [
  { from: '3.3', to: '3.4', extra: [] as string[], level: 'fail' },
  { from: '3.4', to: '3.5', extra: ['--enable-v2'], level: 'warn' },
].filter(({ from, to }) => hasBinaries(from) && hasBinaries(to));
describe.each(rows)('clients of $from before an upgrade to $to', ({ from, to, extra, level }) => {
  let cluster: RealCluster;
  beforeAll(async () => {
    cluster = await startCluster({ size: 3, from, to, extra });
  });
  afterAll(() => cluster?.stop());
  it('checks of opsctl count as no client, however often they run', async () => {
    for (let i = 0; i < 3; i += 1)
      expect((await checked(cluster)).map(({ level: one }) => one)).toEqual([
        from === '3.3' ? 'unknown' : 'pass',
      ]);
  });
  // From 3.3 to 3.4 the guard reports no versions: it does not pass, because members do not count paths.
  it.runIf(from === '3.4')('the check names the versions of the clients', async () => {
    const { ctl } = binariesOf(from) as { ctl: string };
    execFileSync(ctl, ['--endpoints', cluster.urls[0] as string, 'get', 'a'], {
      env: { ...process.env, ETCDCTL_API: '3' },
    });
    expect((await checked(cluster))[0]?.message).toContain(`${from} (1 request)`);
  });
  it('the check names the member, the requests and the address of an old client', async () => {
    const agent = new Agent({ keepAlive: true });
    try {
      for (let i = 0; i < 9; i += 1)
        expect(await read(cluster, 'none', { agent, localAddress: '127.0.0.2' })).toBe(404);
      const found = (await checked(cluster)).filter(({ member }) => member !== undefined);
      expect(found).toHaveLength(1);
      expect(found[0]).toMatchObject({ level, member: 'n2' });
      expect(found[0]?.message).toMatch(/ v2 API .*127\.0\.0\.2 \(1 connection\)$/);
    } finally {
      agent.destroy();
    }
  });
  it('recursive reads and HEAD requests of clients count, between any number of checks', async () => {
    for (let i = 1; i <= 3; i += 1) {
      for (const path of ['none?recursive=true', '?recursive=true'])
        expect([200, 404]).toContain(await read(cluster, path, {}, 2));
      expect(await read(cluster, '', { method: 'HEAD' }, 2)).toBe(200);
      const found = (await checked(cluster)).filter(({ member }) => member === 'n3');
      expect(found.map(({ level: one, message }) => [one, / sent (\d+) /.exec(message)?.[1]])).toEqual([
        [level, String(3 * i)],
      ]);
    }
  });
});
