import { type Advice, type ShowAdvice, after, next, nextFromLine, showPlain } from '../../core/next.ts';
import { hash } from 'node:crypto';
import { AppError } from '../../core/problem.ts';
import type { Host } from '../../platform/host.ts';
import type { Access } from '../engine/access.ts';
import type { ClusterFile, Finding, Observation } from '../engine/model.ts';
import { electionGraceMs } from '../upgrade/execute/connection-checks.ts';
import type { Guard } from '../upgrade/guards/guard.ts';
import {
  allMembersHealthy,
  leaderAgreed,
  membersKeepUp,
  oneCluster,
  repairOf,
} from '../upgrade/guards/membership.ts';
import {
  alarmMessages,
  isOfRemovedMember,
  alarmsAreClear,
  revisionFinding,
} from '../upgrade/guards/store.ts';
import { contradictions, observe } from '../upgrade/observe/observe.ts';
import { refusalError } from '../upgrade/plan-kind.ts';
import type { Driver } from '../upgrade/supervisors/driver.ts';
import {
  type FoundOperation,
  newOperationId,
  type OperationKind,
  type OperationPlan,
  type OperationRefusal,
  type OperationStep,
  unfinishedOperation,
} from './journal.ts';

/** Hashes everything that determines the steps, without times, sizes and indexes. */
const digestOf = (plan: Omit<OperationPlan, 'digest'>): string => {
  const members = plan.observation.members.map(({ name, client_url, member_id, cluster_id }) => [
    name,
    client_url,
    member_id,
    cluster_id,
  ]);
  const steps = plan.steps.map(({ id, kind, member, target }) => [id, kind, member, target]);
  return hash(
    'sha256',
    JSON.stringify([plan.operation, plan.subject, plan.cluster, plan.values, members, steps]),
  );
};
type Content = Omit<OperationPlan, 'format' | 'digest' | 'made_at' | 'cluster'>;
/** These operations decide which data is kept, and have a condition of their own. */
const decidesOnData: ReadonlySet<OperationKind> = new Set(['member-remove', 'replace-member']);
/** The other operations do not repair members with different data, but their operator must know. */
const revisionWarnings = ({ operation, observation }: Content): Finding[] => {
  const found = decidesOnData.has(operation) ? undefined : revisionFinding(observation);
  return found === undefined ? [] : [{ guard: 'others-agree-on-data', level: 'warn', ...found }];
};
/** Returns the plan, or all reasons for a refusal. Pure. */
export const buildPlan = (asked: Content): OperationPlan | OperationRefusal => {
  const content = { ...asked, findings: [...asked.findings, ...revisionWarnings(asked)] };
  const { findings, observation } = content;
  const refused = findings.filter(({ level }) => level === 'fail');
  if (refused.length > 0) return { refused, findings, observation };
  const plan = {
    format: 1 as const,
    ...content,
    cluster: observation.cluster,
    made_at: observation.taken_at,
  };
  return { ...plan, digest: digestOf(plan) };
};
export const isRefused = (made: OperationPlan | OperationRefusal): made is OperationRefusal =>
  'refused' in made;
type Said = { readonly member?: string; readonly message: string; readonly hint?: Advice };
/** Returns a condition as a finding. An undefined `problem` is a pass with the message `good`. */
export const condition = (
  guard: string,
  good: string,
  problem: Said | undefined,
  level: 'fail' | 'warn' = 'fail',
): Finding =>
  problem === undefined ? { guard, level: 'pass', message: good } : { guard, level, ...problem };
/** Sorts the followers in the order of the cluster file, then the leader. */
export const leaderLast = ({ members }: Observation): Observation['members'] =>
  members.toSorted((a, b) => Number(a.is_leader) - Number(b.is_leader));

/**
 * Operations with many steps can be resumed. The others are a single change that the operator requests again.
 */
