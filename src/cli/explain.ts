import { keys } from '../config/keys.ts';
import { environmentRows } from '../config/load.ts';
import { exitCodes } from '../core/exit.ts';
import { bare, type Field } from '../core/field.ts';
import { flagName } from '../core/flag.ts';
import { formats } from '../core/format.ts';
import { type Operation, operations, type Service } from '../core/operation.ts';
import { type Block, heading, type Page, prose, terms } from '../core/page.ts';
import type { Host } from '../platform/host.ts';
import { kebab } from './derived/command.ts';

const page = (title: string, summary: string, ...blocks: Block[]): Page => ({ title, summary, blocks });
const sentence = (text: string): string =>
  text === '' ? '' : `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
/** An exit code by its number or its category: `11`, `network`, `NETWORK`. */
export const exitPage = (name: string): Page | undefined => {
  const wanted = name.toLowerCase().replaceAll('_', '-');
  const [category, row] =
    Object.entries(exitCodes).find(([key, { code }]) => key === wanted || String(code) === wanted) ?? [];
  if (category === undefined || row === undefined) return undefined;
  return page(
    `exit code ${row.code}`,
    `Exit code ${row.code}: ${row.meaning}`,
    prose(
      `Category ${category}; an error without a code of its own has ${category.toUpperCase().replaceAll('-', '_')}.`,
    ),
    ...(row.advice === undefined ? [] : [heading('What to do'), prose(`${row.advice}.`)]),
  );
};
export const errorPage = (code: string, { category, messages, tryThis }: ErrorText): Page => {
  const row = exitCodes[category as keyof typeof exitCodes];
  return page(
    code,
    `${code}: ${row?.meaning ?? category} (exit code ${row?.code ?? 1})`,
    ...(messages.length === 0 ? [] : [heading('What it says'), terms(messages.map((text) => [text, '']))]),
    heading('What to do'),
    ...(tryThis.length === 0 ? [] : [terms(tryThis.map((text) => [text, '']))]),
    ...(row?.advice === undefined ? [] : [prose(`${row.advice}.`)]),
  );
};
export const guardPage = (id: string, { good, about, findings }: GuardText): Page =>
  page(
    id,
    `Guard ${id}: ${good}`,
    ...(about === '' ? [] : [heading('Why'), prose(sentence(about))]),
    heading('What is checked'),
    ...(findings.length === 0
      ? [prose(`Passes when ${good}.`)]
      : [terms(findings.map(({ level, message, hint }) => [`${level}: ${message}`, hint ?? '']))]),
    heading('What to do'),
    prose(
      `\`opsctl kv check\` shows what it found on your cluster and the next step. Where the guard may be overruled, \`--accept ${id}\` takes its refusal as a warning; a guard that protects data cannot be accepted.`,
    ),
  );
export const settingPage = (name: string): Page | undefined => {
  const key = keys.find((one) => one.key === name || one.env === name);
  if (key !== undefined)
    return page(
      key.key,
      `Setting ${key.key}: ${key.summary}`,
      terms([
        ...(key.env === undefined ? [] : [['environment', key.env] as const]),
        ...(key.flag === undefined ? [] : [['flag', `--${key.flag}`] as const]),
        ['default', key.fallback ?? 'none'],
        ['secret', key.secret ? 'yes: only from the environment or --stdin' : 'no'],
      ]),
    );
  const row = environmentRows().find(([names]) => names.split(', ').includes(name));
  return row && page(name, `Environment variable ${name}: ${row[1]}`);
};
export const fieldPage = (name: string, found: readonly ExplainedField[]): Page =>
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

export type ExplainedField = {
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
  (await import('../api-specs/labels/index.ts')).labelsService,
];
const inputs = ({ params, query, body }: Operation): [string, Field][] =>
  Object.entries({ ...params, ...query, ...body });
/** `tracker labels create name`, `tracker labels name` or `labels.name`: where each operation takes it. */
export const fieldsNamed = async (words: readonly string[]): Promise<ExplainedField[]> => {
  const path = words.flatMap((word) => word.split('.'));
  const name = path.at(-1) ?? '';
  const before = path.slice(0, -1);
  if (before.length === 0) return [];
  return (await services()).flatMap((service) =>
    operations(service.table).flatMap(({ resource, verb, operation }) => {
      const own = [service.name, ...kebab(resource).split(' '), operation.cli?.verb ?? kebab(verb)];
      if (!before.every((word) => own.includes(word))) return [];
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

export type ErrorText = {
  readonly category: string;
  readonly messages: readonly string[];
  readonly tryThis: readonly string[];
};
export type GuardText = {
  readonly good: string;
  readonly about: string;
  readonly findings: readonly { readonly level: string; readonly message: string; readonly hint?: string }[];
};
/** Written by the build from the places in the source that raise them. */
type Texts = {
  readonly errors: Readonly<Record<string, ErrorText>>;
  readonly guards: Readonly<Record<string, GuardText>>;
};
export const readTexts = async (host: Host): Promise<Texts> => {
  const text = await host.buildText('explanations.json');
  return text === undefined ? { errors: {}, guards: {} } : (JSON.parse(text) as Texts);
};

/** The page of one name, from the table that has it. */
export const explanationOf = async (host: Host, words: readonly string[]): Promise<Page | undefined> => {
  const [name = ''] = words;
  const { errors, guards } = await readTexts(host);
  if (words.length === 1) {
    const code = name.toUpperCase();
    if (Object.hasOwn(guards, name)) return guardPage(name, guards[name] as GuardText);
    if (Object.hasOwn(errors, code)) return errorPage(code, errors[code] as ErrorText);
    const known = exitPage(name) ?? settingPage(name);
    if (known !== undefined) return known;
  }
  const fields = await fieldsNamed(words);
  return fields.length === 0 ? undefined : fieldPage(words.join(' '), fields);
};
/** Everything that has a page, for the list and for TAB. */
export const explainable = async (host: Host): Promise<{ name: string; kind: string; summary: string }[]> => {
  const { errors, guards } = await readTexts(host);
  return [
    ...Object.entries(guards).map(([name, { good }]) => ({ name, kind: 'guard', summary: good })),
    ...Object.entries(exitCodes).map(([, { code, meaning }]) => ({
      name: String(code),
      kind: 'exit code',
      summary: meaning,
    })),
    ...Object.entries(errors).map(([name, { category, messages }]) => ({
      name,
      kind: 'error',
      summary: messages[0] ?? exitCodes[category as keyof typeof exitCodes]?.meaning ?? category,
    })),
    ...keys.map(({ key, summary }) => ({ name: key, kind: 'setting', summary })),
  ];
};
