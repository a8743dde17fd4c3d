import { escapePattern } from '../../../core/text.ts';
import {
  FILE_VARIABLE,
  findServerFile,
  refusedValues,
  settingOf,
  variableOf,
  renamedSettings,
} from '../../../api-specs/etcd/server-settings.ts';
import { compareVersions, type Minor, minorOf, rowOf } from '../../../api-specs/etcd/versions.ts';
import { AppError } from '../../../core/problem.ts';
import { hasOddKey, resolveGoScalars, yamlValue } from '../../../core/yaml.ts';
import { goTags } from '../../../core/yaml-scalars.ts';
import type { Host } from '../../../platform/host.ts';
import { argvOf } from '../../../core/shell.ts';
import type {
  ChangedFile,
  ClusterFile,
  HostFacts,
  MemberSpec,
  MemberStatus,
  Observation,
} from '../../engine/model.ts';
import { accessInEnvironment, accessInFile, accessInFlags, type ConfigFinding, finding } from './access.ts';
import {
  MODE,
  RETENTION,
  fileFindings36,
  flagFindings36,
  isDuration,
  modeFindings,
  retentionFindings,
  findDoubledVariables,
  findOldVariables,
} from './setting-combinations.ts';
import {
  earlierFindings,
  newNameOf,
  normalizeKeys,
  parseWords,
  strayFindings,
  typeFindings,
  unknownFlags,
  valuesGiven,
  valuesInFile,
} from './values.ts';

/** A position in a file, for messages. Lines count from 1. */
export type Origin = { readonly path: string; readonly line: number };
/** One start of a server: its command line, its variables, or its configuration file. */
export type ServerStart = {
  /** Name of the server within the file; empty if the file has only one server. */
  readonly name: string;
  readonly words: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly file?: Readonly<Record<string, unknown>>;
  /** The variable ETCD_CONFIG_FILE names the file. Versions before 3.4 do not read it (seen on real servers). */
  readonly isFileOfVariable?: true;
  /** Path of a configuration file that could not be read. */
  readonly unreadFile?: string;
  /** Position of each flag (`--name`), variable (`ETCD_NAME`) or key (`section.key`). */
  readonly origins: ReadonlyMap<string, Origin>;
  /** Files or values that the server reads but opsctl could not read. */
  readonly unread: readonly string[];
  /** The start has variables or flags that the file does not show: an environment file, a command, an image. */
  readonly isPartial?: true;
  /** Problems of the source itself, and of its configuration file, independent of a version. */
  readonly notes?: readonly Note[];
  readonly fileNotes?: readonly Note[];
};
type Note = { readonly key: string; readonly message: string; readonly hint: string };
/** Reads the files that a file refers to. */
export type SourceReader = {
  readonly read: (path: string) => Promise<string | undefined>;
  readonly list: (directory: string) => Promise<readonly string[]>;
};

export const isServer = (word: string): boolean =>
  /^etcd(-?v?\d[\w.-]*)?$/.test(word.split('/').at(-1) ?? '');
const lineIn = (text: string, needle: RegExp): number =>
  text.slice(0, Math.max(0, text.search(needle))).split('\n').length;
/** Longer texts make a pattern that is too large, and no setting has them. */
const LONGEST_PATTERN = 16_384;
/** Returns a pattern for exactly this text, or one that never matches if the text is longer than any setting. */
export const escapeText = (text: string): string =>
  text.length > LONGEST_PATTERN ? '(?!)' : escapePattern(text);
/**
 * Returns the position of each flag and variable: the first line from `from` on whose text contains the name.
 */
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

/** Returns the lines of the keys in a configuration file: top-level keys and keys of sections. */
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

type Settings = Readonly<Record<string, unknown>>;
const isListOfTexts = (value: unknown): boolean =>
  Array.isArray(value) && value.every((one) => one === null || typeof one === 'string');
