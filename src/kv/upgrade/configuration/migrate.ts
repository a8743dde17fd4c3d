import {
  durationsInFile,
  gatedIn36,
  FILE_VARIABLE,
  findServerFile,
  findSetting,
  readsFileOfVariable,
  nanosecondsOf,
  variableOf,
  renamedSettings,
} from '../../../api-specs/etcd/server-settings.ts';
import type { Minor } from '../../../api-specs/etcd/versions.ts';
import { childPath, pathPart } from '../../../core/file-name.ts';
import { AppError, messageOf } from '../../../core/problem.ts';
import type { Host } from '../../../platform/host.ts';
import { caFileIn, isOn, type ConfigFinding } from './access.ts';
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
import { changedDefaults, normalizeKeys, unknownKeys, unknownVariables } from './values.ts';

type Settings = Readonly<Record<string, unknown>>;
type Part = {
  readonly value?: unknown;
  readonly items?: readonly { readonly key: Part; readonly value: Part | null }[];
  readonly flow?: boolean;
  readonly range?: readonly [start: number, end: number, after: number] | null;
};
/** The path of a setting: a key at the top, or a section and its key. */
type Path = readonly [key: string] | readonly [section: string, key: string];
type Place = { readonly start: number; readonly end: number };
/** The end of a value. The range of a block ends behind the comments that follow it. */
const endOf = ({ items, flow, range }: Part): number => {
  const last = flow === true ? undefined : items?.at(-1);
  return last === undefined ? (range?.[1] ?? 0) : endOf(last.value ?? last.key);
};
const pairNamed = (part: Part | null | undefined, name: string) => {
  const items = part?.items ?? [];
  const is = (fits: (key: string) => boolean) => items.find(({ key }) => fits(String(key.value)));
  return is((key) => key === name) ?? is((key) => key.toLowerCase() === name);
};
/**
 * The text of a configuration file. Each edit replaces only the characters of its setting, so that all other lines keep
 * their comments, quotes, spaces and order.
 */
