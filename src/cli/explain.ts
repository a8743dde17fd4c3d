import { environmentRows } from '../config/environment-text.ts';
import { keys } from '../config/keys.ts';
import { exitCodes } from '../core/exit.ts';
import { type Block, type Page, heading, prose, terms } from '../core/page.ts';
import type { ExplainedField } from './fields.ts';
import type { ErrorText, GuardText } from './texts.ts';

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
