import { describe, expect, it } from 'vitest';
import {
  buildPlan,
  disarmStep,
  healthIgnoringCorrupt,
  findInOtherMembers,
  worksUnderAlarm,
} from '../../../src/kv/operations/plan.ts';
import { alarmMessages, revisionFinding } from '../../../src/kv/upgrade/guards/store.ts';
import type { Observation } from '../../../src/kv/engine/model.ts';
import type { OperationStep } from '../../../src/kv/operations/journal.ts';
import { recoverPlan } from '../../../src/kv/operations/space.ts';
import { clusterOf, observationOf } from './observed.ts';
import { covers } from '../../support/covers.ts';

/** Three members that all report an unhealthy state, as members do during an alarm. */
const alarmed = (...alarms: Observation['alarms'][number][]): Observation => ({
  ...observationOf(3, (member) => ({ ...member, is_healthy: false, health_reason: 'ALARM CORRUPT' })),
  alarms,
});
const of = (member_id: string, alarm = 'CORRUPT') => ({ member_id, alarm });
const [n2, n3, gone, nobody] = [of('1002'), of('1003'), of('4096'), of('0')];

describe('messages about alarms name the next command', () => {
  it.each([
    ['a member', n2, 'alarm CORRUPT is raised by n2', 'opsctl kv replace-member n2'],
    ['a full member', of('1002', 'NOSPACE'), 'alarm NOSPACE is raised by n2', 'opsctl kv recover-space'],
    ['a member that is gone', gone, '1000 is no longer a member', 'opsctl kv alarm disarm --alarm CORRUPT'],
    [
      'no single member',
      nobody,
      'alarm CORRUPT does not name a member: no majority of the members has the same data',
      'opsctl kv endpoint hashkv',
    ],
  ])('the message about the alarm of %s', (_, raised, message, hint) => {
    const [said] = alarmMessages(alarmed(raised));
    expect(said?.message).toContain(message);
    expect(said?.hint).toRead(hint);
  });
});

