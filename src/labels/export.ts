import { dirname, join } from 'node:path';
import type { Display, EngineContext } from '../api/context.ts';
import {
  childPath,
  type FileName,
  fileNameKey,
  isSafeFileName,
  pathPart,
  uniqueFileName,
} from '../core/file-name.ts';
import { oneLine } from '../core/text.ts';
import { AppError, problem, usageError } from '../core/problem.ts';
import { type Result, rowsResult } from '../core/result.ts';
import { yamlText } from '../core/yaml.ts';
import { containedPath } from '../platform/trust.ts';
import type { LabelJson } from './api-types.ts';
import type { LabelDef, LiveLabel } from './definition.ts';
import { definitionOf, liveFrom, fileFrom } from './from-label.ts';
import { deploymentOf, exportedKey, LockIndex, newLabelKey, recordFrom, slugOf } from './lock-entries.ts';
import { changeLock, type DeploymentRecord, LOCK_FILE, type LockFile, readLock } from './lock-file.ts';
import { match } from './match.ts';
import {
  absolute,
  definitionFilesIn,
  definitionFrom,
  documentsIn,
  LINT_FILE,
  SCHEMA_FILE,
  schemaLine,
  schemaText,
} from './read-files.ts';
import {
  listDefinitions,
  listPermissions,
  type ReadOptions,
  getDefinition,
  withLabel,
} from './read-labels.ts';
import { present } from './read-values.ts';

/** A label that is read for export: its definition, and the comment above it. */
type Exported = { readonly json: LabelJson; readonly live: LiveLabel; readonly definition: LabelDef };
export type ExportOptions = ReadOptions & {
  readonly all: boolean;
  readonly published: boolean;
  readonly permissions: boolean;
};
/** A label that is there without a published revision is not one that is not there. */
const publishedOf = async (context: EngineContext, name: string, asking: ReadOptions): Promise<LabelJson> => {
  try {
    return await getDefinition(context, `${name}@published`, asking);
  } catch (error) {
    if (!(error instanceof AppError) || error.category !== 'not-found') throw error;
    const { properties } = await getDefinition(context, name, asking);
    throw new AppError('not-found', `label ${properties?.title ?? name} was never published`, {
      code: 'NEVER_PUBLISHED',
      tryThis: [`opsctl labels export ${name}`, `opsctl labels publish ${name}`],
    });
  }
};
async function* chooseLabels(
  context: EngineContext,
  typed: readonly string[],
  options: ExportOptions,
): AsyncGenerator<LabelJson> {
  if (options.all) {
    yield* listDefinitions(context, options, { publishedOnly: options.published });
    return;
  }
  for (const one of typed) {
    yield await withLabel(context, one, options, (name) =>
      options.published && !name.includes('@')
        ? publishedOf(context, name, options)
        : getDefinition(context, name, options),
    );
  }
}
/** A label of the provider is read only: a file of it could not be applied. */
const isOwn = ({ labelType }: LabelJson): boolean => labelType === 'SHARED' || labelType === 'ADMIN';
const withPermissions = async (
  context: EngineContext,
  live: LiveLabel,
  options: ExportOptions,
): Promise<Pick<LabelDef, 'permissions'>> => {
  if (!options.permissions) return {};
  const permissions = await listPermissions(context, `labels/${live.id}`, options);
  return { permissions: permissions.map(({ name: _, ...one }) => ({ ...one, role: one.role ?? '' })) };
};
/** Yields the requested labels in order of arrival. */
async function* exportLabels(
  context: EngineContext,
  typed: readonly string[],
  options: ExportOptions,
): AsyncGenerator<Exported> {
  for await (const json of chooseLabels(context, typed, options)) {
    if (!isOwn(json)) {
      context.log.warn(
        `${json.properties?.title} (labels/${json.id}) is left out: it is a ${json.labelType} label, which cannot be applied`,
      );
      continue;
    }
    const live = liveFrom(json);
    const definition = { ...definitionOf(live), ...(await withPermissions(context, live, options)) };
    yield { json, live, definition };
  }
}
const comment = ({ json, live }: Exported): string => {
  const { state = '', hasUnpublishedChanges = false } = json.lifecycle ?? {};
  const pending = hasUnpublishedChanges ? ' with unpublished changes' : '';
  const text = `${json.name}, revision ${live.revisionId}, ${state.toLowerCase().replaceAll('_', ' ')}${pending}`;
  return `# ${oneLine(text)}\n`;
};
/** A definition as one YAML document. */
const documentText = (one: Exported): string => comment(one) + yamlText(fileFrom(one.definition));
/** The same definition as a separate file, with the line by which editors find the schema. */
const fileText = (one: Exported): string => schemaLine + documentText(one);

