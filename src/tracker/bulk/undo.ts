import { failedRowsOnly } from './outcomes.ts';
import { tracker } from '../../api-specs/tracker/index.ts';
import type { EngineContext, Prompts, Runtime } from '../../api/context.ts';
import { openToAppend, targetMark } from '../../api/audit.ts';
import type { Operation } from '../../core/operation.ts';
import { isOutdated } from '../../core/limits.ts';
import { AppError, messageOf } from '../../core/problem.ts';
import type { Result } from '../../core/result.ts';
import { trackerNames } from '../names/name-resolution.ts';
import { type Change, diffText } from '../stories.ts';
import { lockJournal } from './earlier-run.ts';
import { type RecordRow, resourceOfPointer } from './external-keys.ts';
import { valueIn, verbsOf } from './previous.ts';
import { findRun, type UndoRun } from './journal.ts';
import {
  type UndoOptions,
  type Group,
  type Verb,
  type UndoAction,
  groupsOf,
  type Plan,
  planUndo,
} from './undo-plan.ts';

/** Adds entries to the journal of a run, each on disk before the next request. */
const openUndoJournal = async ({ host }: Runtime, path: string) => {
  const file = await openToAppend(host, path);
  const write = (lines: readonly number[], entry: (line: number) => string): void =>
    file.write(lines.map((line) => `${entry(line)}\n`).join(''));
  return {
    /** On disk before the request: only a second creation would do harm. Other rows can be undone again. */
    starts: (lines: readonly number[]) => {
      write(lines, (line) => `x ${line}`);
      file.sync();
    },
    noteUndone: (lines: readonly number[], id?: unknown) =>
      write(lines, (line) => (id === undefined ? `u ${line}` : `u ${line} ${id}`)),
    close: () => file.close(),
  };
};
const rowOf = (
  { params: _params, lines: _lines, body: _body, ...row }: UndoAction,
  status: string,
  more: object = {},
) => ({
  ...row,
  status,
  ...more,
});
/** IDs in a body that belong to records which this undo created again. */
const withNewIds = (body: RecordRow, ids: ReadonlyMap<string, unknown>): RecordRow =>
  Object.fromEntries(
    Object.entries(body).map(([name, value]) => {
      const one = (item: unknown): unknown =>
        resourceOfPointer(name) ? (ids.get(String(item)) ?? item) : item;
      return [name, Array.isArray(value) ? value.map(one) : one(value)];
    }),
  );
/** Tries of a deletion or a restoration whose connection is lost: both may be sent again. */
const MOST_TRIES = 4;
const PAUSE_MS = 100;
const sendAction = async (undoing: Undoing, action: UndoAction): Promise<unknown> => {
  const { context } = undoing;
  for (let tries = 1; ; tries += 1) {
    try {
      return await sendOnce(undoing, action);
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      if (action.action === 'delete' && error.category === 'not-found') return undefined;
      const isLost = error.detail.outcome === 'unknown' || error.category === 'network';
      if (!isLost || action.action === 'recreate' || tries === MOST_TRIES) throw error;
      await context.host.sleep(PAUSE_MS * 4 ** (tries - 1), context.signal);
    }
  }
};
const callerFor = (
  { context, callers }: Undoing,
  operation: Operation,
): ReturnType<EngineContext['caller']> => {
  const caller = callers.get(operation) ?? context.caller(tracker, operation, { transport: 'bulk' });
  callers.set(operation, caller);
  return caller;
};
const sendOnce = async (
  undoing: Undoing,
  { resource, params, action, body = {} }: UndoAction,
): Promise<unknown> => {
  const { ids } = undoing;
  const verbs = verbsOf(resource);
  const operation = { delete: verbs.delete, restore: verbs.update, recreate: verbs.create }[action as Verb];
  if (operation === undefined) throw new Error(`${resource} has no operation for ${action}`);
  const given = withNewIds(params, ids);
  const known = Object.fromEntries(Object.keys(operation.params ?? {}).map((name) => [name, given[name]]));
  const input = action === 'delete' ? { params: known } : { params: known, body: withNewIds(body, ids) };
  const send = await callerFor(undoing, operation);
  const answer = (await send(input)) as RecordRow | undefined;
  return action === 'recreate' ? answer?.id : undefined;
};
type Undoing = {
  readonly context: EngineContext;
  readonly journal: Awaited<ReturnType<typeof openUndoJournal>>;
  readonly tally: Tally;
  /** New IDs of records that this undo created again. */
  readonly ids: Map<string, unknown>;
  readonly callers: Map<Operation, ReturnType<EngineContext['caller']>>;
};
/** Performs one action. Throws errors that stop the undo: a lost connection, a sign-in. */
const undoOne = async (undoing: Undoing, action: UndoAction) => {
  const { journal, tally, ids } = undoing;
  if (action.status !== 'undo') {
    if (action.status === 'unchanged') journal.noteUndone(action.lines);
    tally[action.status] += 1;
    return rowOf(action, action.status);
  }
  if (action.action === 'recreate') journal.starts(action.lines);
  try {
    const id = await sendAction(undoing, action);
    if (id !== undefined) ids.set(action.id, id);
    journal.noteUndone(action.lines, id);
    tally.undone += 1;
    return rowOf(action, 'undone', id === undefined ? {} : { new_id: id });
  } catch (error) {
    if (!(error instanceof AppError) || !['refused', 'not-found', 'usage'].includes(error.category))
      throw error;
    tally.failed += 1;
    return rowOf(action, 'failed', { reason: messageOf(error) });
  }
};
const hasId = (value: unknown, id: string): boolean => {
  if (Array.isArray(value)) return value.some((one) => hasId(one, id));
  return String(typeof value === 'object' && value !== null && 'id' in value ? value.id : value) === id;
};
const refersTo = (record: RecordRow | undefined, { id }: Group): boolean =>
  Object.entries(record ?? {}).some(([field, value]) => field !== 'id' && hasId(value, id));