class ConfigText {
  /** The top-level keys that an edit changed. */
  readonly changed = new Set<string>();
  text: string;
  readonly #yaml: Pick<typeof import('../../../platform/yaml.ts'), 'parseDocument' | 'stringify'>;
  constructor(
    text: string,
    yaml: Pick<typeof import('../../../platform/yaml.ts'), 'parseDocument' | 'stringify'>,
  ) {
    this.text = text;
    this.#yaml = yaml;
  }
  get #root(): Part | null {
    return this.#yaml.parseDocument(this.text).contents as Part | null;
  }
  #parent(path: Path): Part | null | undefined {
    return path.length === 1 ? this.#root : pairNamed(this.#root, path[0])?.value;
  }
  #find(path: Path) {
    return pairNamed(this.#parent(path), path.at(-1) as string);
  }
  #need(path: Path) {
    const pair = this.#find(path);
    if (pair === undefined) throw new Error(`${path.join('.')} comes from a YAML alias`);
    return pair;
  }
  #replace(path: Path, { start, end }: Place, now: string): void {
    this.changed.add(path[0]);
    this.text = this.text.slice(0, start) + now + this.text.slice(end);
  }
  get #isJson(): boolean {
    const root = this.#root;
    return root?.flow === true && this.text[root.items?.[0]?.key.range?.[0] ?? -1] === '"';
  }
  #format(value: unknown): string {
    if (this.#isJson) return JSON.stringify(value);
    return this.#yaml.stringify(value, { collectionStyle: 'flow', lineWidth: 0 }).trimEnd();
  }
  get(path: Path): unknown {
    return this.#find(path)?.value?.value;
  }
  has(path: Path): boolean {
    return this.#find(path) !== undefined;
  }
  rename(path: Path, to: string): void {
    const { key } = this.#need(path);
    const [start, end] = key.range as [number, number, number];
    const quote = /^["']/.exec(this.text.slice(start))?.[0] ?? '';
    this.#replace(path, { start, end }, `${quote}${to}${quote}`);
    if (path.length === 1) this.changed.add(to);
  }
  /** The value with the colon in front of it. An anchor or a tag belongs to the value. */
  #valuePlace(path: Path) {
    const pair = this.#need(path);
    const start = pair.key.range?.[1] ?? 0;
    const colon = /^\s*:[ \t]*/.exec(this.text.slice(start))?.[0] ?? '';
    const end = Math.max(start + colon.length, pair.value === null ? 0 : endOf(pair.value));
    return { start, end, colon };
  }
  /** The text of a value on one line. An alias has no value. */
  #source(path: Path): string | undefined {
    const { start, end, colon } = this.#valuePlace(path);
    const text = this.text.slice(start + colon.length, end);
    return this.get(path) === undefined || text.includes('\n') ? undefined : text;
  }
  setValue(path: Path, value: unknown, isQuoted = false): void {
    const { start, end, colon } = this.#valuePlace(path);
    const now = isQuoted ? JSON.stringify(value) : this.#format(value);
    const tail = this.text.slice(start, end).endsWith('\n') ? '\n' : '';
    this.#replace(path, { start, end }, `${colon.trimEnd()} ${now}${tail}`);
  }
  /** The lines of a setting in a block, and the comment behind its value. */
  #linesOf({ key, value }: { readonly key: Part; readonly value: Part | null }) {
    const at = key.range?.[0] ?? 0;
    const start = this.text.lastIndexOf('\n', at - 1) + 1;
    const last = value === null ? (key.range?.[1] ?? at) : Math.max(endOf(value), key.range?.[1] ?? at);
    const next = this.text[last - 1] === '\n' ? last : this.text.indexOf('\n', last) + 1;
    const end = next === 0 ? this.text.length : next;
    const comment = /#.*/.exec(this.text.slice(last, end))?.[0].trimEnd();
    return { start, end, indent: this.text.slice(start, at), comment };
  }
  /** Removes a setting, and returns the comment behind it. In a block, `keepsComment` makes it a line of its own. */
  remove(path: Path, keepsComment: boolean): string | undefined {
    const pair = this.#need(path);
    const parent = this.#parent(path);
    if (parent?.flow !== true) {
      const { start, end, indent, comment } = this.#linesOf(pair);
      const left = keepsComment && comment !== undefined ? `${indent}${comment}${this.#eol}` : '';
      this.#replace(path, { start, end }, left);
      return comment;
    }
    const [start, end] = [pair.key.range?.[0] ?? 0, pair.value?.range?.[1] ?? pair.key.range?.[1] ?? 0];
    const behind = /^\s*,[ \t]*/.exec(this.text.slice(end))?.[0].length;
    const front = behind === undefined ? (/,\s*$/.exec(this.text.slice(0, start))?.[0].length ?? 0) : 0;
    this.#replace(path, { start: start - front, end: end + (behind ?? 0) }, '');
    return undefined;
  }
  get #eol(): string {
    return this.text.includes('\r\n') ? '\r\n' : '\n';
  }
  #addLine(path: Path, at: number, line: string): void {
    const isInside = at > 0 && this.text[at - 1] !== '\n';
    this.#replace(path, { start: at, end: at }, isInside ? `${this.#eol}${line}` : `${line}${this.#eol}`);
  }
  #addToFlow(path: Path, parent: Part, text: string): void {
    const setting = `${this.#isJson ? JSON.stringify(path.at(-1)) : path.at(-1)}: ${text}`;
    const last = parent.items?.at(-1);
    const at =
      last === undefined
        ? (parent.range?.[0] ?? 0) + 1
        : Math.max(endOf(last.key), endOf(last.value ?? last.key));
    const gap =
      last === undefined ? '' : (/,?(\s*)$/.exec(this.text.slice(0, last.key.range?.[0]))?.[1] ?? ' ');
    const space = gap.includes('\n') ? gap : ' ';
    this.#replace(path, { start: at, end: at }, last === undefined ? setting : `,${space}${setting}`);
  }
  /** Adds a setting behind the last one of its section, or of the file. */
  add(
    path: Path,
    value: unknown,
    { source, comment }: { source?: string | undefined; comment?: string | undefined } = {},
  ): void {
    const parent = this.#parent(path);
    const text = source ?? this.#format(value);
    const setting = `${path.at(-1)}: ${text}${comment === undefined ? '' : ` ${comment}`}`;
    const last = parent?.items?.at(-1);
    if (parent?.flow === true) this.#addToFlow(path, parent, text);
    else if (last !== undefined) {
      const { end, indent } = this.#linesOf(last);
      this.#addLine(path, end, `${indent}${setting}`);
    } else if (path.length === 1) this.#addLine(path, this.text.length, setting);
    else this.#addToEmpty(path, { [path[1]]: value }, setting);
  }
  /** Adds the first setting of a section that is missing or empty. */
  #addToEmpty(path: Path, value: unknown, setting: string): void {
    const section: Path = [path[0]];
    const pair = this.#find(section);
    const root = this.#root;
    if (pair === undefined && root?.flow === true) this.#addToFlow(section, root, this.#format(value));
    else if (pair === undefined) {
      const last = root?.items?.at(-1);
      const at = last === undefined ? this.text.length : this.#linesOf(last).end;
      this.#addLine(path, at, `${path[0]}:${this.#eol}  ${setting}`);
    } else if ((this.get(section) ?? null) !== null || this.#source(section) === undefined)
      throw new Error(`${path[0]} is not a mapping`);
    else if (root?.flow === true) this.setValue(section, value);
    else this.#addToNull(path, setting);
  }
  #addToNull(path: Path, setting: string): void {
    const { start, end } = this.#linesOf(this.#need([path[0]]));
    const head = this.text.slice(start, end).replace(/(:[ \t]*)(?:~|null|Null|NULL)(?=\s|$)/, '$1');
    this.#replace(path, { start, end }, `${head.trimEnd()}${this.#eol}  ${setting}${this.#eol}`);
  }
  set(path: Path, value: unknown): void {
    if (this.has(path)) this.setValue(path, value);
    else this.add(path, value);
  }
  /** Moves a setting with its comment. A setting that the new place already has takes precedence. */
  move(from: Path, to: Path, value: unknown): void {
    const isThere = this.has(to);
    const isRename = from.length === to.length && from.slice(0, -1).join() === to.slice(0, -1).join();
    const source = this.#source(from);
    if (isThere) this.remove(from, true);
    else if (isRename) this.rename(from, to.at(-1) as string);
    else this.add(to, value, { source, comment: this.remove(from, false) });
  }
}
const gateInstead = (config: ConfigText, file: Settings, old: string, gate: string): string[] => {
  const on = String(file[old]);
  const now = config.get([GATES]);
  const text = typeof now === 'string' && now !== '' ? `${now},` : '';
  config.move([old], [GATES], on);
  config.setValue([GATES], `${text}${gate}=${on}`, true);
  return [`${old}: ${on} → ${GATES}: ${gate}=${on}`];
};
const rename = (config: ConfigText, file: Settings, key: string): string[] => {
  const gated = gatedIn36.find(({ old }) => old === key);
  const renamed = renamedSettings.find(({ old, gate }) => old === key && gate === undefined);
  // Another finding of the same setting can have changed its name already.
  if (config.changed.has(key) && !config.has([key])) return [];
  if (gated !== undefined) return gateInstead(config, file, key, gated.gate);
  if (renamed === undefined) return [];
  const to: Path = renamed.inFile ?? [renamed.now];
  config.move([key], to, file[key]);
  return [`${key} → ${to.join('.')}`];
};
const mapToText = (file: Settings): string =>
  Object.entries(file[GATES] as object)
    .map(([gate, on]) => `${gate}=${String(on)}`)
    .join(',');
