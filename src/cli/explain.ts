import { acceptable, operationsOf } from '../kv/upgrade/guards/guard.ts';
import { type Key, keys } from '../config/settings.ts';
import { environmentRows } from '../config/load.ts';
import {
  type Category,
  type ErrorExplanation,
  type Explanation,
  exitCodes,
  type GuardExplanation,
} from '../core/problem.ts';
import { bare, type Field } from '../core/field.ts';
import { flagName } from '../core/flag.ts';
import { formats } from '../core/format.ts';
import { type Operation, operations, type Service } from '../core/operation.ts';
import { type Block, heading, type Page, prose, terms } from '../core/result.ts';
import { errorExplanations } from '../reference/explanations/errors.ts';
import { guardExplanations } from '../reference/explanations/guards.ts';
import { exitExplanations, settingExplanations } from '../reference/explanations/settings.ts';

const page = (title: string, summary: string, ...blocks: Block[]): Page => ({ title, summary, blocks });
const sections = ({ causes, fix, example }: Explanation): Block[] => [
  heading('Possible causes'),
  terms(causes.map((cause) => [cause, ''])),
  heading('Fix'),
  prose(fix),
  heading('Example'),
  { kind: 'shell', lines: [example] },
];
const exitSummary = (category: Category): string => {
  const { code, meaning } = exitCodes[category];
  return `Exit code ${code}: ${meaning}`;
};
/** Returns the page of an exit code by its number or its category: `11`, `network`, `NETWORK`. */
const exitPage = (name: string): Page | undefined => {
  const wanted = name.toLowerCase().replaceAll('_', '-');
  const [category, row] =
    Object.entries(exitCodes).find(([key, { code }]) => key === wanted || String(code) === wanted) ?? [];
  const explanation = category === undefined ? undefined : exitExplanations[category];
  if (category === undefined || row === undefined || explanation === undefined) return undefined;
  return page(
    `exit code ${row.code}`,
    `Exit code ${row.code}: ${row.meaning}`,
    prose(
      `Category ${category}. An error without its own code has the code ${category.toUpperCase().replaceAll('-', '_')}.`,
    ),
    ...sections(explanation),
  );
};
const errorPage = (code: string, row: ErrorExplanation): Page =>
  page(code, row.meaning, prose(`${exitSummary(row.category)}.`), ...sections(row));
const acceptText = (id: string): string =>
  acceptable.includes(id)
    ? `This check can be accepted: \`--accept ${id}\` turns its refusal into a warning.`
    : operationsOf(id).length > 0
      ? `Only ${operationsOf(id)
          .map((name) => `kv ${name}`)
          .join(' and ')} can accept this check, and only if its result is unknown: \`--accept ${id}\`.`
      : 'This check cannot be accepted with --accept.';
const guardPage = (id: string, row: GuardExplanation): Page =>
  page(
    id,
    `Guard ${id}: ${row.meaning}`,
    heading('Reason'),
    prose(row.reason),
    ...sections(row),
    prose(`\`opsctl kv check\` shows the findings on your cluster. ${acceptText(id)}`),
  );
const settingRows = (key: Key): (readonly [string, string])[] => [
  ...(key.env === undefined ? [] : [['environment', key.env] as const]),
  ...(key.flag === undefined ? [] : [['flag', `--${key.flag}`] as const]),
  ['default', key.fallback ?? 'not set'],
  ['secret', key.secret ? 'yes: set it with --stdin or in the environment' : 'no'],
];
const settingPage = (name: string): Page | undefined => {
  const key = keys.find((one) => one.key === name || one.env === name);
  const explanation = key && settingExplanations[key.key];
  if (key !== undefined && explanation !== undefined)
    return page(
      key.key,
      `Setting ${key.key}: ${key.summary}`,
      prose(explanation.effect),
      terms(settingRows(key)),
      heading('Example'),
      { kind: 'shell', lines: [explanation.example] },
    );
  const row = environmentRows().find(([names]) => names.split(', ').includes(name));
  return row && page(name, `Environment variable ${name}: ${row[1]}`);
};
const fieldPage = (name: string, found: readonly ExplainedField[]): Page =>
  page(
    name,
    `Field ${name}`,
    ...found.flatMap(({ command, type, about, rules, source }) => [
      heading(command),
      terms([
        ['type', type],
        ...(about === '' ? [] : [['about', about] as const]),
        ...rules,
        ['source', source],
      ]),
    ]),
  );

type ExplainedField = {
  readonly command: string;
  readonly type: string;
  readonly about: string;
  readonly rules: readonly (readonly [string, string])[];
  readonly source: string;
};
const typeOf = (field: Field): string => {
  const inner = bare(field);
  if (inner.type === 'array') return `list of ${typeOf(inner.items)}`;
  if (inner.type === 'string' && inner.enum !== undefined) return `one of ${inner.enum.join(', ')}`;
  return inner.type === 'string' && inner.format !== undefined
    ? inner.format
    : inner.type === 'string'
      ? 'text'
      : inner.type;
};
const unit = (type: string): string =>
  type === 'string' ? ' characters' : type === 'array' ? ' entries' : '';
