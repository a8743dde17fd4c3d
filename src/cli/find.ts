import { AppError } from '../core/problem.ts';
import { nearest } from '../core/text.ts';
import type { Command } from './command.ts';
import type { Group } from './program.ts';

export type Found =
  | { readonly kind: 'command'; readonly command: Command; readonly used: number }
  /** The words name a group; `commands` are those below it. */
  | { readonly kind: 'group'; readonly words: readonly string[]; readonly commands: readonly Command[] };
const starts = (path: readonly string[], words: readonly string[]): boolean =>
  words.every((word, i) => path[i] === word);
/** What other programs call the same thing. */
const alsoCalled: Readonly<Record<string, string>> = {
  ls: 'list',
  all: 'list',
  show: 'get',
  view: 'get',
  describe: 'get',
  rename: 'update',
  add: 'create',
  new: 'create',
  edit: 'update',
  set: 'update',
  modify: 'update',
  rm: 'delete',
  del: 'delete',
  remove: 'delete',
};
const guessWord = (typed: string, known: readonly string[]): string | undefined => {
  const same = Object.hasOwn(alsoCalled, typed) ? alsoCalled[typed] : undefined;
  return same !== undefined && known.includes(same) ? same : nearest(typed, known);
};
const unknown = (typed: string, before: readonly string[], known: readonly string[]): AppError => {
  const close = guessWord(typed, known);
  const at = ['opsctl', ...before].join(' ');
  return new AppError(
    'usage',
    `${at}: there is no command ${JSON.stringify(typed)}${close ? `; did you mean ${close}?` : ''}`,
    {
      code: 'UNKNOWN_COMMAND',
      tryThis: [close ? `${at} ${close} --help` : `${at} --help`],
    },
  );
};
export const findGroup = (groups: readonly Group[], word: string): Group => {
  const group = groups.find(({ name }) => name === word);
  if (group === undefined)
    throw unknown(
      word,
      [],
      groups.map(({ name }) => name),
    );
  return group;
};
/** The command that the words name: the longest path that matches; what is left over are its arguments. */
export const findCommand = (commands: readonly Command[], words: readonly string[]): Found => {
  let best: Command | undefined;
  for (const command of commands) {
    if (starts(words, command.path) && command.path.length > (best?.path.length ?? 0)) best = command;
  }
  if (best) return { kind: 'command', command: best, used: best.path.length };
  let depth = 0;
  while (
    depth < words.length &&
    commands.some(({ path }) => path.length > depth + 1 && starts(path, words.slice(0, depth + 1)))
  )
    depth += 1;
  const below = commands.filter(({ path }) => starts(path, words.slice(0, depth)));
  if (depth === words.length) return { kind: 'group', words, commands: below };
  throw unknown(words[depth] ?? '', words.slice(0, depth), [
    ...new Set(below.filter((c) => !c.hidden).map(({ path }) => path[depth] ?? '')),
  ]);
};

const most = 3;
/** An unknown command may be one of another group: `config lint` is `kv config lint`, `upgrade` is `kv upgrade`. */
export const withSuggestion = async (
  groups: readonly Group[],
  error: AppError,
  words: readonly string[],
): Promise<AppError> => {
  const all = (await Promise.all(groups.map((group) => group.load())))
    .flat()
    .filter(({ hidden }) => hidden !== true);
  const shortest = groups.some(({ name }) => name === words[0]) ? 2 : 1;
  for (let count = words.length; count >= shortest; count -= 1) {
    const end = words.slice(0, count).join(' ');
    const found = all.map(({ path }) => path.join(' ')).filter((path) => path.endsWith(` ${end}`));
    if (found.length > 0 && found.length <= most)
      return new AppError('usage', error.message, {
        ...error.detail,
        tryThis: found.map((path) => `opsctl ${path} --help`),
      });
  }
  return error;
};