describe('a member with the alarm CORRUPT goes', () => {
  const failed = (observation: Observation, id: string) =>
    findInOtherMembers(observation, id).filter(({ level }) => level === 'fail');
  it(
    'removing a member with CORRUPT disarms its alarm, and alarms of missing members',
    covers('spec/store#choices-9'),
    () => {
      for (const raised of [n2, gone]) {
        expect(disarmStep(alarmed(raised), '1002').map(({ kind }) => kind)).toEqual(['disarm']);
        expect(failed(alarmed(raised), '1002')).toEqual([]);
      }
      expect(disarmStep(alarmed(of('1002', 'NOSPACE')), '1002')).toEqual([]);
    },
  );
  it(
    'a CORRUPT member is never removed if another one has divergent data, or if the cause is unknown',
    covers('spec/store#choices-9'),
    () => {
      expect(disarmStep(alarmed(n3), '1002')).toEqual([]);
      expect(failed(alarmed(n3), '1002')).toEqual([expect.objectContaining({ member: 'n3' })]);
      expect(failed(alarmed(n2, n3), '1002')[0]?.hint).toRead('opsctl kv endpoint hashkv');
      expect(failed(alarmed(nobody), '1002')[0]?.message).toContain(
        'alarm CORRUPT does not name a member: no majority of the members has the same data: it is unknown which data is correct',
      );
    },
  );
  it('a member is never removed if another one contradicts the majority, or if none agrees', () => {
    const counted = (...rows: readonly number[]): Observation => ({
      ...alarmed(),
      revisions: rows.map((revision, i) => ({ name: `n${i + 1}`, before: revision, after: revision })),
    });
    expect([failed(counted(7, 9, 7), '1002'), failed(counted(7, 7, 7), '1002')]).toEqual([[], []]);
    expect(failed(counted(7, 7, 9), '1002')).toEqual([expect.objectContaining({ member: 'n3' })]);
    expect(failed(counted(7, 8, 9), '1002')).toHaveLength(1);
  });
  it('without a majority, or with several different members, the operator chooses the data that is kept', () => {
    const chosen = (rows: readonly number[], accepted: readonly string[], id = '1002') => {
      const revisions = rows.map((revision, i) => ({ name: `n${i + 1}`, before: revision, after: revision }));
      const size = Math.max(3, rows.length);
      const observation = { ...observationOf(size), revisions };
      return findInOtherMembers(observation, id, accepted).map(({ level }) => level);
    };
    const accepted = ['others-agree-on-data'];
    for (const rows of [
      [7, 8],
      [7, 8, 9],
      [7, 8, 7, 9, 7],
    ]) {
      expect([chosen(rows, []), chosen(rows, accepted)]).toEqual([['fail'], ['warn']]);
    }
    expect(chosen([7, 7, 9], accepted)).toEqual(['fail']);
  });
  it('the hint of a choice names the members and their revisions', () => {
    const revisions = [7, 8].map((revision, i) => ({ name: `n${i + 1}`, before: revision, after: revision }));
    const hintFor = (size: number) =>
      findInOtherMembers({ ...observationOf(size), revisions }, '1002')[0]?.hint;
    expect(hintFor(3)).toRead(
      '--accept others-agree-on-data keeps the data of n1 7; opsctl kv snapshot diff',
    );
    // One of two members cannot remove the other one.
    expect(hintFor(2)).toRead('opsctl kv snapshot diff');
    expect(hintFor(2)).not.toRead('others-agree-on-data');
    expect(`${revisionFinding({ revisions })?.hint}`).not.toContain('MEMBER');
  });
  it('operations that keep every member warn about different revisions', () => {
    const revisions = [7, 9, 7].map((at, i) => ({ name: `n${i + 1}`, before: at, after: at }));
    const observation = { ...observationOf(3), revisions };
    const warnings = (operation: 'compact' | 'replace-member') => {
      const content = { id: 'r', operation, subject: 'n2', command: '', steps: [], notes: [], values: {} };
      return buildPlan({ ...content, findings: [], observation }).findings.map(({ level }) => level);
    };
    expect([warnings('compact'), warnings('replace-member')]).toEqual([['warn'], []]);
  });
  it('revisions that could not be read are a warning', () => {
    const unread = { ...alarmed(), revisions: [], revisions_unread: 'no revision from n1, n3' };
    expect(findInOtherMembers(unread, '1002')).toEqual([
      expect.objectContaining({ guard: 'others-agree-on-data', level: 'warn' }),
    ]);
  });
  it('other members count as healthy if they respond and follow a leader, unless they have another alarm', () => {
    const healthy = ({ members }: Observation) => members.filter(({ is_healthy }) => is_healthy).length;
    expect(healthy(healthIgnoringCorrupt(alarmed(n2)))).toBe(3);
    expect(healthy(healthIgnoringCorrupt(alarmed(of('1002', 'NOSPACE'))))).toBe(0);
  });
});

describe('an operation during an alarm runs without the lock in the store', () => {
  const step = (kind: 'disarm' | 'remove' | 'compact'): OperationStep => ({ id: kind, kind, title: kind });
  const full = alarmed(of('1002', 'NOSPACE'));
  it.each([
    ['replace-member', 'if one of its steps disarms', ['remove', 'disarm'], alarmed(n2), true],
    ['replace-member', 'not without such a step', ['remove'], alarmed(n2), false],
    ['compact', 'if the store is full', ['compact'], full, true],
    ['compact', 'not if no alarm is raised', ['compact'], alarmed(), false],
    ['member-remove', 'not if the store is full', ['remove'], full, false],
  ] as const)('%s, %s', (operation, _, kinds, observation, expected) => {
    expect(worksUnderAlarm({ operation, steps: kinds.map(step), observation })).toBe(expected);
  });
});

describe('the plan to recover space', () => {
  it.each([
    ['NOSPACE only', [of('1002', 'NOSPACE'), of('1003', 'NOSPACE')], []],
    ['no alarm', [], []],
    ['another alarm next to NOSPACE', [of('1002', 'NOSPACE'), n3], ['alarm-is-nospace']],
  ] as const)('with %s', (_, alarms, guards) => {
    const observation = { ...observationOf(3), alarms };
    const options = { id: 'r', maxBlockedMs: 30_000, minFreePercent: 0 };
    const space = { oldest: 1, newest: 10, revision: 5 };
    const made = recoverPlan({ ...options, ...space, observation, cluster: clusterOf(observation) });
    const found = 'refused' in made ? made.refused.map(({ guard }) => guard) : [];
    expect(found.filter((guard) => guard === 'alarm-is-nospace')).toEqual(guards);
    const isRaised = alarms.length > 0 && guards.length === 0;
    expect('steps' in made && made.steps.some(({ kind }) => kind === 'disarm')).toBe(isRaised);
  });
});
