import { describe, expect, it } from 'vitest';
import { disarmStep, healthIgnoringCorrupt, noOtherIsCorrupt } from '../../../src/kv/operations/plan.ts';
import { alarmMessages } from '../../../src/kv/upgrade/guards/store.ts';
import type { Observation } from '../../../src/kv/engine/model.ts';
import { observationOf } from './observed.ts';

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
    noOtherIsCorrupt(observation, id).filter(({ level }) => level === 'fail');
  it('removing a member with CORRUPT disarms its alarm, and alarms of missing members', () => {
    for (const raised of [n2, gone]) {
      expect(disarmStep(alarmed(raised), '1002').map(({ kind }) => kind)).toEqual(['disarm']);
      expect(failed(alarmed(raised), '1002')).toEqual([]);
    }
    expect(disarmStep(alarmed(of('1002', 'NOSPACE')), '1002')).toEqual([]);
  });
  it('a CORRUPT member is never removed if another one has divergent data, or if the cause is unknown', () => {
    expect(disarmStep(alarmed(n3), '1002')).toEqual([]);
    expect(failed(alarmed(n3), '1002')).toEqual([expect.objectContaining({ member: 'n3' })]);
    expect(failed(alarmed(n2, n3), '1002')[0]?.hint).toRead('opsctl kv endpoint hashkv');
    expect(failed(alarmed(nobody), '1002')[0]?.message).toContain(
      'alarm CORRUPT does not name a member: no majority of the members has the same data: it is unknown which data is correct',
    );
  });
  it('other members count as healthy if they respond and follow a leader, unless they have another alarm', () => {
    const healthy = ({ members }: Observation) => members.filter(({ is_healthy }) => is_healthy).length;
    expect(healthy(healthIgnoringCorrupt(alarmed(n2)))).toBe(3);
    expect(healthy(healthIgnoringCorrupt(alarmed(of('1002', 'NOSPACE'))))).toBe(0);
  });
});
