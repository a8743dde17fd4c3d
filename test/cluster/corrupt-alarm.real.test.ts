/**
 * The CORRUPT alarm on real members, raised as the server raises it: every member rejects writes and reports
 * that it is unhealthy.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  call,
  gatewayPut,
  hasBinaries,
  missingWrites,
  type RealCluster,
  startCluster,
} from '../support/cluster.ts';
import { eventually, listedAt } from '../support/membership-scene.ts';
import { opsctl } from '../support/program.ts';
import { makeDirectory } from '../support/directory.ts';
import { errorOf } from '../support/facts.ts';

let cluster: RealCluster;
let home: string;
beforeEach(async () => {
  home = makeDirectory();
  cluster = await startCluster({ size: 3, from: '3.5', to: '3.5' });
});
afterEach(async () => {
  await cluster?.stop();
});
const kv = (...words: string[]) =>
  opsctl(['kv', ...words, '--cluster', cluster.file, '--yes', '-o', 'json'], { home });
const looked = (...words: string[]) =>
  opsctl(['kv', ...words, '--cluster', cluster.file, '-o', 'json'], { home });
const problemOf = (ran: { stderr: string }) => errorOf(ran);
const url = (at = 0): string => cluster.urls[at] as string;

/** Raises the alarm for this member and returns its id. */
const corrupt = async (at: number): Promise<string> => {
  const status = JSON.parse((await call(`${url(at)}/v3/maintenance/status`, {})).text);
  const memberID: string = status.header.member_id;
  const raised = await call(`${url()}/v3/maintenance/alarm`, {
    action: 'ACTIVATE',
    memberID,
    alarm: 'CORRUPT',
  });
  expect(raised.text).toContain('CORRUPT');
  return memberID;
};
const alarms = async (): Promise<unknown[]> =>
  JSON.parse((await call(`${url()}/v3/maintenance/alarm`, { action: 'GET' })).text).alarms ?? [];

describe.runIf(hasBinaries('3.5'))('the alarm CORRUPT of a real member', () => {
  it('the alarm CORRUPT is reported with the next command, and replace-member continues under it and ends it', async () => {
    for (let i = 0; i < 20; i += 1) await gatewayPut(url(), `w/${i}`, String(i), '/v3');
    const written = Array.from({ length: 20 }, (_, i) => `w/${i}`);
    const before = await corrupt(1);
    const refused = await looked('put', 'a', 'b');
    expect([refused.code, problemOf(refused).code]).toEqual([5, 'CORRUPT']);
    expect(refused.stderr).toContain('opsctl kv replace-member');
    // The member runs the target version but is still unhealthy.
    const checked = await looked('check');
    const alarmed = (checked.json().findings as { guard: string; level: string; member?: string }[]).filter(
      ({ guard, level }) => guard === 'no-alarms' && level === 'fail',
    );
    expect([checked.code, alarmed]).toMatchObject([20, [{ member: 'n2' }]]);
    // This member is not the differing member, so its data may be valid.
    const wrong = await kv('replace-member', 'n1');
    expect([wrong.code, problemOf(wrong).message]).toEqual([
      10,
      expect.stringContaining('alarm CORRUPT is raised by n2: it is unknown which data is correct'),
    ]);
    expect(problemOf(wrong).hint).toMatch(/opsctl kv replace-member .*n2/);
    const ran = await kv('replace-member', 'n2');
    expect(ran.code === 0 ? '' : ran.stderr).toBe('');
    expect(ran.stderr).toContain('no lock in the cluster');
    const steps = ran.json().steps.map(({ id }: { id: string }) => id);
    expect(steps.slice(0, 4).filter((id: string) => !id.includes('leader'))).toEqual(
      expect.arrayContaining(['n2.stop', 'n2.remove', 'disarm']),
    );
    expect(await alarms()).toEqual([]);
    for (const one of cluster.urls) {
      await gatewayPut(one, 'after', 'x', '/v3');
      expect(await missingWrites(one, written, '/v3')).toEqual([]);
    }
    const status = JSON.parse((await call(`${url(1)}/v3/maintenance/status`, {})).text);
    expect(status.header.member_id).not.toBe(before);
  });

  it('the alarm CORRUPT outlives a member that was removed manually, until status or member remove handles it', async () => {
    const id = await corrupt(2);
    const dry = (await kv('member', 'remove', 'n3', '--dry-run')).json();
    expect(dry.steps.map(({ kind }: { kind: string }) => kind).slice(-2)).toEqual(['remove', 'disarm']);
    // The server rejects the removal until every member has been connected to all others for five seconds.
    await eventually('it is removed', async () => {
      await call(`${url()}/v3/cluster/member/remove`, { ID: id });
      return (await listedAt(url())).every(({ ID }) => ID !== id);
    });
    const [n1, n2] = cluster.members as [never, never];
    cluster.write({}, [n1, n2]);
    const hex = BigInt(id).toString(16);
    let stdout = '';
    // The removed member may have been the leader. Without a leader, the alarms cannot be listed.
    await eventually('the alarm is said', async () => {
      stdout = (await opsctl(['kv', 'status', '--cluster', cluster.file, '-o', 'table'], { home })).stdout;
      return /leader n\d, alarms/.test(stdout);
    });
    expect(stdout).toContain(
      `alarm CORRUPT of member ${hex} is still raised, although ${hex} is no longer a member`,
    );
    expect(stdout).toMatch(/next: opsctl kv alarm disarm .*--alarm CORRUPT/);
    const defrag = await kv('defrag');
    expect([defrag.code, JSON.stringify(problemOf(defrag))]).toEqual([
      10,
      expect.stringContaining(`of member ${hex} is still raised`),
    ]);
    expect((await looked('alarm', 'disarm', '--alarm', 'CORRUPT')).code).toBe(0);
    expect(await alarms()).toEqual([]);
    await gatewayPut(url(), 'after', 'x', '/v3');
  });
});
