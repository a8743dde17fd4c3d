import { join } from 'node:path';
import { labelRoles } from '../api-specs/labels/wire.ts';
import type { EngineContext } from '../api/context.ts';
import { type Problem, problem, problemText, usageError } from '../core/problem.ts';
import { nearest } from '../core/text.ts';
import { type LabelDef, principalName } from './definition.ts';
import { lockPlaceOf, loadDesiredLabels, type DesiredLabel } from './desired.ts';
import { ambiguousEntry, forgetCommand, labelKeys, LockIndex } from './lock-entries.ts';
import { directoryOf, readLock } from './lock-file.ts';
import { LINT_FILE, readSingleDocument, placeProblems, textOf } from './read-files.ts';
import { isPlain } from './read-values.ts';
import { deploymentsWithValues } from './values.ts';

/** A violation of a rule, with the path of the key. */
type Objection = { readonly path: string; readonly message: string };
/** The configuration of a rule in labels.lint.yaml. */
export type LintOptions = {
  readonly description: { readonly labels: boolean; readonly choices: boolean };
  readonly name_pattern: string;
  readonly badge_contrast: { readonly against: string; readonly min: number };
  readonly editors: readonly string[];
};
type Part = { readonly path: string; readonly name: string };
const namesIn = ({ title, fields = [] }: LabelDef): Part[] => [
  { path: 'title', name: title },
  ...fields.flatMap((field, i) => [
    { path: `fields[${i}].name`, name: field.name },
    ...(field.choices ?? []).map((choice, c) => ({
      path: `fields[${i}].choices[${c}].name`,
      name: choice.name,
    })),
  ]),
];
/** Labels, and choices when the team asks for it, have a description. */
const description = (wanted: LabelDef, options: LintOptions['description']): Objection[] => {
  const message = 'has no description';
  const choices = (wanted.fields ?? []).flatMap((field, i) =>
    (field.choices ?? []).flatMap((choice, c) =>
      choice.description
        ? []
        : [{ path: `fields[${i}].choices[${c}]`, message: `choice ${choice.name} ${message}` }],
    ),
  );
  return [
    ...(options.labels && !wanted.description
      ? [{ path: 'title', message: `label ${wanted.title} ${message}` }]
      : []),
    ...(options.choices ? choices : []),
  ];
};
/** Every name matches the team's pattern. */
const namePattern = (wanted: LabelDef, pattern: string): Objection[] => {
  const expression = new RegExp(pattern, 'u');
  return namesIn(wanted)
    .filter(({ name }) => !expression.test(name))
    .map(({ path, name }) => ({ path, message: `"${name}" does not match ${pattern}` }));
};
const channel = (hex: string, at: number): number => {
  const part = Number.parseInt(hex.slice(at, at + 2), 16) / 255;
  return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
};
const luminance = (hex: string): number =>
  0.2126 * channel(hex, 1) + 0.7152 * channel(hex, 3) + 0.0722 * channel(hex, 5);
/** The contrast ratio of WCAG 2: 1 to 21. */
const contrast = (a: string, b: string): number => {
  const [light = 1, dark = 1] = [luminance(a), luminance(b)].sort((x, y) => y - x);
  return (light + 0.05) / (dark + 0.05);
};
/** A badge has enough contrast with its background. */
const badgeContrast = (wanted: LabelDef, { against, min }: LintOptions['badge_contrast']): Objection[] =>
  (wanted.fields ?? []).flatMap((field, i) =>
    (field.choices ?? []).flatMap((choice, c) => {
      const color = choice.badge?.color;
      if (color === undefined) return [];
      const ratio = contrast(color, against);
      const text = `badge ${color} has a contrast of ${ratio.toFixed(1)} against ${against}; at least ${min} is wanted`;
      return ratio < min ? [{ path: `fields[${i}].choices[${c}].badge`, message: text }] : [];
    }),
  );
/** Only the principals that the team lists may edit labels. `*` and `@example.com` are wildcards. */
const editors = (wanted: LabelDef, allowed: readonly string[]): Objection[] =>
  (wanted.permissions ?? []).flatMap((permission, i) => {
    const who = principalName(permission);
    const isAllowed = allowed.some(
      (one) => one === '*' || one === who || (one.startsWith('@') && who.endsWith(one)),
    );
    return permission.role !== labelRoles[labelRoles.length - 1] || isAllowed
      ? []
      : [
          {
            path: `permissions[${i}]`,
            message: `${who} may not be EDITOR; allowed: ${allowed.join(', ') || 'nobody'}`,
          },
        ];
  });
