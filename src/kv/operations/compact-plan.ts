import { mebibytes } from '../upgrade/guards/guard.ts';
import type { Finding, Observation } from '../engine/types.ts';
import { condition, planned } from './plan.ts';
import type { OperationPlan, OperationRefusal, OperationStep } from './types.ts';

export type CompactOptions = {
  readonly id: string;
  /** The oldest revision that can be read now, and the newest. */
  readonly oldest: number;
  readonly newest: number;
  /** Up to which history is removed. */
  readonly revision: number;
  /** Time to wait first: what is written meanwhile is kept. */
  readonly waitMs: number;
};

/** A revision that does not exist yet cannot be compacted; one that was is no error, and nothing is left to do. */
const revisionExists = ({ revision, newest }: CompactOptions): Finding =>
  condition(
    'revision-exists',
    `revision ${revision} exists`,
    revision <= newest
      ? undefined
      : {
          message: `revision ${revision} does not exist yet: the newest is ${newest}`,
          hint: `--keep-last N counts back from ${newest}`,
        },
  );
const storeAnswers = ({ members, leader }: Observation): Finding =>
  condition(
    'store-answers',
    `${leader} leads`,
    leader === undefined || members.every(({ is_reachable }) => !is_reachable)
      ? {
          message: 'no leader that a majority follows: nothing can be agreed on',
          hint: 'opsctl kv status',
        }
      : undefined,
  );

const inUse = ({ members }: Observation): string =>
  members
    .map(({ name, db_in_use_bytes, db_size_bytes }) =>
      db_in_use_bytes === undefined
        ? `${name} ${mebibytes(db_size_bytes ?? 0)}`
        : `${name} ${mebibytes(db_in_use_bytes)} of ${mebibytes(db_size_bytes ?? 0)}`,
    )
    .join(', ');

/** What is removed, in words: history, never the newest value of a key. */
export const compactSteps = ({ oldest, revision, waitMs }: CompactOptions): OperationStep[] =>
  revision <= oldest
    ? []
    : [
        ...(waitMs === 0
          ? []
          : [
              {
                id: 'wait',
                kind: 'wait' as const,
                title: `wait ${waitMs / 1000} s, so that clients may read so much history`,
              },
            ]),
        {
          id: 'compact',
          kind: 'compact',
          title: `remove the history of revisions ${oldest} to ${revision - 1}, and wait until its space is free`,
          why: `reads and watches that begin before revision ${revision} are refused from then on; the newest value of every key stays`,
        },
      ];

/** Pure. */
export const compactPlan = (
  observation: Observation,
  options: CompactOptions,
): OperationPlan | OperationRefusal => {
  const steps = compactSteps(options);
  const { oldest, newest, revision, waitMs } = options;
  return planned({
    id: options.id,
    operation: 'compact',
    command: `opsctl kv compact ${revision}`,
    steps,
    notes: [
      steps.length === 0
        ? `history before revision ${oldest} was removed already: nothing to do`
        : `kept: ${newest - revision + 1} of ${newest - oldest + 1} revisions; in use: ${inUse(observation)}`,
    ],
    findings: [storeAnswers(observation), revisionExists(options)],
    values: { revision, ...(waitMs === 0 ? {} : { wait_ms: waitMs }) },
    observation,
  });
};
