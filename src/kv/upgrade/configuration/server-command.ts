import { settingNames } from '../../../api-specs/etcd/server-settings.ts';
import { limits } from '../../../core/limits.ts';
import { wordsOf } from '../../../core/shell.ts';
import { innerCommand } from '../../../core/runnable-words.ts';
import { isServer, originsIn, type Origin, type ServerStart, type SourceReader } from './configuration.ts';
import { parseWords } from './values.ts';
import {
  insertText,
  isShellKeyword,
  lexShell,
  readEnvironment,
  type ShellCommand,
  type ShellWord,
} from './variables.ts';

type Variables = Readonly<Record<string, string>>;
/** A command that starts a server, and the variables that the server receives. */
export type ServerCommand = {
  readonly words: readonly string[];
  readonly env: Variables;
  /** Parts of the command that are unknown before it runs. */
  readonly unread: readonly string[];
  /** The server sees another file system. */
  readonly isContained: boolean;
};
/** Returns the text of a file that a command reads. Undefined: it cannot be read here. */
export type ReadNow = (path: string) => string | undefined;
type Environment = {
  readonly env: Variables;
  readonly unread: readonly string[];
  readonly isContained: boolean;
  readonly read: ReadNow;
  /** Number of scripts around the command, because a script may run itself. */
  readonly depth: number;
};

const nameOf = (word: string | undefined): string => word?.split('/').at(-1) ?? '';
const runtimes = /^(docker|podman|nerdctl)$/;
/** A container has a separate file system, so the file of this path on the host is another one. */
export const runsContainer = (words: readonly string[]): boolean =>
  words.some((word) => runtimes.test(nameOf(word)) || /^(ctr|crictl)$/.test(nameOf(word)));

/** A variable and its value. */
export const ASSIGNMENT = /^([A-Za-z_]\w*)=([\s\S]*)$/;
const assign = (env: Variables, assigned: readonly string[]): Record<string, string> => {
  const result: Record<string, string> = { ...env };
  for (const one of assigned) {
    const [, name, value] = ASSIGNMENT.exec(one) ?? [];
    if (name !== undefined) result[name] = value ?? '';
  }
  return result;
};
const without = (env: Variables, removed: readonly string[] | 'all'): Variables =>
  removed === 'all'
    ? {}
    : Object.fromEntries(Object.entries(env).filter(([name]) => !removed.includes(name)));

