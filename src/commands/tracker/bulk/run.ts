import type { Table } from '../../../kernel/operation.ts';
import { AppError, type Problem, problemText } from '../../../kernel/problem.ts';
import { uncheckedRequest } from '../../../client/request.ts';
import { tracker } from '../../../services/tracker/index.ts';
import type { Context } from '../../command.ts';
import { resolveParams } from '../../naming.ts';
import { fieldReferences } from '../names/references.ts';
import { trackerNaming } from '../naming.ts';
import { type Change, type Defaults, type Source, changeFrom, changeProblems } from './change.ts';
import { type Journal, rowHash } from './journal.ts';
import type { makeObserver } from './observe.ts';
import type { Line } from './rows.ts';

/** What became of one line, in the order in which they were finished. */
export type Outcome = {
  readonly line: number;
  readonly status: 'done' | 'found' | 'skipped' | 'would' | 'failed';
  readonly op?: string;
  readonly resource?: string;
  readonly id?: unknown;
  readonly request?: unknown;
  readonly error?: { readonly code: string; readonly message: string; readonly problems: readonly Problem[] };
};
export type Counts = { done: number; failed: number; skipped: number };

export type Run = {
  readonly context: Context;
  readonly source: Source;
  readonly defaults: Defaults;
  /** None in a dry run. */
  readonly journal?: Journal;
  readonly observe?: ReturnType<typeof makeObserver>;
};

const TABLE: Table = tracker.table;

/** Names in a row's body as ids; ids stay what they are, so a row of ids costs nothing here. */
const resolved = async (context: Context, change: Change): Promise<Change> => {
  const input = await resolveParams(trackerNaming, context, change.operation, change.input);
  const body: Record<string, unknown> = { ...input.body };
  for (const [name, value] of Object.entries(body)) {
    const kind = fieldReferences[name]?.kind;
    if (kind === undefined) continue;
    const one = (item: unknown) => (typeof item === 'string' ? trackerNaming.resolve(context, kind, item, name) : item);
    body[name] = Array.isArray(value) ? await Promise.all(value.map(one)) : await one(value);
  }
  return { ...change, input: { ...input, ...(change.operation.body ? { body } : {}) } };
};

const failed = (line: number, change: Partial<Change>, error: AppError): Outcome => ({
  line,
  status: 'failed',
  ...(change.verb ? { op: change.verb, resource: change.resource } : {}),
  error: {
    code: error.detail.code ?? error.category.toUpperCase().replaceAll('-', '_'),
    message: error.message,
    problems: error.detail.problems ?? [],
  },
});
const invalid = (problems: readonly Problem[]): AppError =>
  new AppError('usage', problems.map(problemText).join('; '), { code: 'INVALID_ROW', problems });

/** A failure that the next rows would meet as well ends the run; it can be resumed. */
const endsRun = (error: AppError): boolean => ['auth', 'network', 'config', 'interrupted', 'terminated', 'rate-limit'].includes(error.category);

const send = async (run: Run, line: number, hash: string, change: Change): Promise<Outcome> => {
  const { context, journal } = run;
  const about = { op: change.verb, resource: change.resource };
  const before = journal?.past.lines.get(line);
  if (before?.state === 'sent' && before.hash === hash && change.verb === 'create') {
    const id = await run.observe?.(change);
    if (id !== undefined) {
      journal?.done(line, hash, id);
      return { line, status: 'found', ...about, id };
    }
  }
  journal?.sent(line, hash);
  try {
    const answer = (await context.call(tracker, change.operation, change.input, { transport: 'pooled', isChecked: true })) as
      | { id?: unknown }
      | undefined;
    const id = answer?.id ?? Object.values(change.input.params ?? {})[0];
    journal?.done(line, hash, id);
    if (change.verb === 'update' && change.input.body?.name !== undefined) await trackerNaming.forget(context);
    return { line, status: 'done', ...about, id };
  } catch (error) {
    if (!(error instanceof AppError) || endsRun(error)) throw error;
    const isGone = change.verb === 'delete' && error.category === 'not-found' && before?.state === 'sent';
    if (isGone) {
      journal?.done(line, hash, undefined);
      return { line, status: 'found', ...about };
    }
    journal?.failed(line, hash);
    return failed(line, change, error);
  }
};

const would = (line: number, change: Change): Outcome => {
  const { method, url, body } = uncheckedRequest(tracker, change.operation, change.input, { baseUrl: '', headers: {} });
  return {
    line,
    status: 'would',
    op: change.verb,
    resource: change.resource,
    request: { method, path: url, ...(body === undefined ? {} : { body: JSON.parse(body) }) },
  };
};

/** One line from text to outcome. Throws only what ends the whole run. */
export const runLine = async (run: Run, { line, row, problem }: Line): Promise<Outcome> => {
  if (row === undefined) return failed(line, {}, invalid(problem ? [problem] : []));
  const hash = rowHash(row);
  const before = run.journal?.past.lines.get(line);
  if (before !== undefined && before.hash !== hash) {
    throw new AppError('unsafe', `line ${line} is not what it was when this run was started: refusing to resume`, {
      code: 'INPUT_CHANGED',
      tryThis: ['give the same file again, or start anew without --resume'],
    });
  }
  if (before?.state === 'done') return { line, status: 'skipped', id: before.id };
  const change = changeFrom(TABLE, row, run.source, run.defaults);
  if (!('operation' in change)) return failed(line, {}, invalid(change));
  try {
    const ready = await resolved(run.context, change);
    const problems = changeProblems(ready);
    if (problems.length > 0) return failed(line, change, invalid(problems));
    return await (run.journal === undefined ? would(line, ready) : send(run, line, hash, ready));
  } catch (error) {
    if (error instanceof AppError && !endsRun(error) && error.category !== 'unsafe') return failed(line, change, error);
    throw error;
  }
};

/** Adds an outcome to the tally that decides the exit code. */
export const count = (counts: Counts, outcome: Outcome): void => {
  if (outcome.status === 'failed') counts.failed += 1;
  else if (outcome.status === 'skipped') counts.skipped += 1;
  else counts.done += 1;
};
