import { alarmMessages, isOfRemovedMember } from '../upgrade/guards/no-alarms.ts';
import type { Finding, Observation } from '../engine/types.ts';
import { condition } from './plan.ts';
import type { OperationPlan, OperationStep } from './types.ts';

type Alarm = Observation['alarms'][number];
const corruptIn = ({ alarms }: Observation): Alarm[] => alarms.filter(({ alarm }) => alarm === 'CORRUPT');

/** While an alarm is raised every member says that it is not healthy: then it counts when it answers and follows a leader. Pure. */
export const healthBeyondAlarms = (observation: Observation): Observation => ({
  ...observation,
  members: observation.members.map((member) => ({
    ...member,
    is_healthy: member.is_reachable && member.leader_id !== undefined,
  })),
});
/** As above for the alarm CORRUPT, which ends only when the member that differs is gone; else as it was seen. Pure. */
export const healthBeyondCorrupt = (observation: Observation): Observation =>
  corruptIn(observation).length === 0 ? observation : healthBeyondAlarms(observation);

/** A store with an alarm takes no key, so no lock: the machine's lock alone keeps others out, and that is said. */
export const disarms = ({ steps }: Pick<OperationPlan, 'steps'>): boolean =>
  steps.some(({ kind }) => kind === 'disarm');

/** Once the member is out: its alarm stays in the store, and so do those of members that went before. */
export const disarmStep = (observation: Observation, memberId: string | undefined): OperationStep[] => {
  const ends = corruptIn(observation).some(
    (raised) => raised.member_id === memberId || isOfRemovedMember(raised, observation),
  );
  return ends
    ? [
        {
          id: 'disarm',
          kind: 'disarm',
          title: 'disarm the alarm CORRUPT of the member that is gone',
          why: 'the store keeps it, and takes no write before that',
        },
      ]
    : [];
};

/** Who else differs: with the data of such a member nobody may be replaced. */
export const noOtherIsCorrupt = (observation: Observation, memberId: string | undefined): Finding[] => {
  const corrupt = corruptIn(observation);
  if (corrupt.length === 0) return [];
  const others = corrupt.filter(
    (raised) => raised.member_id !== memberId && !isOfRemovedMember(raised, observation),
  );
  const [said] = alarmMessages({ ...observation, alarms: others });
  const compare =
    'opsctl kv endpoint hashkv shows which members agree; opsctl kv restore rebuilds the cluster from a snapshot';
  return [
    condition(
      'others-are-not-corrupt',
      'no other member raises the alarm CORRUPT',
      said && {
        member: said.member,
        message: `${said.message}: which data are right is not known`,
        hint: corrupt.length > 1 ? compare : said.hint,
      },
    ),
  ];
};
