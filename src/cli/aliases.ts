import { type ProgramCall, trustCall } from '../core/program-call.ts';
import { hash } from 'node:crypto';
import { dirname, join } from 'node:path';
import { configFile } from '../config/settings.ts';
import { AppError, invalidArguments, problem } from '../core/problem.ts';
import { childPath, pathPart } from '../core/file-name.ts';
import { next } from '../core/next.ts';
import { readJsonText } from '../core/json.ts';
import { misfit } from '../core/shape.ts';
import { decodeUtf8 } from '../core/text.ts';
import { endOfQuotes, type JsonFault } from '../core/json-scan.ts';
import type { Host, Finished } from '../platform/host.ts';
import {
  assertTrusted,
  assertTrustedProgram,
  findProgramTrustProblem,
  findTrustProblem,
} from '../platform/trust.ts';
import type { Group } from './command.ts';

/** Command lines by their short names. */
export type Aliases = { readonly [name: string]: string };
/** The file is next to the configuration, because aliases belong to a user and not to a profile. */
export const aliasFile = (host: Host): string => join(dirname(configFile(host)), 'aliases.json');
/** Reads all aliases. Throws if another user can change them: an alias runs with the rights of this user. */
export const readAliases = async (host: Host): Promise<Aliases> => {
  const path = aliasFile(host);
  const bytes = await host.files.readBytes(path);
  if (bytes === undefined) return {};
  await assertTrusted(host, 'the alias file', path);
  const fail = ({ what, line, column }: Omit<JsonFault, 'hint'>): AppError =>
    new AppError('config', `${path}:${line} is not a file of aliases: ${what}`, {
      code: 'ALIAS_FILE',
      problems: [{ ...problem('', 'format', what), file: path, line, column }],
      tryThis: [`fix it, or move it away: mv ${path} ${path}.old`],
    });
  const value = readJsonText(decodeUtf8(bytes, path), fail);
  const wrong = misfit(value, { aliases: [{ name: 'text', line: 'text' }] });
  if (wrong !== undefined) throw fail({ what: wrong, line: 1, column: 1 });
  const { aliases } = value as {
    readonly aliases: readonly { readonly name: string; readonly line: string }[];
  };
  return Object.fromEntries(aliases.map(({ name, line }) => [name, line]));
};
export const writeAliases = async (host: Host, aliases: Aliases): Promise<void> => {
  const path = aliasFile(host);
  await host.files.makeDirectory(dirname(path), 0o700);
  const rows = Object.entries(aliases)
    .sort(([a], [b]) => a.localeCompare(b))
    .map(([name, line]) => ({ name, line }));
  await host.files.replace(path, `${JSON.stringify({ aliases: rows }, null, 2)}\n`, 0o600);
};

/** The parts of a line: white space, or a piece of a word with its text. Throws for quotes without an end. */
function* partsOfLine(line: string): Generator<{ readonly whole: string; readonly piece: string }> {
  const pattern = /\s+|'([^']*)'|\\(.)|([^\s'"\\]+)|(['"\\])/gs;
  for (let found = pattern.exec(line); found !== null; found = pattern.exec(line)) {
    const [whole, single, escaped, plain, open] = found;
    const end = open === '"' ? endOfQuotes(line, found.index) : undefined;
    if (open !== undefined && end === undefined)
      throw invalidArguments([problem('<line>', 'format', `has a ${open} without its end`)]);
    pattern.lastIndex = end ?? pattern.lastIndex;
    const double = end === undefined ? '' : line.slice(found.index + 1, end - 1).replace(/\\(.)/gs, '$1');
    yield { whole, piece: single ?? escaped ?? plain ?? double };
  }
}
/** Splits a line into words as a shell does, with quotes and backslashes, and without expansions. */
export const splitLine = (line: string): string[] => {
  const words: string[] = [];
  let word: string | undefined;
  for (const { whole, piece } of partsOfLine(line)) {
    if (/^\s/.test(whole)) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else word = (word ?? '') + piece;
  }
  return word === undefined ? words : [...words, word];
};
/** The words of an alias with the arguments of the call: `$1` is the first one, and all others follow at the end. */
export const expandAlias = (name: string, line: string, args: readonly string[]): string[] => {
  const used = new Set<number>();
  const words = splitLine(line).map((word) =>
    word.replace(/\$([1-9])/g, (_, digit: string) => {
      const at = Number(digit) - 1;
      const value = args[at];
      if (value === undefined)
        throw invalidArguments(
          [problem(`$${digit}`, 'required', `is required by the alias ${name}`)],
          [`opsctl ${line}`],
        );
      used.add(at);
      return value;
    }),
  );
  return [...words, ...args.filter((_, at) => !used.has(at))];
};
/** A file that cannot be read hides whether a word is an alias or misspelled, so the user reads about both. */
const describeBoth = (unknown: AppError, file: unknown): unknown =>
  file instanceof AppError
    ? new AppError(
        file.category,
        `${unknown.message}${unknown.message.endsWith('?') ? '' : ';'} ${file.message}`,
        {
          ...file.detail,
          tryThis: [...(unknown.detail.tryThis ?? []), ...(file.detail.tryThis ?? [])],
          cause: file,
        },
      )
    : file;
