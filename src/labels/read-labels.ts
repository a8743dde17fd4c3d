import { labelsService } from '../api-specs/labels/labels.ts';
import { systemQuery } from '../api-specs/labels/wire.ts';
import type { EngineContext } from '../api/context.ts';
import { bare, type ObjectField } from '../core/field.ts';
import type { LooseInput, Operation } from '../core/operation.ts';
import { brokenPage, heldRows, pageWatch } from '../core/limits.ts';
import { AppError, problem, usageError, messageOf } from '../core/problem.ts';
import { nearest, toForm } from '../core/text.ts';
import {
  inParallel,
  type LabelJson,
  type LimitsJson,
  type LockJson,
  type PermissionJson,
  type UserCapabilitiesJson,
} from './api-types.ts';
import { join } from 'node:path';

const { table } = labelsService;
export type ReadOptions = { readonly admin?: boolean };
const adminQuery = ({ admin }: ReadOptions) => (admin ? { useAdminAccess: true } : {});
/** Reads are made under --dry-run as well: a plan needs them. Line breaks and indents would be half of the bytes. */
const read = <T>(context: EngineContext, operation: Operation, input: LooseInput): Promise<T> => {
  const { fields, prettyPrint } = systemQuery;
  const compact = { ...operation, query: { ...operation.query, fields, prettyPrint } };
  const query = { prettyPrint: false, ...input.query };
  return context.lookups.call(labelsService, compact, { ...input, query }) as Promise<T>;
};
/** The keys of a label that a definition contains: a sixteenth of the bytes of a whole label. */
const choiceMembers =
  'choices(id,properties(displayName,description,badgeConfig),lifecycle(state,disabledPolicy))';
const fieldMembers = [
  'id,properties(displayName,required),lifecycle(state,disabledPolicy)',
  'textOptions,integerOptions,dateOptions/dateFormatType,userOptions',
  `selectionOptions(listOptions,${choiceMembers})`,
].join();
const definitionMembers = [
  'name,id,revisionId,labelType,properties(title,description),learnMoreUri,createTime,lifecycle',
  'appliedLabelPolicy/copyMode,enabledAppSettings,schemaCapabilities',
  `fields(${fieldMembers})`,
].join();
/** A label as `labels get` shows it. */
export const getLabel = (
  context: EngineContext,
  name: string,
  asking: ReadOptions = {},
  part: { readonly fields?: string } = {},
): Promise<LabelJson> =>
  read(context, table.labels.get, {
    params: { name },
    query: { view: 'LABEL_VIEW_FULL', ...part, ...adminQuery(asking) },
  });
/** Only the keys that a definition contains. */
export const getDefinition = (
  context: EngineContext,
  name: string,
  asking: ReadOptions = {},
): Promise<LabelJson> => getLabel(context, name, asking, { fields: definitionMembers });
/** Who made one revision of a label, and when. */
export type RevisionAuthor = {
  readonly revision: string;
  readonly author: string | null;
  readonly at: string | null;
};
/**
 * Returns the author of a revision; undefined if the service does not tell it. The author is additional: a failure of this
 * request must not replace the result of a command.
 */
export const getAuthor = async (
  context: EngineContext,
  name: string,
  asking: ReadOptions,
): Promise<RevisionAuthor | undefined> => {
  const fields = 'revisionId,revisionCreateTime,revisionCreator/person';
  const query = { view: 'LABEL_VIEW_FULL', fields, ...adminQuery(asking) };
  const label = await read<LabelJson>(context, table.labels.get, { params: { name }, query }).catch(
    (error: unknown) => {
      if (error instanceof AppError && !context.signal.aborted) return undefined;
      throw error;
    },
  );
  if (label === undefined) return undefined;
  const { revisionId = '', revisionCreateTime, revisionCreator } = label;
  return { revision: revisionId, author: revisionCreator?.person ?? null, at: revisionCreateTime ?? null };
};
/** All labels, with the keys of definitions. Pages of 50 limit the memory of one page. */
export const listDefinitions = (
  context: EngineContext,
  asking: ReadOptions,
  more: Readonly<Record<string, unknown>> = {},
): AsyncGenerator<LabelJson> =>
  allLabels(context, {
    view: 'LABEL_VIEW_FULL',
    pageSize: 50,
    fields: `labels(${definitionMembers}),nextPageToken`,
    ...adminQuery(asking),
    ...more,
  });