/**
 * Undoes the records one after the other. A record that fails does not stop the others; a lost connection does. Other
 * users work during a long undo, so the records that are left are read again when the plan is outdated. The undo of
 * one record changes the records that refer to it, so their decision stays.
 */
async function* undoRows(
  context: EngineContext,
  run: UndoRun,
  groups: readonly Group[],
  { plan: first, tally, options }: { plan: Plan; tally: Tally; options: UndoOptions },
) {
  const journal = await openUndoJournal(context, run.path);
  const undoing: Undoing = { context, journal, tally, ids: new Map(), callers: new Map() };
  const decided = new Map<Group, UndoAction>();
  const keepDecisions = (plan: Plan, undone: Group, left: readonly Group[]): void => {
    for (const group of left) {
      const action = plan.actions.get(group);
      if (action !== undefined && refersTo(plan.records.get(group), undone)) decided.set(group, action);
    }
  };
  let plan = first;
  try {
    for (const [done, group] of groups.entries()) {
      context.signal.throwIfAborted();
      if (isOutdated(plan, context.host.now()))
        plan = await planUndo(context, groups.slice(done), options, decided);
      const action = plan.actions.get(group);
      if (action === undefined) continue;
      if (action.status === 'undo') keepDecisions(plan, group, groups.slice(done + 1));
      yield await undoOne(undoing, action);
      decided.set(group, action);
    }
  } finally {
    journal.close();
    await trackerNames.forget(context);
  }
}
type Tally = { undone: number; unchanged: number; refused: number; failed: number };
const exitOf = ({ undone, unchanged, refused, failed }: Tally) => {
  if (refused + failed === 0) return 'done' as const;
  if (undone + unchanged > 0) return 'partial' as const;
  return failed > 0 ? ('refused' as const) : ('unsafe' as const);
};
const COLUMNS = ['line', 'status', 'action', 'resource', 'id', 'name', 'reason'];
const MOST_SHOWN = 20;
const actionText = ({ line, action, resource, id, name, reason, status }: UndoAction): string =>
  [
    `row ${line}: ${status === 'undo' ? action : status} ${resource} ${id}`,
    ...(name === undefined ? [] : [JSON.stringify(name)]),
    ...(reason === undefined ? [] : [`(${reason})`]),
  ].join(' ');
