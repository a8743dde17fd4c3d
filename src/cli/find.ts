import type { Command } from './command.ts';
import { nearest } from '../core/nearest.ts';
import { AppError } from '../core/problem.ts';
import { type Group, groups } from './manifest.ts';

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
const meant = (typed: string, known: readonly string[]): string | undefined => {
  const same = Object.hasOwn(alsoCalled, typed) ? alsoCalled[typed] : undefined;
  return same !== undefined && known.includes(same) ? same : nearest(typed, known);
};

const unknown = (typed: string, before: readonly string[], known: readonly string[]): AppError => {
  const close = meant(typed, known);
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

export const findGroup = (word: string): Group => {
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