/** spec/store#items-5: the log output setting is a string in 3.3 and a list from 3.4 on; 3.2 has no such setting in its file. */
const logFindings = (file: Settings, to: Minor): ConfigFinding[] => {
  const [old, list] = [file['log-output'], file['log-outputs']];
  const isListTime = to !== '3.2' && to !== '3.3';
  const asList =
    isListTime && list !== undefined && list !== null && !isListOfTexts(list)
      ? [
          finding(
            'fail',
            'log-outputs',
            `${typeof list === 'string' ? 'is a single string and must be a list' : 'is not a list of texts'}: the server would not start`,
            `log-outputs: [${typeof list === 'string' ? list : 'stderr'}]`,
          ),
        ]
      : [];
  if (old === undefined || old === null) return asList;
  if (to === '3.3' && typeof old !== 'string')
    return [
      finding(
        'fail',
        'log-output',
        'is not a string; in 3.3 it must be one string: the server would not start',
        'log-output: stderr',
      ),
    ];
  if (!isListTime) return asList;
  const isStop = to === '3.4' && typeof old === 'string';
  const message =
    to === '3.4'
      ? 'must be a list from 3.4 on: the server would not start with a single string'
      : 'is ignored from 3.5 on';
  return [...asList, finding(isStop ? 'fail' : 'warn', 'log-output', message, 'log-outputs: [...]', true)];
};
/** A key whose name changed, and of which this version reads only the new name. Other functions judge log outputs and access. */
const renamedFindings = (file: Settings, to: Minor): ConfigFinding[] =>
  renamedSettings
    .filter(({ old, includes }) => old !== 'log-output' && includes === undefined)
    .flatMap(({ old, now }) => {
      if (file[old] === undefined || file[old] === null || newNameOf(old, to, 'file') !== now) return [];
      const isFree = file[now] === undefined;
      const message = `is called ${now} in ${to}: the server ignores the old name`;
      return [finding('warn', old, message, isFree ? now : 'leave it out', isFree ? true : undefined)];
    });
export const GATEWAY = 'enable-grpc-gateway';
/**
 * spec/store#interfaces: without this setting, clients that use the gateway would get status 404 from every
 * upgraded member.
 */
const gatewayFindings = (file: Settings, to: Minor): ConfigFinding[] =>
  rowOf(`${to}.0`)?.wantsGatewayInFile === true && file[GATEWAY] === undefined
    ? [
        finding(
          'warn',
          GATEWAY,
          `is not set: ${to} switches the JSON gateway (/v3beta/…) off when it reads a configuration file`,
          `${GATEWAY}: true`,
          true,
        ),
      ]
    : [];
/**
 * Checks a configuration file for version `to`. `from`: the version that reads it now (default: the previous
 * minor version). Pure.
 */
export const lintFile = (given: Settings, to: Minor, from?: Minor): ConfigFinding[] => {
  const file = normalizeKeys(given);
  const row = rowOf(`${to}.0`);
  const removed = (row?.removed ?? [])
    .filter(({ key }) => file[key] !== undefined && file[key] !== null)
    .map(({ key, instead }) => finding('warn', key, `is ignored from ${to} on`, instead));
  const isRead = ({ key }: ConfigFinding): boolean => !removed.some((one) => one.key === key);
  const compaction =
    row?.retention === 'string' ? [...retentionFindings(file, to), ...modeFindings(file)] : [];
  return [
    ...accessInFile(file, { from, to }),
    ...compaction,
    ...logFindings(file, to),
    ...gatewayFindings(file, to),
    ...renamedFindings(file, to).filter(isRead),
    ...typeFindings(file, to).filter(isRead),
    ...valuesInFile(file, to).filter(isRead),
    ...removed,
    ...fileFindings36(file, to).filter(isRead),
  ];
};
/** Flags of a command line by name, without the dashes. */
export const flagsOf = (words: readonly string[]): ReadonlyMap<string, string> => parseWords(words).flags;
/** Finds values of the retention that version `to` does not read. */
const valueFindings = (flags: ReadonlyMap<string, string>, to: Minor): ConfigFinding[] => {
  const row = rowOf(`${to}.0`);
  const retention = flags.get(RETENTION);
  if (row?.retention === 'number') {
    const mode = flags.has(MODE)
      ? [finding('fail', `--${MODE}`, 'is not known before 3.3', 'leave it out')]
      : [];
    return retention === undefined || /^\d+$/.test(retention)
      ? mode
      : [
          ...mode,
          finding(
            'fail',
            `--${RETENTION}`,
            `is ${retention}; before 3.3 it is a number of hours: the server would not start`,
            'write hours: 24',
          ),
        ];
  }
  return retention !== undefined && !isDuration(retention)
    ? [
        finding(
          'fail',
          `--${RETENTION}`,
          `is ${retention}, which is not a duration: the server would not start`,
          'write 24 (hours), 24h or 90m',
        ),
      ]
    : [];
};
/** The settings that the variables of a server set. The servers ignore an empty variable. */
export const settingsOf = (env: Readonly<Record<string, string>>): Map<string, string> =>
  new Map(
    Object.entries(env)
      .filter(([name, value]) => name.startsWith('ETCD_') && value !== '')
      .map(([name, value]) => [settingOf(name), value]),
  );