/** Flags of `docker run` and `podman run` without a value. Every other flag has one. */
const switches = new Set([
  ...[
    'd',
    'detach',
    'i',
    'interactive',
    't',
    'tty',
    'it',
    'ti',
    'dit',
    'itd',
    'dt',
    'td',
    'id',
    'di',
    'rm',
    'init',
  ],
  ...[
    'privileged',
    'read-only',
    'no-healthcheck',
    'P',
    'publish-all',
    'oom-kill-disable',
    'sig-proxy',
    'help',
  ],
  ...[
    'disable-content-trust',
    'q',
    'quiet',
    'replace',
    'no-hosts',
    'http-proxy',
    'env-host',
    'rmi',
    'tls-verify',
  ],
  ...['no-hostname', 'passwd', 'rootfs', 'read-only-tmpfs', 'use-api-socket'],
]);
type RunWords = {
  readonly env: string[];
  readonly files: string[];
  entry: string | undefined;
  command: string[];
};
const runFlags: Readonly<Record<string, (run: RunWords, value: string) => void>> = {
  e: ({ env }, value) => env.push(value),
  env: ({ env }, value) => env.push(value),
  'env-file': ({ files }, value) => files.push(value),
  entrypoint: (run, value) => {
    run.entry = value;
  },
};
/** Reads the arguments behind `docker run`: flags, the image, and the arguments of its entrypoint. */
export const runWords = (words: readonly string[]): RunWords => {
  const run: RunWords = { env: [], files: [], entry: undefined, command: [] };
  for (let i = 0; i < words.length; i += 1) {
    const word = words[i] as string;
    const [, long, short, attached, joined] =
      /^(?:--([\w-]+)|-(\w)(?!$))(?:=([\s\S]*))?([\s\S]*)$/.exec(word) ?? [];
    const name = long ?? short ?? word.replace(/^-/, '');
    if (!word.startsWith('-')) {
      run.command = words.slice(i + 1);
      return run;
    }
    if (switches.has(word.replace(/^--?/, '').replace(/=.*$/s, ''))) continue;
    const near = attached ?? (short !== undefined && joined !== '' ? joined : undefined);
    if (near === undefined) i += 1;
    runFlags[name]?.(run, near ?? words[i] ?? '');
  }
  return run;
};
const inContainer = (words: readonly string[], around: Environment): ServerCommand[] | undefined => {
  const at = words.findIndex((word) => word === 'run' || word === 'create');
  if (at < 0) return undefined;
  const { env: given, files, entry, command } = runWords(words.slice(at + 1));
  const env: Record<string, string> = {};
  const unread = [...around.unread];
  for (const file of files) {
    const text = around.read(file);
    if (text === undefined) unread.push(file);
    else Object.assign(env, readEnvironment(text, file, 'container').env);
  }
  // A flag in the place of a variable, such as `-e --net=host`, has no effect.
  unread.push(...given.filter((one) => !/^[^-=][^=]*=/.test(one)).map((one) => `variable ${one}`));
  const inner = { ...around, env: assign(env, given), unread, isContained: true };
  if (entry !== undefined && entry !== '') return findServers([entry, ...command], inner);
  // The entrypoint of the image is the server, if the arguments are its flags.
  if (command.length === 0 || command[0]?.startsWith('-') === true) {
    const isKnown = command.some((word) => settingNames('flag').includes(word.replace(/^--?|=.*$/gs, '')));
    const isSet = Object.keys(inner.env).some((name) => name.startsWith('ETCD_'));
    return isKnown || isSet ? [{ words: command, env: inner.env, unread, isContained: true }] : [];
  }
  return findServers(command, inner);
};
/** `start-stop-daemon --start --exec PROGRAM -- ARGUMENTS` */
const daemonWords = (words: readonly string[]): readonly string[] | undefined => {
  const at = words.findIndex((word) => /^(-x|-a|--exec|--startas)(=|$)/.test(word));
  const end = words.indexOf('--');
  const program = /=([\s\S]+)$/.exec(words[at] ?? '')?.[1] ?? words[at + 1];
  return at < 0 || program === undefined ? undefined : [program, ...(end < 0 ? [] : words.slice(end + 1))];
};
/** A program of a server, not the value of a setting such as `--data-dir /var/lib/etcd`. */
const mayStart = (words: readonly string[], at: number): boolean => {
  const [word = '', before = ''] = [words[at], words[at - 1]];
  const isValue = before.startsWith('-') && settingNames('flag').includes(before.replace(/^--?/, ''));
  return at > 0 && isServer(word) && !isValue && !/^-|=/.test(word);
};
/** Behind an unknown program, the server is the first word that names it by path, or that is not the value of a flag. */
const behindUnknown = (words: readonly string[], around: Environment): ServerCommand[] => {
  const byPath = words.findIndex((word, i) => word.includes('/') && mayStart(words, i));
  const byName = words.findIndex((_, i) => mayStart(words, i) && !words[i - 1]?.startsWith('-'));
  const at = byPath > 0 ? byPath : byName;
  if (at < 0) return [];
  const unread = [...around.unread, `program ${nameOf(words[0])}, which starts the server`];
  return [{ words: words.slice(at), env: around.env, unread, isContained: around.isContained }];
};
/** Returns the servers that a command starts, behind wrappers, shells and container runtimes. */
export const findServers = (words: readonly string[], around: Environment): ServerCommand[] => {
  const { env, unread, isContained } = around;
  const program = nameOf(words[0]);
  if (words[0] === undefined) return [];
  if (isServer(words[0])) return [{ words, env, unread, isContained }];
  const contained = runtimes.test(program) ? inContainer(words, around) : undefined;
  if (contained !== undefined) return contained;
  const daemon = program === 'start-stop-daemon' ? daemonWords(words) : undefined;
  if (daemon !== undefined) return findServers(daemon, around);
  const inner = innerCommand(words);
  if (inner === undefined) return behindUnknown(words, around);
  const next = {
    ...around,
    env: assign(without(env, inner.removed), inner.assigned),
    isContained: isContained || inner.isInRoot,
  };
  if (inner.text !== undefined) return serversInScript(inner.text, next, inner.words.slice(1));
  if (inner.script !== undefined) return scriptServers(inner.script, inner.words, next);
  return findServers(inner.words, next);
};
const scriptServers = (path: string, words: readonly string[], around: Environment): ServerCommand[] => {
  const isReadable = path !== '' && !around.isContained && around.depth < limits.scriptDepth;
  const text = isReadable ? around.read(path) : undefined;
  return text === undefined ? [] : serversInScript(text, { ...around, depth: around.depth + 1 }, words);
};

