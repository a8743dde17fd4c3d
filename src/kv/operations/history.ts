import type { HistoryRow } from '../engine/history.ts';
import type { findOperations } from './journal.ts';
import type { OperationEntry, OperationKind, OperationOutcome } from './types.ts';

/** An operation in the audit record of the upgrades: the fields that it has mean the same. */
export type OperationRow = Pick<
  HistoryRow,
  'run' | 'cluster' | 'from' | 'to' | 'started_at' | 'ended_at' | 'duration_ms' | 'user' | 'host' | 'by'
> &
  Pick<HistoryRow, 'digest' | 'accepted' | 'resumes' | 'message' | 'journal'> & {
    readonly action: OperationKind;
    /** The member that it was about. */
    readonly subject: string | null;
    readonly outcome: OperationOutcome | 'unfinished';
  };

const ms = ({ at }: OperationEntry): number => Date.parse(at);
/** What lies between an end and a resume is no time of work. */
const workedMs = (entries: readonly OperationEntry[]): number =>
  entries.reduce((sum, entry, i) => {
    const before = entries[i - 1];
    return before === undefined || entry.kind === 'resumed' ? sum : sum + Math.max(0, ms(entry) - ms(before));
  }, 0);

/** Pure. */
export const operationRow = ({
  plan,
  entries,
  path,
}: Awaited<ReturnType<typeof findOperations>>[number]): OperationRow => {
  const owners = entries.flatMap((entry) => ('owner' in entry ? [entry.owner] : []));
  const last = entries.at(-1);
  const closed = last?.kind === 'closed' ? last : undefined;
  const version = plan.observation.cluster_version ?? plan.observation.lowest ?? '';
  return {
    run: plan.id,
    cluster: plan.cluster,
    action: plan.operation,
    subject: plan.subject ?? null,
    from: version,
    to: version,
    outcome: closed?.outcome ?? 'unfinished',
    started_at: entries[0]?.at ?? plan.made_at,
    ended_at: closed?.at ?? null,
    duration_ms: workedMs(entries),
    user: owners[0]?.user ?? null,
    host: owners[0]?.host ?? '',
    by: [...new Set(owners.map(({ user, host }) => `${user ?? 'unknown'}@${host}`))],
    digest: plan.digest,
    accepted: [],
    resumes: entries.filter(({ kind }) => kind === 'resumed').length,
    message: closed?.message ?? null,
    journal: path,
  };
};
