import { after, next, adviceText } from '../../core/next.ts';
import { compareVersions, type Minor, minorOf, rowOf } from '../../api-specs/etcd/versions.ts';
import { AppError } from '../../core/problem.ts';
import type { ClusterFile, Finding, MemberStatus, Observation, Detail } from '../engine/model.ts';
import { durationText, sizeText, secondsText } from '../../core/format.ts';
import {
  type OperationStepHandler,
  type OperationStepHandlers,
  endedSteps,
  type Operation,
  type OperationPlan,
  type OperationRefusal,
  type OperationStep,
} from './journal.ts';
import {
  check,
  memberStep,
  moveLeader,
  moveLeaderAway,
  passCheck,
  memberGraceMs,
  refuseLostQuorum,
  storeOf,
} from './membership.ts';
import { buildPlan, clusterFindings, condition, leaderLast } from './plan.ts';

/**
 * Per minor: the first patch whose defragmentation cannot lose data, and the first patch whose members may
 * receive a snapshot during a defragmentation.
 */
export const defragFixes: readonly {
  readonly minor: Minor;
  readonly unsafeBelow?: string;
  readonly fixed: string;
}[] = [
  { minor: '3.4', fixed: '3.4.38' },
  { minor: '3.5', unsafeBelow: '3.5.6', fixed: '3.5.23' },
  { minor: '3.6', fixed: '3.6.5' },
];

export type DefragOptions = {
  readonly id: string;
  /** Longest time that the clients of one member may wait. */
  readonly maxBlockedMs: number;
  /** The operation skips members with a smaller share of free space in their file. */
  readonly minFreePercent: number;
};
export type DefragInput = {
  readonly observation: Observation;
  readonly cluster: ClusterFile;
  readonly options: DefragOptions;
};
/** Estimate before the first measurement: a slow disk that writes small pages at 30 MB/s. */
const assumedBytesPerSecond = 30e6;
/** Returns the number of bytes that a defragmentation copies: the space in use, if the version reports it. */
export const copiedBytes = ({ db_in_use_bytes, db_size_bytes = 0 }: MemberStatus): number =>
  db_in_use_bytes ?? db_size_bytes;
export const estimatedMs = (bytes: number, perSecond = assumedBytesPerSecond): number =>
  Math.round((bytes / perSecond) * 1000);
const freePercent = (member: MemberStatus): number => {
  const size = member.db_size_bytes ?? 0;
  return size === 0 ? 0 : ((size - copiedBytes(member)) / size) * 100;
};
/**
 * A defragmentation in 3.5.0 to 3.5.5 may lose data. In other versions before their fix, it corrupts a member
 * that receives a snapshot at the same time.
 */
const versionIsSafe = ({ members }: Observation): Finding[] =>
  members.flatMap(({ name, server_version: version = '' }) => {
    const row = defragFixes.find(({ minor }) => minor === minorOf(version));
    if (row?.unsafeBelow !== undefined && compareVersions(version, row.unsafeBelow) < 0)
      return [
        condition('defrag-is-safe', '', {
          member: name,
          message: `${name} runs ${version}: a defragmentation below ${row.unsafeBelow} can lose data`,
          hint: `upgrade the members to ${row.unsafeBelow} or later first`,
        }),
      ];
    if (row !== undefined && compareVersions(version, row.fixed) < 0)
      return [
        condition(
          'defrag-is-safe',
          '',
          {
            member: name,
            message: `${name} runs ${version}: below ${row.fixed} a member that receives a snapshot while it is defragmented is corrupted; every member must be up to date`,
          },
          'warn',
        ),
      ];
    return [];
  });
/** The disk must have space for the old and the new file until the new file is complete. */
const diskHasRoom = ({ members }: Observation): Finding[] =>
  members.flatMap((member) => {
    const [free, needed] = [member.host?.free_bytes, copiedBytes(member)];
    return free === undefined || free >= needed
      ? []
      : [
          condition('defrag-has-room', '', {
            member: member.name,
            message: `${member.name} has ${sizeText(free)} free, but its new database file needs up to ${sizeText(needed)}`,
            hint: 'free space on the disk of its data directory',
          }),
        ];
  });
