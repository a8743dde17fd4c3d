import { labelsService } from '../api-specs/labels/labels.ts';
import type { EngineContext, Prompts } from '../api/context.ts';
import { AppError, messageOf, type Problem, problem, usageError } from '../core/problem.ts';
import { recordResult, type Result, rowsResult } from '../core/result.ts';
import { inParallel, type LabelJson } from './api-types.ts';
import {
  type PermissionDef,
  permissionIn,
  type PermissionPlan,
  permissionPlan,
  permissionsFrom,
  permissionText,
  repeatedPermissions,
  principalName,
} from './definition.ts';
import { type Document, placeProblems, readSingleDocument, textOf } from './read-files.ts';
import { listPermissions, listTitles, type ReadOptions, titleOf, withLabel } from './read-labels.ts';
import { isPlain, type Plain } from './read-values.ts';

const { permissions } = labelsService.table;
/**
 * spec/labels#permissions-4: each batch is atomic. Grants come first, so that a principal who keeps a role
 * always has one.
 */
export const sendPermissions = async (
  context: EngineContext,
  parent: string,
  plan: PermissionPlan,
  admin: { useAdminAccess?: boolean },
): Promise<number> => {
  const changes = [...plan.added, ...plan.changed.map(({ to }) => to)];
  if (changes.length > 0) {
    const requests = changes.map((labelPermission) => ({ parent, labelPermission }));
    await context.call(labelsService, permissions.batchUpdate, {
      params: { parent },
      body: { requests, ...admin },
    });
  }
  if (plan.removed.length > 0) {
    const requests = plan.removed.map(({ name }) => ({ name: name ?? '' }));
    await context.call(labelsService, permissions.batchDelete, {
      params: { parent },
      body: { requests, ...admin },
    });
  }
  return (changes.length > 0 ? 1 : 0) + (plan.removed.length > 0 ? 1 : 0);
};

const column = '"?(?:label|title|name|role|email|person|group|audience)"?';
/** A table with a header, as `labels permissions list -o csv` writes it: by the name of the file, or by its first line. */
const isCsv = (file: string, text: string): boolean =>
  /\.(csv|tsv)$/i.test(file) || new RegExp(`^\uFEFF?${column}(?:,${column})+[ \t]*(?:\r?\n|$)`).test(text);
/** The rows of a table with their lines. */
export type Table = {
  readonly rows: readonly unknown[];
  readonly lines: readonly number[];
  readonly headerLine: number;
};
/** Reads a CSV text; the caller has the reader. */
export type ReadRows = (source: string, text: string) => Promise<Table>;
/** Adds the file, the line and the column to problems whose paths start with the index of an entry. */
type Locate = (problems: readonly Problem[]) => Problem[];
/** The path of a problem in a table is the name of its column. A fault of the header is reported once. */
const locateInTable =
  (source: string, { lines, headerLine }: Table): Locate =>
  (problems) => {
    const seen = new Set<string>();
    return problems.flatMap((one) => {
      const [, index = '', column = ''] = /^\[(\d+)\]\.?(.*)$/.exec(one.path) ?? [];
      const isOfHeader = one.rule === 'unknown';
      if (isOfHeader && seen.has(column)) return [];
      if (isOfHeader) seen.add(column);
      return [
        { ...one, path: column, file: source, line: isOfHeader ? headerLine : (lines[Number(index)] ?? 1) },
      ];
    });
  };
/** A list may be the value of a key: `permissions:`. */
const locateInDocument =
  (document: Document): Locate =>
  (problems) => {
    const keys = isPlain(document.value) ? document.value : {};
    const list = ['permissions', 'labelPermissions'].find((key) => keys[key] !== undefined) ?? '';
    return placeProblems(
      document,
      problems.map((one) => (one.path.startsWith('[') ? { ...one, path: `${list}${one.path}` } : one)),
    );
  };
