import {
  durationsInFile,
  gatedIn36,
  renamedIn36,
  FILE_VARIABLE,
  findServerFile,
  readsFileOfVariable,
} from '../../../api-specs/etcd/server-settings.ts';
import { type Minor, compareVersions } from '../../../api-specs/etcd/versions.ts';
import { childPath, pathPart } from '../../../core/file-name.ts';
import { AppError, messageOf } from '../../../core/problem.ts';
import type { Host } from '../../../platform/host.ts';
import { caFileIn, type Section, type ConfigFinding } from './access.ts';
import {
  GATEWAY,
  lintFile,
  parseConfig,
  type RepeatedKey,
  repeatText,
  splitDocuments,
  type Origin,
  type ServerStart,
  escapeText,
  flagsOf,
  lintEnvironment,
  lintFlags,
} from './configuration.ts';
import { GATES, MODE, RETENTION, nanosecondsOf } from './settings-36.ts';
import { changedDefaults, unknownKeys, unknownVariables } from './values.ts';

type Document = {
  readonly contents: unknown;
  get(key: string, keepScalar: true): unknown;
  set(key: string, value: unknown): void;
  delete(key: string): unknown;
  createNode(value: unknown): unknown;
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
  renamed: renamedIn36.find(({ old }) => old === key),
  gated: gatedIn36.find(({ old }) => old === key),
});
const isSetting36 = (key: string): boolean => {
  const { renamed, gated } = ruleFor(key);
  return renamed !== undefined || gated !== undefined || key === GATES || durationsInFile.includes(key);
};
/** Changes one setting to the form of 3.6. Returns a description of the change for the user. */
const fixSetting36 = (document: Document, file: Settings, key: string): string[] => {
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
  if (isSetting36(key)) return fixSetting36(document, file, key);
  if (key === 'logger') {
    document.set('logger', 'zap');
    return [`logger: ${String(file['logger'])} → zap`];
  }
  if (key === GATEWAY) {
    document.set(GATEWAY, true);
    return [`${GATEWAY}: true added`];
  }
  renameToList(document.contents, key, [file[key]].flat(), document);
  return [`${key} → log-outputs`];
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
const hasPrefix = (env: Readonly<Record<string, string>>): Record<string, string> =>
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
    ...unread.map(
      (what): ConfigFinding => ({
        level: 'warn',
        key: what,
        message: 'is not readable here, so opsctl did not check its settings',
        hint: 'run the command on the host of the member, or check that file separately',
      }),
    ),
  ];
};
/** Checks the servers that a file starts for version `to`. Each finding has its file and line. Pure. */
export const lintStarts = (starts: readonly ServerStart[], to: Minor): SourceFinding[] =>
  starts.flatMap((start) => {
    const found = listFindings(start, to);
    return found
      .filter(
        (one, i) =>
          found.findIndex(
            ({ key, message, level }) => key === one.key && (message === one.message || level === 'fail'),
          ) === i,
      )
      .map((one) => ({ ...one, server: start.name, origin: start.origins.get(one.key) }));
  });

/** The change of a flag or variable: a new name, a new value, an additional setting, or removal. */
type Edit =
  | {
      readonly kind: 'rename';
      readonly to: string;
      readonly value?: string;
      readonly add?: readonly [string, string];
    }
  | { readonly kind: 'remove'; readonly why: string };
