import { countText } from '../../core/format.ts';
import { failedRowsOnly } from './outcomes.ts';
import { tracker } from '../../api-specs/tracker/index.ts';
import { inputProblems } from '../../api/request.ts';
import type { EngineContext, Prompts, Runtime } from '../../api/context.ts';
import { openToAppend, targetMark } from '../../api/audit.ts';
import { bare, type Fields } from '../../core/field.ts';
import type { Operation } from '../../core/operation.ts';
import { isOutdated, type Reading } from '../../core/limits.ts';
import { AppError, messageOf } from '../../core/problem.ts';
import type { Result } from '../../core/result.ts';
import { trackerNames } from '../names/name-resolution.ts';
import { lockJournal } from './earlier-run.ts';
import { RecordKeys, type RecordRow, resourceOfPointer } from './external-keys.ts';
import {
  changedFields,
  fieldsLeftOut,
  isSameInput,
  markRecord,
  partsOf,
  valueIn,
  verbsOf,
} from './previous.ts';
import { type Effect, findRun, type UndoRun } from './journal.ts';

export type UndoOptions = {
  readonly run: string;
  /** Undo rows even if their records changed since. */
  readonly force: boolean;
  /** Create deleted records again, with new IDs. */
  readonly recreate: boolean;
  /** What a question calls the run, if it was not a bulk run. */
  readonly title?: string;
};
/** All effects of a run on one record. */
type Group = {
  readonly resource: string;
  readonly id: string;
  readonly params: RecordRow;
  readonly effects: readonly Effect[];
};
type Verb = 'delete' | 'restore' | 'recreate';
type UndoAction = {
  readonly line: number;
  /** All rows of the run that changed the record. */
  readonly lines: readonly number[];
  readonly resource: string;
  readonly id: string;
  readonly name?: unknown;
  readonly action: Verb | 'none';
  /** `undo` rows send a request; the other rows have a reason. */
  readonly status: 'undo' | 'unchanged' | 'refused';
  readonly reason?: string;
  readonly params: RecordRow;
  readonly body?: RecordRow;
};

const ownParam = (resource: string): string => {
  const { update, get, delete: remove } = verbsOf(resource);
  return Object.keys((update ?? remove ?? get)?.params ?? {}).at(-1) ?? 'id';
};
/** An ID of a journal in the type of the parameter. */
const toId = (resource: string, id: string): unknown => {
  const { get, update, delete: remove } = verbsOf(resource);
  const field = (get ?? update ?? remove)?.params?.[ownParam(resource)];
  return field !== undefined && bare(field).type === 'integer' && /^\d+$/.test(id) ? Number(id) : id;
};
const idOf = ({ id, before }: Effect): string =>
  id ?? String(before.op === 'create' ? '' : (Object.values(before.params ?? {}).at(-1) ?? ''));
/** The effects by record; the record that was changed last is undone first. */
const groupsOf = ({ effects }: UndoRun): Group[] => {
  const groups = new Map<string, Group>();
  for (const effect of effects) {
    const { resource, params = {}, op } = effect.before;
    const id = idOf(effect);
    const key = id === '' ? `line ${effect.line}` : `${resource} ${id}`;
    const known = groups.get(key);
    const all = op === 'create' ? { ...params, [ownParam(resource)]: toId(resource, id) } : params;
    groups.delete(key);
    groups.set(key, {
      resource,
      id,
      params: known?.params ?? all,
      effects: [...(known?.effects ?? []), effect],
    });
  }
  return [...groups.values()].toReversed();
};

/**
 * A record of a list may lack fields that the response to the creation showed, so a difference is a later change only
 * if the whole record has it as well. It also lacks commits and pull requests, so a record that was saved after its
 * creation is read whole.
 */
