import { settingNames } from '../../../api-specs/etcd/server-settings.ts';
import { wordsOf } from '../../engine/command-line.ts';

/** A place in a file, for people. Lines count from 1. */
export type Origin = { readonly path: string; readonly line: number };
/** One start of a server as a file describes it: its command line, its variables, or its configuration file. */
export type ServerStart = {
  /** Which of several servers of the file; empty for the only one. */
  readonly name: string;
  readonly words: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly file?: Readonly<Record<string, unknown>>;
  /** Where a flag (`--name`), a variable (`ETCD_NAME`) or a key (`section.key`) is set. */
  readonly origins: ReadonlyMap<string, Origin>;
  /** Parts that the server reads and that opsctl could not read. */
  readonly unread: readonly string[];
  /** Problems of the file itself, independent of a version. */
  readonly notes?: readonly { readonly key: string; readonly message: string; readonly hint: string }[];
};
/** Reads the files that a file refers to. */
export type SourceReader = {
  readonly read: (path: string) => Promise<string | undefined>;
  readonly list: (directory: string) => Promise<readonly string[]>;
};

const isServer = (word: string): boolean => /^etcd(-?v?\d[\w.-]*)?$/.test(word.split('/').at(-1) ?? '');
const isShell = (word: string): boolean => /^(ba|da|a|z)?sh$/.test(word.split('/').at(-1) ?? '');
/** Words of a command from the server's program on: behind a shell, a container runtime, or another wrapper. Undefined without a server. */
export const serverWords = (words: readonly string[]): readonly string[] | undefined => {
  if (words.some(isShell)) {
    const script = words[words.findIndex((word) => /^-\w*c$/.test(word)) + 1];
    const inner = script === undefined ? undefined : wordsOf(script.replace(/\\\n/g, ' '));
    const found = inner === undefined ? undefined : serverWords(inner);
    if (found !== undefined) return found;
  }
  const at = words.findIndex(
    (word, i) =>
      isServer(word) && !/^--?(name|hostname|entrypoint|network|volume|v)$/.test(words[i - 1] ?? ''),
  );
  if (at >= 0) return words.slice(at);
  const entry = words.findIndex((word, i) => isServer(word) && words[i - 1] === '--entrypoint');
  if (entry < 0 && !words.some((word) => /^--entrypoint=.*etcd/.test(word))) return undefined;
  const flags = words.findIndex(
    (word, i) => i > entry && settingNames('flag').includes(word.replace(/^--?|=.*$/gs, '')),
  );
  return flags < 0 ? undefined : ['etcd', ...words.slice(flags)];
};
export const variable = /^\s*(export\s+)?([A-Za-z_]\w*)=(.*)$/;
export const lineIn = (text: string, needle: RegExp): number =>
  text.slice(0, Math.max(0, text.search(needle))).split('\n').length;
export const escapeText = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
/** Where flags and variables are set, by the first line of the text that contains them, from `from` on. */
export const originsIn = (
  text: string,
  path: string,
  flags: Iterable<string>,
  variables: Iterable<string>,
  from = 1,
): Map<string, Origin> => {
  const lines = text.split('\n');
  const tail = lines.slice(from - 1).join('\n');
  const origins = new Map<string, Origin>();
  const add = (key: string, pattern: RegExp): void => {
    if (pattern.test(tail)) origins.set(key, { path, line: from - 1 + lineIn(tail, pattern) });
  };
  for (const name of flags) add(`--${name}`, new RegExp(`(?<![\\w-])--?${escapeText(name)}(?![\\w-])`));
  for (const name of variables) add(name, new RegExp(`(?<!\\w)${escapeText(name)}(?!\\w)`));
  return origins;
};

/** Assignments of an environment file. `isShell`: a shell reads it, so a comment may follow a value. */
export const readEnvironment = (
  text: string,
  path: string,
): { env: Record<string, string>; origins: Map<string, Origin>; comments: string[] } => {
  const env: Record<string, string> = {};
  const origins = new Map<string, Origin>();
  const comments: string[] = [];
  text.split('\n').forEach((line, i) => {
    const found = /^\s*[#;]/.test(line) ? null : variable.exec(line.trimEnd());
    if (found === null) return;
    const [, , name = '', raw = ''] = found;
    const quoted = /^\s*("(?:[^"\\]|\\.)*"|'[^']*')/.exec(raw)?.[1];
    const plain = quoted === undefined ? /^(.*?)\s+#.*$/.exec(raw) : null;
    if (plain !== null) comments.push(name);
    env[name] =
      quoted === undefined ? (plain?.[1] ?? raw).trim() : quoted.slice(1, -1).replace(/\\(["\\$`])/g, '$1');
    origins.set(name, { path, line: i + 1 });
  });
  return { env, origins, comments };
};
/** Lines of the keys of a configuration file: of its top and of its sections. */
export const keyOrigins = (text: string, path: string): Map<string, Origin> => {
  const origins = new Map<string, Origin>();
  let section = '';
  text.split('\n').forEach((line, i) => {
    const found = /^(\s*)["']?([A-Za-z][\w-]*)["']?\s*:/.exec(line);
    if (found === null) return;
    const [, indent = '', name = ''] = found;
    if (indent === '') section = name;
    const key = indent === '' ? name : `${section}.${name}`;
    if (!origins.has(key)) origins.set(key, { path, line: i + 1 });
  });
  return origins;
};