/** The line behind an unknown first word; undefined if the word is not an alias. `unknown`: the error if none exists. */
export const expandedLine = async (
  host: Host,
  argv: readonly string[],
  unknown: AppError,
): Promise<string[] | undefined> => {
  const [name = '', ...args] = argv;
  if (!new RegExp(`^${extensionName}$`).test(name)) return undefined;
  const aliases = await readAliases(host).catch((error: unknown) => {
    throw describeBoth(unknown, error);
  });
  const line = aliases[name];
  return line === undefined ? undefined : expandAlias(name, line, args);
};

/** The name of an extension: the program `opsctl-NAME` is the command `opsctl NAME`. */
export const extensionName = '[a-z][a-z0-9-]{0,63}';
const programName = (name: string): string => `opsctl-${name}`;
/** Installed extensions are next to the configuration: they belong to a user. */
const extensionDirectory = (host: Host): string => join(dirname(configFile(host)), 'extensions');
export const extensionFile = (host: Host, name: string): string =>
  childPath(extensionDirectory(host), pathPart(programName(name)));
/** The checksum that an extension had when the user installed it. */
type Installed = { readonly name: string; readonly sha256: string; readonly source: string };
const recordPath = (host: Host): string => join(extensionDirectory(host), 'extensions.json');
export const readInstalled = async (host: Host): Promise<readonly Installed[]> => {
  const path = recordPath(host);
  const bytes = await host.files.readBytes(path);
  if (bytes === undefined) return [];
  await assertTrusted(host, 'the list of extensions', path);
  const fail = ({ what, line, column }: Omit<JsonFault, 'hint'>): AppError =>
    new AppError('config', `${path}:${line} is not a list of extensions: ${what}`, {
      code: 'EXTENSION_FILE',
      problems: [{ ...problem('', 'format', what), file: path, line, column }],
      tryThis: ['move it away, then install the extensions again'],
    });
  const value = readJsonText(decodeUtf8(bytes, path), fail);
  const wrong = misfit(value, { extensions: [{ name: 'text', sha256: 'text', source: 'text' }] });
  if (wrong !== undefined) throw fail({ what: wrong, line: 1, column: 1 });
  return (value as { readonly extensions: readonly Installed[] }).extensions;
};
export const writeInstalled = async (host: Host, extensions: readonly Installed[]): Promise<void> => {
  const rows = extensions.toSorted((x, y) => x.name.localeCompare(y.name));
  await host.files.makeDirectory(extensionDirectory(host), 0o700);
  await host.files.replace(
    recordPath(host),
    `${JSON.stringify({ extensions: rows }, undefined, 2)}\n`,
    0o600,
  );
};
/** Returns whether the installed program is the one that the user installed. */
const getInstalledState = async (
  host: Host,
  { name, sha256 }: Installed,
): Promise<'unchanged' | 'changed' | 'missing'> => {
  const bytes = await host.files.readBytes(extensionFile(host, name));
  if (bytes === undefined) return 'missing';
  return hash('sha256', bytes) === sha256 ? 'unchanged' : 'changed';
};
/** Returns whether a program of that name is installed or on PATH, without the list of extensions. */
const hasProgram = async (host: Host, name: string): Promise<boolean> =>
  (await host.files.info(extensionFile(host, name))) !== undefined ||
  (await programsOnPath(host)).some((one) => one.name === name);
/** Returns the program of an extension. Throws if it changed since its installation, or if other users can replace it. */
const extensionProgram = async (host: Host, name: string): Promise<string> => {
  const list = await readInstalled(host).catch(async (error: unknown) => {
    // A mistyped command is not an extension, so a damaged list must not replace the suggestions.
    if (await hasProgram(host, name)) throw error;
    return [];
  });
  const installed = list.find((one) => one.name === name);
  if (installed === undefined) {
    await assertTrustedProgram(host, `the extension ${name}`, [programName(name)]);
    return programName(name);
  }
  const path = extensionFile(host, name);
  const state = await getInstalledState(host, installed);
  if (state === 'unchanged') return path;
  const message =
    state === 'missing'
      ? `the program of the extension ${name} is missing: ${path}`
      : `the extension ${name} changed since its installation: ${path}`;
  throw new AppError('unsafe', message, {
    code: 'EXTENSION_CHANGED',
    tryThis: [
      next(['extension', 'install', installed.source], 'installs it again'),
      next(['extension', 'remove', name]),
    ],
  });
};
/**
 * Runs the unknown command WORD as the program `opsctl-WORD`, as git and kubectl do: an installed extension,
 * otherwise the first such program on PATH. Returns its exit code, or undefined if there is no such program.
 * Commands of this program are never replaced.
 */
export const extensionCode = async (
  host: Host,
  [word = '', ...args]: readonly string[],
  groups: readonly Group[],
): Promise<number | undefined> => {
  if (!new RegExp(`^${extensionName}$`).test(word) || word === 'help') return undefined;
  if (groups.some(({ name }) => name === word)) return undefined;
  const ended = await runAttended(host, trustCall([await extensionProgram(host, word), ...args]));
  return ended.startError === undefined ? codeOf(ended) : undefined;
};