/** A definition that is already in the directory. Only parts whose keys an export preserves are kept. */
type Known = {
  readonly file: FileName;
  readonly definition: Pick<LabelDef, 'key' | 'id' | 'title' | 'fields' | 'protect'>;
};
type Written = {
  readonly id: string;
  readonly title: string;
  readonly revision: string;
  readonly file: string;
  readonly moved_from?: string;
};
const knownFrom = (file: FileName, value: unknown): Known => {
  const { key, id, title, fields, protect } = definitionFrom(value).definition;
  const isKept = fields?.some((field) => field.key !== undefined || field.protect !== undefined) ?? false;
  return { file, definition: present({ key, id, title, fields: isKept ? fields : undefined, protect }) };
};
/** Single definitions in a directory. Unreadable files belong to other programs. */
const knownIn = async (context: EngineContext, directory: string): Promise<Known[]> => {
  const path = absolute(context, directory);
  if ((await context.host.files.info(path))?.kind !== 'directory') return [];
  const known: Known[] = [];
  for (const file of (await definitionFilesIn(context, path)).map(pathPart)) {
    const documents = documentsIn(file, (await context.host.files.read(childPath(path, file))) ?? '');
    const [only] = documents;
    if (only !== undefined && documents.length === 1) known.push(knownFrom(file, only.value));
  }
  return known;
};
/** Keys of the names that an export must not choose. */
const namesIn = async (context: EngineContext, directory: string): Promise<Set<string>> => {
  const path = absolute(context, directory);
  const names = await context.host.files.list(path).catch(() => []);
  return new Set([...names, LOCK_FILE, LINT_FILE, SCHEMA_FILE].map(fileNameKey));
};
/** Two files of one label, or a file that two labels fit: an export would lose one of them. */
const refuseShared = (
  { live: { id, title } }: Exported,
  fitting: readonly Known[],
  matched: ReadonlySet<string>,
) => {
  const files = fitting.map(({ file }) => file);
  const other = files.find((file) => matched.has(file));
  if (files.length < 2 && other === undefined) return;
  const why =
    other === undefined
      ? `${files.join(' and ')} both define ${JSON.stringify(title)} (labels/${id})`
      : `${other} also defines another label with the title ${JSON.stringify(title)}`;
  throw usageError(`cannot export labels/${id}: ${why}; no file was written`, [
    problem('--directory', 'rule', why, 'write the `id:` of its label into each of the files'),
  ]);
};
/** The second file of a label would have another name, and `labels apply` rejects two definitions of one label. */
const refuseRepeated = ({ live: { id } }: Exported, exported: ReadonlySet<string>): void => {
  if (!exported.has(id)) return;
  const why = `labels/${id} is named more than once`;
  throw usageError(`${why}; no file was written`, [problem('<label>', 'rule', why, 'name each label once')]);
};
type KnownBy = ReadonlyMap<string, readonly Known[]>;
/** The definitions of a directory by the facts that identify their labels: an export looks each of its labels up. */
type KnownFiles = {
  readonly byId: KnownBy;
  /** By the ID of the label to which the lock file assigns the file. */
  readonly byOwner: KnownBy;
  /** Of definitions without an ID and without an owner. */
  readonly byTitle: KnownBy;
};
const indexKnown = (known: readonly Known[], lock: LockFile | undefined, deployment: string): KnownFiles => {
  const owners = new Map<string, Set<string>>();
  for (const { file, deployments } of Object.values(lock?.labels ?? {})) {
    const id = deployments[deployment]?.id;
    if (file !== undefined && id !== undefined) owners.set(file, (owners.get(file) ?? new Set()).add(id));
  }
  const byId = new Map<string, Known[]>();
  const byOwner = new Map<string, Known[]>();
  const byTitle = new Map<string, Known[]>();
  const add = (map: Map<string, Known[]>, key: string, one: Known): void => {
    const found = map.get(key);
    if (found === undefined) map.set(key, [one]);
    else found.push(one);
  };
  for (const one of known) {
    const { id, title } = one.definition;
    if (id !== undefined) add(byId, id, one);
    for (const owner of owners.get(one.file) ?? []) add(byOwner, owner, one);
    if (id === undefined && !owners.has(one.file)) add(byTitle, title, one);
  }
  return { byId, byOwner, byTitle };
};
const knownFor = ({ known, matched }: Target, one: Exported): Known | undefined => {
  const { id, title } = one.live;
  const fitting = known.byId.get(id) ?? known.byOwner.get(id) ?? known.byTitle.get(title) ?? [];
  refuseShared(one, fitting, matched);
  return fitting[0];
};
/** `Project phase` → `project-phase.yaml`; two equal names get the id as well. */
const newName = ({ id, title }: LiveLabel, taken: ReadonlySet<string>): FileName => {
  const plain = slugOf(title) || id || 'label';
  return uniqueFileName([plain, `${plain}-${id}`], '.yaml', taken);
};
/** The id becomes part of file names and of URLs: an id that cannot be either did not come from a label service. */
const refuseWrongId = ({ live: { id } }: Exported): void => {
  if (isSafeFileName(id)) return;
  throw new AppError(
    'network',
    `unexpected response from the label service: ${JSON.stringify(id)} is not the id of a label`,
    {
      code: 'BAD_LABEL_ID',
      tryThis: ['check the address of the service: opsctl config list --show-origin'],
    },
  );
};
/**
 * A file that is named after the title, now or when it was adopted, follows a rename. A custom name stays.
 */
