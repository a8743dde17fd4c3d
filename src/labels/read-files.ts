import { childPath, pathPart } from '../core/file-name.ts';
import { yamlValue } from '../core/yaml-value.ts';
import { basename, resolve } from 'node:path';
import type { Context } from '../cli/command.ts';
import { AppError, type Problem, problem, usageError } from '../core/problem.ts';
import { LOCK_FILE } from './lock-file.ts';
import { SCHEMA_FILE } from './schema.ts';
import { plainDocuments } from '../core/yaml.ts';
import { tooLargeYaml } from '../core/yaml-parse.ts';
import { type ShownTexts, emptyKeys, noShownTexts, shownTexts } from '../core/yaml-shown.ts';
import { decodeUtf8 } from '../core/utf8.ts';
import { type Place, placeIn } from './yaml-places.ts';
import { wholeInput } from '../api/input.ts';
import { LineCounter, type YamlDocument, parseAllDocuments } from './yaml-package.ts';

/** One YAML document of a file, or of standard input (`-`). */
export type Document = {
  readonly source: string;
  readonly value: unknown;
  /** The path of the file; undefined for standard input. */
  readonly file?: string;
  /** Which document of the file it is. */
  readonly index: number;
  /** True when nothing else is in that file. */
  readonly isOnly: boolean;
  /** Where a path such as `fields[2].name` stands. */
  readonly placeOf: (path: string) => Place;
  /** Scalars that YAML reads as something else than the file shows. */
  readonly shown?: ShownTexts;
  /** Keys without a value: `fields:`. */
  readonly empty?: readonly string[];
};

/** Rules of `labels lint`, beside the definitions. */
export const LINT_FILE = 'labels.lint.yaml';
const companions: ReadonlySet<string> = new Set([LOCK_FILE, LINT_FILE, SCHEMA_FILE]);
const called = (file: string): string => (file === '-' ? 'standard input' : file);
export const absolute = ({ host }: Context, file: string): string => resolve(host.cwd, file);

/** Problems with the file, the line and the column in which they stand. */
export const placed = (document: Document, problems: readonly Problem[]): Problem[] =>
  problems.map((one) => ({ ...one, file: document.source, ...document.placeOf(one.path) }));

export const textOf = async (context: Context, file: string): Promise<string> => {
  if (file === '-') return decodeUtf8(await wholeInput(context.host), called(file), 'usage');
  const bytes = await context.host.files.readBytes(absolute(context, file));
  if (bytes === undefined)
    throw usageError(`there is no file ${file}`, [
      problem('--file', 'rule', `names ${file}, which does not exist`),
    ]);
  return decodeUtf8(bytes, file, 'usage');
};

const isDefinition = (name: string): boolean => /\.(ya?ml|json)$/i.test(name) && !companions.has(name);

/** Names of the definition files in a directory: what lies beside them for other purposes is left out. */
export const definitionFilesIn = async ({ host }: Context, path: string): Promise<string[]> =>
  (await host.files.list(path)).filter(isDefinition).sort();

const filesIn = async (context: Context, file: string): Promise<string[]> => {
  if (file === '-') return [file];
  const path = absolute(context, file);
  const info = await context.host.files.info(path);
  if (info?.kind !== 'directory') {
    if (!companions.has(basename(file))) return [file];
    throw usageError(`${file} is no label definition`, [
      problem('--file', 'rule', `names ${file}; name the directory instead`),
    ]);
  }
  const names = await definitionFilesIn(context, path);
  if (names.length === 0)
    throw usageError(`${file} holds no .yaml, .yml or .json file`, [
      problem('--file', 'rule', `names the directory ${file}, which has no label files`),
    ]);
  return names.map((name) => childPath(file, pathPart(name)));
};

type Tree = { readonly documents: readonly YamlDocument[]; readonly lines: LineCounter };

/**
 * Places are asked for when something is wrong: until then the text is kept, and not the tree of its nodes. The tree stays
 * while there is memory: thousands of places may be asked for, one after the other.
 */
const placesIn = (text: string): ((index: number, before?: number) => Document['placeOf']) => {
  let kept: WeakRef<Tree> | undefined;
  const tree = (): Tree => {
    const known = kept?.deref();
    if (known !== undefined) return known;
    const lines = new LineCounter();
    const made = { documents: parseAllDocuments(text, lines), lines };
    kept = new WeakRef(made);
    return made;
  };
  return (index, before = 0) =>
    (path) => {
      const { documents, lines } = tree();
      const document = documents[index];
      if (document === undefined) return { line: 1 + before, column: 1 };
      const { line, column } = placeIn(document, lines, path);
      return { line: line + before, column };
    };
};

