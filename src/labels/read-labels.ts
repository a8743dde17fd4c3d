import { type ObjectField, bare } from '../core/field.ts';
import { heldRows } from '../core/held-rows.ts';
import { brokenPage, pageWatch } from '../core/next-page.ts';
import type { LooseInput, Operation } from '../core/operation.ts';
import type { AppError } from '../core/problem.ts';
import { labelsService } from '../api-specs/labels/index.ts';
import { systemQuery } from '../api-specs/labels/system.ts';
import type { Context } from '../cli/command.ts';
import type { LabelJson, LimitsJson, LockJson, PermissionJson, UserCapabilitiesJson } from './api-types.ts';

const { table } = labelsService;
export type Asking = { readonly admin?: boolean };
const adminQuery = ({ admin }: Asking) => (admin ? { useAdminAccess: true } : {});

/** Reads are made under --dry-run as well: a plan needs them. Line breaks and indents would be half of the bytes. */
const read = <T>(context: Context, operation: Operation, input: LooseInput): Promise<T> => {
  const { fields, prettyPrint } = systemQuery;
  const compact = { ...operation, query: { ...operation.query, fields, prettyPrint } };
  const query = { prettyPrint: false, ...input.query };
  return context.call(labelsService, compact, { ...input, query }, { evenInDryRun: true }) as Promise<T>;
};

/** The members of a label that a definition is made of: a sixteenth of the bytes of a whole one. */
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
export const getLabel = (context: Context, name: string, asking: Asking = {}): Promise<LabelJson> =>
  read(context, table.labels.get, {
    params: { name },
    query: { view: 'LABEL_VIEW_FULL', ...adminQuery(asking) },
  });

/** What a definition is made of, and nothing else. */
export const getDefinition = (context: Context, name: string, asking: Asking = {}): Promise<LabelJson> =>
  read(context, table.labels.get, {
    params: { name },
    query: { view: 'LABEL_VIEW_FULL', fields: definitionMembers, ...adminQuery(asking) },
  });

/** All labels, as far as definitions are made of them. Pages of 50 keep the memory of one page small. */
export const allDefinitions = (
  context: Context,
  asking: Asking,
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
export const allTitles = (context: Context, asking: Asking): AsyncGenerator<LabelJson> =>
  held(
    'GET /labels',
    allLabels(context, {
      pageSize: 200,
      view: 'LABEL_VIEW_FULL',
      fields: 'labels(id,labelType,revisionId,createTime,properties/title,lifecycle/state),nextPageToken',
      ...adminQuery(asking),
    }),
  );

/** The same rows where they are held, or looked through for one: there is an end to them. */
export async function* held<T>(what: string, rows: AsyncIterable<T>): AsyncGenerator<T> {
  const watch = heldRows(what);
  for await (const row of rows) {
    watch.refuseMore(1);
    yield row;
  }
}

type Page = { readonly nextPageToken?: unknown };
const otherShape = ({ method, path }: Operation, why: string): AppError =>
  brokenPage(`${method} ${path}`, why);

/** The token of the page behind this one; undefined on the last, where it is absent, empty or null. */
const nextToken = (operation: Operation, { nextPageToken = null }: Page): string | undefined => {
  if (nextPageToken === null || nextPageToken === '') return undefined;
  if (typeof nextPageToken === 'string') return nextPageToken;
  throw otherShape(operation, 'nextPageToken of the answer is no text');
};

/** How many rows a page has; a list of them that is none, or holds something else than objects, is another service's. */
const needRows = (operation: Operation, page: Page): number => {
  const { fields } = operation.returns as ObjectField;
  const lists = Object.entries(page).filter(
    ([name, value]) => value !== null && fields[name] !== undefined && bare(fields[name]).type === 'array',
  );
  for (const [name, rows] of lists)
    if (!Array.isArray(rows) || rows.some((row) => typeof row !== 'object' || row === null))
      throw otherShape(operation, `${name} of the answer is no list of objects`);
  return lists.reduce((count, [, rows]) => count + (rows as readonly unknown[]).length, 0);
};

/** Follows nextPageToken until there is none: the only sign of the end (spec/labels#parameters). */
export async function* allPages<T extends Page>(
  context: Context,
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
  context: Context,
  query: Readonly<Record<string, unknown>>,
): AsyncGenerator<LabelJson> {
  for await (const page of allPages<Page & { labels?: LabelJson[] }>(context, table.labels.list, { query }))
    yield* page.labels ?? [];
}

export const allLocks = async (context: Context, label: string): Promise<LockJson[]> => {
  const locks: LockJson[] = [];
  const input = { params: { parent: label }, query: { pageSize: 200 } };
  const watch = heldRows('the locks');
  for await (const page of allPages<Page & { labelLocks?: LockJson[] }>(context, table.locks.list, input)) {
    watch.refuseMore(page.labelLocks?.length ?? 0);
    locks.push(...(page.labelLocks ?? []));
  }
  return locks;
};

export const allPermissions = async (
  context: Context,
  label: string,
  asking: Asking = {},
): Promise<PermissionJson[]> => {
  const found: PermissionJson[] = [];
  const watch = heldRows('the permissions');
  const input = { params: { parent: label }, query: { pageSize: 200, ...adminQuery(asking) } };
  for await (const page of allPages<Page & { labelPermissions?: PermissionJson[] }>(
    context,
    table.permissions.list,
    input,
  )) {
    watch.refuseMore(page.labelPermissions?.length ?? 0);
    found.push(...(page.labelPermissions ?? []));
  }
  return found;
};

export const getLimits = (context: Context): Promise<LimitsJson> => read(context, table.limits.get, {});
export const getUserCapabilities = (context: Context): Promise<UserCapabilitiesJson> =>
  read(context, table.capabilities.get, { params: { name: 'users/me/capabilities' } });
