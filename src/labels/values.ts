import { basename, dirname, join } from 'node:path';
import { childPath, pathPart } from '../core/file-name.ts';
import type { EngineContext, Runtime } from '../api/context.ts';
import { type Problem, problem, usageError } from '../core/problem.ts';
import { nearest } from '../core/text.ts';
import { misreadText } from '../core/yaml-scalars.ts';
import { absolute, type Document, readSingleDocument, placeProblems, textOf } from './read-files.ts';
import { isPlain, type Plain } from './read-values.ts';

/** Next to the definitions: one file for each deployment, such as values/staging.yaml. */
const VALUES_DIRECTORY = 'values';
export type ValuesChoice = {
  readonly deployment?: string | undefined;
  /** A values file that the user named. */
  readonly values?: string | undefined;
};
type Values = { readonly file: string; readonly values: Plain };

const NAME = /\$\{([A-Za-z_][\w.-]*)\}/;
const WHOLE = new RegExp(`^${NAME.source}$`);
const EACH = new RegExp(`\\$${NAME.source}|${NAME.source}`, 'g');
const isScalar = (value: unknown): boolean => ['string', 'number', 'boolean'].includes(typeof value);

/** Replaces the placeholders of one document and collects those that have no value. */
class Filler {
  readonly problems: Problem[] = [];
  /** Paths whose text comes from the values file. */
  readonly filled = new Set<string>();
  readonly #values: Plain;
  readonly #file: string;
  constructor({ file, values }: Values) {
    this.#file = file;
    this.#values = values;
  }
  fill(value: unknown, path: string): unknown {
    if (typeof value === 'string') return this.#text(value, path);
    if (Array.isArray(value)) return value.map((item, i) => this.fill(item, `${path}[${i}]`));
    if (!isPlain(value)) return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, member]) => [
        key,
        this.fill(member, path === '' ? key : `${path}.${key}`),
      ]),
    );
  }
  #text(text: string, path: string): unknown {
    const whole = WHOLE.exec(text)?.[1];
    if (whole !== undefined) return this.#value(whole, path);
    return text.replace(EACH, (found: string, _escaped?: string, name?: string) => {
      // $${name} is the text ${name}.
      if (name === undefined) return found.slice(1);
      const value = this.#value(name, path);
      if (typeof value === 'string' && /[\r\n]$/.test(value))
        this.problems.push(
          problem(
            path,
            'format',
            `contains \${${name}}, whose value in ${this.#file} ends with a line end`,
            'use |- instead of |',
          ),
        );
      if (value !== undefined && !isScalar(value))
        this.problems.push(
          problem(path, 'type', `contains \${${name}}, which is not text in ${this.#file}`, 'write it alone'),
        );
      return String(value);
    });
  }
  #value(name: string, path: string): unknown {
    this.filled.add(path);
    if (Object.hasOwn(this.#values, name)) return this.#values[name];
    const close = nearest(name, Object.keys(this.#values));
    this.problems.push(
      problem(
        path,
        'rule',
        `uses \${${name}}, which ${this.#file} does not define`,
        close === undefined ? `add ${name} to ${this.#file}` : `did you mean ${close}?`,
      ),
    );
    return undefined;
  }
}

const readValues = async (context: EngineContext, file: string): Promise<Values> => {
  const document = readSingleDocument(file, await textOf(context, file));
  if (!isPlain(document.value))
    throw usageError(`${file} must be a map of values`, [problem('--values', 'type', 'must be a map')]);
  const misread = [...(document.shown ?? [])].map(([path, source]) => misreadText(path, source));
  const empty = (document.empty ?? []).map((path) =>
    problem(path, 'null', 'has no value', 'write [] for an empty list, or null to clear the member'),
  );
  if (misread.length + empty.length > 0)
    throw usageError(
      `${file}: the values are invalid; no request was sent`,
      placeProblems(document, [...misread, ...empty]),
    );
  return { file, values: document.value };
};
const usesValues = (value: unknown): boolean =>
  typeof value === 'string'
    ? NAME.test(value)
    : typeof value === 'object' && value !== null && Object.values(value).some(usesValues);
/** Names of the deployments that have a values file next to the definitions. */
const deploymentsIn = async ({ host }: Runtime, directory: string): Promise<string[]> => {
  const path = join(directory, VALUES_DIRECTORY);
  if ((await host.files.info(path))?.kind !== 'directory') return [];
  const names = (await host.files.list(path)).filter((name) => /\.ya?ml$/i.test(name));
  return names.map((name) => basename(name).replace(/\.ya?ml$/i, '')).sort();
};
const makeUnfilledError = (documents: readonly Document[], deployments: readonly string[]) =>
  usageError(
    'the definitions use values of a deployment; no request was sent',
    documents.flatMap((document) =>
      placeProblems(document, [
        problem(
          '',
          'rule',
          'contains a placeholder such as ${name}',
          `use --deployment with one of ${deployments.join(', ')}, or --values FILE`,
        ),
      ]),
    ),
  );
/** The values file of a document: the named one, or that of the deployment next to the definitions. */
const valuesFileOf = async (
  context: EngineContext,
  document: Document,
  { deployment, values }: ValuesChoice,
): Promise<{ readonly file?: string; readonly known: readonly string[] }> => {
  if (values !== undefined) return { file: values, known: [] };
  if (document.file === undefined) return { known: [] };
  const directory = dirname(document.file);
  const known = await deploymentsIn(context, absolute(context, directory));
  if (deployment === undefined || !known.includes(deployment)) return { known };
  const yaml = childPath(join(directory, VALUES_DIRECTORY), pathPart(`${deployment}.yaml`));
  const yml = yaml.replace(/yaml$/, 'yml');
  const isYaml = (await context.host.files.info(absolute(context, yaml))) !== undefined;
  if (isYaml && known.filter((name) => name === deployment).length > 1)
    throw usageError(`${deployment} has two values files; no request was sent`, [
      {
        ...problem('', 'rule', `defines the same deployment as ${yaml}`, 'remove one of the files'),
        file: yml,
      },
    ]);
  return { file: isYaml ? yaml : yml, known };
};
/**
 * Definitions with the values of a deployment in place of `${name}`. Definitions without a values file are not changed:
 * there, the text `${name}` is a text.
 */
export const fillValues = async (
  context: EngineContext,
  documents: readonly Document[],
  choice: ValuesChoice,
): Promise<Document[]> => {
  const read = new Map<string, Values>();
  const problems: Problem[] = [];
  const unfilled: Document[] = [];
  const deployments = new Set<string>();
  const filled: Document[] = [];
  for (const document of documents) {
    const { file, known } = await valuesFileOf(context, document, choice);
    for (const name of known) deployments.add(name);
    if (file === undefined) {
      if (known.length > 0 && usesValues(document.value)) unfilled.push(document);
      filled.push(document);
      continue;
    }
    const values = read.get(file) ?? (await readValues(context, file));
    read.set(file, values);
    const filler = new Filler(values);
    const value = filler.fill(document.value, '');
    for (const one of placeProblems(document, filler.problems)) problems.push(one);
    filled.push({ ...document, value, filled: filler.filled });
  }
  if (unfilled.length > 0) throw makeUnfilledError(unfilled, [...deployments]);
  if (problems.length > 0)
    throw usageError('the definitions and the values do not fit; no request was sent', problems);
  return filled;
};
/** The deployments whose values the definitions of `files` can use; empty without values files. */
export const deploymentsWithValues = async (
  context: EngineContext,
  files: readonly string[],
): Promise<readonly string[]> => {
  const names = new Set<string>();
  for (const file of files) {
    if (file === '-') continue;
    const path = absolute(context, file);
    const isDirectory = (await context.host.files.info(path))?.kind === 'directory';
    for (const name of await deploymentsIn(context, isDirectory ? path : dirname(path))) names.add(name);
  }
  return [...names].sort();
};
