import { hash } from 'node:crypto';
import { join } from 'node:path';
import {
  entityTemplates,
  customFields,
  epicWorkflow,
  members,
  repositories,
} from '../../api-specs/tracker/workspace.ts';
import { epics } from '../../api-specs/tracker/epics.ts';
import { groups, projects } from '../../api-specs/tracker/groups.ts';
import { tracker } from '../../api-specs/tracker/index.ts';
import { categories, labels } from '../../api-specs/tracker/labels.ts';
import { iterations, objectives } from '../../api-specs/tracker/planning.ts';
import { workflows } from '../../api-specs/tracker/stories.ts';
import type { EngineContext } from '../../api/context.ts';
import { bare } from '../../core/field.ts';
import { isOddNumber, wholeNumberHint } from '../../core/format.ts';
import { childPath, pathPart } from '../../core/file-name.ts';
import { parseLookupRow } from '../../api/response.ts';
import type { LooseInput, Operation } from '../../core/operation.ts';
import { heldRows } from '../../core/limits.ts';
import { AppError, messageOf, problem, usageError } from '../../core/problem.ts';
import { fittingJson } from '../../core/shape.ts';
import { nearest, toForm } from '../../core/text.ts';
import { keys } from '../../config/settings.ts';
import type { Choice } from '../../platform/host.ts';
import { namesOfState } from '../stories.ts';

/** Names older than this are read again. */
const MAX_AGE_MS = 5 * 60_000;
type Cached = { readonly readAt: number; readonly things: readonly NamedRecord[] };
const shape = { readAt: 'number', things: [{ names: ['text'] }] } as const;
const directoryOf = (context: EngineContext, baseUrl: string): string =>
  childPath(
    join(context.settings.directories.cache, 'tracker'),
    pathPart(hash('sha256', baseUrl).slice(0, 16)),
  );
const fileOf = (context: EngineContext, baseUrl: string, kind: string): string =>
  childPath(directoryOf(context, baseUrl), pathPart(`${kind}.json`));
export const readCache = async (
  context: EngineContext,
  baseUrl: string,
  kind: string,
): Promise<readonly NamedRecord[] | undefined> => {
  const text = await context.host.files.read(fileOf(context, baseUrl, kind)).catch(() => undefined);
  if (text === undefined) return undefined;
  const cached = fittingJson<Cached>(text, shape);
  if (cached === undefined) return undefined;
  const age = context.host.now() - cached.readAt;
  return age >= 0 && age < MAX_AGE_MS ? cached.things : undefined;
};
/** The first name of each record that only this record has, otherwise its first name. */
const offeredNames = (things: readonly NamedRecord[]): string[] => {
  const counts = new Map<string, number>();
  for (const name of things.flatMap(({ names }) => names)) counts.set(name, (counts.get(name) ?? 0) + 1);
  return things.map(({ names }) => names.find((name) => counts.get(name) === 1) ?? names[0] ?? '');
};
/** The plain list that TAB reads: a name a line, so one that has several lines is left out. */
const writeNames = async (
  context: EngineContext,
  kind: string,
  things: readonly NamedRecord[],
): Promise<void> => {
  const { files } = context.host;
  const directory = join(context.settings.directories.cache, 'names');
  const lines = offeredNames(things).filter((name) => name !== '' && !/[\r\n]/.test(name));
  const text = `${lines.join('\n')}\n`;
  try {
    if ((await files.read(childPath(directory, pathPart(kind)))) === text) return;
    await files.makeDirectory(directory, 0o700);
    await files.replace(childPath(directory, pathPart(kind)), text, 0o600);
  } catch (error) {
    context.log.debug(`the names for TAB were not written: ${messageOf(error)}`);
  }
};
/** Also writes the list for completion. An unwritable cache is not a failure. */
export const writeCache = async (
  context: EngineContext,
  baseUrl: string,
  kind: string,
  things: readonly NamedRecord[],
): Promise<void> => {
  const { files } = context.host;
  const path = fileOf(context, baseUrl, kind);
  try {
    await files.makeDirectory(join(path, '..'), 0o700);
    await files.replace(path, JSON.stringify({ readAt: context.host.now(), things }), 0o600);
  } catch (error) {
    context.log.debug(`the cache of names was not written: ${messageOf(error)}`);
  }
  await writeNames(context, kind, things);
};
/** After a change, cached names are not trusted: a name may be deleted, new, or belong to another record. */
export const forgetNames = async (context: EngineContext): Promise<void> => {
  const { baseUrl, isMock } = await context.target('tracker');
  if (!isMock) await context.host.files.remove(directoryOf(context, baseUrl)).catch(() => undefined);
};

