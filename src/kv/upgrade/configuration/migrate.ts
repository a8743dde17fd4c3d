import {
  durationsInFile,
  gatedIn36,
  FILE_VARIABLE,
  findServerFile,
  readsFileOfVariable,
  nanosecondsOf,
  variableOf,
  renamedSettings,
} from '../../../api-specs/etcd/server-settings.ts';
import type { Minor } from '../../../api-specs/etcd/versions.ts';
import { childPath, pathPart } from '../../../core/file-name.ts';
import { AppError, messageOf } from '../../../core/problem.ts';
import type { Host } from '../../../platform/host.ts';
import { caFileIn, isOn, type Section, type ConfigFinding } from './access.ts';
import {
  GATEWAY,
  lintFile,
  parseConfig,
  type RepeatedKey,
  repeatText,
  splitDocuments,
  type Origin,
  type ServerStart,
  flagsOf,
  lintEnvironment,
  lintFlags,
  readSettings,
} from './configuration.ts';
import { GATES, listConflicts, MODE, RETENTION, type StartSettings } from './setting-combinations.ts';
import { changedDefaults, unknownKeys, unknownVariables } from './values.ts';

type Document = {
  readonly contents: unknown;
  get(key: string, keepScalar: true): unknown;
  set(key: string, value: unknown): void;
  delete(key: string): unknown;
  createNode(value: unknown): unknown;
  setIn(path: readonly string[], value: unknown): void;
};
type Settings = Readonly<Record<string, unknown>>;
type Pair = { key: { value?: unknown }; value: unknown };
/** Changes the key in place, so that comments near the line keep their position. */
const renameKey = (document: Document, from: string, to: string): void => {
  const items = (document.contents as { readonly items?: readonly Pair[] }).items ?? [];
  const pair = items.find(({ key }) => String(key.value) === from);
  if (pair !== undefined) pair.key.value = to;
};
const setText = (document: Document, key: string, text: string): void => {
  const node = document.createNode(text) as { type?: string };
  node.type = 'QUOTE_DOUBLE';
  document.set(key, node);
};
const mapToText = (file: Settings): string =>
  Object.entries(file[GATES] as object)
    .map(([gate, on]) => `${gate}=${String(on)}`)
    .join(',');
const gateInstead = (document: Document, old: string, gate: string): string[] => {
  const now = document.get(GATES, true) as { value?: unknown } | undefined;
  const on = String((document.get(old, true) as { value?: unknown }).value);
  const text = typeof now?.value === 'string' && now.value !== '' ? `${now.value},` : '';
  if (now === undefined) renameKey(document, old, GATES);
  else document.delete(old);
  setText(document, GATES, `${text}${gate}=${on}`);
  return [`${old}: ${on} → ${GATES}: ${gate}=${on}`];
};
const ruleFor = (key: string) => ({
  renamed: renamedSettings.find(({ old, gate }) => old === key && gate === undefined),
  gated: gatedIn36.find(({ old }) => old === key),
});
/** Changes the name of one setting, or the form of its value. Returns a description of the change for the user. */
const fixNamed = (document: Document, file: Settings, key: string): string[] => {
  const node = document.get(key, true) as { value?: unknown; type?: string } | undefined;
  if (durationsInFile.includes(key) && typeof node?.value === 'string') {
    const was = node.value;
    node.value = nanosecondsOf(was);
    node.type = 'PLAIN';
    return [`${key}: "${was}" → ${String(node.value)}`];
  }
  if (key === GATES) {
    setText(document, GATES, mapToText(file));
    return [`${GATES}: a mapping → "${mapToText(file)}"`];
  }
  const { renamed, gated } = ruleFor(key);
  if (gated !== undefined) return gateInstead(document, key, gated.gate);
  if (renamed === undefined) return [];
  if (renamed.inFile !== undefined) {
    document.setIn(renamed.inFile, node?.value);
    document.delete(key);
    return [`${key} → ${renamed.inFile.join('.')}`];
  }
  renameKey(document, key, renamed.now);
  return [`${key} → ${renamed.now}`];
};