const mustReadWhole = ({ resource, effects }: Group, record: RecordRow): boolean => {
  const after = effects.at(-1)?.after;
  const isMade = effects[0]?.before.op === 'create';
  if (!isMade || after === undefined) return false;
  const isSavedLater = record.updated_at !== undefined && record.updated_at !== record.created_at;
  return isSavedLater || markRecord(resource, record, []).all !== after.all;
};
const readRecord = async (keys: RecordKeys, group: Group): Promise<RecordRow | undefined> => {
  const { resource, params, effects } = group;
  // Lists of epics leave out the comments, which a deletion would remove.
  const fields = resource === 'epics' ? ['comments'] : [];
  const written = effects.flatMap(({ after }) => Object.keys(after?.fields ?? {}));
  const listed = await keys.current(resource, params, fields);
  if (listed === undefined) return undefined;
  const needed = mustReadWhole(group, listed) ? [...written, ...fieldsLeftOut(resource)] : written;
  return needed.every((name) => name in listed) ? listed : keys.current(resource, params, needed);
};
/** The records of the groups as they are now; a record that is gone is missing. */
const readRecords = async (
  context: EngineContext,
  groups: readonly Group[],
): Promise<ReadonlyMap<Group, RecordRow>> => {
  const keys = new RecordKeys(context);
  const found = new Map<Group, RecordRow>();
  for (const group of groups) {
    const record = group.id === '' ? undefined : await readRecord(keys, group);
    if (record !== undefined) found.set(group, record);
  }
  return found;
};

const sum = (stats: unknown, names: readonly string[]): number =>
  names.reduce((total, name) => total + Number((stats as RecordRow | undefined)?.[name] ?? 0), 0);
const STATES = ['backlog', 'done', 'started', 'unstarted'].map((state) => `num_stories_${state}`);
/** Records that use a record, by the figures of the service. */
const usesOf: Readonly<Record<string, (row: RecordRow) => number>> = {
  labels: ({ stats }) => sum(stats, ['num_stories_total', 'num_epics']),
  epics: ({ stats }) => sum(stats, ['num_stories_total']),
  projects: ({ stats }) => sum(stats, ['num_stories']),
  iterations: ({ stats }) => sum(stats, STATES),
};
/** How many of the records use another one. The undo of these records releases it. */
const countUses = (records: Iterable<readonly [Group, RecordRow]>, { resource, id }: Group): number =>
  [...records].filter(([{ resource: kind }, row]) => {
    if (kind !== 'stories' && kind !== 'epics') return false;
    return Object.entries(row).some(
      ([field, value]) =>
        (resourceOfPointer(field) === resource || field === `${resource.replace(/s$/, '')}_id`) &&
        (Array.isArray(value) ? value : [value]).some((one) => String(one) === id),
    );
  }).length;
/** Why a created record is not deleted; undefined when it is as the run left it. */
const conflictOf = (
  group: Group,
  record: RecordRow,
  released: ReadonlyMap<Group, RecordRow>,
  runIds: ReadonlySet<string>,
): string | undefined => {
  const after = group.effects.at(-1)?.after;
  if (after === undefined) return 'the run did not see the response, so a later change cannot be excluded';
  const now = markRecord(group.resource, record, []);
  if (now.all !== after.all) return `changed since the run (${String(record.updated_at ?? 'time unknown')})`;
  const added = partsOf(record).filter((id) => !runIds.has(id)).length - after.parts;
  if (added > 0)
    return added === 1
      ? '1 comment, task, file, branch, commit or pull request was added since the run'
      : `${added} comments, tasks, files, branches, commits or pull requests were added since the run`;
  const used = usesOf[group.resource]?.(record) ?? 0;
  const uses = used === 0 ? 0 : used - countUses(released, group);
  return uses > 0 ? `${countText(uses, 'other record uses', 'other records use')} it` : undefined;
};