/**
 * Returns the output of `opsctl_complete-NAME` for the words behind the name, as kubectl runs `kubectl_complete-NAME`; undefined
 * if the program failed or other users can replace it. The extension itself never runs: not every one knows that word.
 */
export const completeExtension = async (
  host: Host,
  name: string,
  words: readonly string[],
  timeoutMs: number,
): Promise<string | undefined> => {
  const program = `opsctl_complete-${name}`;
  if ((await findProgramTrustProblem(host, [program])) !== undefined) return undefined;
  const options = { timeoutMs, maxBytes: 1_000_000, input: '' };
  const { code, stdout } = await host.processes.run(...trustCall([program, ...words]), options);
  return code === 0 ? stdout : undefined;
};

export type ExtensionRow = {
  readonly name: string;
  readonly state: 'ready' | 'hidden' | 'changed' | 'not trusted';
  readonly path: string;
  readonly reason?: string;
};
const executableBits = 0o111;
/** Returns the programs `opsctl-NAME` in the directories of PATH, in their order. */
const programsOnPath = async (host: Host): Promise<{ readonly name: string; readonly path: string }[]> => {
  const directories = (host.env['PATH'] ?? '').split(':').filter((directory) => directory.startsWith('/'));
  const found = await Promise.all(
    [...new Set(directories)].map(async (directory) => {
      const names = await host.files.list(directory).catch(() => []);
      return Promise.all(
        names.toSorted().flatMap((file) => {
          const [, name] = new RegExp(`^opsctl-(${extensionName})$`).exec(file) ?? [];
          return name === undefined ? [] : [isProgramAt(host, name, childPath(directory, pathPart(file)))];
        }),
      );
    }),
  );
  return found.flat().filter((one) => one !== undefined);
};
const isProgramAt = async (host: Host, name: string, path: string) => {
  const real = await host.files.realPath(path).catch(() => undefined);
  const info = real === undefined ? undefined : await host.files.info(real);
  return info?.kind === 'file' && (info.mode & executableBits) !== 0 ? { name, path } : undefined;
};
type Unready = Pick<ExtensionRow, 'state' | 'reason'>;
/** Lists installed extensions and programs on PATH, with the reason why a program does not run. */
export const listExtensions = async (host: Host, groups: readonly Group[]): Promise<ExtensionRow[]> => {
  const aliases = await readAliases(host);
  const findHideReason = (name: string, first: ExtensionRow | undefined): Unready | undefined => {
    if (groups.some((group) => group.name === name) || name === 'help')
      return { state: 'hidden', reason: `opsctl ${name} is a command of opsctl` };
    if (Object.hasOwn(aliases, name)) return { state: 'hidden', reason: `the alias ${name} comes first` };
    return first === undefined ? undefined : { state: 'hidden', reason: `${first.path} comes first` };
  };
  const describeChange = async (one: Installed): Promise<Unready> => {
    const state = await getInstalledState(host, one);
    if (state === 'unchanged') return { state: 'ready' };
    const reason =
      state === 'missing' ? 'its file is missing' : 'its checksum differs from the one of its installation';
    return { state: 'changed', reason };
  };
  const rows = await Promise.all(
    (await readInstalled(host)).map(
      async (one): Promise<ExtensionRow> => ({
        name: one.name,
        path: extensionFile(host, one.name),
        ...(findHideReason(one.name, undefined) ?? (await describeChange(one))),
      }),
    ),
  );
  for (const { name, path } of await programsOnPath(host)) {
    const hidden = findHideReason(
      name,
      rows.find((row) => row.name === name),
    );
    const trust = await findTrustProblem(host, path);
    const state: Unready =
      trust === undefined ? { state: 'ready' } : { state: 'not trusted', reason: trust.reason };
    rows.push({ name, path, ...(hidden ?? state) });
  }
  return rows;
};

/** A variable that is undefined is removed from the environment of the child. */
type Given = { readonly env?: Readonly<Record<string, string | undefined>>; readonly signal?: AbortSignal };

/**
 * Handles signals like a shell: Ctrl-C at a terminal reaches the child and this program, and the child
 * decides how to react (an interactive program continues). Every other signal was sent only to this program,
 * so it is forwarded. This program exits after the child.
 */
export const runAttended = async (host: Host, program: ProgramCall, given: Given = {}): Promise<Finished> => {
  let kill: ((name: string) => void) | undefined;
  const off = host.onSignal((name) => {
    if (name !== 'SIGINT' || !host.terminal.stdin.isTty) kill?.(name);
  });
  const onStart = (send: (name: string) => void): void => {
    kill = send;
  };
  return host.processes.run(...program, { ...given, stdio: 'inherit', onStart }).finally(off);
};

const signalNumbers: Readonly<Record<string, number>> = { SIGHUP: 1, SIGINT: 2, SIGKILL: 9, SIGTERM: 15 };
/** The exit code as a shell gives it. */
export const codeOf = ({ code, signal }: Finished): number =>
  code ?? 128 + (signalNumbers[signal ?? ''] ?? 0);