/** Titles and ids of all labels. */
export const listTitles = (context: EngineContext, asking: ReadOptions): AsyncGenerator<LabelJson> =>
  limitHeldRows(
    'GET /labels',
    allLabels(context, {
      pageSize: 200,
      view: 'LABEL_VIEW_FULL',
      fields: 'labels(id,labelType,revisionId,createTime,properties/title,lifecycle/state),nextPageToken',
      ...adminQuery(asking),
    }),
  );
/** The same rows for callers that hold or search them: their number is limited. */
async function* limitHeldRows<T>(what: string, rows: AsyncIterable<T>): AsyncGenerator<T> {
  const watch = heldRows(what);
  for await (const row of rows) {
    watch.refuseMore(1);
    yield row;
  }
}
type Page = { readonly nextPageToken?: unknown };
const otherShape = ({ method, path }: Operation, why: string): AppError =>
  brokenPage(`${method} ${path}`, why);
/** The token of the next page; undefined on the last page, where it is absent, empty or null. */
const nextToken = (operation: Operation, { nextPageToken = null }: Page): string | undefined => {
  if (nextPageToken === null || nextPageToken === '') return undefined;
  if (typeof nextPageToken === 'string') return nextPageToken;
  throw otherShape(operation, 'nextPageToken of the response is not a string');
};
/** Returns the number of rows of a page. A value that is not a list of objects comes from another service. */
const needRows = (operation: Operation, page: Page): number => {
  const { fields } = operation.returns as ObjectField;
  const lists = Object.entries(page).filter(
    ([name, value]) => value !== null && fields[name] !== undefined && bare(fields[name]).type === 'array',
  );
  for (const [name, rows] of lists)
    if (!Array.isArray(rows) || rows.some((row) => typeof row !== 'object' || row === null))
      throw otherShape(operation, `${name} of the response is not a list of objects`);
  return lists.reduce((count, [, rows]) => count + (rows as readonly unknown[]).length, 0);
};
/** Follows nextPageToken until there is none: the only sign of the end (spec/labels#parameters). */
export async function* streamPages<T extends Page>(
  context: EngineContext,
  operation: Operation,
  input: LooseInput,
): AsyncGenerator<T> {
  const watch = pageWatch(`${operation.method} ${operation.path}`, 'nextPageToken');
  let { query } = input;
  if (typeof query?.pageToken === 'string') watch.refuseAgain(query.pageToken);
  for (;;) {
    const page: T = await read<T>(context, operation, { ...input, query });
    watch.refuseForEver(needRows(operation, page));
    yield page;
    const pageToken = nextToken(operation, page);
    if (pageToken === undefined) return;
    watch.refuseAgain(pageToken);
    query = { ...input.query, pageToken };
  }
}
async function* allLabels(
  context: EngineContext,
  query: Readonly<Record<string, unknown>>,
): AsyncGenerator<LabelJson> {
  for await (const page of streamPages<Page & { labels?: LabelJson[] }>(context, table.labels.list, {
    query,
  }))
    yield* page.labels ?? [];
}
/** Returns all rows of a list below a label. The number of rows that are held is limited. */
const listBelow = async <K extends string, T>(
  context: EngineContext,
  operation: Operation,
  { label, key, noun, asking = {} }: { label: string; key: K; noun: string; asking?: ReadOptions },
): Promise<T[]> => {
  const rows: T[] = [];
  const watch = heldRows(noun);
  const input = { params: { parent: label }, query: { pageSize: 200, ...adminQuery(asking) } };
  for await (const page of streamPages<Page & { readonly [P in K]?: T[] }>(context, operation, input)) {
    const more: readonly T[] = page[key] ?? [];
    watch.refuseMore(more.length);
    rows.push(...more);
  }
  return rows;
};
export const listLocks = (context: EngineContext, label: string): Promise<LockJson[]> =>
  listBelow(context, table.locks.list, { label, key: 'labelLocks', noun: 'the locks' });
