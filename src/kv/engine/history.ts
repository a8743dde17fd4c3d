import { after } from '../../core/next.ts';
import { AppError } from '../../core/problem.ts';
import { misfit, shapeBy } from '../../core/shape.ts';
import type { JournalEntry, Outcome, PlanKind } from './model.ts';
import type { FoundRun } from './journal.ts';
import { memberOfStep } from './steps.ts';

/** One run for an audit: who, where, what was decided, what was accepted, how it ended. */
export type HistoryRow = {
  readonly run: string;
  readonly cluster: string;
  readonly action: PlanKind | 'rollback';
  readonly from: string;
  readonly to: string;
  readonly outcome: Outcome | 'unfinished';
  readonly started_at: string;
  readonly ended_at: string | null;
  /** Time of work: what lies between an end and a resume does not count. */
  readonly duration_ms: number;
  readonly user: string | null;
  readonly host: string;
  /** Everybody who began it or went on with it, as user@host. */
  readonly by: readonly string[];
  readonly digest: string;
  /** Guards whose refusal the operator took as a warning. */
  readonly accepted: readonly string[];
  readonly crossing_confirmed_by: string | null;
  readonly members_upgraded: readonly string[];
  readonly members_reverted: readonly string[];
  readonly paused_ms: number;
  readonly resumes: number;
  readonly message: string | null;
  readonly journal: string;
};

const ms = ({ at }: JournalEntry): number => Date.parse(at);
type Of<K extends JournalEntry['kind']> = Extract<JournalEntry, { readonly kind: K }>;
const ofKind = <K extends JournalEntry['kind']>(entries: readonly JournalEntry[], kind: K): Of<K>[] =>
  entries.filter((entry): entry is Of<K> => entry.kind === kind);

const workedMs = (entries: readonly JournalEntry[]): number =>
  entries.reduce((sum, entry, i) => {
    const before = entries[i - 1];
    return before === undefined || entry.kind === 'resumed' ? sum : sum + Math.max(0, ms(entry) - ms(before));
  }, 0);

const owner = { host: 'text' } as const;
/** What a row takes from the lines that say who did what. */
const shapeOf = shapeBy('kind', {
  opened: {
    plan: {
      cluster: 'text',
      from: 'text',
      to: 'text',
      digest: 'text',
      order: ['text'],
      options: { accept: ['text'] },
    },
    owner,
  },
  resumed: { owner },
});
const refuseDamaged = ({ directory, entries }: FoundRun): void => {
  for (const [i, entry] of entries.entries()) {
    const wrong = misfit(entry, shapeOf(entry));
    if (wrong !== undefined)
      throw new AppError('config', `line ${i + 1} of ${directory}/journal.jsonl cannot be read: ${wrong}`, {
        code: 'JOURNAL_DAMAGED',
        tryThis: [after('restore it from a copy, or move the directory of the run away:', ['kv', 'status'])],
      });
  }
};

/** Undefined for a journal that has no first line. Pure. */
export const historyRow = (found: FoundRun): HistoryRow | undefined => {
  const { run, directory, entries } = found;
  const opened = entries[0];
  if (opened?.kind !== 'opened') return undefined;
  refuseDamaged(found);
  const { plan, owner, action } = opened;
  const last = entries.at(-1);
  const closed = last?.kind === 'closed' ? last : undefined;
  const resumed = ofKind(entries, 'resumed');
  const reverted = new Set(ofKind(entries, 'reverted').map(({ member }) => member));
  const gated = new Set(ofKind(entries, 'end').map(({ step }) => memberOfStep(step, 'gate')));
  const names = [opened, ...resumed].map(({ owner: { user, host } }) => `${user ?? 'unknown'}@${host}`);
  return {
    run,
    cluster: plan.cluster,
    action: (resumed.at(-1)?.action ?? action) === 'rollback' ? 'rollback' : (plan.kind ?? 'upgrade'),
    from: plan.from,
    to: plan.to,
    outcome: closed?.outcome ?? 'unfinished',
    started_at: opened.at,
    ended_at: closed?.at ?? null,
    duration_ms: workedMs(entries),
    user: owner.user ?? null,
    host: owner.host,
    by: [...new Set(names)],
    digest: plan.digest,
    accepted: plan.options.accept,
    crossing_confirmed_by: ofKind(entries, 'crossing-confirmed').at(-1)?.confirmed_by ?? null,
    members_upgraded: plan.order.filter((name) => gated.has(name) && !reverted.has(name)),
    members_reverted: plan.order.filter((name) => reverted.has(name)),
    paused_ms: ofKind(entries, 'continued').reduce((sum, { waited_ms }) => sum + waited_ms, 0),
    resumes: resumed.length,
    message: closed?.message ?? null,
    journal: `${directory}/journal.jsonl`,
  };
};
