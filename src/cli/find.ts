import { AppError } from '../core/problem.ts';
import { nearest } from '../core/text.ts';
import type { Command, Group } from './command.ts';

export type CommandMatch =
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
/**
 * Returns the command for the words: the longest path that matches. The remaining words are its arguments.
 */
export const findCommand = (commands: readonly Command[], words: readonly string[]): CommandMatch => {
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

/** Words of other command lines, and the command that does the same here. */
export const synonyms: Readonly<Record<string, string>> = {
  me: 'whoami',
  'auth whoami': 'whoami',
  'tracker me': 'tracker members me',
  'tracker whoami': 'tracker members me',
  signin: 'login',
  'sign-in': 'login',
  'auth login': 'login',
  signout: 'logout',
  'sign-out': 'logout',
  open: 'tracker stories open',
  browse: 'tracker stories open',
  edit: 'tracker stories edit',
  issue: 'tracker stories list',
  issues: 'tracker stories list',
  story: 'tracker stories list',
  stories: 'tracker stories list',
  tickets: 'tracker stories list',
  'tracker issues': 'tracker stories list',
  'tracker list': 'tracker stories list',
  'tracker story': 'tracker stories list',
  'tracker stories close': 'tracker stories done',
  'tracker stories copy': 'tracker stories clone',
  'tracker stories duplicate': 'tracker stories clone',
  'tracker stories transition': 'tracker stories move',
  'tracker stories browse': 'tracker stories open',
  sprint: 'tracker iterations current',
  sprints: 'tracker iterations list',
  'tracker sprints': 'tracker iterations list',
  users: 'tracker members list',
  'tracker users': 'tracker members list',
  'tracker teams': 'tracker groups list',
  'tracker import': 'tracker bulk',
  'kv metrics': 'kv top',
  'kv backup': 'kv snapshot save',
  backup: 'kv snapshot save',
  'kv members': 'kv member list',
  history: 'kv history',
  context: 'config profiles',
  contexts: 'config profiles',
  profile: 'config profiles',
  settings: 'config list',
  env: 'config list',
  curl: 'api',
  revert: 'undo',
};
/** The command behind the words of another command line; the longest known beginning counts. */
const findSynonym = (words: readonly string[]): string | undefined => {
  for (let count = words.length; count > 0; count -= 1) {
    const known = words.slice(0, count).join(' ');
    if (Object.hasOwn(synonyms, known)) return synonyms[known];
  }
  return undefined;
};
const most = 3;
/** An unknown command may be one of another group: `config lint` is `kv config lint`, `upgrade` is `kv upgrade`. */
export const withSuggestion = async (
  groups: readonly Group[],
  error: AppError,
  words: readonly string[],
): Promise<AppError> => {
  const synonym = findSynonym(words);
  if (synonym !== undefined)
    return new AppError('usage', error.message.replace(/; did you mean .*$/, ''), {
      ...error.detail,
      tryThis: [`opsctl ${synonym} --help`],
    });
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