/** One thing that has an id and names. */
type NamedRecord = { readonly id: string | number; readonly names: readonly string[] };
type Kind = {
  readonly list: Operation;
  readonly query?: Readonly<Record<string, unknown>>;
  /** Returns the records of one response as IDs and names. Completion offers the first name. */
  readonly read: (answer: unknown) => NamedRecord[];
};
type Row = Record<string, unknown>;
const rows = (answer: unknown): Row[] => (Array.isArray(answer) ? (answer as Row[]) : []);
const texts = (...values: unknown[]): string[] =>
  values.filter((value): value is string => typeof value === 'string' && value !== '');
const byName = (answer: unknown): NamedRecord[] =>
  rows(answer).map((row) => ({ id: row.id as string | number, names: texts(row.name) }));
const listByName = (list: Operation): Kind => ({ list, read: byName });
const member = (row: Row): NamedRecord => {
  const profile = (row.profile ?? {}) as Row;
  return { id: row.id as string, names: texts(profile.mention_name, profile.name, profile.email_address) };
};
const statesOf = (workflow: Row): NamedRecord[] =>
  rows(workflow.states).map((row) => ({
    id: row.id as number,
    names: namesOfState(workflow.name, row.name),
  }));
/** Everything of the tracker that people call by name. */
export const kinds: Readonly<Record<string, Kind>> = {
  category: listByName(categories.list),
  'custom-field': listByName(customFields.list),
  'entity-template': listByName(entityTemplates.list),
  epic: listByName(epics.list),
  'epic-state': { list: epicWorkflow.get, read: (answer) => byName((answer as Row)?.epic_states) },
  group: {
    list: groups.list,
    read: (answer) =>
      rows(answer).map((row) => ({ id: row.id as string, names: texts(row.mention_name, row.name) })),
  },
  iteration: listByName(iterations.list),
  label: { list: labels.list, query: { slim: true }, read: byName },
  member: { list: members.list, read: (answer) => rows(answer).map(member) },
  objective: listByName(objectives.list),
  project: listByName(projects.list),
  repository: {
    list: repositories.list,
    read: (answer) =>
      rows(answer).map((row) => ({ id: row.id as number, names: texts(row.full_name, row.name) })),
  },
  workflow: listByName(workflows.list),
  'workflow-state': { list: workflows.list, read: (answer) => rows(answer).flatMap(statesOf) },
};

