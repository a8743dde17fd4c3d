import { countText, durationText, sizeText } from '../../core/format.ts';
import { after, next, adviceText } from '../../core/next.ts';
import { AppError } from '../../core/problem.ts';
import { type Store, firstAnswer, isCompacted, probeKey } from '../client/etcd-client.ts';
import type { ClusterFile, Finding, Observation, Detail } from '../engine/model.ts';
import { defragActs, defragFindings, defragSteps } from './defrag.ts';
import type {
  OperationStepHandler,
  OperationStepHandlers,
  Operation,
  OperationPlan,
  OperationRefusal,
  OperationStep,
} from './journal.ts';
import { observeNow, storeOf } from './membership.ts';
import { buildPlan, condition, healthyClusterFindings, leaderLast, membersAnswer } from './plan.ts';

export type CompactOptions = {
  readonly id: string;
  /** The oldest readable and the newest revision. */
  readonly oldest: number;
  readonly newest: number;
  /** opsctl removes the history before this revision. */
  readonly revision: number;
  /** Time to wait before the compaction. Revisions that are written during this time are kept. */
  readonly waitMs: number;
};
/**
 * A revision that does not exist yet cannot be compacted. A compacted revision is not an error and needs no
 * work.
 */
const revisionExists = ({ revision, newest }: CompactOptions): Finding =>
  condition(
    'revision-exists',
    `revision ${revision} exists`,
    revision <= newest
      ? undefined
      : {
          message: `revision ${revision} does not exist yet: the newest revision is ${newest}`,
          hint: `--keep-last N counts back from ${newest}`,
        },
  );
const storeAnswers = ({ members, leader }: Observation): Finding =>
  condition(
    'store-answers',
    `${leader} leads`,
    leader === undefined || members.every(({ is_reachable }) => !is_reachable)
      ? {
          message: 'no majority follows a leader, so the cluster cannot apply changes',
          hint: next(['kv', 'status']),
        }
      : undefined,
  );
const inUse = ({ members }: Observation): string =>
  members
    .map(({ name, db_in_use_bytes, db_size_bytes }) => {
      if (db_size_bytes === undefined) return `${name} unknown`;
      const size = sizeText(db_size_bytes);
      return db_in_use_bytes === undefined
        ? `${name} ${size}`
        : `${name} ${sizeText(db_in_use_bytes)} of ${size}`;
    })
    .join(', ');
/** Returns the compaction steps. They remove history but never the newest value of a key. */
export const compactSteps = ({ oldest, revision, waitMs }: CompactOptions): OperationStep[] =>
  revision <= oldest
    ? []
    : [
        ...(waitMs === 0
          ? []
          : [
              {
                id: 'wait' as const,
                kind: 'wait' as const,
                title: `wait ${waitMs / 1000} s, so that clients can read the history of that time`,
              },
            ]),
        {
          id: 'compact',
          kind: 'compact',
          title: `remove the history of revisions ${oldest} to ${revision - 1}, and wait until the database marks its space as free`,
          why: `the cluster then rejects reads and watches that start before revision ${revision}; the newest value of every key remains`,
        },
      ];
/** Plans a compaction. Pure. */
export const compactPlan = (
  observation: Observation,
  options: CompactOptions,
): OperationPlan | OperationRefusal => {
  const steps = compactSteps(options);
  const { oldest, newest, revision, waitMs } = options;
  return buildPlan({
    id: options.id,
    operation: 'compact',
    command: adviceText(next(['kv', 'compact', `${revision}`])),
    steps,
    notes: [
      steps.length === 0
        ? `no changes: the history before revision ${oldest} is already removed`
        : `kept: ${newest - revision + 1} of ${newest - oldest + 1} revisions; in use: ${inUse(observation)}`,
    ],
    findings: [storeAnswers(observation), revisionExists(options)],
    values: { revision, ...(waitMs === 0 ? {} : { wait_ms: waitMs }) },
    observation,
  });
};