/** The variables of a shell while it runs a script. */
type State = {
  /** The variables that the shell knows, and those that it passes on. */
  readonly known: Record<string, string>;
  readonly exported: Set<string>;
  /** Files and values that could not be read before. */
  readonly unread: string[];
  /** Undefined: the arguments of the script are unknown. */
  readonly parameters: readonly string[] | undefined;
  isExportingAll: boolean;
  /**
   * The number of `if`, `case` and loops around a command: opsctl does not know which of their assignments the shell executes.
   */
  conditions: number;
};
const setVariable = (state: State, name: string, value: string | undefined, isExported = false): void => {
  if (value !== undefined) {
    if (state.conditions > 0) {
      delete state.known[name];
      if (name.startsWith('ETCD_')) state.unread.push(`variable ${name}`);
    } else state.known[name] = value;
  }
  if (isExported || state.isExportingAll) state.exported.add(name);
};
const assignments = (words: readonly string[]): (readonly [name: string, value: string | undefined])[] =>
  words.flatMap((word) => {
    const [, name, value] = /^([A-Za-z_]\w*)(?:=([\s\S]*))?$/.exec(word) ?? [];
    return name === undefined ? [] : [[name, value] as const];
  });
/** Replaces the parameters of a script and its variables, as far as they are known. */
const expandWord = (
  { text, isSplit, isLiteral }: ShellWord,
  state: State,
  missing: Set<string>,
): string[] => {
  if (isLiteral) return [text];
  if (text === '$@' || text === '$*' || text === '${@}') {
    if (state.parameters === undefined) missing.add('arguments of the script');
    return [...(state.parameters ?? [])];
  }
  const value = insertText(text, { env: state.known, unread: missing });
  return isSplit && value !== text ? value.split(/\s+/).filter((part) => part !== '') : [value];
};
const sourceFile = (path: string, state: State, { read, isContained }: Environment): void => {
  const text = isContained ? undefined : read(path);
  if (text === undefined) {
    state.unread.push(path);
    return;
  }
  const { env, exported } = readEnvironment(text, path);
  for (const [name, value] of Object.entries(env)) setVariable(state, name, value, exported.has(name));
};
type Builtin = (words: readonly string[], state: State, around: Environment) => void;
const exportNames: Builtin = (words, state) => {
  for (const [name, value] of assignments(words)) setVariable(state, name, value, true);
};
const builtins: Readonly<Record<string, Builtin>> = {
  export: exportNames,
  declare: (words, state, around) => {
    if (words.some((word) => /^-\w*x/.test(word))) exportNames(words, state, around);
    else for (const [name, value] of assignments(words)) setVariable(state, name, value);
  },
  unset: (words, state) => {
    for (const name of words) {
      delete state.known[name];
      state.exported.delete(name);
    }
  },
  set: (words, state) => {
    const all =
      /^([-+])\w*a/.exec(words[0] ?? '')?.[1] ?? (words[1] === 'allexport' ? words[0]?.[0] : undefined);
    if (all !== undefined) state.isExportingAll = all === '-';
  },
  '.': ([path = ''], state, around) => sourceFile(path, state, around),
  eval: (words, state) => {
    state.unread.push(`eval ${words.join(' ')}`);
  },
};
const builtinOf = (program: string): Builtin | undefined =>
  program === 'source'
    ? builtins['.']
    : program === 'typeset' || program === 'local' || program === 'readonly'
      ? builtins['declare']
      : Object.hasOwn(builtins, program)
        ? builtins[program]
        : undefined;