const foldCase = (text: string): string => toForm(text).toLowerCase();
/** `@ana` and `name:ana` are `ana`. */
const stripNamePrefix = (text: string): string => text.replace(/^(name:|@)/, '');
/** The things that a text may mean: equal names first, else names that differ in case or Unicode form only. */
export const candidates = (things: readonly NamedRecord[], text: string): NamedRecord[] => {
  const name = stripNamePrefix(text);
  const exact = things.filter(({ names }) => names.includes(name));
  return exact.length > 0
    ? exact
    : things.filter(({ names }) => names.some((n) => foldCase(n) === foldCase(name)));
};
/** Names that are kept and cached; of a longer list only those that the text may mean. */
const MOST_KEPT = 50_000;
/** Reads the names of a list while it arrives. */
const scan = async (
  context: EngineContext,
  { list, query, read }: Kind,
  text: string,
): Promise<{ readonly things: readonly NamedRecord[]; readonly isWhole: boolean }> => {
  const input = query ? { query } : {};
  const isList = list.returns !== undefined && bare(list.returns).type === 'array';
  if (!isList) return { things: read(await context.lookups.call(tracker, list, input)), isWhole: true };
  let things: NamedRecord[] = [];
  let isWhole = true;
  const held = heldRows(`GET ${list.path}`);
  for await (const batch of await context.lookups.rows(tracker, list, input)) {
    held.refuseMore(batch.length);
    const found = read(batch.map((text) => parseLookupRow(list, text)));
    if (isWhole && things.length + found.length > MOST_KEPT) {
      isWhole = false;
      things = candidates(things, text);
    }
    for (const one of isWhole ? found : candidates(found, text)) things.push(one);
  }
  return { things, isWhole };
};
const load = async (
  context: EngineContext,
  kind: string,
  text: string,
  isFresh: boolean,
): Promise<{ things: readonly NamedRecord[]; wasCached: boolean }> => {
  const { list, query, read } = kinds[kind] ?? { list: undefined, query: undefined, read: () => [] };
  if (list === undefined) throw new Error(`no kind of thing is called ${kind}`);
  const { baseUrl, isMock } = await context.target('tracker');
  // The embedded server has another port, and maybe another state, each time.
  const cached = isFresh || isMock ? undefined : await readCache(context, baseUrl, kind);
  if (cached) return { things: cached, wasCached: true };
  const { things, isWhole } = await scan(context, { list, query, read }, text);
  if (isWhole) await writeCache(context, baseUrl, kind, things);
  return { things, wasCached: false };
};
/** A kind as people write it: a workflow state. */
const words = (kind: string): string => kind.replaceAll('-', ' ');
/** The number of names in a message. The command in the hint shows more of them. */
const MOST_LISTED = 12;
/** The existing names, up to a maximum length. */
const listNames = (things: readonly NamedRecord[]): string => {
  const names = [...new Set(things.flatMap(({ names: [first = ''] }) => (first === '' ? [] : [first])))];
  if (names.length === 0) return '';
  const more = names.length - MOST_LISTED;
  return `; one of: ${names.slice(0, MOST_LISTED).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
};
/** The command that shows all names of a kind. */
const listCommand = (kind: string): string[] => {
  const list = kinds[kind]?.list;
  if (list === undefined) return [];
  const isList = list.returns !== undefined && bare(list.returns).type === 'array';
  return [`opsctl tracker ${list.path.replace('/', '')} ${isList ? 'list' : 'get'}`];
};
const none = (kind: string, given: string, things: readonly NamedRecord[], path: string): AppError => {
  // A file has names only: the prefix is not its text.
  const text = given.replace(/^name:/, '');
  const close = nearest(
    stripNamePrefix(text),
    things.flatMap(({ names }) => names),
  );
  return new AppError('not-found', `${words(kind)} not found: ${JSON.stringify(text)}${listNames(things)}`, {
    code: 'NO_SUCH_NAME',
    problems: [
      problem(
        path,
        'rule',
        `names ${/^[aeio]/.test(kind) ? 'an' : 'a'} ${words(kind)} that does not exist`,
        // Table programs write the ID 9 of a column with gaps as 9.0.
        isOddNumber(text) ? `if it is an ID, ${wholeNumberHint}` : close && `did you mean ${close}?`,
      ),
    ],
    tryThis: listCommand(kind),
  });
};
/** The name of a record that no other record has, as another way to name it: WORKFLOW/STATE. */
const otherName = (things: readonly NamedRecord[], { id, names }: NamedRecord): string => {
  const own = names.find((name) => candidates(things, name).every((one) => one.id === id));
  return own === undefined ? '' : `, or a name such as ${JSON.stringify(own)}`;
};
/** The id behind a name. Ambiguity is an error that lists the candidates; a cached list that lacks the name is read again. */
export const resolveName = async (
  context: EngineContext,
  kind: string,
  text: string,
  path: string,
  isFresh: boolean,
): Promise<string | number> => {
  let { things, wasCached } = await load(context, kind, text, isFresh);
  let found = candidates(things, text);
  if (found.length === 0 && wasCached) {
    ({ things } = await load(context, kind, text, true));
    found = candidates(things, text);
  }
  const [only] = found;
  if (only === undefined) throw none(kind, text, things, path);
  if (found.length > 1) {
    const list = found.map(({ id, names }) => `${id} (${names.join(', ')})`).join('; ');
    throw usageError(`${found.length} ${words(kind)}s are called ${JSON.stringify(text)}: ${list}`, [
      problem(path, 'rule', 'is ambiguous', `give the id${otherName(things, only)}`),
    ]);
  }
  return only.id;
};

/** Parameters that leave no record out. */
const WHOLE: ReadonlySet<string> = new Set(['slim', 'includes_description']);
/** A list of labels also fills the names for shell completion. */
export const learnNames = async (
  context: EngineContext,
  operation: Operation,
  { query = {} }: LooseInput,
  answer: unknown,
): Promise<void> => {
  if (Object.keys(query).some((name) => query[name] !== undefined && !WHOLE.has(name))) return;
  for (const [kind, { list, read }] of Object.entries(kinds)) {
    if (list.path === operation.path && list.method === operation.method)
      await writeNames(context, kind, read(answer));
  }
};

type NamesById = ReadonlyMap<string, readonly string[]>;
const readInThisRun = new WeakMap<EngineContext, Map<string, Promise<NamesById>>>();
const readNames = async (context: EngineContext, kind: string): Promise<NamesById> => {
  try {
    const { things } = await load(context, kind, '', false);
    return new Map(things.map(({ id, names }) => [String(id), names]));
  } catch (error) {
    // A screen with an id in place of a name is better than no screen.
    context.log.debug(`the names of ${words(kind)}s were not read: ${messageOf(error)}`);
    return new Map();
  }
};
/** Returns the names of all things of a kind by id. One run reads each kind once; a list that cannot be read gives no names. */
export const getNamesById = (context: EngineContext, kind: string): Promise<NamesById> => {
  const known = readInThisRun.get(context) ?? new Map<string, Promise<NamesById>>();
  readInThisRun.set(context, known);
  const found = known.get(kind) ?? readNames(context, kind);
  known.set(kind, found);
  return found;
};

/** A longer list is not usable as a menu, so the value is typed. */
const MOST = 500;

const namedOf = async (context: EngineContext, kind: string): Promise<readonly NamedRecord[]> => {
  const found = kinds[kind];
  if (found === undefined) return [];
  const { list, query, read } = found;
  const input = query === undefined ? {} : { query };
  if (list.returns === undefined || bare(list.returns).type !== 'array')
    return read(await context.call(tracker, list, input));
  const all: NamedRecord[] = [];
  for await (const batch of await context.rows(tracker, list, input)) {
    all.push(...read(batch.map((text) => parseLookupRow(list, text))));
    if (all.length > MOST) break;
  }
  return all;
};

/** A name that two records share is ambiguous, so the ID is used. */
const choiceOf =
  (all: readonly NamedRecord[]) =>
  ({ id, names }: NamedRecord): Choice => {
    const [name = '', ...others] = names;
    const isUnique = name !== '' && all.filter((one) => one.names[0] === name).length === 1;
    const value = isUnique && !/^\d+$/.test(name) ? name : String(id);
    const about = [value === String(id) ? name : String(id), ...others].filter((text) => text !== '');
    return { value, label: about.length === 0 ? value : `${value}  (${about.join(', ')})` };
  };

/** What there is to choose from for a word of the completion layer: records with their titles, profiles, settings. */
export const choicesOf = async (context: EngineContext, kind: string): Promise<readonly Choice[]> => {
  if (kind === 'profile') return context.settings.profiles.map((value) => ({ value, label: value }));
  if (kind === 'setting') return keys.map(({ key }) => ({ value: key, label: key }));
  const all = await namedOf(context, kind);
  return all.length > MOST ? [] : all.map(choiceOf(all));
};