const nameFor = (
  live: LiveLabel,
  before: Known | undefined,
  { index, taken }: Pick<Target, 'index' | 'taken'>,
): FileName => {
  if (before === undefined) return newName(live, taken);
  const key = index?.keysOfFile(before.file)[0];
  const isNamedAfterTitle = [slugOf(before.definition.title), key].includes(
    before.file.replace(/\.yaml$/, ''),
  );
  if (!isNamedAfterTitle) return before.file;
  const name = newName(live, taken);
  return fileNameKey(name) === fileNameKey(before.file) ? before.file : name;
};
/** Keys and protection belong to the file: an export keeps them. */
const withKeys = (one: Exported, before: Known['definition'] | undefined): Exported => {
  if (before === undefined) return one;
  const { definition } = one;
  const pairs = match(before.fields ?? [], one.live.fields, '').pairs;
  const fields = definition.fields?.map((field) => {
    const known = pairs.find((pair) => pair.live?.id === field.id)?.wanted;
    return present({ ...field, key: known?.key, protect: known?.protect });
  });
  return {
    ...one,
    definition: {
      ...(before.key === undefined ? {} : { key: before.key }),
      ...definition,
      ...(fields === undefined ? {} : { fields }),
      ...(before.protect === undefined ? {} : { protect: before.protect }),
    },
  };
};
type Target = {
  readonly context: EngineContext;
  readonly directory: string;
  readonly known: KnownFiles;
  /** The lock file as it was before the export. */
  readonly index: LockIndex | undefined;
  readonly deployment: string;
  /** Keys of the names of all files in the directory: an export never replaces the file of something else. */
  readonly taken: Set<string>;
  /** Existing files that a label of this run replaces. */
  readonly matched: Set<string>;
  /** IDs of the labels of this run. */
  readonly exported: Set<string>;
};
/** What the lock file gets of a label: the label itself need not be kept until the end. */
type Noted = {
  readonly wanted: Pick<LabelDef, 'key' | 'id' | 'title'>;
  readonly file: string;
  readonly record: DeploymentRecord;
};
const notedFrom = (index: LockIndex, { definition, live }: Exported, file: string): Noted => {
  const { key, id, title, permissions } = definition;
  const wanted = present({ key, id, title });
  const known = exportedKey(index, wanted, file);
  const before = known === undefined ? undefined : index.entry(known);
  return { wanted, file, record: recordFrom(definition, live, before, index.deployment, permissions) };
};
/** A file that the export will write. */
type Planned = {
  readonly row: Written;
  readonly file: FileName;
  readonly text: string;
  readonly before: FileName | undefined;
  readonly noted: Noted | undefined;
};
/** Chooses the file of one label. Reads and writes no file, so that all labels have their files before the first write. */
const planOne = (target: Target, found: Exported): Planned => {
  const { directory, taken, index } = target;
  refuseWrongId(found);
  refuseRepeated(found, target.exported);
  target.exported.add(found.live.id);
  const before = knownFor(target, found);
  if (before !== undefined) {
    target.matched.add(before.file);
    taken.delete(fileNameKey(before.file));
  }
  const file = nameFor(found.live, before, target);
  taken.add(fileNameKey(file));
  const one = withKeys(found, before?.definition);
  const isMoved = before !== undefined && before.file !== file;
  const { id, title, revisionId } = one.live;
  const row = {
    id,
    title,
    revision: revisionId,
    file: childPath(directory, file),
    ...(isMoved ? { moved_from: childPath(directory, before.file) } : {}),
  };
  return {
    row,
    file,
    text: fileText(one),
    before: isMoved ? before.file : undefined,
    noted: index && notedFrom(index, one, file),
  };
};
const planAll = async (target: Target, labels: AsyncIterable<Exported>): Promise<Planned[]> => {
  const planned: Planned[] = [];
  for await (const found of labels) planned.push(planOne(target, found));
  return planned;
};
/** Writes the files in their order. A link that leads out of the directory is refused before the first write. */
async function* writeAll({ context, directory }: Target, all: readonly Planned[]): AsyncGenerator<Written> {
  const { files } = context.host;
  const path = absolute(context, directory);
  for (const { file } of all) await containedPath(files, path, file);
  await writeSchema(context, directory);
  for (const { row, file, text, before } of all) {
    if (!context.isDryRun) {
      await files.replace(await containedPath(files, path, file), text);
      if (before !== undefined) await files.remove(childPath(path, before));
    }
    yield row;
  }
}
const recordAll = async (
  { context, directory, deployment }: Target,
  all: readonly Noted[],
): Promise<void> => {
  await changeLock(context, absolute(context, directory), (lock) => {
    const index = new LockIndex(lock, deployment);
    for (const { wanted, file, record } of all)
      index.put(exportedKey(index, wanted, file) ?? newLabelKey(index, wanted), file, record);
    return index.toLock();
  });
};
const writeSchema = async (context: EngineContext, directory: string): Promise<void> => {
  if (context.isDryRun) return;
  const path = absolute(context, directory);
  await context.host.files.makeDirectory(path);
  const file = join(path, SCHEMA_FILE);
  if ((await context.host.files.read(file)) !== schemaText())
    await context.host.files.replace(file, schemaText());
};
/** Writes one file per label into a directory, and updates its lock file, if there is one. */
async function* exportToDirectory(
  context: EngineContext,
  directory: string,
  labels: AsyncIterable<Exported>,
  given: string | undefined,
): AsyncGenerator<Written> {
  const known = await knownIn(context, directory);
  const lock = await readLock(context, absolute(context, directory));
  const deployment = lock === undefined ? '' : await deploymentOf(context, given);
  const target = {
    context,
    directory,
    known: indexKnown(known, lock, deployment),
    index: lock && new LockIndex(lock, deployment),
    deployment,
    taken: await namesIn(context, directory),
    matched: new Set<string>(),
    exported: new Set<string>(),
  };
  // Only after the service has responded for all labels: a rejected export leaves no files behind.
  const planned = await planAll(target, labels);
  yield* writeAll(target, planned);
  if (lock !== undefined && !context.isDryRun)
    await recordAll(
      target,
      planned.flatMap(({ noted }) => noted ?? []),
    );
}
/** All of them as the documents of one file. */
async function* exportToFile(
  context: EngineContext,
  file: string,
  labels: AsyncIterable<Exported>,
): AsyncGenerator<Written> {
  const written: Written[] = [];
  const texts: string[] = [];
  for await (const one of labels) {
    const { id, title, revisionId } = one.live;
    written.push({ id, title, revision: revisionId, file });
    texts.push(documentText(one));
  }
  const path = absolute(context, file);
  if (!context.isDryRun) {
    await context.host.files.replace(path, schemaLine + texts.join('---\n'));
    await writeSchema(context, dirname(path));
  }
  yield* written;
}