export type RecoverInput = {
  readonly id: string;
  readonly observation: Observation;
  readonly cluster: ClusterFile;
  readonly oldest: number;
  readonly newest: number;
  /** opsctl removes the history before this revision. */
  readonly revision: number;
  readonly maxBlockedMs: number;
};
/**
 * This operation can only end a NOSPACE alarm. A member with different data must be replaced, and its alarm
 * must not be disarmed.
 */
const alarmIsNospace = ({ alarms }: Observation): Finding[] => [
  condition(
    'alarm-is-nospace',
    'no member raises another alarm',
    alarms.some(({ alarm }) => alarm !== 'NOSPACE')
      ? {
          message: `alarm ${alarms.find(({ alarm }) => alarm !== 'NOSPACE')?.alarm} is raised, and its cause is not a lack of space`,
          hint: next(['kv', 'alarm', 'list']),
        }
      : undefined,
  ),
];
const endSteps: readonly OperationStep[] = [
  {
    id: 'disarm',
    kind: 'disarm',
    title: 'disarm the alarm NOSPACE of each member that raised it',
    why: 'the cluster accepts no writes before that, even if space is free',
  },
  { id: 'verify-write', kind: 'verify-write', title: 'write and read a key through each member' },
];
/** Plans to remove history, return the space on each member, disarm the alarm and verify writes. Pure. */
export const recoverPlan = (input: RecoverInput): OperationPlan | OperationRefusal => {
  const { id, observation, cluster, oldest, newest, revision, maxBlockedMs } = input;
  const isRaised = observation.alarms.some(({ alarm }) => alarm === 'NOSPACE');
  const steps = [
    ...compactSteps({ id, oldest, newest, revision, waitMs: 0 }),
    ...defragSteps(observation, leaderLast(observation)),
    ...endSteps,
  ];
  return buildPlan({
    id,
    operation: 'recover-space',
    command: adviceText(next(['kv', 'recover-space'])),
    steps: isRaised ? steps : [],
    notes: isRaised
      ? [
          `the history from revision ${revision} is kept. If the keys themselves fill the quota, delete some first (opsctl kv del works while the alarm is raised), or raise --quota-backend-bytes`,
        ]
      : [
          'no changes: the alarm NOSPACE is not raised; opsctl kv compact and opsctl kv defrag free space before it is raised',
        ],
    findings: isRaised
      ? [
          ...healthyClusterFindings(observation, cluster, ['all-members-healthy', 'no-alarms']),
          ...alarmIsNospace(observation),
          membersAnswer(observation),
          ...defragFindings(observation, maxBlockedMs),
        ]
      : [],
    values: { revision, max_blocked_ms: maxBlockedMs },
    observation,
  });
};

/** Timeout of a compaction. The response arrives after the space is free. */
const compactMs = 600_000;
const inUseOf = async (operation: Operation): Promise<Record<string, number>> => {
  const { members } = await observeNow(operation);
  return Object.fromEntries(
    members.flatMap(({ name, db_in_use_bytes, db_size_bytes }) => {
      const bytes = db_in_use_bytes ?? db_size_bytes;
      return bytes === undefined ? [] : [[name, bytes]];
    }),
  );
};
/** Returns false if another client, or this operation before a crash, has already compacted the revision. */
const compactOnce = (store: Store, revision: number): Promise<boolean> =>
  store.compact(revision, true).then(
    () => true,
    (error: unknown) => {
      if (isCompacted(error)) return false;
      throw error;
    },
  );
