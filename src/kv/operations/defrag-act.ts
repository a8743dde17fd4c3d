import { AppError } from '../../core/problem.ts';
import { endedSteps } from './journal.ts';
import {
  check,
  memberStep,
  moveLeader,
  moveLeaderAway,
  passCheck,
  refuseLostQuorum,
  patientMs,
  storeOf,
} from './member.ts';
import type { Act, Acts, Detail, Operation } from './types.ts';
import { estimatedMs } from './defrag.ts';

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

/** The disks of a cluster are of one kind: what the slowest member before took is what the next one will. */
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
    `${name} was left alone: ${longest > limit ? `a member before it was blocked for ${seconds} s` : `as fast as the members before it would be blocked for ${seconds} s`}, --max-blocked allows ${limit / 1000} s`,
    { code: 'MAX_BLOCKED', tryThis: [`opsctl kv defrag --max-blocked ${seconds * 2}s`] },
  );
};

/** The call cannot be taken back: a member that needs longer goes on by itself, and nothing else is touched meanwhile. */
const stillBlocked = (name: string, ms: number, cause: unknown): unknown =>
  cause instanceof AppError && cause.detail.code === 'DEADLINE_EXCEEDED'
    ? new AppError(
        'stopped',
        `${name} is being defragmented for more than ${Math.round(ms / 1000)} s and answers nobody; it goes on by itself, no other member is touched`,
        { code: 'MAX_BLOCKED', tryThis: ['wait until it answers: opsctl kv status'], cause },
      )
    : cause;

/** One member, blocked for as long as it takes; measured from the outside, as its clients see it. */
const defrag: Act = async (operation, step): Promise<Detail> => {
  const { host, busy, say, plan, holdLock } = operation;
  const name = memberStep(step);
  // After a crash the member may be at it still: then it passes once it has finished.
  await passCheck(operation, name);
  const before = await storeOf(operation, name, patientMs).status();
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
  const after = await storeOf(operation, name, patientMs).status();
  const megabytes = (value: number): string => `${(value / 2 ** 20).toFixed(1)} MiB`;
  say(
    `${name}: blocked for ${blocked_ms} ms, ${megabytes(before.db_size_bytes)} before, ${megabytes(after.db_size_bytes)} after`,
  );
  return {
    blocked_ms,
    before_bytes: before.db_size_bytes,
    after_bytes: after.db_size_bytes,
    copied_bytes: bytes,
  } satisfies Measured;
};
export const defragActs: Acts = { 'move-leader': moveLeader, defrag, check };