type Content = { readonly items?: readonly { key: unknown; value: unknown }[] };
/** Changes the key in place, so that comments near the line keep their position. */
const renameToList = (
  content: unknown,
  key: string,
  values: readonly unknown[],
  document: { createNode(value: unknown, options?: { flow: boolean }): unknown },
): void => {
  const pair = (content as Content).items?.find(
    (item) => String((item.key as { value?: unknown }).value) === key,
  );
  if (pair === undefined) return;
  const old = pair.value as { comment?: string | null };
  (pair.key as { value: unknown }).value = 'log-outputs';
  pair.value = Object.assign(document.createNode(values, { flow: true }) as object, { comment: old.comment });
};
type Scalar = { value: unknown; type?: string };
type MigrateDocument = {
  readonly contents: unknown;
  get(key: string, keepScalar: true): unknown;
  set(key: string, value: unknown): void;
  delete(key: string): unknown;
  createNode(value: unknown, options?: { flow: boolean }): unknown;
  getIn(path: readonly string[], keepScalar?: boolean): unknown;
  setIn(path: readonly string[], value: unknown): void;
  deleteIn(path: readonly string[]): unknown;
};
/**
 * Converts the CA that 3.3 reads as `ca-file` to the form that every version reads, and keeps the comments of
 * the line.
 */
const fixCaFile = (document: MigrateDocument, key: string, section: Section, isTop: boolean): string[] => {
  const [from, to] = [isTop ? [key] : [section, 'ca-file'], [section, 'trusted-ca-file']];
  const value = document.getIn(from);
  const pair = isTop
    ? undefined
    : (document.getIn([section], true) as Content).items?.find(
        (item) => String((item.key as { value?: unknown }).value) === 'ca-file',
      );
  if (document.getIn(to) !== undefined || pair === undefined) {
    if (document.getIn(to) === undefined) document.setIn(to, value);
    document.deleteIn(from);
  } else (pair.key as { value: unknown }).value = 'trusted-ca-file';
  document.setIn([section, 'client-cert-auth'], true);
  const note = isTop
    ? ': no version read it there, and the member now rejects connections without a certificate'
    : '';
  return [`${key} → ${to.join('.')}, with client-cert-auth: true${note}`];
};
const fixRetention = (document: MigrateDocument, file: Settings): string[] => {
  const changes: string[] = [];
  const node = document.get(RETENTION, true) as Partial<Scalar> | undefined;
  if (typeof node?.value === 'number') {
    node.value = String(node.value);
    node.type = 'QUOTE_DOUBLE';
    changes.push(`${RETENTION}: ${String(file[RETENTION])} → "${String(file[RETENTION])}"`);
  }
  if (file[RETENTION] !== 0 && (file[MODE] === undefined || file[MODE] === '')) {
    document.set(MODE, 'periodic');
    changes.push(`${MODE}: periodic added`);
  }
  return changes;
};
/** Applies the fix for one finding to the document. Returns a description of the change for the user. */
const fix = (document: MigrateDocument, file: Settings, key: string): string[] => {
  if (key === RETENTION) return fixRetention(document, file);
  const ca = caFileIn(key);
  if (ca !== undefined) return fixCaFile(document, key, ca.section, ca.isTop);
  if (key === 'log-output') {
    renameToList(document.contents, key, [file[key]].flat(), document);
    return [`${key} → log-outputs`];
  }
  if (key === 'logger') {
    document.set('logger', 'zap');
    return [`logger: ${String(file['logger'])} → zap`];
  }
  if (key === GATEWAY) {
    document.set(GATEWAY, true);
    return [`${GATEWAY}: true added`];
  }
  return fixNamed(document, file, key);
};
const refuseRepeats = (repeated: RepeatedKey, named: string, to: Minor): never => {
  const { message, hint } = repeatText(repeated);
  throw new AppError('config', `cannot rewrite ${named} for ${to}: ${repeated.key} ${message}`, {
    code: 'CONFIG_BROKEN',
    tryThis: [hint],
  });
};
export type Migrated = { readonly text: string; readonly changes: readonly string[] };
/**
 * Returns the file for version `to` with comments and order kept. If no change is necessary, the text stays
 * the same.
 */