/**
 * spec/store: a blocked member does not respond. In a cluster of one or two members, no other member can
 * replace it.
 */
const clientsAreServed = ({ members }: Observation): Finding => {
  const size = members.length;
  const problem =
    size > 2
      ? undefined
      : {
          message: `${size === 1 ? 'one member' : 'two members'}: the cluster accepts no writes while a member is defragmented`,
        };
  return condition(
    'defrag-keeps-quorum',
    'a majority responds while one member is defragmented',
    problem,
    'warn',
  );
};
const blockingIsBounded = ({ members }: Observation, maxBlockedMs: number): Finding[] =>
  members.flatMap((member) => {
    const ms = estimatedMs(copiedBytes(member));
    return ms <= maxBlockedMs
      ? []
      : [
          condition('defrag-is-bounded', '', {
            member: member.name,
            message: `${member.name} may be blocked for ${secondsText(ms)} (${sizeText(copiedBytes(member))} in use, on a slow disk), more than --max-blocked allows`,
            hint: `--max-blocked ${Math.ceil(ms / 1000)}s`,
          }),
        ];
  });
/** Returns the steps of each member in order. Before the leader's steps, its leadership moves. */
export const defragSteps = (observation: Observation, order: readonly MemberStatus[]): OperationStep[] =>
  order.flatMap((member) => {
    const { name } = member;
    const target =
      order.find((one) => one.name !== name) ?? observation.members.find((one) => one.name !== name);
    const moves =
      member.is_leader && target !== undefined && rowOf(member.server_version)?.can.moveLeader === true;
    const ms = estimatedMs(copiedBytes(member));
    const before: OperationStep[] = moves
      ? [
          {
            id: `${name}.move-leader`,
            kind: 'move-leader',
            title: `transfer the leadership from ${name} to ${target.name}`,
            why: 'a blocked leader blocks every write',
            member: name,
            target: target.name,
          },
        ]
      : [];
    return [
      ...before,
      {
        id: `${name}.defrag`,
        kind: 'defrag',
        title: `defragment ${name}: ${sizeText(member.db_size_bytes ?? 0)}, ${sizeText(copiedBytes(member))} in use`,
        why: `the member does not respond during this step: up to ${secondsText(Math.max(1, ms))} on a slow disk`,
        member: name,
        ...(target === undefined ? {} : { target: target.name }),
      },
      {
        id: `${name}.check`,
        kind: 'check',
        title: `check that ${name} is healthy and has caught up`,
        member: name,
      },
    ];
  });
export const defragFindings = (observation: Observation, maxBlockedMs: number): Finding[] => [
  ...versionIsSafe(observation),
  ...diskHasRoom(observation),
  clientsAreServed(observation),
  ...blockingIsBounded(observation, maxBlockedMs),
];
/** Defragments one member at a time, the leader last. Pure. */
export const defragPlan = ({
  observation,
  cluster,
  options,
}: DefragInput): OperationPlan | OperationRefusal => {
  const order = leaderLast(observation).filter((member) => freePercent(member) >= options.minFreePercent);
  return buildPlan({
    id: options.id,
    operation: 'defrag',
    command: adviceText(next(['kv', 'defrag'])),
    steps: defragSteps(observation, order),
    notes: order.length === 0 ? ['no changes: no member has this much free space in its database file'] : [],
    findings: [
      ...clusterFindings(observation, cluster),
      ...defragFindings(observation, options.maxBlockedMs),
    ],
    values: { max_blocked_ms: options.maxBlockedMs },
    observation,
  });
};