const resumable: ReadonlySet<OperationKind> = new Set([
  'defrag',
  'recover-space',
  'replace-member',
  'upgrade-offline',
]);
/** Operations that leave members stopped. They continue at any time. */
const leavesMembers: ReadonlySet<OperationKind> = new Set(['replace-member', 'upgrade-offline']);
/** After an hour, space that was free may be in use. Then the operation inspects every member again. */
const mostAgeMs = 3_600_000;
const wasBegun = ({ entries }: FoundOperation): boolean => entries.some(({ kind }) => kind === 'begin');
/** An operation that found the store still full starts again, because its measurements are outdated. */
const wasTold = ({ plan, entries }: FoundOperation): boolean =>
  plan.operation === 'recover-space' && entries.at(-1)?.kind === 'closed';
const isFresh = (host: Host, { plan, entries }: FoundOperation): boolean =>
  leavesMembers.has(plan.operation) ||
  host.now() - Date.parse(entries.at(-1)?.at ?? plan.made_at) < mostAgeMs;
/**
 * Returns the interrupted operation that this command continues. Throws if another operation left a member
 * out of the cluster, because that member must return first.
 */
export const operationToResume = async (
  host: Host,
  state: string,
  cluster: ClusterFile,
  wanted: Pick<OperationPlan, 'operation' | 'subject'>,
): Promise<OperationPlan | undefined> => {
  const found = await unfinishedOperation(host, state, cluster.name);
  if (found === undefined || !wasBegun(found) || !resumable.has(found.plan.operation)) return undefined;
  const { plan } = found;
  if (plan.operation === wanted.operation && plan.subject === wanted.subject)
    return isFresh(host, found) && !wasTold(found) ? plan : undefined;
  const isLeftOut =
    plan.operation === 'replace-member' && cluster.members.some(({ name }) => name === plan.subject);
  if (!isLeftOut) return undefined;
  throw new AppError('unsafe', `no changes were made: the replacement of ${plan.subject} is unfinished`, {
    code: 'UNFINISHED_OPERATION',
    tryThis: [nextFromLine(plan.command)],
  });
};
/**
 * Returns the `status` text of an interrupted operation: its last started step and the command that continues
 * it.
 */
export const operationLine = async (
  host: Host,
  state: string,
  cluster: string,
  show: ShowAdvice = showPlain,
): Promise<
  { readonly run: string; readonly operation: OperationKind; readonly text: string } | undefined
> => {
  const found = await unfinishedOperation(host, state, cluster).catch(() => undefined);
  if (found === undefined || !wasBegun(found) || !resumable.has(found.plan.operation)) return undefined;
  if (!isFresh(host, found)) return undefined;
  const { plan, entries } = found;
  const begun = entries.findLast(({ kind }) => kind === 'begin');
  const at = plan.steps.findIndex(({ id }) => begun?.kind === 'begin' && id === begun.step);
  const where = `at step ${at + 1} of ${plan.steps.length}: ${plan.steps[at]?.title ?? ''}`;
  const text = `operation ${plan.id} (${plan.operation}) is unfinished, ${where}\n  continue: ${show(nextFromLine(plan.command))}`;
  return { run: plan.id, operation: plan.operation, text };
};

/** The requested operation and its planner. */
export type Planning = {
  readonly operation: OperationKind;
  readonly subject?: string;
  /** Plans from an observation; `id` identifies the operation. */
  plan(observation: Observation, id: string): Promise<OperationPlan | OperationRefusal>;
  /** Replaces the observation of a running cluster. Then a refusal is final, because no election runs. */
  observe?(id: string): Promise<Observation>;
  /** Returns whether the interrupted operation fits the current state. Absent: it does. */
  continues?(plan: OperationPlan): Promise<boolean>;
};
type Place = {
  readonly host: Host;
  readonly state: string;
  readonly cluster: ClusterFile;
  readonly access: Access;
  readonly driver: Driver | undefined;
};
const lookAgainMs = 250;
/**
 * Returns whether the problem may be temporary. During an election every member seems unhealthy, and some do
 * for a moment afterwards (`leader changed`). An alarm or an unreachable member is not temporary.
 */
const passes = ({ leader, alarms, members }: Observation): boolean =>
  leader === undefined ||
  (alarms.length === 0 && members.some(({ is_reachable, is_healthy }) => is_reachable && !is_healthy));
