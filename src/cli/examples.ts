import { type Field, type Fields, bare } from '../core/field.ts';
import { formatExamples } from '../core/format-examples.ts';
import type { Argument, Command, Example, Flag } from './command.ts';
import { isRequired } from './flag-terms.ts';

/** Words for values whose type alone would give a poor one, by the name of the argument or flag. */
const words: Readonly<Record<string, string>> = {
  name: 'Billing',
  text: 'Looks good',
  description: 'What it is for',
  title: 'Contract',
  'mention-name': 'billing',
  'end-date': '2026-01-16',
  member: 'n2',
  target: 'n2',
  'key-name': 'greeting',
  'lease-id': '694d5765fc71500b',
  'peer-urls': 'http://10.0.0.2:2380',
  file: 'before.json',
  fault: '1',
  revision: '1',
  account: 'ada@demo.example',
  accounts: 'ada@demo.example',
  email: 'ada@demo.example',
  issuer: 'https://accounts.example.com',
  audience: 'https://api.example.com',
  scope: 'email',
  scopes: 'openid',
};
/** Records of the demo data that people name. */
const named: Readonly<Record<string, string>> = {
  label: 'onboarding',
  'label-title': 'Contract',
};
const byFormat: Readonly<Record<string, string>> = {
  ...formatExamples,
  email: 'ada@demo.example',
  int64: '123',
};

const quoted = (word: string): string =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;

/** An object with the fields that it needs. */
const bodyOf = (fields: Fields): Record<string, string> =>
  Object.fromEntries(
    Object.entries(fields)
      .filter(([, field]) => field.required || field.needed)
      .map(([name, field], at) => [name, wordFor(name, field, at)]),
  );

/** A value of this field; `at` keeps two ids of one line apart. */
function wordFor(name: string, field: Field, at: number): string {
  const plain = bare(field);
  if (plain.type === 'array') return wordFor(name, plain.items, at);
  if (plain.type === 'boolean') return 'true';
  if (plain.type === 'integer' || plain.type === 'number')
    return String(Math.min(plain.max ?? 123 + at, 123 + at));
  if (plain.type === 'object') return JSON.stringify(bodyOf(plain.fields));
  if (plain.type === 'map') return '{}';
  const { enum: allowed, format } = plain as { readonly enum?: readonly string[]; readonly format?: string };
  return allowed?.[0] ?? byFormat[format ?? ''] ?? words[name] ?? name.toUpperCase();
}

/** Where a row takes a record by name or id, the field of its path says what an id looks like. */
const argumentWord = ({ operation }: Command, { name, field, complete }: Argument, at: number): string => {
  if (complete !== undefined && named[complete] !== undefined) return named[complete];
  const params = Object.entries(operation?.operation.params ?? {});
  const own = params.find(([param]) => param.replace(/-public-id$/, '') === name)?.[1];
  return wordFor(name, own ?? field, at);
};

/** What a change shows: a name or a text, else the first value of its body. */
const changeOf = ({ path, operation, flags = {} }: Command): [string, Flag][] => {
  const isChange = operation?.operation.method === 'PUT' || path.at(-1) === 'update';
  if (!isChange) return [];
  const usable = Object.entries(flags).filter(
    ([name, { field, hidden }]) =>
      !hidden && name !== 'body' && name !== 'unset' && !['object', 'map', 'any'].includes(bare(field).type),
  );
  const best = usable.find(([name]) => /^(name|text|title|description)$/.test(name)) ?? usable[0];
  return best === undefined ? [] : [best];
};

/** An example made from the fields of a command: its arguments, the flags it needs, and for a change one value. */
const derived = (command: Command): Example => {
  const { path, args = [], flags = {}, summary } = command;
  const required = Object.entries(flags).filter(([, flag]) => isRequired(flag));
  const shown = required.length > 0 ? required : changeOf(command);
  const needed = args.filter(({ optional }) => !optional);
  const parts = [
    ...needed.map((arg, at) => quoted(argumentWord(command, arg, at))),
    ...shown.map(([name, { field }], at) => `--${name} ${quoted(wordFor(name, field, needed.length + at))}`),
  ];
  return { line: ['opsctl', ...path, ...parts].join(' '), says: summary };
};

/** The examples that help, manual and reference show: those of the command, else one made from its fields. */
export const examplesOf = (command: Command): readonly Example[] => {
  const { examples = [] } = command;
  return examples.length > 0 ? examples : [derived(command)];
};
