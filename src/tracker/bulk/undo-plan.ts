import { countText } from '../../core/format.ts';
import { inputProblems } from '../../api/request.ts';
import type { EngineContext } from '../../api/context.ts';
import { bare, type Fields } from '../../core/field.ts';
import type { Reading } from '../../core/limits.ts';
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
import type { Effect, UndoRun } from './journal.ts';

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
export type Group = {
  readonly resource: string;
  readonly id: string;
  readonly params: RecordRow;
  readonly effects: readonly Effect[];
};
export type Verb = 'delete' | 'restore' | 'recreate';
export type UndoAction = {
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
export const groupsOf = ({ effects }: UndoRun): Group[] => {
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
export type Plan = Reading & {
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
export const planUndo = async (
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