/** Shell keywords count only in front of a command: in `echo if`, the word is an argument. */
const countConditions = (words: readonly ShellWord[], state: State): void => {
  for (const { text } of words) {
    if (/^(if|case|while|until|for|select)$/.test(text)) state.conditions += 1;
    if (/^(fi|esac|done)$/.test(text)) state.conditions = Math.max(0, state.conditions - 1);
  }
};
const runCommand = (command: ShellCommand, state: State, around: Environment): ServerCommand[] => {
  const first = command.words.findIndex(({ text }) => !isShellKeyword(text));
  countConditions(command.words.slice(0, first < 0 ? undefined : first + 1), state);
  const missing = new Set<string>();
  const words = command.words
    .slice(first < 0 ? command.words.length : first)
    .flatMap((word) => expandWord(word, state, missing));
  const at = words.findIndex((word) => !/^[A-Za-z_]\w*\+?=/.test(word));
  const assigned = at < 0 ? words : words.slice(0, at);
  if (at < 0) for (const [name, value] of assignments(assigned)) setVariable(state, name, value);
  const [program = '', ...given] = words.slice(assigned.length);
  const ownCommand = builtinOf(program);
  if (ownCommand !== undefined) ownCommand(given, state, around);
  if (at < 0 || ownCommand !== undefined) return [];
  const passed = Object.fromEntries(
    Object.entries(state.known).filter(
      ([name]) => state.exported.has(name) || around.env[name] !== undefined,
    ),
  );
  const found = findServers([program, ...given], { ...around, env: assign(passed, assigned) });
  return found.map((one) => ({
    ...one,
    unread: [...new Set([...one.unread, ...state.unread, ...missing, ...outputsIn(one)])],
  }));
};
/** The commands whose output is a part of a setting. */
const outputsIn = ({ words, env }: ServerCommand): string[] =>
  [...words, ...Object.entries(env).flatMap(([name, value]) => (name.startsWith('ETCD_') ? [value] : []))]
    .flatMap((text) => text.match(/\$\([^)]*\)?/g) ?? [])
    .filter((text) => !/^\$\((%|template\))/.test(text))
    .map((text) => `output of ${text}`);
/** Returns the servers that the text of a shell starts. */
export const serversInScript = (
  text: string,
  around: Environment,
  parameters?: readonly string[],
): ServerCommand[] => {
  const lexed = lexShell(text);
  const state: State = {
    ...{ known: { ...around.env }, exported: new Set(Object.keys(around.env)), parameters },
    ...{ unread: [], isExportingAll: false, conditions: 0 },
  };
  const found = lexed.commands.flatMap((command) => runCommand(command, state, around));
  return lexed.problem === undefined
    ? found
    : found.map((one) => ({ ...one, unread: [...one.unread, lexed.problem as string] }));
};
/** Runs a search until every file that it requests was read. Relative paths depend on the working directory, so they are not read. */
export const readFiles = async <T>(reader: SourceReader, search: (read: ReadNow) => T): Promise<T> => {
  const texts = new Map<string, string | undefined>();
  for (;;) {
    const wanted = new Set<string>();
    const found = search((path) => {
      if (!texts.has(path)) wanted.add(path);
      return texts.get(path);
    });
    if (wanted.size === 0) return found;
    for (const path of wanted) texts.set(path, path.startsWith('/') ? await reader.read(path) : undefined);
  }
};
export const emptyEnvironment: Environment = {
  ...{ env: {}, unread: [], isContained: false, depth: 0 },
  read: () => undefined,
};
/** The words of the first server that a command starts. Undefined without a server. */
export const serverWords = (words: readonly string[]): readonly string[] | undefined =>
  findServers(words, emptyEnvironment)[0]?.words;

export type Mapping = Readonly<Record<string, unknown>>;
export const isMapping = (value: unknown): value is Mapping =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
/** The words of a command in a manifest: a list, or one string. */
export const textsOf = (value: unknown): string[] =>
  Array.isArray(value) ? value.map(String) : typeof value === 'string' ? (wordsOf(value) ?? [value]) : [];
/** A start, and where its configuration file is. */
export type ReadStart = {
  readonly start: ServerStart;
  readonly isContained: boolean;
  /** The working directory of the server. */
  readonly directory?: string | undefined;
};
type TextPlace = { readonly text: string; readonly path: string; readonly line: number };
/** The servers of one container. Empty if no part of it belongs to a server. */
export const containerStarts = (
  places: readonly TextPlace[],
  given: {
    readonly name: string;
    readonly words: readonly string[];
    readonly env: Variables;
    readonly unread: readonly string[];
  },
): ReadStart[] => {
  const around = { ...emptyEnvironment, env: given.env, unread: given.unread, isContained: true };
  const isFlagsOnly = given.words[0]?.startsWith('-') === true;
  const found = isFlagsOnly ? [{ ...around, words: given.words }] : findServers(given.words, around);
  const isSet = Object.keys(given.env).some((name) => name.startsWith('ETCD_'));
  const servers = found.length === 0 && isSet ? [{ ...around, words: [] }] : found;
  return servers.map(({ words, env, unread }) => {
    const variables = Object.keys(env).filter((name) => name.startsWith('ETCD_'));
    const origins = new Map<string, Origin>();
    for (const { text, path, line } of places.toReversed())
      for (const [key, origin] of originsIn(text, path, parseWords(words).flags.keys(), variables, line))
        origins.set(key, origin);
    return { start: { name: given.name, words, env, origins, unread }, isContained: true };
  });
};