export const listPermissions = (
  context: EngineContext,
  label: string,
  asking: ReadOptions = {},
): Promise<PermissionJson[]> =>
  listBelow(context, table.permissions.list, {
    label,
    key: 'labelPermissions',
    noun: 'the permissions',
    asking,
  });
export const getLimits = (context: EngineContext): Promise<LimitsJson> => read(context, table.limits.get, {});
export const getUserCapabilities = (context: EngineContext): Promise<UserCapabilitiesJson> =>
  read(context, table.capabilities.get, { params: { name: 'users/me/capabilities' } });

const foldCase = (text: string): string => toForm(text).trim().toLowerCase();
export const titleOf = (label: LabelJson): string => label.properties?.title ?? '';
/** `labels/x@2` and `x@published` keep their revision. A title keeps its @. */
const parts = (text: string): { bare: string; revision: string } => {
  const match = /^(.+)(@(?:latest|published|\d+))$/.exec(text);
  return { bare: match?.[1] ?? text, revision: match?.[2] ?? '' };
};
/** Labels of this title: equal first, else those that differ in case or Unicode form only. Pure. */
const findTitled = (labels: readonly LabelJson[], title: string): LabelJson[] => {
  const exact = labels.filter((label) => titleOf(label) === title);
  return exact.length > 0 ? exact : labels.filter((label) => foldCase(titleOf(label)) === foldCase(title));
};
/** The source of a title, and how to select the label unambiguously. */
type Given = { readonly path: string; readonly hint: string };
const argument: Given = { path: '<label>', hint: 'give the id' };
export const ambiguousTitle = (title: string, found: readonly LabelJson[], { path, hint }: Given): AppError =>
  usageError(
    `${found.length} labels have the title ${JSON.stringify(title)}: ${found.map((l) => `labels/${l.id} (${l.labelType})`).join(', ')}`,
    [problem(path, 'rule', 'is ambiguous', hint)],
    found.slice(0, 3).map((l) => (path === argument.path ? `labels/${l.id}` : `id: ${l.id}`)),
  );
/**
 * Returns the label with a title; undefined if none exists. Throws an error that lists both if two labels
 * have the same title.
 */
const findByTitle = async (
  context: EngineContext,
  title: string,
  asking: ReadOptions = {},
  given: Given = argument,
): Promise<{ label?: LabelJson; titles: string[]; ids: string[] }> => {
  const all: LabelJson[] = [];
  for await (const label of listTitles(context, asking)) all.push(label);
  await rememberTitles(context, all);
  const found = findTitled(all, title);
  if (found.length > 1) throw ambiguousTitle(title, found, given);
  return { label: found[0], titles: all.map(titleOf), ids: all.map(({ id = '' }) => id) };
};
const noSuchLabel = (text: string, titles: readonly string[]): AppError => {
  const close = nearest(text, titles);
  return new AppError('not-found', `label not found: ${JSON.stringify(text)}`, {
    code: 'NO_SUCH_LABEL',
    problems: [
      problem(
        '<label>',
        'rule',
        'must be the ID or title of a label',
        close && `did you mean ${JSON.stringify(close)}?`,
      ),
    ],
    tryThis: ['opsctl labels list'],
  });
};
/** An id of the service: letters and digits only. A one-word title looks the same, so the service decides. */
const looksLikeId = (text: string): boolean => /^[A-Za-z0-9]{8,}$/.test(text);
/** The name of an existing label from typed text, for commands that confirm before they act. */
export const nameOfLabel = (context: EngineContext, typed: string, asking: ReadOptions): Promise<string> =>
  withLabel(context, typed, asking, async (name) => {
    await getLabel(context, name, asking);
    return name;
  });