/** The start of a server, as far as it was read. `file`: the content of the configuration file that it reads. */
export type KnownStart = Pick<ServerStart, 'words' | 'env'> & {
  readonly file: Settings | undefined;
  readonly minor: Minor | undefined;
};
/** Returns the value of a flag. In the configuration file, it may have another name, and a section. */
export type ReadSetting = (flag: string, key?: readonly [section: string, key: string]) => unknown;
/**
 * Reads settings as the server does: only the configuration file if it reads one, otherwise flags before
 * variables (seen on 3.3, 3.4 and 3.5). Undefined if the settings were not read: neither the file, nor any flag
 * or variable. Pure.
 */
export const readSettings = ({ words, env, file, minor }: KnownStart): ReadSetting | undefined => {
  if (file !== undefined) {
    const keys = normalizeKeys(file);
    return (flag, key) => {
      if (key === undefined) return keys[flag];
      const section = keys[key[0]];
      return typeof section === 'object' && section !== null ? (section as Settings)[key[1]] : undefined;
    };
  }
  const [flags, variables] = [flagsOf(words), settingsOf(env)];
  const isFileUnread = findServerFile(flags, env[FILE_VARIABLE], minor) !== undefined;
  // A script of the operator may contain the flags or set the variables.
  const isScript = flags.size + variables.size === 0 && !isServer(words[0] ?? '');
  return isFileUnread || isScript ? undefined : (flag) => flags.get(flag) ?? variables.get(flag);
};
/** The file that the flags and variables of a start name for this version. */
export const fileOfStart = ({ words, env, minor }: Omit<KnownStart, 'file'>): string | undefined =>
  findServerFile(flagsOf(words), env[FILE_VARIABLE], minor);
/**
 * The configuration file that a process reads, if it changed after the process read it: then its content is that of the
 * next start. Pure.
 */
export const findChangedConfig = (host: HostFacts | undefined): ChangedFile | undefined =>
  host?.changed_files?.find(({ is_config }) => is_config === true);
/**
 * The start of a running member: its process, or the cluster file if the process could not be inspected. A process
 * that names no file reads no file, even if the cluster file contains `config_file`.
 */
export const runningStart = (
  spec: MemberSpec | undefined,
  seen: Pick<MemberStatus, 'host' | 'server_version'>,
): KnownStart => {
  const { command, environment, running_config, replaced_config, config } = seen.host ?? {};
  const isChanged = findChangedConfig(seen.host) !== undefined;
  const file = isChanged ? undefined : (running_config ?? replaced_config ?? config);
  const minor = minorOf(seen.server_version);
  if (command === undefined && environment === undefined)
    return { words: argvOf(spec?.old_command, spec?.old_binary) ?? [], env: spec?.env ?? {}, file, minor };
  // One of both could not be read, and it may contain any setting.
  if (command === undefined || environment === undefined) return { words: [], env: {}, file, minor };
  const start = { words: command, env: environment, minor };
  return { ...start, file: fileOfStart(start) === undefined ? undefined : file };
};
/**
 * Checks a command line and its variables for version `to` (spec/store#measured-configuration). `program`: the version of
 * the program that reads them, if it is known. Pure.
 */