/** Returns the plan of the interrupted operation, or a new plan for the current state of the cluster. */
export const planNow = async (
  { host, state, cluster, access, driver }: Place,
  asked: Planning,
): Promise<{ readonly plan: OperationPlan; readonly isResumed: boolean }> => {
  const left = await operationToResume(host, state, cluster, asked);
  if (left !== undefined && (await asked.continues?.(left)) !== false) return { plan: left, isResumed: true };
  const until = host.elapsed() + electionGraceMs;
  for (;;) {
    const id = await newOperationId(host, state, cluster.name);
    const own = driver === undefined ? {} : { driver };
    const observation = await (asked.observe?.(id) ??
      observe({ host, cluster, access, hasHold: true, hasRevisions: true, ...own }));
    const made = await asked.plan(observation, id);
    if (!isRefused(made)) return { plan: made, isResumed: false };
    if (asked.observe !== undefined || !passes(observation) || host.elapsed() >= until)
      throw refusalError(made, (hint) => [hint ?? next(['kv', 'status'])]);
    await host.sleep(lookAgainMs);
  }
};

const asked: readonly Guard[] = [allMembersHealthy, oneCluster, leaderAgreed, membersKeepUp, alarmsAreClear];
/**
 * Runs the upgrade guards that every operation on a healthy cluster uses. `without` lists the guards whose
 * problem the operation fixes.
 */
export const healthyClusterFindings = (
  observation: Observation,
  cluster: ClusterFile,
  without: readonly string[] = [],
): Finding[] => {
  const options = { copy_data: false, hold_last: false, stable_seconds: 0, accept: [] };
  return asked
    .filter(({ id }) => !without.includes(id))
    .flatMap((guard) => guard.findings({ observation, cluster, options }));
};

type Alarm = Observation['alarms'][number];
const corruptIn = ({ alarms }: Observation): Alarm[] => alarms.filter(({ alarm }) => alarm === 'CORRUPT');
/**
 * During an alarm every member reports that it is unhealthy. A member then counts as healthy if it responds
 * and has a leader. Pure.
 */
export const healthIgnoringAlarms = (observation: Observation): Observation => ({
  ...observation,
  members: observation.members.map((member) => ({
    ...member,
    is_healthy: member.is_reachable && member.leader_id !== undefined,
  })),
});
/**
 * Applies `healthBeyondAlarms` for a CORRUPT alarm, which remains until the differing member is removed.
 * Otherwise returns the observation unchanged. Pure.
 */
export const healthIgnoringCorrupt = (observation: Observation): Observation =>
  corruptIn(observation).length === 0 ? observation : healthIgnoringAlarms(observation);
/** Returns whether NOSPACE is the only active alarm. */
export const isFull = ({ alarms }: Pick<Observation, 'alarms'>): boolean =>
  alarms.length > 0 && alarms.every(({ alarm }) => alarm === 'NOSPACE');
/** During an alarm every member reports that it is unhealthy, so the members only need to respond. */
export const membersAnswer = ({ members }: Observation): Finding => {
  const away = members.find(({ is_reachable, leader_id }) => !is_reachable || leader_id === undefined);
  return condition(
    'members-answer',
    'every member responds and follows a leader',
    away === undefined
      ? undefined
      : {
          member: away.name,
          message: `${away.name} does not respond, or has no leader`,
          hint: after(`${repairOf([away], 'start it')} first:`, ['kv', 'status']),
        },
  );
};
/**
 * Returns the findings for an operation that frees space. A full store is the reason for such an operation
 * and not an obstacle. Pure.
 */
export const clusterFindings = (observation: Observation, cluster: ClusterFile): Finding[] =>
  isFull(observation)
    ? [
        ...healthyClusterFindings(observation, cluster, ['all-members-healthy', 'no-alarms']),
        membersAnswer(observation),
      ]
    : healthyClusterFindings(observation, cluster);
const freesSpace: ReadonlySet<string> = new Set(['compact', 'defrag', 'recover-space']);
/**
 * Returns whether the operation runs during an alarm. The store then accepts no key, lease or lock. The
 * operation relies on the machine lock and a check of the lock key, and reports this.
 */
export const worksUnderAlarm = ({
  steps,
  operation,
  observation,
}: Pick<OperationPlan, 'steps' | 'operation' | 'observation'>): boolean =>
  steps.some(({ kind }) => kind === 'disarm') || (freesSpace.has(operation) && isFull(observation));
