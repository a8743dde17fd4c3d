import { describe, expect, it } from 'vitest';
import { defragPlan } from '../../../src/kv/operations/defrag.ts';
import type { OperationPlan, OperationRefusal } from '../../../src/kv/operations/journal.ts';
import type { MemberStatus, Observation } from '../../../src/kv/engine/model.ts';
import { clusterOf, observationOf } from './observed.ts';

const options = { id: 'r1', maxBlockedMs: 120_000, minFreePercent: 0 };
const plan = (
  change: (member: MemberStatus) => MemberStatus = (member) => member,
  more: Partial<typeof options> = {},
  whole: Partial<Observation> = {},
) => {
  const observation = { ...observationOf(3, change), ...whole };
  const cluster = clusterOf(observation);
  return defragPlan({ observation, cluster, options: { ...options, ...more } });
};
const ids = (made: OperationPlan | OperationRefusal): string[] =>
  'refused' in made ? made.refused.map(({ guard }) => guard) : made.steps.map(({ id }) => id);
const with1 =
  (change: Partial<MemberStatus>) =>
  (member: MemberStatus): MemberStatus =>
    member.name === 'n2' ? { ...member, ...change } : member;

describe('the plan of a defragmentation', () => {
  it('the plan handles one member after another, each with a check, the leader last and after a transfer', () => {
    expect(ids(plan())).toEqual([
      ...['n2.defrag', 'n2.check', 'n3.defrag', 'n3.check'],
      ...['n1.move-leader', 'n1.defrag', 'n1.check'],
    ]);
  });
  it('the leadership goes to another member', () => {
    const made = plan();
    const targets = 'steps' in made ? made.steps.filter(({ target }) => target !== undefined) : [];
    expect(targets.map(({ id, target }) => `${id} ${target}`)).toEqual([
      ...['n2.defrag n3', 'n3.defrag n2', 'n1.move-leader n2', 'n1.defrag n2'],
    ]);
  });
  it('the digest depends on the actions, not on sizes', () => {
    const digests = [
      plan(),
      plan(with1({ db_size_bytes: 5e6 })),
      plan(undefined, { maxBlockedMs: 90_000 }),
    ].map((made) => ('digest' in made ? made.digest : ''));
    expect(digests[0]).toBe(digests[1]);
    expect(digests[0]).not.toBe(digests[2]);
  });
  it('the refusal of a long blockade names the member and the time that would be enough', () => {
    const made = plan(with1({ db_size_bytes: 90e6, db_in_use_bytes: 90e6 }), { maxBlockedMs: 2900 });
    expect('refused' in made ? made.refused : []).toMatchObject([
      {
        ...{ guard: 'defrag-is-bounded', member: 'n2', hint: '--max-blocked 3s' },
        message: expect.stringContaining('blocked for 3 s ('),
      },
    ]);
  });
  it('members with little free space are left alone', () => {
    const sizes = with1({ db_size_bytes: 100e6, db_in_use_bytes: 40e6 });
    expect(ids(plan(sizes, { minFreePercent: 45 }))).toEqual(['n2.defrag', 'n2.check']);
    expect(ids(plan(sizes, { minFreePercent: 61 }))).toEqual([]);
  });
  it.each([
    ['all-members-healthy', with1({ is_healthy: false }), {}],
    ['members-keep-up', with1({ raft_index: 90_000 }), {}],
    ['defrag-is-safe', with1({ server_version: '3.5.5' }), {}],
    ['defrag-has-room', with1({ db_in_use_bytes: 90e6, host: { free_bytes: 10e6 } }), {}],
    ['defrag-is-bounded', with1({ db_size_bytes: 90e6, db_in_use_bytes: 90e6 }), { maxBlockedMs: 2900 }],
  ])('%s refuses', (guard, change, more) => {
    expect(ids(plan(change, more))).toContain(guard);
  });
  it('the alarm CORRUPT refuses, and the alarm NOSPACE does not', () => {
    const full = { alarms: [{ member_id: '1001', alarm: 'NOSPACE' }] };
    const corrupt = { alarms: [...full.alarms, { member_id: '1002', alarm: 'CORRUPT' }] };
    const sick = with1({ is_healthy: false, health_reason: 'ALARM NOSPACE' });
    expect(ids(plan(sick, {}, full))).toContain('n1.defrag');
    expect(ids(plan(sick, {}, corrupt))).toContain('no-alarms');
    expect(ids(plan(with1({ is_reachable: false, is_healthy: false }), {}, full))).toContain(
      'members-answer',
    );
  });
  it('the plan names the patch level below which members must stay available, and the effect on one member', () => {
    const made = plan();
    const warned = made.findings.filter(({ level }) => level === 'warn');
    expect(warned.map(({ guard }) => guard)).toEqual(['defrag-is-safe', 'defrag-is-safe', 'defrag-is-safe']);
    const observation = observationOf(1);
    const single = defragPlan({ observation, cluster: clusterOf(observation), options });
    expect(single.findings.find(({ guard }) => guard === 'defrag-keeps-quorum')).toMatchObject({
      level: 'warn',
      message: 'one member: the cluster accepts no writes while a member is defragmented',
    });
    expect(ids(single)).toEqual(['n1.defrag', 'n1.check']);
  });
});