/** Changes the name of one setting, or the form of its value. Returns a description of the change for the user. */
const fixNamed = (config: ConfigText, file: Settings, key: string, to: Minor): string[] => {
  const value = config.get([key]);
  if (durationsInFile.includes(key) && typeof value === 'string') {
    config.setValue([key], nanosecondsOf(value));
    const change = `${key}: "${value}" → ${nanosecondsOf(value)}`;
    return findSetting(key, to, 'file') === undefined ? [change, ...rename(config, file, key)] : [change];
  }
  if (key === GATES) {
    config.setValue([GATES], mapToText(file), true);
    return [`${GATES}: a mapping → "${mapToText(file)}"`];
  }
  return rename(config, file, key);
};
/** Converts the CA that 3.3 reads as `ca-file` to the form that every version reads. */
const fixCaFile = (config: ConfigText, file: Settings, key: string): string[] => {
  const { section, isTop } = caFileIn(key) as NonNullable<ReturnType<typeof caFileIn>>;
  const to: Path = [section, 'trusted-ca-file'];
  if (isTop) config.move([key], to, file[key]);
  else config.move([section, 'ca-file'], to, undefined);
  config.set([section, 'client-cert-auth'], true);
  const note = isTop
    ? ': no version read it there, and the member now rejects connections without a certificate'
    : '';
  return [`${key} → ${to.join('.')}, with client-cert-auth: true${note}`];
};
const fixRetention = (config: ConfigText, file: Settings): string[] => {
  const changes: string[] = [];
  if (typeof file[RETENTION] === 'number') {
    config.setValue([RETENTION], String(file[RETENTION]), true);
    changes.push(`${RETENTION}: ${String(file[RETENTION])} → "${String(file[RETENTION])}"`);
  }
  if (file[RETENTION] !== 0 && (file[MODE] === undefined || file[MODE] === '')) {
    config.set([MODE], 'periodic');
    changes.push(`${MODE}: periodic added`);
  }
  return changes;
};
const fixLogOutput = (config: ConfigText, file: Settings, key: string): string[] => {
  if (!Array.isArray(file[key])) config.setValue([key], [file[key]]);
  config.move([key], ['log-outputs'], undefined);
  return [`${key} → log-outputs`];
};
/** Applies the fix for one finding to the file. Returns a description of the change for the user. */
const fix = (config: ConfigText, file: Settings, key: string, to: Minor): string[] => {
  if (key === RETENTION) return fixRetention(config, file);
  if (caFileIn(key) !== undefined) return fixCaFile(config, file, key);
  if (key === 'log-output') return fixLogOutput(config, file, key);
  if (key === 'logger') {
    config.set([key], 'zap');
    return [`logger: ${String(file['logger'])} → zap`];
  }
  if (key === GATEWAY) {
    config.set([GATEWAY], true);
    return [`${GATEWAY}: true added`];
  }
  return fixNamed(config, file, key, to);
};
/** An anchor in a changed setting can be a part of another setting, and an edit can leave a text that no server reads. */
const refuseOtherChanges = async (before: Settings, { text, changed }: ConfigText): Promise<void> => {
  const parsed = await parseConfig(text);
  if ('broken' in parsed) throw new Error(parsed.broken);
  const after = normalizeKeys(parsed.file);
  const other = Object.keys({ ...before, ...after }).find(
    (key) => !changed.has(key.toLowerCase()) && JSON.stringify(before[key]) !== JSON.stringify(after[key]),
  );
  if (other !== undefined) throw new Error(`${other} would change too`);
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
  const yaml = await import('../../../platform/yaml.ts');
  const parsed = await parseConfig(text);
  if ('broken' in parsed)
    throw new AppError('config', `${named} is not a configuration file: ${parsed.broken}`, {
      code: 'CONFIG_BROKEN',
    });
  const [first, rest] = splitDocuments(text);
  const config = new ConfigText(first, yaml);
  const file = normalizeKeys(parsed.file);
  const fixed = lintFile(file, to).filter(
    ({ isFixed, isLater }) => isFixed === true && (isLater !== true || when === 'after'),
  );
  if (fixed.length > 0 && parsed.repeats?.[0] !== undefined) refuseRepeats(parsed.repeats[0], named, to);
  try {
    const changes = fixed.flatMap(({ key }) => fix(config, file, key, to));
    await refuseOtherChanges(file, config);
    return { text: `${config.text}${rest}`, changes };
  } catch (error) {
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