type Rule = {
  readonly name: string;
  readonly since: Minor;
  /** Only after every member runs the new version. */
  readonly isLater?: true;
  readonly edit: (value: string) => Edit | undefined;
};
const rename = (to: string, add?: readonly [string, string]) => (): Edit => ({
  kind: 'rename',
  to,
  ...(add === undefined ? {} : { add }),
});
const remove = (why: string) => (): Edit => ({ kind: 'remove', why });
const isTrue = (value: string): boolean => /^(1|t|true)$/i.test(value);
const rules: readonly Rule[] = [
  { name: 'ca-file', since: '3.4', edit: rename('trusted-ca-file', ['client-cert-auth', 'true']) },
  {
    name: 'peer-ca-file',
    since: '3.4',
    edit: rename('peer-trusted-ca-file', ['peer-client-cert-auth', 'true']),
  },
  { name: 'log-output', since: '3.4', edit: rename('log-outputs') },
  {
    name: 'debug',
    since: '3.5',
    edit: (value) =>
      isTrue(value)
        ? { kind: 'rename', to: 'log-level', value: 'debug' }
        : { kind: 'remove', why: 'info is the default level' },
  },
  { name: 'log-package-levels', since: '3.5', edit: remove('3.5 has one level for all packages: log-level') },
  {
    name: 'logger',
    since: '3.5',
    edit: (value) => (value === 'capnslog' ? { kind: 'rename', to: 'logger', value: 'zap' } : undefined),
  },
  {
    name: 'experimental-backend-bbolt-freelist-type',
    since: '3.5',
    edit: rename('backend-bbolt-freelist-type'),
  },
  ...['enable-v2', 'experimental-enable-v2v3'].map(
    (name): Rule => ({ name, since: '3.6', edit: remove('3.6 has no v2 interface') }),
  ),
  ...[
    'proxy',
    'proxy-dial-timeout',
    'proxy-failure-wait',
    'proxy-read-timeout',
    'proxy-refresh-interval',
    'proxy-write-timeout',
  ].map((name): Rule => ({ name, since: '3.6', edit: remove('the grpc-proxy is a separate program') })),
  ...renamedIn36.map(({ old, now }): Rule => ({ name: old, since: '3.6', isLater: true, edit: rename(now) })),
];
/**
 * Replaces switches by feature gates. The gates are one setting, so the first line contains all of them and
 * the other lines are removed.
 */
const gateEdits = (
  get: (name: string) => string | undefined,
): { name: string; value: string; edit: Edit }[] => {
  const given = gatedIn36.flatMap(({ old, gate }) => {
    const value = get(old);
    return value === undefined ? [] : [{ name: old, value, text: `${gate}=${value}` }];
  });
  const now = get('feature-gates');
  const text = [...(now === undefined ? [] : [now]), ...given.map((one) => one.text)].join(',');
  const edits = given.map(({ name, value }, i) => ({
    name,
    value,
    edit: (i === 0 && now === undefined
      ? { kind: 'rename', to: 'feature-gates', value: text }
      : { kind: 'remove', why: 'it is one of the feature gates now' }) as Edit,
  }));
  return now === undefined || given.length === 0
    ? edits
    : [
        { name: 'feature-gates', value: now, edit: { kind: 'rename', to: 'feature-gates', value: text } },
        ...edits,
      ];
};
const variableOf = (key: string): string => `ETCD_${key.toUpperCase().replaceAll('-', '_')}`;
type Place = {
  readonly display: (name: string) => string;
  readonly pattern: (name: string, value: string) => RegExp;
};
const valuePattern = (value: string): string => `(["']?)${escapeText(value)}\\1`;
const asFlag: Place = {
  display: (name) => `--${name}`,
  pattern: (name, value) =>
    new RegExp(`(?<![\\w-])--?${escapeText(name)}(?:(?:=|\\s+)${valuePattern(value)}|(?=["'\\s\\\\]|$))`),
};
const asVariable: Place = {
  display: variableOf,
  pattern: (name, value) =>
    new RegExp(`(?<!\\w)${variableOf(name)}(\\s*[=:]\\s*)${valuePattern(value).replace('\\1', '\\2')}`),
};
/**
 * Removes a setting from a line. Removes the whole line if it is a YAML list item, a continued line, or an
 * assignment with only this setting.
 */