type Draft = Pick<UndoAction, 'action' | 'status'> & Partial<UndoAction>;
const refuse = (action: Draft['action'], reason: string): Draft => ({ action, status: 'refused', reason });
/** The body of a request without the fields that the service would reject, and their names. */
const fitBody = (
  resource: string,
  verb: 'create' | 'update',
  params: RecordRow,
  values: RecordRow,
): { readonly body: RecordRow; readonly left: readonly string[] } => {
  const operation = verbsOf(resource)[verb];
  if (operation === undefined) return { body: {}, left: Object.keys(values) };
  const fields: Fields = operation.body ?? {};
  const given = Object.entries(values).filter(([name]) => fields[name] !== undefined);
  const wanted = Object.fromEntries(
    given.flatMap(([name, value]): [string, unknown][] => {
      const field = fields[name];
      if (value !== null || field?.nullable === true) return [[name, value]];
      return field?.type === 'string' ? [[name, '']] : [];
    }),
  );
  const known = Object.fromEntries(Object.keys(operation.params ?? {}).map((name) => [name, params[name]]));
  const wrong = new Set(
    inputProblems(operation, { params: known, body: wanted }).map(({ path }) => path.split(/[.[]/)[0]),
  );
  const body = Object.fromEntries(Object.entries(wanted).filter(([name]) => !wrong.has(name)));
  return { body, left: Object.keys(values).filter((name) => !(name in body) && values[name] !== null) };
};
/** Restores what the first change of each field replaced. */
const planRestore = (group: Group, record: RecordRow, isForced: boolean): Draft => {
  const { resource, params, effects } = group;
  const marks = Object.assign({}, ...effects.map(({ after }) => after?.fields ?? {})) as Record<
    string,
    string
  >;
  const isUnknown = effects.some(({ before }) => before.values === undefined);
  if (isUnknown) return refuse('none', 'the journal does not contain the previous values');
  const values = Object.assign({}, ...effects.toReversed().map(({ before }) => before.values)) as RecordRow;
  const fields = verbsOf(resource).update?.body ?? {};
  const isAsBefore = (name: string): boolean => {
    const field = fields[name];
    return field !== undefined && isSameInput(values[name], valueIn(name, field, record));
  };
  const changed = Object.keys(values).filter((name) => !isAsBefore(name));
  if (changed.length === 0) return { action: 'none', status: 'unchanged', reason: 'has the previous values' };
  const unseen = changed.filter((name) => marks[name] === undefined);
  const later = changedFields(resource, record, { all: '', parts: 0, fields: marks }).filter((name) =>
    changed.includes(name),
  );
  if (!isForced && later.length > 0) return refuse('restore', `${later.join(', ')} changed since the run`);
  if (!isForced && unseen.length > 0)
    return refuse('restore', `the run did not see the response for ${unseen.join(', ')}`);
  const wanted = Object.fromEntries(changed.map((name) => [name, values[name]]));
  const { body, left } = fitBody(resource, 'update', params, wanted);
  const note = left.length === 0 ? {} : { reason: `${left.join(', ')} cannot be restored` };
  return Object.keys(body).length === 0
    ? refuse('restore', note.reason ?? 'no field can be restored')
    : { action: 'restore', status: 'undo', body, ...note };
};
const planRecreate = ({ resource, params, effects }: Group, options: UndoOptions): Draft => {
  const values = Object.assign(
    {},
    ...effects.toReversed().map(({ before }) => before.values ?? {}),
  ) as RecordRow;
  const { body, left } = fitBody(resource, 'create', params, values);
  if (verbsOf(resource).create === undefined || Object.keys(body).length === 0)
    return refuse('none', 'was deleted, and the journal does not contain its values');
  if (effects.some(({ isInDoubt }) => isInDoubt === true) && !options.force)
    return refuse('recreate', 'an interrupted undo may have created it again: check, then use --force');
  if (!options.recreate)
    return refuse('none', 'was deleted; the service cannot restore it. --recreate creates it with a new ID');
  const lost = ['comments', 'history', ...left].join(', ');
  return { action: 'recreate', status: 'undo', body, reason: `gets a new ID, without ${lost}` };
};
const planGroup = (
  group: Group,
  record: RecordRow | undefined,
  released: ReadonlyMap<Group, RecordRow>,
  runIds: ReadonlySet<string>,
  options: UndoOptions,
): Draft => {
  const isMade = group.effects[0]?.before.op === 'create';
  const last = group.effects.at(-1);
  if (last?.before.irreversible === true) return refuse('none', 'opsctl cannot revert this kind of change');
  if (group.id === '')
    return refuse('none', 'the run does not know whether the service applied the row: resume the run first');
  if (isMade) {
    if (record === undefined) return { action: 'none', status: 'unchanged', reason: 'does not exist' };
    if (verbsOf(group.resource).delete === undefined)
      return refuse('none', 'the service has no deletion for this resource; archive it by hand');
    const conflict = options.force ? undefined : conflictOf(group, record, released, runIds);
    return conflict === undefined ? { action: 'delete', status: 'undo' } : refuse('delete', conflict);
  }
  if (last?.before.op === 'delete') {
    if (record !== undefined) return { action: 'none', status: 'unchanged', reason: 'still exists' };
    return planRecreate(group, options);
  }
  return record === undefined
    ? refuse('none', 'was deleted since the run')
    : planRestore(group, record, options.force);
};
/** What an undo would do with each record, and the age of this knowledge. */
type Plan = Reading & {
  readonly actions: ReadonlyMap<Group, UndoAction>;
  readonly records: ReadonlyMap<Group, RecordRow>;
};
/** Decisions of an earlier plan that stay. */
type Decided = ReadonlyMap<Group, UndoAction>;
const NONE: Decided = new Map();
/** The order in which records are judged: a record is free once every record that uses it gives it up. */
const JUDGED_FIRST = ['stories', 'epics'];
const judgeGroups = (
  groups: readonly Group[],
  records: ReadonlyMap<Group, RecordRow>,
  { runIds, options, decided }: { runIds: ReadonlySet<string>; options: UndoOptions; decided: Decided },
): ReadonlyMap<Group, Draft> => {
  const rank = ({ resource }: Group): number => {
    const place = JUDGED_FIRST.indexOf(resource);
    return place === -1 ? JUDGED_FIRST.length : place;
  };
  const drafts = new Map<Group, Draft>();
  const released = new Map<Group, RecordRow>();
  for (const group of groups.toSorted((a, b) => rank(a) - rank(b))) {
    const record = records.get(group);
    const draft = decided.get(group) ?? planGroup(group, record, released, runIds, options);
    drafts.set(group, draft);
    if (record !== undefined && draft.status === 'undo') released.set(group, record);
  }
  return drafts;
};
/** Plans the undo of some groups of a run. Sends only reads. */
const planUndo = async (
  context: EngineContext,
  groups: readonly Group[],
  options: UndoOptions,
  decided: Decided = NONE,
): Promise<Plan> => {
  const start = context.host.now();
  const records = await readRecords(context, groups);
  const runIds = new Set([...groups, ...decided.keys()].map(({ id }) => id));
  const drafts = judgeGroups(groups, records, { runIds, options, decided });
  const actions = new Map<Group, UndoAction>();
  for (const [group, draft] of drafts) {
    const { resource, id, params, effects } = group;
    const lines = effects.map(({ line }) => line);
    const record = records.get(group) ?? effects[0]?.before.values;
    const name = record?.name ?? record?.title ?? record?.text;
    actions.set(group, {
      line: lines[0] ?? 0,
      ...{ lines, resource, id, params },
      ...(name === undefined ? {} : { name }),
      ...draft,
    });
  }
  return { actions, records, madeAt: start, tookMs: context.host.now() - start };
};
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
  const caller = callers.get(operation) ?? context.caller(tracker, operation, { transport: 'pooled' });
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
/** Refused rows first: they are what a person has to see. */
const planText = (actions: readonly UndoAction[]): string => {
  const sorted = actions.toSorted((a, b) => Number(b.status === 'refused') - Number(a.status === 'refused'));
  const more = sorted.length - MOST_SHOWN;
  return [
    ...sorted.slice(0, MOST_SHOWN).map(actionText),
    ...(more > 0 ? [`and ${more} more rows`] : []),
  ].join('\n');
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
    if (!context.isConfirmed) context.log.info(planText(actions));
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