/** Disarms the alarms of the removed member and of members that were removed earlier. */
export const disarmStep = (observation: Observation, memberId: string | undefined): OperationStep[] => {
  const ends = corruptIn(observation).some(
    (raised) => raised.member_id === memberId || isOfRemovedMember(raised, observation),
  );
  return ends
    ? [
        {
          id: 'disarm',
          kind: 'disarm',
          title: 'disarm the alarm CORRUPT of the removed member',
          why: 'the cluster keeps the alarm, and accepts no writes until it is disarmed',
        },
      ]
    : [];
};
/** Refuses if another member raises the alarm CORRUPT. */
const noOtherIsCorrupt = (observation: Observation, memberId: string | undefined): Finding[] => {
  const corrupt = corruptIn(observation);
  if (corrupt.length === 0) return [];
  const others = corrupt.filter(
    (raised) => raised.member_id !== memberId && !isOfRemovedMember(raised, observation),
  );
  const [said] = alarmMessages({ ...observation, alarms: others });
  const compare = next(
    ['kv', 'endpoint', 'hashkv'],
    after('shows which members agree;', ['kv', 'restore'], 'rebuilds the cluster from a snapshot'),
  );
  return [
    condition(
      'others-are-not-corrupt',
      'no other member raises the alarm CORRUPT',
      said && {
        member: said.member,
        message: `${said.message}: it is unknown which data is correct`,
        hint: corrupt.length > 1 ? compare : said.hint,
      },
    ),
  ];
};
/**
 * A majority that agrees names the member to replace first. Without a majority, or if several members differ, every
 * choice discards data, so the operator decides.
 */
const isChoice = (odd: readonly string[], own: string | undefined): boolean =>
  odd.length === 0 || (odd.length > 1 && own !== undefined && odd.includes(own));
const choiceHint = ({ revisions = [], listed }: Observation, own: string | undefined): Advice => {
  // Two members need each other for a quorum, so no choice makes the replacement possible.
  if (listed.filter(({ is_learner }) => !is_learner).length < 3)
    return next(
      ['kv', 'snapshot', 'diff'],
      after(
        'shows the differences of their snapshots, and',
        ['kv', 'restore'],
        'rebuilds the cluster from one',
      ),
    );
  const kept = revisions.filter(({ name }) => name !== own).map(({ name, after: at }) => `${name} ${at}`);
  return after(
    `--accept others-agree-on-data keeps the data of ${kept.join(', ')};`,
    ['kv', 'snapshot', 'diff'],
    after(
      'shows the differences of their snapshots, and',
      ['kv', 'restore'],
      'rebuilds the cluster from one',
    ),
  );
};
/** Refuses if another member than this one contradicts the majority, or if no majority agrees. */
const noOtherDiffers = (
  observation: Observation,
  memberId: string | undefined,
  accepted: readonly string[],
): Finding[] => {
  const { revisions = [], revisions_unread: unread } = observation;
  const odd = contradictions(revisions);
  const found = revisionFinding(observation);
  if (odd === undefined || found === undefined)
    return unread === undefined
      ? []
      : [
          {
            guard: 'others-agree-on-data',
            level: 'warn',
            message: `the revisions were not compared: ${unread}`,
          },
        ];
  const own = observation.members.find(({ member_id }) => member_id === memberId)?.name;
  if (odd.length === 1 && odd[0] === own) return [];
  if (!isChoice(odd, own)) return [{ guard: 'others-agree-on-data', level: 'fail', ...found }];
  const { message } = found;
  return accepted.includes('others-agree-on-data')
    ? [
        {
          guard: 'others-agree-on-data',
          level: 'warn',
          message: `${message}; the data of the others is kept (accepted)`,
        },
      ]
    : [{ guard: 'others-agree-on-data', level: 'fail', ...found, hint: choiceHint(observation, own) }];
};
/** Refuses if another member also differs, because its data must not be used for a replacement. */
export const findInOtherMembers = (
  observation: Observation,
  memberId: string | undefined,
  accepted: readonly string[] = [],
): Finding[] => [
  ...noOtherIsCorrupt(observation, memberId),
  ...noOtherDiffers(observation, memberId, accepted),
];