type Measured = {
  readonly blocked_ms: number;
  readonly before_bytes: number;
  readonly after_bytes: number;
  readonly copied_bytes: number;
};
const measuredIn = ({ journal }: Operation): Measured[] =>
  [...endedSteps(journal.entries).values()].flatMap(({ detail }) =>
    detail?.['blocked_ms'] === undefined ? [] : [detail as unknown as Measured],
  );
/** The disks of a cluster usually have the same speed, so the slowest member so far predicts the next one. */
const refuseTooLong = (operation: Operation, name: string, bytes: number): void => {
  const limit = operation.plan.values.max_blocked_ms ?? Number.POSITIVE_INFINITY;
  const measured = measuredIn(operation);
  const rates = measured
    .filter(({ blocked_ms, copied_bytes }) => blocked_ms > 0 && copied_bytes > 0)
    .map(({ blocked_ms, copied_bytes }) => (copied_bytes / blocked_ms) * 1000);
  const expected = rates.length === 0 ? 0 : estimatedMs(bytes, Math.min(...rates));
  const longest = Math.max(0, ...measured.map(({ blocked_ms }) => blocked_ms));
  if (expected <= limit && longest <= limit) return;
  const seconds = Math.ceil(Math.max(expected, longest) / 1000);
  throw new AppError(
    'stopped',
    `${name} was not defragmented: ${longest > limit ? `a member before it was blocked for ${seconds} s` : `at the speed of the members before it, it would be blocked for ${seconds} s`}, --max-blocked allows ${limit / 1000} s`,
    { code: 'MAX_BLOCKED', tryThis: [next(['kv', 'defrag', '--max-blocked', `${seconds * 2}s`])] },
  );
};
/**
 * The call cannot be canceled. A member that needs more time continues alone, and the operation does not
 * change other members.
 */
const stillBlocked = (name: string, ms: number, cause: unknown): unknown => {
  // The text contains "more than", so the part of a second is left out instead of rounded up.
  const wholeMs = Math.floor(ms / 1000) * 1000;
  return cause instanceof AppError && cause.detail.code === 'DEADLINE_EXCEEDED'
    ? new AppError(
        'stopped',
        `the defragmentation of ${name} takes more than ${secondsText(wholeMs)}, and the member does not respond; it continues on the member, and opsctl does not change any other member`,
        { code: 'MAX_BLOCKED', tryThis: [after('wait until it responds:', ['kv', 'status'])], cause },
      )
    : cause;
};
/** Defragments one member and measures the blocked time from the outside, as clients see it. */
const defrag: OperationStepHandler = async (operation, step): Promise<Detail> => {
  const { host, busy, say, plan, holdLock } = operation;
  const name = memberStep(step);
  // After a crash the member may still be busy. The check passes when the member has finished.
  await passCheck(operation, name);
  const before = await storeOf(operation, name, memberGraceMs).status();
  const bytes = before.db_in_use_bytes ?? before.db_size_bytes;
  refuseTooLong(operation, name, bytes);
  await refuseLostQuorum(operation, name);
  if (step.target !== undefined) await moveLeaderAway(operation, name, step.target);
  await holdLock();
  const limit = plan.values.max_blocked_ms as number;
  const began = host.elapsed();
  busy.set(name, 'changing');
  try {
    await storeOf(operation, name, limit).defragment();
  } catch (error) {
    throw stillBlocked(name, host.elapsed() - began, error);
  } finally {
    busy.delete(name);
  }
  const blocked_ms = Math.round(host.elapsed() - began);
  const after = await storeOf(operation, name, memberGraceMs).status();
  say(
    `${name}: blocked for ${durationText(blocked_ms)}, ${sizeText(before.db_size_bytes)} before, ${sizeText(after.db_size_bytes)} after`,
  );
  return {
    blocked_ms,
    before_bytes: before.db_size_bytes,
    after_bytes: after.db_size_bytes,
    copied_bytes: bytes,
  } satisfies Measured;
};
export const defragActs: OperationStepHandlers = { 'move-leader': moveLeader, defrag, check };