const namesOf = (file: string): Pick<Document, 'source' | 'file'> => ({
  source: called(file),
  ...(file === '-' ? {} : { file }),
});

/** Documents as an export writes them: they may be many, and of any size. */
const exportedIn = (file: string, text: string): Document[] | undefined =>
  plainDocuments(text)?.map((one, index, all) => ({
    ...namesOf(file),
    value: one.value,
    index,
    isOnly: all.length === 1,
    placeOf: placesIn(one.text)(0, one.before),
    shown: noShownTexts,
  }));

/** `why` is what the name of the file begins. */
export const tooLarge = (file: string, why: string): AppError =>
  new AppError('usage', `${called(file)} ${why}; nothing was sent`, {
    code: 'YAML_TOO_LARGE',
    tryThis: [
      'give each label a file of its own, and name their directory',
      'write it as `opsctl labels export` does (block style, no comments between the lines): such files may have any size',
    ],
  });

/** Git left both sides of a merge in the file: only a person knows which is meant. */
const refuseConflict = (file: string, text: string): void => {
  const at = text.split('\n').findIndex((line) => /^<{7}( |$)/.test(line));
  if (at < 0) return;
  const wrong = problem(
    '--file',
    'rule',
    'has the conflict markers of a merge',
    'choose a side, then run again',
  );
  throw new AppError('usage', `${called(file)}:${at + 1} has a merge conflict; nothing was sent`, {
    code: 'MERGE_CONFLICT',
    problems: [{ ...wrong, file: called(file), line: at + 1, column: 1 }],
  });
};

export const documentsIn = (file: string, text: string): Document[] => {
  const exported = exportedIn(file, text);
  if (exported !== undefined) return exported;
  refuseConflict(file, text);
  const why = tooLargeYaml(text);
  if (why !== undefined) throw tooLarge(file, why);
  const found = parseAllDocuments(text);
  const placeAt = placesIn(text);
  const documents = found.flatMap((document, i): Omit<Document, 'isOnly' | 'index'>[] => {
    const source = found.length > 1 ? `${called(file)} (document ${i + 1})` : called(file);
    const [error] = document.errors;
    if (error) {
      const [place] = error.linePos ?? [];
      const wrong = problem(
        '--file',
        'type',
        `must name YAML or JSON files; line ${place?.line ?? 1} of ${source} is neither`,
      );
      throw new AppError('usage', `${source} is not YAML: ${error.message.trimEnd()}`, {
        code: 'NOT_YAML',
        problems: [{ ...wrong, file: called(file), line: place?.line ?? 1, column: place?.col ?? 1 }],
      });
    }
    const parsed = yamlValue(document);
    if ('problem' in parsed)
      throw new AppError('usage', `${source} is not YAML: ${parsed.problem}`, { code: 'NOT_YAML' });
    const { value } = parsed;
    if (value === null || value === undefined) return [];
    return [
      {
        ...namesOf(file),
        value,
        placeOf: placeAt(i),
        shown: shownTexts(document.contents),
        empty: emptyKeys(document.contents),
      },
    ];
  });
  return documents.map((document, index) => ({ ...document, index, isOnly: documents.length === 1 }));
};

/** Every document of the files in order; a directory stands for the YAML and JSON files in it. */
export const readDocuments = async (context: Context, files: readonly string[]): Promise<Document[]> => {
  const documents: Document[] = [];
  for (const file of (await Promise.all(files.map((one) => filesIn(context, one)))).flat())
    documents.push(...documentsIn(file, await textOf(context, file)));
  if (documents.length === 0)
    throw usageError(`${files.map(called).join(', ')}: there is no document in it`, [
      problem('--file', 'rule', 'is empty'),
    ]);
  return documents;
};

/** The one document of a file whose text was read already. */
export const onlyDocument = (file: string, text: string): Document => {
  const [document, second] = documentsIn(file, text);
  if (document === undefined)
    throw usageError(`${called(file)}: there is no document in it`, [problem('--file', 'rule', 'is empty')]);
  if (second)
    throw usageError(`${called(file)} has several documents; one is needed`, [
      problem('--file', 'rule', 'must have one document'),
    ]);
  return document;
};