/** Ctrl-C does not wait for a member that frees space. The member may finish, and another compaction changes nothing. */
const compactAnywhere = async (
  { cluster, checking, signal }: Operation,
  revision: number,
): Promise<boolean> => {
  const stores = cluster.members.map(({ client_url }) =>
    checking.access.store(client_url, compactMs, signal),
  );
  try {
    return await firstAnswer(stores, (store) => compactOnce(store, revision));
  } catch (error) {
    if (!signal.aborted) throw error;
    // A lost lock also aborts the request, and its reason is what the operator must read.
    if (signal.reason instanceof AppError && signal.reason.detail.code === 'LOCKED') throw signal.reason;
    throw new AppError(
      'stopped',
      'stopped during the compaction: the response is missing, and the members may finish it',
      { code: 'STOPPED', cause: error },
    );
  }
};
export const compact: OperationStepHandler = async (operation): Promise<Detail> => {
  const { plan, host, say } = operation;
  const revision = plan.values.revision as number;
  const before = await inUseOf(operation);
  const began = host.elapsed();
  const isOurs = await compactAnywhere(operation, revision);
  const after = await inUseOf(operation);
  const took_ms = Math.round(host.elapsed() - began);
  const freed = Object.entries(before).map(
    ([name, bytes]) => `${name} ${sizeText(Math.max(0, bytes - (after[name] ?? bytes)))}`,
  );
  say(
    isOurs
      ? `compacted to revision ${revision} in ${durationText(took_ms)}; free inside the files: ${freed.join(', ')}; opsctl kv defrag returns it to the disk`
      : `revision ${revision} is already compacted`,
  );
  return { revision, took_ms, in_use_before: before, in_use_after: after };
};
/** Waits before the compaction. Ctrl-C stops the operation before it removes history. */
const wait: OperationStepHandler = async ({ host, plan, signal }) => {
  await host.sleep(plan.values.wait_ms ?? 0, signal).catch((cause: unknown) => {
    throw new AppError('stopped', 'stopped during the wait: no history was removed', {
      code: 'STOPPED',
      cause,
    });
  });
  return undefined;
};
export const compactActs: OperationStepHandlers = { wait, compact };

const storesOf = ({ cluster, checking }: Operation) =>
  cluster.members.map(({ client_url }) => checking.access.store(client_url));
const listRaisedAlarms = async (operation: Operation) =>
  (await firstAnswer(storesOf(operation), (store) => store.alarms())).filter(
    ({ alarm }) => alarm === 'NOSPACE',
  );
/** The history is removed and the files have their minimum size, so the remaining keys fill the store. */
const stillFull = (message: string, cause?: unknown): AppError =>
  new AppError('stopped', message, {
    code: 'NO_SPACE',
    tryThis: [
      after(
        'delete keys, or raise --quota-backend-bytes on every member; then',
        ['kv', 'recover-space'],
        'again',
      ),
    ],
    cause,
  });
const isFull = (error: unknown): boolean => error instanceof AppError && error.detail.code === 'NO_SPACE';
/**
 * Disarms each alarm for the member that raised it. An alarm that returns immediately means that the keys
 * fill the quota.
 */
const disarm: OperationStepHandler = async (operation) => {
  const alarms = await listRaisedAlarms(operation);
  for (const alarm of alarms) await firstAnswer(storesOf(operation), (store) => store.disarm(alarm));
  const left = await listRaisedAlarms(operation);
  if (left.length > 0) throw stillFull('the alarm NOSPACE was raised again immediately');
  operation.say(`${countText(alarms.length, 'alarm')} disarmed`);
  return { disarmed: alarms.length };
};
/** Reports a recovery only after each member has written and read a key. */
const verifyWrite: OperationStepHandler = async (operation) => {
  const { cluster, plan } = operation;
  for (const { name } of cluster.members) {
    const [store, key] = [storeOf(operation, name), probeKey(plan.id, name)];
    await store.put(key, plan.id).catch((error: unknown) => {
      throw isFull(error)
        ? stillFull(`${name} does not accept writes yet: the keys fill the quota`, error)
        : error;
    });
    const { kvs } = await store.range(key);
    if (kvs[0]?.value !== plan.id)
      throw new AppError('stopped', `${name} accepted a write but does not return it`, {
        code: 'NOT_PROVEN',
        tryThis: [next(['kv', 'status'])],
      });
    await store.del(key);
  }
  const left = await listRaisedAlarms(operation);
  if (left.length > 0) throw stillFull('the writes raised the alarm NOSPACE again');
  return { members: cluster.members.map(({ name }) => name) };
};
export const recoverActs: OperationStepHandlers = {
  ...compactActs,
  ...defragActs,
  disarm,
  'verify-write': verifyWrite,
};