type Rule<K extends keyof LintOptions> = {
  readonly summary: string;
  /** The default if labels.lint.yaml does not configure the rule; undefined: the rule is off. */
  readonly standard: LintOptions[K] | undefined;
  readonly check: (wanted: LabelDef, options: LintOptions[K]) => Objection[];
};
/** One row per rule: its name in labels.lint.yaml, the default, and the check. */
export const lintRules: { readonly [K in keyof LintOptions]: Rule<K> } = {
  description: {
    summary: 'Labels (and choices, when asked for) have a description',
    standard: { labels: true, choices: false },
    check: description,
  },
  name_pattern: {
    summary: 'Titles and names match a regular expression',
    standard: '^\\S(.*\\S)?$',
    check: namePattern,
  },
  badge_contrast: {
    summary: 'Badges have enough contrast with the background',
    standard: { against: '#ffffff', min: 1.5 },
    check: badgeContrast,
  },
  editors: { summary: 'Only these principals may have the role EDITOR', standard: undefined, check: editors },
};

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
const readOptions = async (context: EngineContext, file: string | undefined): Promise<Wanted> => {
  if (file === undefined) return wantedFrom({});
  const document = readSingleDocument(file, await textOf(context, file));
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
  if (problems.length > 0)
    throw usageError(`${file}: the rules are wrong`, placeProblems(document, problems));
  return wantedFrom(document.value);
};
const wantedFrom = (value: Readonly<Record<string, unknown>>): Wanted =>
  Object.fromEntries(names.map((name) => [name, optionOf(value[name], lintRules[name].standard)])) as Wanted;
const check = <K extends keyof LintOptions>(name: K, wish: DesiredLabel, options: Wanted): Finding[] => {
  const option = options[name];
  if (option === undefined) return [];
  const objections = lintRules[name].check(wish.wanted, option as LintOptions[K]);
  const problems = objections.map(({ path, message }) => problem(path, 'rule', message));
  return placeProblems(wish.document, problems).map((one) => ({ ...one, lint: name }));
};
/** A definition that the lock file does not know, or a record whose file is gone: one of them was forgotten. */
const orphans = async (
  context: EngineContext,
  directory: string | undefined,
  wishes: readonly DesiredLabel[],
): Promise<Finding[]> => {
  const lock = directory === undefined ? undefined : await readLock(context, directory);
  if (lock === undefined) return [];
  const index = new LockIndex(lock, '');
  const found = wishes.map((wish) => labelKeys(index, wish.wanted, lockPlaceOf(context, wish).file));
  const keys = new Set(found.flat());
  const unknown = wishes.flatMap((wish, i) => {
    const [first, ...more] = found[i] ?? [];
    if (first !== undefined && more.length > 0)
      return placeProblems(wish.document, [ambiguousEntry([first, ...more])]);
    return first === undefined || index.entry(first) === undefined
      ? placeProblems(wish.document, [
          problem('title', 'rule', 'is not in the lock file', 'opsctl labels adopt'),
        ])
      : [];
  });
  const forgotten = Object.entries(lock.labels)
    .filter(([key]) => !keys.has(key))
    .map(([key, { file }]) =>
      problem(
        '',
        'rule',
        `entry ${key} of labels.lock.yaml has no definition${file === undefined ? '' : ` (${file} does not exist)`}`,
        `restore the file, or run ${forgetCommand(context.host, directory ?? '', key)}`,
      ),
    );
  return [...unknown, ...forgotten].map((one) => ({ ...one, lint: 'orphans' }));
};
const configOf = async (
  context: EngineContext,
  directory: string | undefined,
): Promise<string | undefined> => {
  if (directory === undefined) return undefined;
  const file = join(directory, LINT_FILE);
  return (await context.host.files.info(file)) === undefined ? undefined : file;
};
/** `labels lint`: the rules of the team, from labels.lint.yaml next to the definitions. No network. */
export const lintFiles = async (
  context: EngineContext,
  files: readonly string[],
  rules: string | undefined,
): Promise<{ readonly findings: readonly Finding[]; readonly count: number }> => {
  const [deployment] = await deploymentsWithValues(context, files);
  const wishes = await loadDesiredLabels(context, files, { deployment });
  const [first = '-'] = files;
  const directory = await directoryOf(context, first);
  const options = await readOptions(context, rules ?? (await configOf(context, directory)));
  const findings = wishes.flatMap((wish) => names.flatMap((name) => check(name, wish, options)));
  return { findings: [...findings, ...(await orphans(context, directory, wishes))], count: wishes.length };
};
export const findingText = (finding: Finding): string => `${problemText(finding)} [${finding.lint}]`;