/** Services that check permissions first return 403 for an unknown ID (spec/labels#errors). */
const mayBeNone = (error: unknown): error is AppError =>
  error instanceof AppError &&
  error.detail.code !== 'MISSING_SCOPE' &&
  (error.category === 'not-found' || error.detail.httpStatus === 403);
/** A text that looks like an ID is first tried as an ID, which avoids reading all titles. */
const withId = async <T>(
  context: EngineContext,
  typed: string,
  asking: ReadOptions,
  use: (name: string) => Promise<T>,
): Promise<T> => {
  const { bare, revision } = parts(typed);
  try {
    return await use(`labels/${bare}${revision}`);
  } catch (error) {
    if (!mayBeNone(error)) throw error;
    const { label, titles, ids } = await findByTitle(context, bare, asking);
    if (label !== undefined) return use(`labels/${label.id}${revision}`);
    // The missing object may be a part of an existing label: a revision, a permission.
    throw error.category === 'not-found' && !ids.includes(bare) ? noSuchLabel(typed, titles) : error;
  }
};
/** `title:labels/x` is always a title. */
const TITLE_FORM = 'title:';
const findTitleForm = async (
  context: EngineContext,
  typed: string,
  asking: ReadOptions,
): Promise<string | undefined> => {
  const title = typed.slice(TITLE_FORM.length);
  const { bare, revision } = parts(title);
  const whole = await findByTitle(context, title, asking);
  if (whole.label !== undefined) return `labels/${whole.label.id}`;
  const label = revision === '' ? undefined : (await findByTitle(context, bare, asking)).label;
  return label === undefined ? undefined : `labels/${label.id}${revision}`;
};
/** Runs `use` with the name (labels/<id>, revision kept) of the label that a person typed: an id, labels/<id> or a title. */
export const withLabel = async <T>(
  context: EngineContext,
  typed: string,
  asking: ReadOptions,
  use: (name: string) => Promise<T>,
): Promise<T> => {
  // An unset variable of a script must not select a label.
  if (/^(labels\/)?\s*$/.test(typed))
    throw usageError('no label was named', [problem('<label>', 'required', `is ${JSON.stringify(typed)}`)]);
  if (typed.startsWith('labels/')) return use(typed);
  const titled = typed.startsWith(TITLE_FORM) ? await findTitleForm(context, typed, asking) : undefined;
  if (titled !== undefined) return use(titled);
  const { bare, revision } = parts(typed);
  // A dry run ends at its first request, so what looks like an id must not be mistaken for one there.
  if (looksLikeId(bare) && !context.isDryRun) return withId(context, typed, asking, use);
  const whole = await findByTitle(context, typed, asking);
  if (whole.label !== undefined) return use(`labels/${whole.label.id}`);
  const { label, titles } = revision === '' ? whole : await findByTitle(context, bare, asking);
  if (label !== undefined) return use(`labels/${label.id}${revision}`);
  if (context.isDryRun && looksLikeId(bare)) return use(`labels/${typed}`);
  throw noSuchLabel(typed, titles);
};

