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
/** `lineOf` returns the line of a value. */
type Values = {
  readonly file: string;
  readonly values: Plain;
  readonly lineOf: (name: string) => number | undefined;
};

const NAME = /\$\{([A-Za-z_][\w.-]*)\}/;
const WHOLE = new RegExp(`^${NAME.source}$`);
const EACH = new RegExp(`\\$${NAME.source}|${NAME.source}`, 'g');
const isScalar = (value: unknown): boolean => ['string', 'number', 'boolean'].includes(typeof value);

/** Replaces the placeholders of one document and collects those that have no value. */
class Filler {
  readonly problems: Problem[] = [];
  /** Paths whose text comes from the values file, with the name and the place of the value. */
  readonly filled = new Map<string, string>();
  /** Names of values that the document uses. */
  readonly used = new Set<string>();
  readonly #values: Plain;
  readonly #file: string;
  readonly #lineOf: Values['lineOf'];
  constructor({ file, values, lineOf }: Values) {
    this.#file = file;
    this.#values = values;
    this.#lineOf = lineOf;
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
    const line = this.#lineOf(name);
    this.filled.set(path, `\${${name}} of ${this.#file}${line === undefined ? '' : `:${line}`}`);
    this.used.add(name);
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
  const { unclear = [] } = document;
  if (misread.length + unclear.length > 0)
    throw usageError(
      `${file}: the values are invalid; no request was sent`,
      placeProblems(document, [...misread, ...unclear]),
    );
  return { file, values: document.value, lineOf: (name) => document.placeOf(name)?.line };
};
/** The first placeholder of a definition. */
const placeholderIn = (value: unknown): string | undefined => {
  if (typeof value === 'string') return NAME.exec(value)?.[0];
  if (typeof value !== 'object' || value === null) return undefined;
  for (const member of Object.values(value)) {
    const found = placeholderIn(member);
    if (found !== undefined) return found;
  }
  return undefined;
};
const usesValues = (value: unknown): boolean => placeholderIn(value) !== undefined;
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
/** A document, and its values if a file has them for this deployment. */
type Filling = { readonly document: Document; readonly known: readonly string[] } & {
  readonly values?: Values;
  readonly filler?: Filler;
  readonly value?: unknown;
};
/**
 * Values that no definition of a whole directory uses: a misspelled name, or a value that is left over. Other directories
 * may use a values file that the user named, so only a file of the directory itself shows that.
 */
const noteUnused = (context: EngineContext, fillings: readonly Filling[]): void => {
  for (const values of new Set(fillings.map((one) => one.values))) {
    const users = fillings.filter((one) => one.values === values);
    const isOfDirectory = ({ document: { file, isInDirectory } }: Filling): boolean =>
      isInDirectory === true &&
      absolute(context, dirname(values?.file ?? '')) ===
        absolute(context, join(dirname(file ?? ''), VALUES_DIRECTORY));
    if (values === undefined || !users.every(isOfDirectory)) continue;
    const unused = Object.keys(values.values).filter(
      (name) => !name.startsWith('x-') && !users.some(({ filler }) => filler?.used.has(name)),
    );
    if (unused.length > 0) context.log.info(`${values.file}: no definition uses ${unused.join(', ')}`);
  }
};
/** Without a values file, a placeholder is a text like any other. */
const notePlainText = (context: EngineContext, fillings: readonly Filling[]): void => {
  for (const { document, filler } of fillings) {
    const found = filler === undefined ? placeholderIn(document.value) : undefined;
    if (found === undefined) continue;
    const why = 'because no values file applies (--values FILE names one)';
    context.log.info(`${document.source}: ${found} stays text, ${why}`);
  }
};
const fillEach = async (
  context: EngineContext,
  documents: readonly Document[],
  choice: ValuesChoice,
): Promise<Filling[]> => {
  const read = new Map<string, Values>();
  const fillings: Filling[] = [];
  for (const document of documents) {
    const { file, known } = await valuesFileOf(context, document, choice);
    if (file === undefined) {
      fillings.push({ document, known });
      continue;
    }
    const values = read.get(file) ?? (await readValues(context, file));
    read.set(file, values);
    const filler = new Filler(values);
    fillings.push({ document, known, values, filler, value: filler.fill(document.value, '') });
  }
  return fillings;
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
  const fillings = await fillEach(context, documents, choice);
  const unfilled = fillings.filter(
    ({ document, known, filler }) => filler === undefined && known.length > 0 && usesValues(document.value),
  );
  if (unfilled.length > 0)
    throw makeUnfilledError(
      unfilled.map(({ document }) => document),
      [...new Set(fillings.flatMap(({ known }) => known))],
    );
  const problems = fillings.flatMap(({ document, filler }) =>
    placeProblems(document, filler?.problems ?? []),
  );
  if (problems.length > 0)
    throw usageError('the definitions and the values do not fit; no request was sent', problems);
  noteUnused(context, fillings);
  notePlainText(context, fillings);
  return fillings.map(({ document, filler, value }) =>
    filler === undefined ? document : { ...document, value, filled: filler.filled },
  );
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