type Listed = { readonly source: string; readonly value: unknown; readonly locate: Locate };
/** The list of a file: a table, or a YAML or JSON document. */
const listIn = async (context: EngineContext, file: string, rowsIn: ReadRows): Promise<Listed> => {
  const text = await textOf(context, file);
  if (!isCsv(file, text)) {
    const document = readSingleDocument(file, text);
    return { source: document.source, value: document.value, locate: locateInDocument(document) };
  }
  const source = file === '-' ? 'standard input' : file;
  const table = await rowsIn(source, text);
  return { source, value: table.rows, locate: locateInTable(source, table) };
};
const wantedFrom = async (context: EngineContext, file: string, rowsIn: ReadRows) => {
  const { source, value, locate } = await listIn(context, file, rowsIn);
  const { wanted, problems } = permissionsFrom(value);
  if (problems.length > 0)
    throw usageError(`${source}: the list of permissions is invalid; no request was sent`, locate(problems));
  return wanted;
};
export type SyncOptions = ReadOptions & { readonly file: string; readonly keep: boolean };
/** Makes the permissions of a label those of a list; what the list does not have goes, unless it is kept. */
export const syncPermissions = async (
  context: EngineContext & Prompts,
  typed: string,
  asking: SyncOptions,
  rowsIn: ReadRows,
): Promise<Result> => {
  const wanted = await wantedFrom(context, asking.file, rowsIn);
  return withLabel(context, typed, asking, async (found) => {
    const [parent = ''] = found.split('@');
    const plan = permissionPlan(wanted, await listPermissions(context, parent, asking), asking.keep);
    const text = permissionText(plan);
    context.log.info(`permissions of ${parent}:\n${text}`, true);
    const isChange = plan.added.length + plan.changed.length + plan.removed.length > 0;
    if (plan.removed.length > 0)
      await context.confirm(
        `Remove the permissions of ${plan.removed.map(principalName).join(', ')} on ${typed}?`,
      );
    if (isChange && !context.isDryRun)
      await sendPermissions(context, parent, plan, asking.admin ? { useAdminAccess: true } : {});
    const data = { label: parent, ...plan, sent: isChange && !context.isDryRun };
    return recordResult(data, {
      name: 'label',
      isReport: true,
      text: isChange ? text.replace(/^ {2}/gm, '') : 'no changes',
    });
  });
};

const PRINCIPALS = ['email', 'person', 'group', 'audience'] as const;
const readLabels = async (context: EngineContext, asking: ReadOptions): Promise<LabelJson[]> => {
  const labels: LabelJson[] = [];
  for await (const label of listTitles(context, asking)) labels.push(label);
  return labels;
};
async function* exportedRows(context: EngineContext, asking: ReadOptions): AsyncGenerator<object> {
  for (const label of await readLabels(context, asking)) {
    const name = `labels/${label.id}`;
    for (const one of await listPermissions(context, name, asking)) {
      // An address names the principal: the ID of the principal would differ in another deployment.
      const named = one.email === undefined ? PRINCIPALS : (['email'] as const);
      const who = Object.fromEntries(
        PRINCIPALS.map((key) => [key, named.some((k) => k === key) ? one[key] : undefined]),
      );
      yield { label: name, title: titleOf(label), role: one.role, ...who };
    }
  }
}
/** All permissions of all labels, one row for each permission. */
export const exportPermissions = (context: EngineContext, asking: ReadOptions): Result =>
  rowsResult(exportedRows(context, asking), {
    columns: ['label', 'title', 'role', ...PRINCIPALS],
    name: 'label',
  });

