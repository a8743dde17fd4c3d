import { isAbsolute, join } from 'node:path';
import { AppError } from '../../core/problem.ts';
import { type Result, rowsResult } from '../../core/result.ts';
import type { Context } from '../../cli/command.ts';
import { liveFrom } from '../../label-definitions/from-label.ts';
import { fileFrom } from '../../label-definitions/export-file.ts';
import type { LabelJson } from '../../label-definitions/api-types.ts';
import { type Asking, allLabels, getLabel } from '../../label-definitions/read-labels.ts';
import { withLabel } from '../../label-definitions/resolve-label.ts';
import type { ExportValues } from './export.ts';

/** A label that is there without a published revision is not one that is not there. */
const publishedOf = async (context: Context, name: string, asking: Asking): Promise<LabelJson> => {
  try {
    return await getLabel(context, `${name}@published`, asking);
  } catch (error) {
    if (!(error instanceof AppError) || error.category !== 'not-found') throw error;
    const { properties } = await getLabel(context, name, asking);
    throw new AppError('not-found', `label ${properties?.title ?? name} was never published`, {
      code: 'NEVER_PUBLISHED',
      tryThis: [`opsctl labels export ${name}`, `opsctl labels publish ${name}`],
    });
  }
};

async function* chosen(context: Context, values: ExportValues): AsyncGenerator<LabelJson> {
  const asking = { admin: values.admin ?? false };
  if (values.all) {
    // Pages of 50 full labels keep the memory of one page small, however many labels there are.
    yield* allLabels(context, {
      view: 'LABEL_VIEW_FULL',
      pageSize: 50,
      publishedOnly: values.published ?? false,
      ...(asking.admin ? { useAdminAccess: true } : {}),
    });
    return;
  }
  for (const typed of values.labels ?? []) {
    yield await withLabel(context, typed, asking, (name) =>
      values.published && !name.includes('@')
        ? publishedOf(context, name, asking)
        : getLabel(context, name, asking),
    );
  }
}

/** A label that its file keeps: what the provider owns cannot be made by anybody. */
const isOurs = (label: LabelJson): boolean => label.labelType === 'SHARED' || label.labelType === 'ADMIN';

const comment = (label: LabelJson): string => {
  const { state = '', hasUnpublishedChanges = false } = label.lifecycle ?? {};
  return `# ${label.name}, revision ${label.revisionId}, ${state.toLowerCase().replaceAll('_', ' ')}${hasUnpublishedChanges ? ' with unpublished changes' : ''}\n`;
};

type Writer = (label: LabelJson) => string;
const definitionOf = (label: LabelJson): Record<string, unknown> =>
  fileFrom({ ...liveFrom(label), revision: label.revisionId });
const writer = async (): Promise<Writer> => {
  const { stringify } = await import('../../label-definitions/yaml-package.ts');
  return (label) =>
    comment(label) + stringify(definitionOf(label), { lineWidth: 0, aliasDuplicateObjects: false });
};

async function* documents(labels: AsyncIterable<LabelJson>, write: Writer): AsyncGenerator<string> {
  let isFirst = true;
  for await (const label of labels) {
    yield isFirst ? write(label) : `---\n${write(label)}`;
    isFirst = false;
  }
}

async function* definitions(labels: AsyncIterable<LabelJson>): AsyncGenerator<unknown> {
  for await (const label of labels) yield definitionOf(label);
}

/** `Project phase` → `project-phase.yaml`; two equal names get the id as well. */
const fileName = (label: LabelJson, taken: Set<string>): string => {
  const slug = (label.properties?.title ?? '')
    .toLowerCase()
    .normalize('NFKD')
    .replace(/\p{M}+/gu, '')
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '');
  const plain = slug === '' ? (label.id ?? 'label') : slug.slice(0, 80);
  const name = taken.has(plain) ? `${plain}-${label.id}` : plain;
  taken.add(name);
  return `${name}.yaml`;
};

async function* files(
  context: Context,
  directory: string,
  labels: AsyncIterable<LabelJson>,
  write: Writer,
): AsyncGenerator<unknown> {
  const path = isAbsolute(directory) ? directory : join(context.host.cwd, directory);
  await context.host.files.makeDirectory(path);
  const taken = new Set<string>();
  for await (const label of labels) {
    const file = fileName(label, taken);
    if (!context.isDryRun) await context.host.files.replace(join(path, file), write(label));
    yield {
      id: label.id,
      title: label.properties?.title,
      revision: label.revisionId,
      file: join(directory, file),
    };
  }
}

/** `-f contract.yaml` names a file, not a directory: all labels go into it as documents, and `labels apply` reads them so. */
const isFileName = async ({ host }: Context, given: string): Promise<boolean> =>
  /\.ya?ml$/i.test(given) &&
  (await host.files.info(isAbsolute(given) ? given : join(host.cwd, given)))?.kind !== 'directory';

async function* oneFile(
  context: Context,
  file: string,
  labels: AsyncIterable<LabelJson>,
  write: Writer,
): AsyncGenerator<unknown> {
  const written: LabelJson[] = [];
  const texts: string[] = [];
  for await (const label of labels) {
    written.push(label);
    texts.push(write(label));
  }
  const path = isAbsolute(file) ? file : join(context.host.cwd, file);
  if (!context.isDryRun) await context.host.files.replace(path, texts.join('---\n'));
  for (const label of written)
    yield { id: label.id, title: label.properties?.title, revision: label.revisionId, file };
}

async function* ours(context: Context, labels: AsyncIterable<LabelJson>): AsyncGenerator<LabelJson> {
  for await (const label of labels) {
    if (isOurs(label)) yield label;
    else
      context.log.warn(
        `${label.properties?.title} (labels/${label.id}) is left out: it is a ${label.labelType} label, which cannot be applied`,
      );
  }
}

export const runExport = async (context: Context, values: ExportValues): Promise<Result> => {
  const write = await writer();
  const labels = ours(context, chosen(context, values));
  if (values.directory !== undefined) {
    const written = (await isFileName(context, values.directory)) ? oneFile : files;
    return rowsResult(written(context, values.directory, labels, write), {
      columns: ['title', 'file', 'revision'],
      name: 'file',
    });
  }
  // YAML is the form of a definition file; another one that was asked for holds the same definitions.
  if (context.isFormatGiven === true && context.format !== 'yaml')
    return rowsResult(definitions(labels), { columns: ['title', 'type', 'revision'], name: 'id' });
  return { kind: 'raw', chunks: documents(labels, write) };
};
