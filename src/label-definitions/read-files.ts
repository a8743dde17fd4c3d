import { isAbsolute, join } from 'node:path';
import { AppError, problem, usageError } from '../core/problem.ts';
import type { Context } from '../cli/command.ts';

/** One YAML document of a file, or of standard input (`-`). */
export type Document = { readonly source: string; readonly value: unknown };

const called = (file: string): string => (file === '-' ? 'standard input' : file);

export const textOf = async ({ host }: Context, file: string): Promise<string> => {
  if (file === '-') {
    const parts: Uint8Array[] = [];
    for await (const part of host.terminal.stdin.bytes()) parts.push(part);
    return Buffer.concat(parts).toString('utf8');
  }
  const text = await host.files.read(isAbsolute(file) ? file : join(host.cwd, file));
  if (text === undefined)
    throw usageError(`there is no file ${file}`, [
      problem('--file', 'rule', `names ${file}, which does not exist`),
    ]);
  return text;
};

const filesIn = async (context: Context, file: string): Promise<string[]> => {
  if (file === '-') return [file];
  const path = isAbsolute(file) ? file : join(context.host.cwd, file);
  const info = await context.host.files.info(path);
  if (info?.kind !== 'directory') return [file];
  const names = (await context.host.files.list(path)).filter((name) => /\.(ya?ml|json)$/i.test(name)).sort();
  if (names.length === 0)
    throw usageError(`${file} holds no .yaml, .yml or .json file`, [
      problem('--file', 'rule', `names the directory ${file}, which has no label files`),
    ]);
  return names.map((name) => join(path, name));
};

const documentsOf = async (file: string, text: string): Promise<Document[]> => {
  const { parseAllDocuments } = await import('./yaml-package.ts');
  const parsed = parseAllDocuments(text);
  const found = 'empty' in parsed ? [] : parsed;
  return found.flatMap((document, i) => {
    const source = found.length > 1 ? `${called(file)} (document ${i + 1})` : called(file);
    const [error] = document.errors;
    if (error)
      throw new AppError('usage', `${source} is not YAML: ${error.message.trimEnd()}`, {
        code: 'NOT_YAML',
        problems: [
          problem(
            '--file',
            'type',
            `must name YAML or JSON files; line ${error.linePos?.[0].line ?? 1} of ${source} is neither`,
          ),
        ],
      });
    const value: unknown = document.toJS();
    return value === null || value === undefined ? [] : [{ source, value }];
  });
};

/** Every document of the files in order; a directory stands for the YAML and JSON files in it. */
export const readDocuments = async (context: Context, files: readonly string[]): Promise<Document[]> => {
  const documents: Document[] = [];
  for (const file of (await Promise.all(files.map((one) => filesIn(context, one)))).flat())
    documents.push(...(await documentsOf(file, await textOf(context, file))));
  if (documents.length === 0)
    throw usageError(`${files.map(called).join(', ')}: there is no document in it`, [
      problem('--file', 'rule', 'is empty'),
    ]);
  return documents;
};

/** The one document of a file whose text was read already. */
export const onlyDocument = async (file: string, text: string): Promise<Document> => {
  const [document, second] = await documentsOf(file, text);
  if (document === undefined)
    throw usageError(`${called(file)}: there is no document in it`, [problem('--file', 'rule', 'is empty')]);
  if (second)
    throw usageError(`${called(file)} has several documents; one is needed`, [
      problem('--file', 'rule', 'must have one document'),
    ]);
  return document;
};
