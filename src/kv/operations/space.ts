import type { ClusterFile, Finding, Observation } from '../engine/types.ts';
import { healthyClusterFindings } from './healthy-cluster.ts';
import { compactSteps } from './compact-plan.ts';
import { defragFindings, defragSteps } from './defrag.ts';
import { condition, leaderLast, planned } from './plan.ts';
import type { OperationPlan, OperationRefusal, OperationStep } from './types.ts';

export type RecoverInput = {
  readonly id: string;
  readonly observation: Observation;
  readonly cluster: ClusterFile;
  readonly oldest: number;
  readonly newest: number;
  /** Up to which history is removed. */
  readonly revision: number;
  readonly maxBlockedMs: number;
};

/** Only the alarm that this can end; a member whose data differs is replaced, and never disarmed. */
const alarmIsNospace = ({ alarms }: Observation): Finding[] => [
  condition(
    'alarm-is-nospace',
    'no member raises another alarm',
    alarms.some(({ alarm }) => alarm !== 'NOSPACE')
      ? {
          message: `alarm ${alarms.find(({ alarm }) => alarm !== 'NOSPACE')?.alarm} is raised: that is no lack of space`,
          hint: 'opsctl kv alarm list',
        }
      : undefined,
  ),
];

/** With the alarm raised every member says that it is not healthy: it has to answer, that is all. */
const membersAnswer = ({ members }: Observation): Finding[] => {
  const away = members.find(({ is_reachable, leader_id }) => !is_reachable || leader_id === undefined);
  return [
    condition(
      'members-answer',
      'every member answers and follows a leader',
      away === undefined
        ? undefined
        : {
            member: away.name,
            message: `${away.name} does not answer, or knows no leader`,
            hint: 'bring it back first: opsctl kv status',
          },
    ),
  ];
};

const endSteps: readonly OperationStep[] = [
  {
    id: 'disarm',
    kind: 'disarm',
    title: 'disarm the alarm NOSPACE of each member that raised it',
    why: 'the store takes no write before that, however much space is free',
  },
  { id: 'verify-write', kind: 'verify-write', title: 'write and read a key through each member' },
];

/** Removes history, gives the space back on each member, ends the alarm, and shows that writes work. Pure. */
export const recoverPlan = (input: RecoverInput): OperationPlan | OperationRefusal => {
  const { id, observation, cluster, oldest, newest, revision, maxBlockedMs } = input;
  const isRaised = observation.alarms.some(({ alarm }) => alarm === 'NOSPACE');
  const steps = [
    ...compactSteps({ id, oldest, newest, revision, waitMs: 0 }),
    ...defragSteps(observation, leaderLast(observation)),
    ...endSteps,
  ];
  return planned({
    id,
    operation: 'recover-space',
    command: 'opsctl kv recover-space',
    steps: isRaised ? steps : [],
    notes: isRaised
      ? [
          `history from revision ${revision} on is kept. When the keys themselves fill the quota, delete some first (opsctl kv del works while the alarm is raised), or raise --quota-backend-bytes`,
        ]
      : [
          'no alarm NOSPACE is raised: nothing to do; opsctl kv compact and opsctl kv defrag free space before one is',
        ],
    findings: isRaised
      ? [
          ...healthyClusterFindings(observation, cluster, ['all-members-healthy', 'no-alarms']),
          ...alarmIsNospace(observation),
          ...membersAnswer(observation),
          ...defragFindings(observation, maxBlockedMs),
        ]
      : [],
    values: { revision, max_blocked_ms: maxBlockedMs },
    observation,
  });
};