export const migrateConfig = async (
  text: string,
  to: Minor,
  /**
   * `roll`: members of the previous version still run, so names that only the new version knows must wait.
   */
  when: 'roll' | 'after' = 'roll',
  /** The file, as messages name it. */
  named = 'the configuration file',
): Promise<Migrated> => {
  const { parseDocument } = await import('../../../platform/yaml.ts');
  const parsed = await parseConfig(text);
  if ('broken' in parsed)
    throw new AppError('config', `${named} is not a configuration file: ${parsed.broken}`, {
      code: 'CONFIG_BROKEN',
    });
  const [first, rest] = splitDocuments(text);
  const document = parseDocument(first);
  const { file } = parsed;
  const fixed = lintFile(file, to).filter(
    ({ isFixed, isLater }) => isFixed === true && (isLater !== true || when === 'after'),
  );
  if (fixed.length > 0 && parsed.repeats?.[0] !== undefined) refuseRepeats(parsed.repeats[0], named, to);
  try {
    const changes = fixed.flatMap(({ key }) => [...fix(document, file, key)]);
    return { text: changes.length === 0 ? text : `${document.toString({ lineWidth: 0 })}${rest}`, changes };
  } catch (error) {
    // The reader accepts some files that the writer rejects: an anchor with control characters, a file
    // without a mapping.
    throw new AppError('config', `cannot rewrite ${named} for ${to}: ${messageOf(error)}`, {
      code: 'CONFIG_BROKEN',
      cause: error,
    });
  }
};

const pathOf = (directory: string, member: string): string =>
  childPath(directory, pathPart(`${member}.config.before`));
/**
 * The configuration of a member that a run of an earlier opsctl stored in its own directory. Current versions
 * store it on the member's host.
 */
export const configBefore = (
  host: Pick<Host, 'files'>,
  directory: string,
  member: string,
): Promise<string | undefined> => host.files.read(pathOf(directory, member));

export type SourceFinding = ConfigFinding & {
  /** Name of the server within the file. */
  readonly server: string;
  readonly origin: Origin | undefined;
};
export const hasPrefix = (env: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(env).filter(([name]) => name.startsWith('ETCD_')));