export const lintFlags = (
  words: readonly string[],
  to: Minor,
  from?: Minor,
  env: Readonly<Record<string, string>> = {},
  program?: string,
): ConfigFinding[] => {
  const [flags, beside] = [flagsOf(words), settingsOf(env)];
  const hasFile = findServerFile(flags, env[FILE_VARIABLE], to) !== undefined;
  const found = (rowOf(`${to}.0`)?.removed ?? [])
    .filter(({ key }) => flags.has(key))
    .map(({ flag, instead }) =>
      finding('fail', flag, `is not known from ${to} on: the server would not start`, instead),
    );
  found.push(
    ...accessInFlags(flags, env, { from, to }),
    ...valueFindings(flags, to),
    ...flagFindings36(flags, to),
  );
  const isNew = ({ key }: ConfigFinding): boolean => !found.some((one) => one.key === key);
  return [
    ...found,
    ...[
      ...unknownFlags(flags, to, minorOf(program) === to ? program : undefined),
      ...strayFindings(words),
      ...valuesGiven(flags, to, { isVariable: false, hasFile, beside }),
      ...earlierFindings(words, to),
    ].filter(isNew),
  ];
};
/** Returns the first document of a YAML text, which the servers read, and the rest from its `---` line on. */
export const splitDocuments = (text: string): readonly [first: string, rest: string] => {
  const lines = text.split(/(?<=\n)/);
  let hasContent = false;
  for (const [i, line] of lines.entries()) {
    if (hasContent && /^(---|\.\.\.)(\s|$)/.test(line))
      return [lines.slice(0, i).join(''), lines.slice(i).join('')];
    if (!/^(\s*(#.*)?|%.*)$/.test(line.trimEnd())) hasContent = true;
  }
  return [text, ''];
};
/** A key that a file contains more than once, with its lines. The servers use the last one (seen on 3.3, 3.4 and 3.5). */
export type RepeatedKey = { readonly key: string; readonly lines: readonly number[] };
/** A part of a parsed document, as far as the search for repeated keys reads it. */
type Part = {
  readonly items?: readonly { readonly key?: Part | null; readonly value?: Part | null }[];
  readonly value?: unknown;
  readonly range?: readonly number[] | null;
};
/** Returns the line of each position. Positions must not decrease, so the whole text is read once. */
const countLines = (text: string): ((position: number) => number) => {
  let [line, next] = [1, text.indexOf('\n')];
  return (position) => {
    while (next >= 0 && next < position) [line, next] = [line + 1, text.indexOf('\n', next + 1)];
    return line;
  };
};
const listRepeats = (
  part: Part | null | undefined,
  lineOf: (position: number) => number,
  prefix = '',
): RepeatedKey[] => {
  const places = new Map<string, number[]>();
  const inner: RepeatedKey[] = [];
  for (const { key, value } of part?.items ?? []) {
    if (typeof key?.value !== 'string') continue;
    const name = `${prefix}${key.value}`;
    const line = lineOf(key.range?.[0] ?? 0);
    const lines = places.get(name);
    if (lines === undefined) places.set(name, [line]);
    else lines.push(line);
    inner.push(...listRepeats(value, lineOf, `${name}.`));
  }
  const repeated = [...places].filter(([, lines]) => lines.length > 1);
  return [...repeated.map(([key, lines]) => ({ key, lines })), ...inner];
};
const mostLines = 4;
/** Names the lines of a repeated key and the line that takes effect. The values may be secrets, so they are left out. */
export const repeatText = ({ lines }: RepeatedKey): { readonly message: string; readonly hint: string } => {
  const [first, last] = [lines[0], lines.at(-1)];
  if (first === last)
    return {
      message: `is set ${lines.length} times in line ${first}: the servers use the last value`,
      hint: 'keep the right value, and remove the others',
    };
  const shown =
    lines.length > mostLines
      ? `${lines.length} times, first in line ${first} and last in line ${last}`
      : `more than once, in lines ${lines.slice(0, -1).join(', ')} and ${last}`;
  return {
    message: `is set ${shown}: the servers use line ${last}`,
    hint: `keep line ${last}, or move the right value there, and remove the other lines`,
  };
};
/** Returns the content of a configuration file, or the reason why it cannot be read. */
export const parseConfig = async (
  text: string,
): Promise<
  { readonly file: Settings; readonly repeats?: readonly RepeatedKey[] } | { readonly broken: string }
> => {
  const { parseDocument } = await import('../../../platform/yaml.ts');
  const first = splitDocuments(text)[0];
  const document = parseDocument(first, undefined, { customTags: goTags });
  // The servers use the last value of a repeated key.
  const error = document.errors.find(({ code }) => code !== 'DUPLICATE_KEY');
  if (error !== undefined) return { broken: error.message.trimEnd() };
  if (/^%YAML[ \t]+(?!1\.1\s)/m.test(first)) return { broken: 'the servers read only YAML 1.1 (%YAML 1.1)' };
  if (hasOddKey(document.contents)) return { broken: 'a key is a list, a map or null' };
  resolveGoScalars(document.contents);
  const parsed = yamlValue(document);
  if ('problem' in parsed) return { broken: parsed.problem };
  const file = parsed.value ?? {};
  return typeof file === 'object' && !Array.isArray(file)
    ? {
        file: file as Settings,
        ...(document.errors.length > 0
          ? { repeats: listRepeats(document.contents as Part, countLines(first)) }
          : {}),
      }
    : { broken: 'it is not a mapping of settings' };
};

/**
 * Reads a configuration file that at least one version of the server accepts. `named` is the path as the user
 * typed it.
 */
export const readServerFile = async (
  host: Host,
  path: string,
  named: string,
): Promise<{ readonly text: string; readonly file: Readonly<Record<string, unknown>> }> => {
  const text = await host.files.read(path);
  if (text === undefined) throw new AppError('not-found', `file not found: ${named}`, { code: 'NO_FILE' });
  const parsed = await parseConfig(text);
  if ('file' in parsed) return { text, file: parsed.file };
  throw new AppError('no', `no version can read ${named}: ${parsed.broken}`, {
    code: 'CONFIG_BROKEN',
  });
};

/** From 3.4 on, a server exits if a flag and a variable set the same setting (seen on real servers). */
const refusesBoth = (to: Minor): boolean => compareVersions(to, '3.4') >= 0;
/**
 * Checks the environment of a server for version `to`. With a configuration file a server does not read its
 * environment. Pure.
 */
export const lintEnvironment = (
  env: Readonly<Record<string, string>>,
  flags: ReadonlyMap<string, string>,
  to: Minor,
  from?: Minor,
): ConfigFinding[] => {
  if (findServerFile(flags, env[FILE_VARIABLE], to) !== undefined) return [];
  const removed = (rowOf(to)?.removed ?? [])
    .filter(({ key }) => env[variableOf(key)] !== undefined)
    .map(({ key, instead }) => finding('warn', variableOf(key), `is ignored from ${to} on`, instead));
  const values = refusedValues
    .filter(({ minor, key, value }) => compareVersions(to, minor) >= 0 && env[variableOf(key)] === value)
    .map(({ key, value, instead }) =>
      finding('fail', variableOf(key), `is ${value}: the server would not start`, instead),
    );
  const both = [...flags.keys()]
    .filter((key) => refusesBoth(to) && env[variableOf(key)] !== undefined)
    .map((key) =>
      finding(
        'fail',
        variableOf(key),
        `and --${key} set the same value: the server would not start`,
        'keep one of the two',
      ),
    );
  const found = [
    ...accessInEnvironment(env, flags, { from, to }),
    ...findOldVariables(env, to),
    ...findDoubledVariables(env, flags, to),
    ...removed,
    ...values,
    ...both,
  ];
  return [
    ...found,
    ...valuesGiven(settingsOf(env), to, { isVariable: true, hasFile: false, beside: flags }).filter(
      ({ key }) => !found.some((one) => one.key === key),
    ),
  ];
};

/** Facts about the new configuration file that the next start reads. */
const factsOf = async ({ files }: Host, path: string): Promise<HostFacts> => {
  const text = await files.read(path);
  if (text === undefined) return { config_error: `new_config_file not found: ${path}` };
  const read = await parseConfig(text);
  return 'broken' in read
    ? { config_error: `${path} is not a configuration file: ${read.broken}` }
    : { config: read.file, ...(read.repeats === undefined ? {} : { config_repeats: true }) };
};
/**
 * Before a restart the guards check the text that will replace the configuration file, and compare it with the
 * current file.
 */
export const withNewConfiguration = async (
  host: Host,
  { members: specs }: ClusterFile,
  observation: Observation,
): Promise<Observation> => ({
  ...observation,
  members: await Promise.all(
    observation.members.map(async (seen): Promise<MemberStatus> => {
      const path = specs.find(({ name }) => name === seen.name)?.new_config_file;
      if (path === undefined) return seen;
      const { config: replaced_config, config_error: _, ...others } = seen.host ?? {};
      const replaced = replaced_config === undefined ? {} : { replaced_config };
      return { ...seen, host: { ...others, ...replaced, ...(await factsOf(host, path)) } };
    }),
  ),
});
