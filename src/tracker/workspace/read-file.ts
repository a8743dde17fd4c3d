import { check } from '../../core/check.ts';
import { type Field, bare, list, obj } from '../../core/field.ts';
import { nearest } from '../../core/nearest.ts';
import { plainYaml } from '../../core/yaml.ts';
import { AppError, type Problem, problem, usageError } from '../../core/problem.ts';
import { tooLargeYaml } from '../../core/yaml-parse.ts';
import { pairNamed } from '../../core/yaml-place.ts';
import { type ShownTexts, inWordsOfFile, noShownTexts, shownTexts } from '../../core/yaml-shown.ts';
import { yamlValue } from '../../core/yaml-value.ts';
import type { Context } from '../../cli/command.ts';
import { textFile } from '../../api/text-file.ts';
import { type Row, type Workspace, kindNames, workspaceKinds } from './kinds.ts';

const problemsOf = (file: Row): Problem[] =>
  Object.entries(file).flatMap(([key, value]) => {
    const kind = workspaceKinds[key];
    if (key.startsWith('x-')) return [];
    if (key === 'version') return value === 1 ? [] : [problem('version', 'enum', 'must be 1')];
    if (kind === undefined) {
      const close = nearest(key, kindNames);
      return [
        problem(
          key,
          'unknown',
          `is not a list of a workspace; known: ${kindNames.join(', ')}`,
          close && `did you mean ${close}?`,
        ),
      ];
    }
    if (value === null)
      return [
        problem(
          key,
          'null',
          'has no value',
          `write \`${key}: []\` for an empty list, or remove the key to leave the list unchanged`,
        ),
      ];
    return check(list(obj(kind.fields)), value, key);
  });

/** A number that reads like its source is text where text is expected: `name: 42`. */
const asText = (field: Field | undefined, value: unknown, path: string, shown: ShownTexts): unknown => {
  if (field === undefined) return value;
  const inner = bare(field);
  if (inner.type === 'array' && Array.isArray(value))
    return value.map((item, i) => asText(inner.items, item, `${path}[${i}]`, shown));
  return inner.type === 'string' && typeof value === 'number' && !shown.has(path) ? String(value) : value;
};

/** `description:` with nothing behind it is an empty text; only where null means something of its own does it stay null. */
const emptied = (file: Row, shown: ShownTexts): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(file).map(([key, entries]) => {
      const fields = workspaceKinds[key]?.fields;
      if (fields === undefined || !Array.isArray(entries)) return [key, entries];
      const isEmpty = (name: string, value: unknown) =>
        value === null && fields[name]?.nullable !== true && fields[name]?.type === 'string';
      const clean = (entry: Row, path: string) =>
        Object.fromEntries(
          Object.entries(entry).map(([name, value]) => [
            name,
            isEmpty(name, value) ? '' : asText(fields[name], value, `${path}.${name}`, shown),
          ]),
        );
      return [
        key,
        entries.map((entry: unknown, i) =>
          typeof entry === 'object' && entry !== null && !Array.isArray(entry)
            ? clean(entry as Row, `${key}[${i}]`)
            : entry,
        ),
      ];
    }),
  );

type Yaml = typeof import('./yaml-package.ts');

/** The line of the deepest part of a path that stands in the file. */
const locator =
  ({ isMap, isNode, isSeq }: Yaml, root: unknown, lines: InstanceType<Yaml['LineCounter']>) =>
  (path: string): number | undefined => {
    let at = root;
    for (const step of path.split(/[.[\]]+/).filter((part) => part !== '')) {
      const next: unknown = isMap(at)
        ? pairNamed(at.items, step)?.value
        : isSeq(at)
          ? at.items[Number(step)]
          : undefined;
      if (!isNode(next)) break;
      at = next;
    }
    return isNode(at) && at.range ? lines.linePos(at.range[0]).line : undefined;
  };

type Read = {
  readonly value: unknown;
  readonly lineOf: (path: string) => number | undefined;
  readonly shown: ShownTexts;
};

const tooLarge = (given: string, why: string): AppError =>
  new AppError('usage', `${given} ${why}; nothing was sent`, {
    code: 'YAML_TOO_LARGE',
    tryThis: [
      'give the lists files of their own, and apply one after the other (opsctl tracker export --only epics)',
      'write it as `opsctl tracker export` does (block style, no comments between the lines): such files may have any size',
    ],
  });

const readWithPackage = async (given: string, text: string): Promise<Read> => {
  const why = tooLargeYaml(text);
  if (why !== undefined) throw tooLarge(given, why);
  const yaml = await import('./yaml-package.ts');
  const lines = new yaml.LineCounter();
  const document = yaml.parseDocument(text, lines);
  if (document.errors.length > 0)
    throw usageError(
      `${given} is not YAML`,
      document.errors.map((error) => ({
        ...problem(
          '',
          'format',
          (error.message.split('\n')[0] ?? '').replace(/ at line \d+, column \d+:?$/, ''),
        ),
        ...(error.linePos === undefined ? {} : { line: error.linePos[0].line }),
      })),
    );
  const parsed = yamlValue(document);
  if ('problem' in parsed) throw usageError(`${given} is not YAML: ${parsed.problem}`);
  const { contents } = document;
  return { value: parsed.value, lineOf: locator(yaml, contents, lines), shown: shownTexts(contents) };
};

/** An export has no lines until something in it is wrong. */
const linesOf = async (given: string, text: string): Promise<Read['lineOf']> =>
  tooLargeYaml(text) === undefined ? (await readWithPackage(given, text)).lineOf : () => undefined;

/** Reads and checks a workspace file (YAML or JSON); every problem at once, with its place in the file. */
export const readWorkspace = async (context: Context, given: string): Promise<Workspace> => {
  const text = await textFile(context, given, '--file');
  const plain = plainYaml(text);
  const {
    value: read,
    lineOf,
    shown,
  } = plain === undefined
    ? await readWithPackage(given, text)
    : { ...plain, lineOf: undefined, shown: noShownTexts };
  if (typeof read !== 'object' || read === null || Array.isArray(read))
    throw usageError(`${given} must hold lists by name: ${kindNames.join(', ')}`);
  const file = emptied(read as Row, shown);
  const problems = inWordsOfFile(problemsOf(file), shown);
  if (problems.length > 0) {
    const lineOfProblem = lineOf ?? (await linesOf(given, text));
    throw usageError(
      `${given} is not a workspace file`,
      problems.map((found) => {
        const line = lineOfProblem(found.path);
        return line === undefined ? found : { ...found, line };
      }),
    );
  }
  return Object.fromEntries(
    Object.entries(file)
      .filter(([key]) => key !== 'version' && !key.startsWith('x-'))
      .map(([key, value]) => [key, (value ?? []) as Row[]]),
  );
};
