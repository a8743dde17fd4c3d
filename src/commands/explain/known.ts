import { keys } from '../../config/keys.ts';
import { environmentRows } from '../../config/environment-text.ts';
import { exitCodes } from '../../core/exit.ts';
import { type Block, type Page, heading, prose, terms } from '../../core/page.ts';
import type { Host } from '../../platform/host.ts';
import { type ExplainedField, fieldsNamed } from './fields.ts';

type ErrorText = {
  readonly category: string;
  readonly messages: readonly string[];
  readonly tryThis: readonly string[];
};
type GuardText = {
  readonly good: string;
  readonly about: string;
  readonly findings: readonly { readonly level: string; readonly message: string; readonly hint?: string }[];
};
/** Written by the build from the places in the source that raise them. */
type Texts = {
  readonly errors: Readonly<Record<string, ErrorText>>;
  readonly guards: Readonly<Record<string, GuardText>>;
};

const readTexts = async (host: Host): Promise<Texts> => {
  const text = await host.buildText('explanations.json');
  return text === undefined ? { errors: {}, guards: {} } : (JSON.parse(text) as Texts);
};

const page = (title: string, summary: string, ...blocks: Block[]): Page => ({ title, summary, blocks });
const sentence = (text: string): string =>
  text === '' ? '' : `${text.charAt(0).toUpperCase()}${text.slice(1)}`;

/** An exit code by its number or its category: `11`, `network`, `NETWORK`. */
const exitPage = (name: string): Page | undefined => {
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

const errorPage = (code: string, { category, messages, tryThis }: ErrorText): Page => {
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

const guardPage = (id: string, { good, about, findings }: GuardText): Page =>
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

const settingPage = (name: string): Page | undefined => {
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