const fileOfVariable = (to: Minor): ConfigFinding => ({
  level: 'warn',
  key: FILE_VARIABLE,
  message:
    to === '3.4'
      ? 'is read from 3.4 on: the settings of the file replace all flags and variables'
      : `is not read by ${to}: the server ignores the file`,
  hint: 'name the file with --config-file',
});
const FORCE = 'force-new-cluster';
/** A server reads this setting at each start. It belongs to one start after the loss of a quorum. */
const forcedFindings = ({ words, env, file, isFileOfVariable }: ServerStart, to: Minor): ConfigFinding[] => {
  const flags = flagsOf(words);
  const given: readonly (readonly [key: string, value: unknown])[] =
    findServerFile(flags, env[FILE_VARIABLE], to) === undefined && (file === undefined || isFileOfVariable)
      ? [
          [`--${FORCE}`, flags.get(FORCE)],
          [variableOf(FORCE), flags.has(FORCE) ? undefined : env[variableOf(FORCE)]],
        ]
      : [[FORCE, file?.[FORCE]]];
  const message = 'is on: each start removes all other members from the cluster';
  const hint = 'remove it after the recovery';
  return given.flatMap(([key, value]) => (isOn(value) ? [{ level: 'warn', key, message, hint }] : []));
};
/** The settings of a start as version `to` reads them. Undefined if its configuration file was not read. */
const settingsFor = (start: ServerStart, to: Minor): StartSettings | undefined => {
  const { words, env, unread, isPartial: isOfCommand, isFileOfVariable } = start;
  const isIgnored = isFileOfVariable === true && !readsFileOfVariable(to);
  const file = isIgnored ? undefined : start.file;
  const read = readSettings({ words, env, file, minor: to });
  if (read === undefined) return undefined;
  const isFile = file !== undefined;
  const isPartial = unread.length > 0;
  // The command line or the image may set what this source does not.
  const isKnown = (flag: string): boolean => isFile || isOfCommand !== true || read(flag) !== undefined;
  return { read, isKnown, isFile, isPartial };
};
/** Settings that stop the server together. If another source may contain the missing setting, it is a warning. */
const conflictFindings = (start: ServerStart, to: Minor): ConfigFinding[] => {
  const settings = settingsFor(start, to);
  const isVariablesOnly = start.words.length === 0 && settings?.isFile === false;
  if (settings === undefined) return [];
  const flags = flagsOf(start.words);
  const placeOf = (key: string): string => {
    if (settings.isFile) return key;
    return flags.has(key) || !Object.hasOwn(start.env, variableOf(key)) ? `--${key}` : variableOf(key);
  };
  return listConflicts(settings, to).flatMap(({ finding: one, isCertain }): ConfigFinding[] => {
    const key = placeOf(one.key);
    if (isCertain) return [{ ...one, key }];
    const message = `${one.message}, unless a part of the start that opsctl did not read changes this`;
    return isVariablesOnly ? [] : [{ ...one, key, level: 'warn', message }];
  });
};
const unreadFinding = (what: string): ConfigFinding => ({
  level: 'warn',
  key: what,
  message: 'is not readable here, so opsctl did not check its settings',
  hint: 'run the command on the host of the member, or check that file separately',
});
const listFindings = (start: ServerStart, to: Minor): ConfigFinding[] => {
  const { words, env, notes = [], fileNotes = [], isFileOfVariable, unreadFile } = start;
  const isIgnored = isFileOfVariable === true && !readsFileOfVariable(to);
  const file = isIgnored ? undefined : start.file;
  const unread =
    unreadFile === undefined || isIgnored
      ? start.unread
      : [...start.unread, `configuration file ${unreadFile}`];
  const flags = flagsOf(words);
  const hasFile = file !== undefined || findServerFile(flags, env[FILE_VARIABLE], to) !== undefined;
  const own = hasPrefix(env);
  const isSet = (key: string): boolean =>
    hasFile
      ? file === undefined || file[key] !== undefined
      : flags.has(key) || own[variableOf(key)] !== undefined;
  const known = [
    ...(file === undefined ? [] : lintFile(file, to)),
    ...(words.length === 0 ? [] : lintFlags(words, to, undefined, env)),
    ...(hasFile ? [] : lintEnvironment(own, flags, to)),
  ];
  const unknown = [
    ...(file === undefined ? [] : unknownKeys(file, to)),
    ...(hasFile ? [] : unknownVariables(own, to)),
  ];
  return [
    ...known,
    ...unknown.filter(({ key }) => !known.some((one) => one.key === key)),
    ...(isIgnored || (isFileOfVariable === true && to === '3.4') ? [fileOfVariable(to)] : []),
    ...changedDefaults(isSet, to),
    ...[...notes, ...(isIgnored ? [] : fileNotes)].map((note): ConfigFinding => ({ level: 'warn', ...note })),
    ...unread.map(unreadFinding),
  ];
};
/** Checks the servers that a file starts for version `to`. Each finding has its file and line. Pure. */
export const lintStarts = (starts: readonly ServerStart[], to: Minor): SourceFinding[] =>
  starts.flatMap((start) => {
    const found = [...listFindings(start, to), ...conflictFindings(start, to), ...forcedFindings(start, to)];
    return found
      .filter(
        (one, i) =>
          found.findIndex(
            ({ key, message, level }) => key === one.key && (message === one.message || level === 'fail'),
          ) === i,
      )
      .map((one) => ({ ...one, server: start.name, origin: start.origins.get(one.key) }));
  });
