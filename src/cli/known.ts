import { keys } from '../config/keys.ts';
import { exitCodes } from '../core/exit.ts';
import type { Page } from '../core/page.ts';
import type { Host } from '../platform/host.ts';
import { fieldsNamed } from './fields.ts';
import { errorPage, exitPage, fieldPage, guardPage, settingPage } from './explain.ts';
import { type ErrorText, type GuardText, readTexts } from './texts.ts';

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
