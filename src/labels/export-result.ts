import type { Context } from '../cli/command.ts';
import { type Result, rowsResult } from '../core/result.ts';
import { type ExportOptions, type Exported, documentText, exported } from './export.ts';
import { fileFrom } from './export-file.ts';
import { exportToDirectory, exportToFile } from './export-files.ts';
import { absolute } from './read-files.ts';

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
const isFileName = async (context: Context, given: string): Promise<boolean> =>
  /\.ya?ml$/i.test(given) && (await context.host.files.info(absolute(context, given)))?.kind !== 'directory';

export const exportResult = async (
  context: Context,
  typed: readonly string[],
  options: ExportOptions,
  directory: string | undefined,
  deployment: string | undefined,
): Promise<Result> => {
  context.host.keepMemorySmall();
  const labels = exported(context, typed, options);
  if (directory !== undefined) {
    const written = (await isFileName(context, directory))
      ? exportToFile(context, directory, labels)
      : exportToDirectory(context, directory, labels, deployment);
    return rowsResult(written, { columns: ['title', 'file', 'revision'], name: 'file' });
  }
  // YAML is the form of a definition file; another one that was asked for holds the same definitions.
  if (context.isFormatGiven === true && context.format !== 'yaml')
    return rowsResult(definitions(labels), { columns: ['title', 'type', 'revision'], name: 'id' });
  return { kind: 'raw', chunks: documents(labels) };
};