/** Every rule of a field as a line, from the field itself. */
const rulesOf = (field: Field): [string, string][] => {
  const inner = bare(field);
  const { min, max } = inner as { min?: number; max?: number };
  const format = inner.type === 'string' && inner.format !== undefined ? formats[inner.format] : undefined;
  return [
    ...(field.required ? ([['required', 'yes']] as [string, string][]) : []),
    ...(field.nullable ? ([['null', 'unsets it (--unset)']] as [string, string][]) : []),
    ...(min === undefined ? [] : ([['at least', `${min}${unit(inner.type)}`]] as [string, string][])),
    ...(max === undefined ? [] : ([['at most', `${max}${unit(inner.type)}`]] as [string, string][])),
    ...(format === undefined ? [] : ([['format', format.says]] as [string, string][])),
    ...(field.default === undefined ? [] : ([['default', String(field.default)]] as [string, string][])),
    ...(field.readOnly ? ([['set by', 'the service']] as [string, string][]) : []),
    ...(field.deprecated === undefined
      ? []
      : ([['deprecated', field.deprecated === '' ? 'yes' : `use ${field.deprecated}`]] as [
          string,
          string,
        ][])),
  ];
};
const services = async (): Promise<Service[]> => [
  (await import('../api-specs/tracker/index.ts')).tracker,
  (await import('../api-specs/labels/labels.ts')).labelsService,
];
const inputs = ({ params, query, body }: Operation): [string, Field][] =>
  Object.entries({ ...params, ...query, ...body });
/** People write `story.estimate` for a field of `tracker stories`. */
const toPlural = (word: string): string => `${word.replace(/y$/, 'ie')}s`;
/**
 * `tracker labels create name`, `tracker labels name` or `labels.name`: lists how each operation uses the
 * field.
 */
const fieldsNamed = async (words: readonly string[]): Promise<ExplainedField[]> => {
  const path = words.flatMap((word) => word.split('.'));
  const name = path.at(-1) ?? '';
  const before = path.slice(0, -1);
  if (before.length === 0) return [];
  return (await services()).flatMap((service) =>
    operations(service.table).flatMap(({ resource, verb, operation }) => {
      const own = [service.name, ...flagName(resource).split(' '), operation.cli?.verb ?? flagName(verb)];
      if (!before.every((word) => own.includes(word) || own.includes(toPlural(word)))) return [];
      return inputs(operation)
        .filter(([field]) => field === name || flagName(field) === name)
        .map(([, field]) => ({
          command: `opsctl ${own.join(' ')}`,
          type: typeOf(field),
          about: field.summary ?? '',
          rules: rulesOf(field),
          source: operation.cites,
        }));
    }),
  );
};

/** Returns the page of an error code. Codes of guards (`NO_ALARMS`) and of the network (`NETWORK_ECONNREFUSED`) have a page too. */
const codePage = (code: string): Page | undefined => {
  const row = errorExplanations[code];
  if (row !== undefined) return errorPage(code, row);
  const id = code.toLowerCase().replaceAll('_', '-');
  const guard = guardExplanations[id];
  if (guard !== undefined) return guardPage(id, guard);
  return code.startsWith('NETWORK_') ? exitPage('network') : undefined;
};
/** Returns the page of a name: an error code, a guard, an exit code, a setting or a field. */
export const explanationOf = async (words: readonly string[]): Promise<Page | undefined> => {
  const [name = ''] = words;
  if (words.length === 1) {
    const known = codePage(name.toUpperCase().replaceAll('-', '_')) ?? exitPage(name) ?? settingPage(name);
    if (known !== undefined) return known;
  }
  const fields = await fieldsNamed(words);
  return fields.length === 0 ? undefined : fieldPage(words.join(' '), fields);
};
type Explainable = { readonly name: string; readonly kind: string; readonly summary: string };
/** Returns every name that has a page, for the list and for completion. */
export const explainable = (): Explainable[] => [
  ...Object.entries(guardExplanations).map(([name, { meaning }]) => ({
    name,
    kind: 'guard',
    summary: meaning,
  })),
  ...Object.values(exitCodes).map(({ code, meaning }) => ({
    name: String(code),
    kind: 'exit code',
    summary: meaning,
  })),
  ...Object.entries(errorExplanations).map(([name, { meaning }]) => ({
    name,
    kind: 'error',
    summary: meaning,
  })),
  ...keys.map(({ key, summary }) => ({ name: key, kind: 'setting', summary })),
];
