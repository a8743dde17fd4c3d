/** The quota of the next start against the database of real servers: what the guard refuses is the accident that it names. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  call,
  gatewayPut,
  hasBinaries,
  type RealCluster,
  type RealMember,
  startCluster,
} from '../support/cluster.ts';
import { opsctl } from '../support/program.ts';
import { naming } from '../support/facts.ts';
import { makeDirectory } from '../support/directory.ts';

let cluster: RealCluster;
let home: string;
beforeEach(() => {
  home = makeDirectory();
});
afterEach(async () => {
  await cluster?.stop();
});
const kv = (...words: string[]) =>
  opsctl(['kv', ...words, '--cluster', cluster.file, '-o', 'json'], { home });
/** Findings of the guard that are not a pass, for example `fail n1`. */
const quotaFindings = async (): Promise<string[]> =>
  ((await kv('check')).json().findings as { guard: string; level: string; member?: string }[])
    .filter(({ guard, level }) => guard === 'quota' && level !== 'pass')
    .map(({ level, member }) => `${level} ${member}`);
const versions = () =>
  Promise.all(
    cluster.urls.map(async (url) => JSON.parse((await call(`${url}/version`)).text).etcdserver.slice(0, 3)),
  );
const alarms = async (): Promise<readonly string[]> =>
  (
    JSON.parse((await call(`${cluster.urls[0]}/v3/maintenance/alarm`, { action: 'GET' })).text).alarms ?? []
  ).map(({ alarm }: { alarm: string }) => alarm);
const withNew = (flags: readonly string[]): readonly RealMember[] =>
  cluster.members.map((member) => ({ ...member, new_command: [...member.new_command, ...flags] }));

const running = ['--quota-backend-bytes', '64000000'];
/** The values fill about 4 MB of the database. */
const fill = async (): Promise<void> => {
  for (const i of [1, 2, 3, 4])
    await gatewayPut(cluster.urls[0] as string, `large/${i}`, 'x'.repeat(1_000_000), '/v3');
};
describe.runIf(hasBinaries('3.4', '3.5'))('a next start with another quota', () => {
  it('a quota below the database is refused, and accepted it raises NOSPACE', async () => {
    cluster = await startCluster({ size: 3, from: '3.4', to: '3.5', extra: running });
    await fill();
    expect(await quotaFindings()).toEqual([]);
    cluster.write({}, withNew(['--quota-backend-bytes', '3000000']));
    const names = cluster.members.map(({ name }) => name);
    expect(await quotaFindings()).toEqual(names.map((name) => `fail ${name}`));
    expect((await kv('upgrade', '--yes')).code).toBe(10);
    expect([await versions(), await alarms()]).toEqual([['3.4', '3.4', '3.4'], []]);
    const accepted = await kv('upgrade', '--yes', '--accept-point-of-no-return', '--accept', 'quota');
    expect([accepted.code, accepted.stderr]).toEqual([8, naming('NOSPACE')]);
    expect((await alarms())[0]).toBe('NOSPACE');
  });
  it('a quota above the database is not refused, and the writes continue', async () => {
    cluster = await startCluster({ size: 1, from: '3.4', to: '3.5', extra: running });
    await fill();
    cluster.write({}, withNew(['--quota-backend-bytes', '32000000']));
    expect(await quotaFindings()).toEqual([]);
    const words = ['--yes', '--accept-point-of-no-return', '--accept', 'quorum-survives'];
    const ran = await kv('upgrade', ...words);
    expect([ran.code, ran.code === 0 ? '' : ran.stderr]).toEqual([0, '']);
    await gatewayPut(cluster.urls[0] as string, 'after', 'written', '/v3');
    expect([await versions(), await alarms()]).toEqual([['3.5'], []]);
  });
});