const withoutSetting = (line: string, found: string): string | undefined => {
  const others = line.replace(found, '').replace(/[-\s"'\\,]|export|Environment=/g, '');
  return others === ''
    ? undefined
    : line
        .replace(found, '')
        .replace(/(?<=\S) {2,}(?=\S)/g, ' ')
        .replace(/ +(?=["']?$)/, '');
};
const addedTo = (line: string, found: string, text: string, added: string): string[] => {
  const whole = line.replace(found, text);
  const isAlone = /^\s*-\s/.test(line) || /^\s*(export\s+)?ETCD_/.test(line);
  return isAlone ? [whole, line.replace(found, added)] : [line.replace(found, `${text} ${added}`)];
};
type Change = { readonly lines: readonly string[]; readonly note: string };
const rewrite = (
  { place, name, value }: Wanted,
  found: string,
  to: string,
  now: string | undefined,
): string => {
  const isFlag = place === asFlag;
  const named = found.replace(isFlag ? `-${name}` : variableOf(name), isFlag ? `-${to}` : variableOf(to));
  if (now === undefined) return named;
  const at = named.lastIndexOf(value);
  return /[=:\s]\S/.test(named)
    ? named.slice(0, at) + now + named.slice(at + value.length)
    : `${named}=${now}`;
};
const changeLine = (line: string, wanted: Wanted): Change | undefined => {
  const { place, name, value, edit, has } = wanted;
  const found = place.pattern(name, value).exec(line)?.[0];
  if (found === undefined) return undefined;
  if (edit.kind === 'remove') {
    const left = withoutSetting(line, found);
    return { lines: left === undefined ? [] : [left], note: `${place.display(name)} removed: ${edit.why}` };
  }
  const text = rewrite(wanted, found, edit.to, edit.value);
  const shown = edit.value === undefined ? place.display(edit.to) : `${place.display(edit.to)}=${edit.value}`;
  const note = `${place.display(name)} → ${shown}`;
  if (edit.add === undefined || has(edit.add[0])) return { lines: [line.replace(found, text)], note };
  const added = rewrite(wanted, found, edit.add[0], edit.add[1]);
  return {
    lines: addedTo(line, found, text, added),
    note: `${note}, with ${place.display(edit.add[0])}=${edit.add[1]}`,
  };
};
/** Maximum number of lines after the first line of a setting that may belong to its command. */
const MAX_LINES = 200;
type Wanted = {
  readonly place: Place;
  readonly name: string;
  readonly value: string;
  readonly edit: Edit;
  readonly origin: Origin | undefined;
  readonly has: (name: string) => boolean;
};
const noOther = (): boolean => false;
/** Edits of one server, in the order in which they apply. */
const listEdits = ({ words, env, origins }: ServerStart, to: Minor, when: 'roll' | 'after'): Wanted[] => {
  const flags = flagsOf(words);
  const has = (name: string): boolean => flags.has(name) || env[variableOf(name)] !== undefined;
  const places = [
    { place: asFlag, get: (name: string) => flags.get(name) },
    { place: asVariable, get: (name: string) => env[variableOf(name)] },
  ];
  const active = rules.filter(
    ({ since, isLater }) => compareVersions(to, since) >= 0 && (isLater !== true || when === 'after'),
  );
  return places.flatMap(({ place, get }) => {
    const originOf = (name: string): Origin | undefined => origins.get(place.display(name));
    const renamed = active.flatMap(({ name, edit: editOf }): Wanted[] => {
      const value = get(name);
      const edit = value === undefined ? undefined : editOf(value);
      return value === undefined || edit === undefined
        ? []
        : [{ place, name, value, edit, origin: originOf(name), has }];
    });
    const gates = compareVersions(to, '3.6') < 0 || when === 'roll' ? [] : gateEdits(get);
    return [
      ...renamed,
      ...gates.map((one): Wanted => ({ place, ...one, origin: originOf(one.name), has: noOther })),
    ];
  });
};
/**
 * Returns the text of a unit, an environment file, a manifest or a command for version `to`. Settings in
 * other files are listed, not changed. Pure.
 */
export const migrateSource = (
  text: string,
  path: string,
  starts: readonly ServerStart[],
  to: Minor,
  when: 'roll' | 'after',
): Migrated & { readonly elsewhere: readonly string[] } => {
  const lines = text.split('\n').map((line): readonly string[] => [line]);
  const [changes, elsewhere]: [string[], string[]] = [[], []];
  for (const wanted of starts.flatMap((start) => listEdits(start, to, when))) {
    const { origin, place, name } = wanted;
    const first = (origin?.line ?? 1) - 1;
    const change =
      origin !== undefined && origin.path !== path
        ? undefined
        : lines
            .slice(first, first + MAX_LINES)
            .map((line, i) => ({
              at: first + i,
              found: line.length === 1 ? changeLine(line[0] as string, wanted) : undefined,
            }))
            .find(({ found }) => found !== undefined);
    if (change?.found === undefined) {
      const isHere = origin === undefined || origin.path === path;
      const why = isHere ? 'has a form that opsctl does not rewrite' : 'is set in another file';
      elsewhere.push(`${origin?.path ?? path}:${first + 1}: ${place.display(name)} ${why}`);
    } else {
      lines[change.at] = change.found.lines;
      changes.push(`line ${change.at + 1}: ${change.found.note}`);
    }
  }
  return { text: lines.flat().join('\n'), changes, elsewhere };
};