/** The fields that a restoration changes: a person cannot confirm it without the old and the new value. */
const restoredFields = ({ action, resource, body = {} }: UndoAction, record: RecordRow = {}): Change[] => {
  const fields = verbsOf(resource).update?.body ?? {};
  if (action !== 'restore') return [];
  return Object.entries(body).map(([name, to]) => {
    const field = fields[name];
    return { field: name, from: (field && valueIn(name, field, record)) ?? null, to };
  });
};
/** Refused rows first: they are what a person has to see. */
const planText = async (
  context: EngineContext,
  groups: readonly Group[],
  { actions, records }: Plan,
): Promise<string> => {
  const isRefused = (group: Group): number => Number(actions.get(group)?.status === 'refused');
  const sorted = groups.filter((group) => actions.has(group)).toSorted((a, b) => isRefused(b) - isRefused(a));
  const more = sorted.length - MOST_SHOWN;
  const { nameChanges } = await import('../screens.ts');
  const shown = await Promise.all(
    sorted.slice(0, MOST_SHOWN).map(async (group) => {
      const action = actions.get(group) as UndoAction;
      const changes = diffText(await nameChanges(context, restoredFields(action, records.get(group))));
      return [actionText(action), ...(changes === '' ? [] : [changes.replace(/^/gm, '  ')])];
    }),
  );
  return [...shown.flat(), ...(more > 0 ? [`and ${more} more rows`] : [])].join('\n');
};
const actionsText = (actions: readonly UndoAction[]): string => {
  const count = (action: string): number =>
    actions.filter((one) => one.status === 'undo' && one.action === action).length;
  const parts = [
    [count('delete'), 'to delete'],
    [count('restore'), 'to restore'],
    [count('recreate'), 'to create again'],
    [actions.filter(({ status }) => status === 'refused').length, 'refused'],
  ] as const;
  return parts.flatMap(([found, what]) => (found === 0 ? [] : [`${found} ${what}`])).join(', ');
};
const refuseOtherTarget = async (context: EngineContext, run: UndoRun): Promise<void> => {
  const service = await context.target('tracker');
  if (run.about?.target === targetMark(service)) return;
  throw new AppError(
    'unsafe',
    run.about === undefined
      ? `run ${run.id} was written by an earlier version, without the data for an undo; no changes were made`
      : `run ${run.id} was made on another service or account (${run.about.service}); no changes were made`,
    {
      code: 'OTHER_SERVICE',
      tryThis: [
        'select the service of the run with --profile or OPSCTL_TRACKER_URL',
        'use the token of the run: opsctl cannot know whether another token is of the same account',
      ],
    },
  );
};
/** Undoes a bulk run from its journal. */
export const undoBulk = async (context: EngineContext & Prompts, options: UndoOptions): Promise<Result> => {
  const { path } = await findRun(context, options.run);
  const release = await lockJournal(context.host, path);
  try {
    const run = await findRun(context, path);
    await refuseOtherTarget(context, run);
    const groups = groupsOf(run);
    const plan = await planUndo(context, groups, options);
    const actions = groups.flatMap((group) => plan.actions.get(group) ?? []);
    if (context.isDryRun || actions.length === 0) {
      await release();
      if (actions.length === 0) context.log.info(`run ${run.id} has no rows to undo`);
      const rows = actions.map((action) => rowOf(action, action.status === 'undo' ? 'would' : action.status));
      return { kind: 'rows', rows, view: { columns: COLUMNS, name: 'id' } };
    }
    if (!context.isConfirmed) context.log.info(await planText(context, groups, plan), true);
    await context.confirm(`Undo ${options.title ?? `run ${run.id}`} (${actionsText(actions)})?`);
    // The user may take a while to decide. Records that changed in the meantime are also rejected.
    const latest = context.isConfirmed ? plan : await planUndo(context, groups, options);
    const tally: Tally = { undone: 0, unchanged: 0, refused: 0, failed: 0 };
    const rows = (async function* () {
      try {
        yield* undoRows(context, run, groups, { plan: latest, tally, options });
      } finally {
        await release();
      }
      const { undone, unchanged, refused, failed } = tally;
      context.log.info(`${undone} undone, ${unchanged} already undone, ${refused} refused, ${failed} failed`);
    })();
    const view = { columns: COLUMNS, name: 'id', ...failedRowsOnly(context) };
    return { kind: 'rows', rows, view, exit: () => exitOf(tally) };
  } catch (error) {
    await release();
    throw error;
  }
};
