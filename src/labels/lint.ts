import { join } from 'node:path';
import type { Context } from '../cli/command.ts';
import { type Problem, problem, problemText, usageError } from '../core/problem.ts';
import { nearest } from '../core/nearest.ts';
import { type LintOptions, lintRules } from './lint-rules.ts';
import { directoryOf, readLock } from './lock-store.ts';
import { labelKey } from './lock-entries.ts';
import { LINT_FILE, onlyDocument, placed, textOf } from './read-files.ts';
import { isPlain } from './read-values.ts';
import { type Wish, readWishes } from './wishes.ts';

export type Finding = Problem & { readonly lint: string };

const names = Object.keys(lintRules) as (keyof LintOptions)[];

/** What a team wants to hold: a rule is set, changed, or turned off with `false`. */
type Wanted = { readonly [K in keyof LintOptions]: LintOptions[K] | undefined };

const optionOf = (value: unknown, standard: unknown): unknown => {
  if (value === false) return undefined;
  if (value === true || value === undefined) return standard;
  return isPlain(value) && isPlain(standard) ? { ...standard, ...value } : value;
};

const wrongOption = (name: string, value: unknown): string | undefined => {
  switch (name) {
    case 'name_pattern':
      return typeof value === 'string' || typeof value === 'boolean'
        ? undefined
        : 'must be a regular expression';
    case 'editors':
      return Array.isArray(value) || typeof value === 'boolean' ? undefined : 'must be a list of principals';
    default:
      return isPlain(value) || typeof value === 'boolean' ? undefined : 'must be true, false or an object';
  }
};

const readOptions = async (context: Context, file: string | undefined): Promise<Wanted> => {
  if (file === undefined) return wantedFrom({});
  const document = onlyDocument(file, await textOf(context, file));
  if (!isPlain(document.value)) throw usageError(`${file} must be a map of rules`);
  const problems = Object.entries(document.value).flatMap(([name, value]) => {
    if (!names.some((known) => known === name)) {
      const close = nearest(name, names);
      return [
        problem(name, 'unknown', `is not a rule (${names.join(', ')})`, close && `did you mean ${close}?`),
      ];
    }
    const wrong = wrongOption(name, value);
    return wrong === undefined ? [] : [problem(name, 'type', wrong)];
  });
  if (problems.length > 0) throw usageError(`${file}: the rules are wrong`, placed(document, problems));
  return wantedFrom(document.value);
};

const wantedFrom = (value: Readonly<Record<string, unknown>>): Wanted =>
  Object.fromEntries(names.map((name) => [name, optionOf(value[name], lintRules[name].standard)])) as Wanted;

const check = <K extends keyof LintOptions>(name: K, wish: Wish, options: Wanted): Finding[] => {
  const option = options[name];
  if (option === undefined) return [];
  const objections = lintRules[name].check(wish.wanted, option as LintOptions[K]);
  const problems = objections.map(({ path, message }) => problem(path, 'rule', message));
  return placed(wish.document, problems).map((one) => ({ ...one, lint: name }));
};

/** A definition that the lock file does not know, or a record whose file is gone: one of them was forgotten. */
const orphans = async (
  context: Context,
  directory: string | undefined,
  wishes: readonly Wish[],
): Promise<Finding[]> => {
  const lock = directory === undefined ? undefined : await readLock(context, directory);
  if (lock === undefined) return [];
  const keys = wishes.map((wish) => labelKey(lock, wish.wanted, '', undefined));
  const unknown = wishes.flatMap((wish, i) =>
    keys[i] === undefined || lock.labels[keys[i]] === undefined
      ? placed(wish.document, [problem('title', 'rule', 'is not in the lock file', 'opsctl labels adopt')])
      : [],
  );
  const forgotten = Object.entries(lock.labels)
    .filter(([key]) => !keys.includes(key))
    .map(([key, { file }]) =>
      problem(
        '',
        'rule',
        `labels.lock.yaml has ${key}, whose definition is gone${file === undefined ? '' : ` (${file})`}`,
      ),
    );
  return [...unknown, ...forgotten].map((one) => ({ ...one, lint: 'orphans' }));
};

const configOf = async (context: Context, directory: string | undefined): Promise<string | undefined> => {
  if (directory === undefined) return undefined;
  const file = join(directory, LINT_FILE);
  return (await context.host.files.info(file)) === undefined ? undefined : file;
};

/** `labels lint`: the rules of the team, from labels.lint.yaml beside the definitions. No network. */
export const lintFiles = async (
  context: Context,
  files: readonly string[],
  rules: string | undefined,
): Promise<{ readonly findings: readonly Finding[]; readonly count: number }> => {
  const wishes = await readWishes(context, files);
  const [first = '-'] = files;
  const directory = await directoryOf(context, first);
  const options = await readOptions(context, rules ?? (await configOf(context, directory)));
  const findings = wishes.flatMap((wish) => names.flatMap((name) => check(name, wish, options)));
  return { findings: [...findings, ...(await orphans(context, directory, wishes))], count: wishes.length };
};

export const findingText = (finding: Finding): string => `${problemText(finding)} [${finding.lint}]`;