/** The rows of one label. */
type Group = {
  readonly label: LabelJson;
  readonly wanted: PermissionDef[];
  /** The index of the row of each permission. */
  readonly rows: number[];
  readonly path: string;
};
const findLabel = (row: Plain, labels: readonly LabelJson[], path: string, problems: Problem[]) => {
  const id = String(row.label ?? '').replace(/^labels\//, '');
  const title = row.title === undefined ? '' : String(row.title);
  const known = id === '' ? undefined : labels.find((label) => label.id === id);
  if (known !== undefined) {
    if (title === '' || title === titleOf(known)) return known;
    const text = `is ${JSON.stringify(title)}, but labels/${id} is ${JSON.stringify(titleOf(known))}`;
    problems.push(
      problem(`${path}.title`, 'rule', text, 'correct the title, or remove one of the two columns'),
    );
    return undefined;
  }
  // The IDs of another deployment are not known here: the title decides.
  if (id === '' && title === '') {
    const fix = 'add the column title or label';
    problems.push(problem(`${path}.title`, 'required', 'is required: the title or the ID of the label', fix));
    return undefined;
  }
  const titled = title === '' ? [] : labels.filter((label) => titleOf(label) === title);
  if (titled.length === 1) return titled[0];
  const what = title === '' ? JSON.stringify(row.label ?? '') : JSON.stringify(title);
  problems.push(
    titled.length > 1
      ? problem(
          `${path}.title`,
          'rule',
          `names ${titled.length} labels: ${what}`,
          'add the column label with labels/ID',
        )
      : problem(`${path}.title`, 'rule', `names ${what}, which is not a label`, 'opsctl labels list'),
  );
  return undefined;
};
type TableRow = { readonly row: Plain; readonly wanted: PermissionDef };
/** The rows of a table, checked before the labels of the service are read. */
const checkRows = (rows: readonly unknown[], { source, locate }: Listed): TableRow[] => {
  const problems: Problem[] = [];
  const checked = rows.flatMap((row, i): TableRow[] => {
    const path = `[${i}]`;
    if (!isPlain(row)) {
      problems.push(problem(path, 'type', 'must be {title, role, email | person | group | audience}'));
      return [];
    }
    const { label: _, title: __, ...permission } = row;
    const filled = Object.fromEntries(Object.entries(permission).filter(([, value]) => value !== ''));
    return [{ row, wanted: permissionIn(filled, path, problems) }];
  });
  if (problems.length > 0)
    throw usageError(`${source}: the table of permissions is invalid; no request was sent`, locate(problems));
  return checked;
};
const groupRows = (
  rows: readonly TableRow[],
  labels: readonly LabelJson[],
  { source, locate }: Listed,
): Group[] => {
  const problems: Problem[] = [];
  const groups = new Map<string, Group>();
  for (const [i, { row, wanted }] of rows.entries()) {
    const label = findLabel(row, labels, `[${i}]`, problems);
    if (label === undefined) continue;
    const group = groups.get(label.id ?? '') ?? { label, wanted: [], rows: [], path: titleOf(label) };
    group.wanted.push(wanted);
    group.rows.push(i);
    groups.set(label.id ?? '', group);
  }
  for (const { wanted, rows: indexes } of groups.values())
    for (const one of repeatedPermissions(wanted, (i) => `[${indexes[i] ?? 0}]`)) problems.push(one);
  if (problems.length > 0)
    throw usageError(
      `${source}: the table of permissions is invalid; no changes were made`,
      locate(problems),
    );
  return [...groups.values()];
};
export type ImportOptions = ReadOptions & { readonly file: string; readonly keep: boolean };
const isChange = ({ added, changed, removed }: PermissionPlan): boolean =>
  added.length + changed.length + removed.length > 0;
type Planned = Group & { readonly name: string; readonly plan: PermissionPlan };
/** Sends the batches of one label. A refusal of the service does not stop the other labels. */
const sendOne = async (context: EngineContext, { name, path, plan }: Planned, admin: boolean) => {
  const counts = { added: plan.added.length, changed: plan.changed.length, removed: plan.removed.length };
  const row = { label: name, title: path, ...counts };
  if (!isChange(plan)) return { ...row, status: 'unchanged' };
  if (context.isDryRun) return { ...row, status: 'would' };
  try {
    await sendPermissions(context, name, plan, admin ? { useAdminAccess: true } : {});
    return { ...row, status: 'done' };
  } catch (error) {
    if (!(error instanceof AppError) || error.category !== 'refused') throw error;
    return { ...row, status: 'failed', error: messageOf(error) };
  }
};
const showAndConfirm = async (
  context: EngineContext & Prompts,
  planned: readonly Planned[],
): Promise<void> => {
  const changing = planned.filter(({ plan }) => isChange(plan));
  for (const { name, path, plan } of changing)
    context.log.info(`permissions of ${path} (${name}):\n${permissionText(plan)}`, true);
  const losing = changing.flatMap(({ path, plan }) =>
    plan.removed.map((one) => `${principalName(one)} on ${path}`),
  );
  if (losing.length > 0) await context.confirm(`Remove the permissions of ${losing.join(', ')}?`);
};
/** Makes the permissions of each label in a table those of its rows. Labels without a row are not changed. */
export const importPermissions = async (
  context: EngineContext & Prompts,
  options: ImportOptions,
  rowsIn: ReadRows,
): Promise<Result> => {
  const listed = await listIn(context, options.file, rowsIn);
  const { source, value } = listed;
  if (!Array.isArray(value))
    throw usageError(`${source} must be a list of permissions`, [
      problem('--file', 'type', 'must be a list'),
    ]);
  const rows = checkRows(value, listed);
  const groups = groupRows(rows, await readLabels(context, options), listed);
  const planned = await inParallel(groups, async (group): Promise<Planned> => {
    const name = `labels/${group.label.id}`;
    const live = await listPermissions(context, name, options);
    return { ...group, name, plan: permissionPlan(group.wanted, live, options.keep) };
  });
  await showAndConfirm(context, planned);
  const sent: { readonly status: string }[] = [];
  for (const one of planned) sent.push(await sendOne(context, one, options.admin ?? false));
  const failed = sent.filter(({ status }) => status === 'failed').length;
  const columns = ['title', 'status', 'added', 'changed', 'removed', 'label', 'error'];
  const exit = (): 'done' | 'partial' | 'refused' =>
    failed === 0 ? 'done' : failed < planned.length ? 'partial' : 'refused';
  return { kind: 'rows', rows: sent, view: { columns, name: 'label' }, exit };
};