/** What a definition may be called in the service. */
export type Seek = { readonly ids: readonly string[]; readonly titles: readonly string[] };
/** The requested labels, each read once. */
export type LiveLabels = {
  withId(id: string): LabelJson | undefined;
  withTitle(title: string): readonly LabelJson[];
  /** Labels whose titles differ from this one in case or outer spaces only. */
  similarTo(title: string): readonly LabelJson[];
};
/** So few labels whose ids are known are read by id; more of them cost less as pages of all labels. */
const fewReads = 4;
const readById = async (
  context: EngineContext,
  id: string,
  asking: ReadOptions,
): Promise<LabelJson | undefined> => {
  try {
    return await getDefinition(context, `labels/${id}`, asking);
  } catch (error) {
    if (mayBeNone(error)) return undefined;
    throw error;
  }
};
/** The labels by a text of theirs, in their order. */
export const groupBy = (
  labels: readonly LabelJson[],
  textOf: (label: LabelJson) => string,
): ReadonlyMap<string, readonly LabelJson[]> => {
  const groups = new Map<string, LabelJson[]>();
  for (const label of labels) {
    const text = textOf(label);
    const group = groups.get(text);
    if (group === undefined) groups.set(text, [label]);
    else group.push(label);
  }
  return groups;
};
const indexOf = (labels: readonly LabelJson[]): LiveLabels => {
  const byId = new Map(labels.map((label) => [label.id, label]));
  const byTitle = groupBy(labels, titleOf);
  const byFoldedTitle = groupBy(labels, (label) => foldCase(titleOf(label)));
  return {
    withId: (id) => byId.get(id),
    withTitle: (title) => byTitle.get(title) ?? [],
    similarTo: (title) => byFoldedTitle.get(foldCase(title)) ?? [],
  };
};
/** Reads all labels and keeps those that are sought. */
const fromPages = async (
  context: EngineContext,
  seeks: readonly Seek[],
  asking: ReadOptions,
): Promise<LiveLabels> => {
  const ids = new Set(seeks.flatMap((seek) => seek.ids));
  const titles = new Set(seeks.flatMap((seek) => seek.titles.map(foldCase)));
  const kept: LabelJson[] = [];
  const all: LabelJson[] = [];
  for await (const label of limitHeldRows('GET /labels', listDefinitions(context, asking))) {
    all.push({ properties: { title: titleOf(label) } });
    if (ids.has(label.id ?? '') || titles.has(foldCase(titleOf(label)))) kept.push(label);
  }
  await rememberTitles(context, all);
  return indexOf(kept);
};
/** Everything that is sought in as few requests as possible: pages of all labels, or one read for each of a few ids. */
export const readLive = async (
  context: EngineContext,
  seeks: readonly Seek[],
  asking: ReadOptions,
): Promise<LiveLabels> => {
  const hasIds = seeks.every((seek) => seek.ids.length > 0);
  if (!hasIds || seeks.length > fewReads) return fromPages(context, seeks, asking);
  const found = await inParallel(
    seeks.flatMap(({ ids }) => ids),
    async (id) => readById(context, id, asking),
  );
  const labels = indexOf(found.flatMap((label) => label ?? []));
  // An id of another deployment: the title decides.
  const isFound = seeks.every(({ ids }) => ids.some((id) => labels.withId(id) !== undefined));
  return isFound ? labels : fromPages(context, seeks, asking);
};

/** The name under which shell completion finds titles of labels; `label` is used for the tracker's labels. */
export const TITLES = 'label-title';

/**
 * Keeps the titles of all labels for completion, which never uses the network. An unwritable list is not a
 * failure.
 */
export const rememberTitles = async (context: EngineContext, labels: readonly LabelJson[]): Promise<void> => {
  const { files } = context.host;
  const directory = join(context.settings.directories.cache, 'names');
  const titles = labels.flatMap(({ properties }) =>
    properties?.title === undefined || /[\r\n]/.test(properties.title) ? [] : [properties.title],
  );
  const text = `${[...new Set(titles)].join('\n')}\n`;
  try {
    if ((await files.read(join(directory, TITLES))) === text) return;
    await files.makeDirectory(directory, 0o700);
    await files.replace(join(directory, TITLES), text, 0o600);
  } catch (error) {
    context.log.debug(`the titles for TAB were not written: ${messageOf(error)}`);
  }
};
