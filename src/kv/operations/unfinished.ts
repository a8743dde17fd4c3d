import { AppError } from '../../core/problem.ts';
import type { Host } from '../../platform/host.ts';
import type { ClusterFile } from '../engine/types.ts';
import { unfinishedOperation } from './journal.ts';
import type { FoundOperation } from './journal.ts';
import type { OperationKind, OperationPlan } from './types.ts';

/** Operations of many steps; the others are one change, and are asked for anew. */
const resumable: ReadonlySet<OperationKind> = new Set(['defrag', 'recover-space', 'replace-member']);
/** What was free an hour ago may be full by now: then every member is looked at again. */
const mostAgeMs = 3_600_000;

const wasBegun = ({ entries }: FoundOperation): boolean => entries.some(({ kind }) => kind === 'begin');
/** One that was told that the store is still full begins anew: what was free is not. */
const wasTold = ({ plan, entries }: FoundOperation): boolean =>
  plan.operation === 'recover-space' && entries.at(-1)?.kind === 'closed';
const isFresh = (host: Host, { plan, entries }: FoundOperation): boolean =>
  plan.operation === 'replace-member' ||
  host.now() - Date.parse(entries.at(-1)?.at ?? plan.made_at) < mostAgeMs;

/**
 * The interrupted operation that this command goes on with. Throws when another one left a member out of the cluster: nothing
 * else is begun before that member is back.
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
  throw new AppError(
    'unsafe',
    `refused, nothing was changed: the replacement of ${plan.subject} was not brought to its end`,
    { code: 'UNFINISHED_OPERATION', tryThis: [plan.command] },
  );
};

/** What status says of an operation that was interrupted: the step that was begun last, and what goes on. */
export const operationLine = async (
  host: Host,
  state: string,
  cluster: string,
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
  const text = `operation ${plan.id} (${plan.operation}) was not brought to its end, ${where}\n  go on:   ${plan.command}`;
  return { run: plan.id, operation: plan.operation, text };
};