async function* documents(labels: AsyncIterable<Exported>): AsyncGenerator<string> {
  let isFirst = true;
  for await (const one of labels) {
    yield isFirst ? documentText(one) : `---\n${documentText(one)}`;
    isFirst = false;
  }
}
async function* definitions(labels: AsyncIterable<Exported>): AsyncGenerator<unknown> {
  for await (const { definition } of labels) yield fileFrom(definition);
}
/** `-f contract.yaml` names a file, not a directory: all labels go into it as documents, and `labels apply` reads them so. */
const isFileName = async (context: EngineContext, given: string): Promise<boolean> =>
  /\.ya?ml$/i.test(given) && (await context.host.files.info(absolute(context, given)))?.kind !== 'directory';
export const exportResult = async (
  context: EngineContext & Display,
  typed: readonly string[],
  options: ExportOptions,
  directory: string | undefined,
  deployment: string | undefined,
): Promise<Result> => {
  context.host.keepMemorySmall();
  const labels = exportLabels(context, typed, options);
  if (directory !== undefined) {
    const written = (await isFileName(context, directory))
      ? exportToFile(context, directory, labels)
      : exportToDirectory(context, directory, labels, deployment);
    return rowsResult(written, { columns: ['title', 'file', 'revision'], name: 'file' });
  }
  // YAML is the format of a definition file. Another requested format contains the same definitions.
  if (context.isFormatGiven === true && context.format !== 'yaml')
    return rowsResult(definitions(labels), { columns: ['title', 'type', 'revision'], name: 'id' });
  return { kind: 'raw', chunks: documents(labels) };
};
