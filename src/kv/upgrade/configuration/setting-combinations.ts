import {
  defaultOf,
  findSetting,
  gatedIn36,
  gatesOf,
  FIRST_WITHOUT_OLD,
  newIn36,
  refusedValues,
  renamedIn36,
  type RenamedSetting,
  variableOf,
  nanosecondsOf,
} from '../../../api-specs/etcd/server-settings.ts';
import { type Minor, compareVersions } from '../../../api-specs/etcd/versions.ts';
import { type ConfigFinding, finding, isOn, later, type NextStart } from './access.ts';

const stops = 'the server would not start';
export const RETENTION = 'auto-compaction-retention';
export const MODE = 'auto-compaction-mode';

export const isDuration = (text: string): boolean => /^\d+$/.test(text) || nanosecondsOf(text) !== undefined;

const durations = 'write "24" (hours), "24h" or "90m"';

/** This includes 0, which turns compaction off: 3.3 does not accept a number here. */
const numberFinding = (value: number): ConfigFinding =>
  finding(
    'fail',
    RETENTION,
    `is the number ${value}; from 3.3 on it must be a quoted string, the server would not start`,
    `${value === 0 ? '' : `${MODE}: periodic and `}${RETENTION}: "${value}"`,
    true,
  );

/**
 * Up to 3.5 a server exits if a duration has no mode, and ignores a number. 3.6 treats a duration as periodic
 * (seen on real servers).
 */
const withoutMode = (text: string, to: Minor): ConfigFinding =>
  compareVersions(to, '3.6') >= 0
    ? finding(
        'warn',
        RETENTION,
        `is "${text}" without ${MODE}: versions interpret it differently`,
        `add ${MODE}: periodic`,
        true,
      )
    : beforeDefaultMode(text);
const beforeDefaultMode = (text: string): ConfigFinding =>
  /^\d+$/.test(text)
    ? finding(
        'warn',
        RETENTION,
        `is "${text}" without ${MODE}: the server starts, but does not compact`,
        `add ${MODE}: periodic`,
        true,
      )
    : finding(
        'fail',
        RETENTION,
        `is "${text}" without ${MODE}: the server would not start (unsupported compaction mode)`,
        `add ${MODE}: periodic`,
        true,
      );

/** In every mode, a value that is not a number is read as a duration (seen on real servers). */
const withMode = (text: string, mode: unknown): ConfigFinding[] => {
  if ((mode === 'periodic' || mode === 'revision') && !isDuration(text))
    return [
      finding(
        'fail',
        RETENTION,
        `is "${text}", which is not a duration: the server would not start`,
        durations,
      ),
    ];
  return mode === 'revision' && !/^\d+$/.test(text)
    ? [
        finding(
          'warn',
          RETENTION,
          `is "${text}", which is not a number of revisions`,
          `write a number, or ${MODE}: periodic`,
        ),
      ]
    : [];
};

/**
 * spec/store#items: the retention in the file is a number before 3.3 and a string from 3.3 on; with mode
 * periodic it must be a duration. For the other rules see spec/store#measured-configuration.
 */
export const retentionFindings = (file: Settings, to: Minor): ConfigFinding[] => {
  const [value, mode] = [file[RETENTION], file[MODE]];
  if (value === undefined || value === null || value === '0' || value === '') return [];
  if (typeof value === 'object')
    return [finding('fail', RETENTION, 'is a list or a mapping: the server would not start', durations)];
  if (typeof value === 'number') return [numberFinding(value)];
  const text = String(value);
  return mode === undefined || mode === '' ? [withoutMode(text, to)] : withMode(text, mode);
};

export const modeFindings = ({ [MODE]: mode }: Settings): ConfigFinding[] =>
  mode === undefined ||
  mode === null ||
  mode === '' ||
  mode === 'periodic' ||
  mode === 'revision' ||
  typeof mode !== 'string'
    ? []
    : [finding('fail', MODE, `is "${mode}": the server would not start`, 'write periodic or revision')];

export const GATES = 'feature-gates';
const isSince36 = (to: Minor): boolean => compareVersions(to, '3.6') >= 0;
const isThere = (value: unknown): boolean => value !== undefined && value !== null;

/** Returns the feature gates that a text `A=true,B=false` sets. */
const gatesIn = (text: string): string[] =>
  text
    .split(',')
    .map((one) => (one.split('=')[0] ?? '').trim())
    .filter((one) => one !== '');

type Names = {
  readonly has: (key: string) => boolean;
  readonly display: (key: string) => string;
  readonly isFile?: true;
  /** Whether the file contains the key, also without a value. */
  readonly isPresent?: (key: string) => boolean;
  readonly hasInFile?: (path: readonly [section: string, key: string]) => boolean;
};

/** Whether the new name is set, at the top or in its section. */
const hasNow = ({ has, hasInFile }: Names, { now, inFile }: RenamedSetting): boolean =>
  has(now) || (inFile !== undefined && hasInFile?.(inFile) === true);
/**
 * A setting with its old and new name, or a switch and its gate: the server exits. In a file, a key without a value counts
 * too (config.go of v3.6.0).
 */
const findDoubled = (names: Names, gates: readonly string[]): ConfigFinding[] => {
  const { display } = names;
  const has = names.isPresent ?? names.has;
  return [
    ...renamedIn36
      .filter((row) => has(row.old) && hasNow({ ...names, has }, row))
      .map(({ old, now, inFile }) =>
        finding(
          'fail',
          display(old),
          `and ${inFile !== undefined && names.hasInFile?.(inFile) === true ? inFile.join('.') : display(now)} are the same setting: 3.6 would not start with both`,
          `keep ${display(old)} until every member runs 3.6`,
        ),
      ),
    ...gatedIn36
      .filter(({ old, gate }) => has(old) && gates.includes(gate))
      .map(({ old, gate }) =>
        finding(
          'fail',
          display(old),
          `and the gate ${gate} are the same setting: 3.6 would not start with both`,
          `keep ${display(old)} until every member runs 3.6`,
        ),
      ),
  ];
};
/** A setting that a flag and a variable, or two variables, set by its old and its new name. Pure. */
export const findDoubledVariables = (
  env: Readonly<Record<string, string>>,
  flags: ReadonlyMap<string, string>,
  to: Minor,
): ConfigFinding[] => {
  if (!isSince36(to) || compareVersions(to, FIRST_WITHOUT_OLD) >= 0) return [];
  const isVariable = (key: string): boolean => !flags.has(key) && (env[variableOf(key)] ?? '') !== '';
  const names: Names = {
    has: (key) => flags.has(key) || isVariable(key),
    display: (key) => (isVariable(key) ? variableOf(key) : `--${key}`),
  };
  const gates = gatesIn(flags.get(GATES) ?? env[variableOf(GATES)] ?? '');
  const ofFlags = findDoubled({ ...names, has: (key) => flags.has(key) }, gatesIn(flags.get(GATES) ?? ''));
  return findDoubled(names, gates).filter(({ key }) => !ofFlags.some((one) => one.key === key));
};

/** 3.5 and 3.6 accept the old names, so a member that is reverted starts with them. */
const findRenamed = (names: Names, gates: readonly string[]): ConfigFinding[] => {
  const { has, display, isFile } = names;
  return [
    ...renamedIn36
      .filter((row) => has(row.old) && !hasNow(names, row))
      .map(({ old, now, inFile }) => {
        const name = isFile === true && inFile !== undefined ? inFile.join('.') : display(now);
        const called = isFile === true && inFile !== undefined ? name : now;
        return later(
          display(old),
          `is called ${called} from 3.6 on, and 3.7 does not know the old name`,
          name,
        );
      }),
    ...gatedIn36
      .filter(({ old, gate }) => has(old) && !gates.includes(gate))
      .map(({ old, gate }) =>
        later(
          display(old),
          `is the gate ${gate} from 3.6 on, and 3.7 does not know the old name`,
          `${display(GATES)} ${gate}=…`,
        ),
      ),
  ];
};

const unknownGates = ({ display }: Names, gates: readonly string[], to: Minor): ConfigFinding[] =>
  gates
    .filter((gate) => !gatesOf(to).includes(gate))
    .map((gate) =>
      finding(
        'fail',
        display(GATES),
        `contains ${gate}, which is not a gate of ${to}: the server would not start`,
        `one of ${gatesOf(to).join(', ')}`,
      ),
    );

/** A version without the old names exits at the flag, and ignores the key of the file. */
const findOld = ({ has, display, isFile }: Names, to: Minor): ConfigFinding[] => {
  const effect = isFile === true ? `is ignored from ${to} on` : `is not known from ${to} on: ${stops}`;
  const nowOf = ({ now, gate, inFile }: RenamedSetting): string => {
    if (gate !== undefined) return `${display(GATES)} ${gate}=…`;
    return inFile !== undefined && display(now) === now ? inFile.join('.') : display(now);
  };
  // In a file, another rule reports the names that only change.
  const isReported = ({ gate, inFile }: RenamedSetting): boolean =>
    display(GATES) === GATES && gate === undefined && inFile === undefined;
  return [...renamedIn36, ...gatedIn36]
    .filter((row) => has(row.old) && !isReported(row))
    .map((row) => {
      // Without this setting, members can reject each other.
      const isAccess = row.inFile !== undefined;
      const level = isFile === true && !isAccess ? 'warn' : 'fail';
      return finding(level, display(row.old), effect, nowOf(row), true);
    });
};
/** Old names of variables, which a version without them ignores. Pure. */
export const findOldVariables = (env: Readonly<Record<string, string>>, to: Minor): ConfigFinding[] =>
  compareVersions(to, FIRST_WITHOUT_OLD) < 0
    ? []
    : findOld({ has: (key) => isThere(env[variableOf(key)]), display: variableOf, isFile: true }, to);
const names36 = (names: Names, gates: readonly string[], to: Minor): ConfigFinding[] => [
  ...(compareVersions(to, FIRST_WITHOUT_OLD) < 0
    ? [...findDoubled(names, gates), ...findRenamed(names, gates)]
    : findOld(names, to)),
  ...unknownGates(names, gates, to),
];

type Settings = Readonly<Record<string, unknown>>;
const mappedGates = (value: object): string =>
  Object.entries(value)
    .map(([gate, on]) => `${gate}=${String(on)}`)
    .join(',');

const gateShape = (file: Settings): ConfigFinding[] => {
  const value = file[GATES];
  if (!isThere(value) || typeof value === 'string') return [];
  const isMap = typeof value === 'object' && !Array.isArray(value);
  return [
    finding(
      'fail',
      GATES,
      'is not a string: 3.6 would not start',
      `${GATES}: "${isMap ? mappedGates(value as object) : 'Gate=true'}"`,
      isMap ? true : undefined,
    ),
  ];
};

const fileValues = (file: Settings, to: Minor): ConfigFinding[] =>
  refusedValues
    .filter(({ minor, key, value }) => compareVersions(to, minor) >= 0 && file[key] === value)
    .map(({ key, value, instead }) =>
      finding('warn', key, `${value} is ignored in the file from 3.6 on`, instead),
    );

/** Keys that 3.5 ignores: a setting for 3.6 is lost after a downgrade. */
const unknownTo35 = (file: Settings): ConfigFinding[] =>
  newIn36
    .filter((key) => isThere(file[key]))
    .map((key) => finding('warn', key, 'is ignored before 3.6', oldNameOf(key)));
const oldNameOf = (key: string): string => {
  const old = renamedIn36.find(
    (row) => row.now === key && findSetting(row.old, '3.5', 'file') !== undefined,
  )?.old;
  return old ?? (key === GATES ? 'the experimental- keys of its gates' : 'leave it out');
};

/**
 * Keys whose value 3.6 reads a second time, without allowing for a missing one: it exits or panics (config.go of v3.6.0 and
 * v3.7.1).
 */
const emptyKeys = (file: Settings, to: Minor): ConfigFinding[] => {
  const once = ['experimental-snapshot-catch-up-entries', ...gatedIn36.map(({ old }) => old)];
  const read = ['peer-transport-security', ...(compareVersions(to, FIRST_WITHOUT_OLD) < 0 ? once : [])];
  return read
    .filter((key) => Object.hasOwn(file, key) && file[key] === null)
    .map((key) => finding('fail', key, `has no value: ${stops}`, 'write its value, or remove the line'));
};
/** Returns findings for settings of a file whose meaning changes between 3.5 and 3.6. Pure. */
export const fileFindings36 = (file: Settings, to: Minor): ConfigFinding[] => {
  if (to === '3.5') return unknownTo35(file);
  if (!isSince36(to)) return [];
  const text = typeof file[GATES] === 'string' ? (file[GATES] as string) : '';
  const names: Names = {
    has: (key) => isThere(file[key]),
    display: (key) => key,
    isFile: true,
    isPresent: (key) => Object.hasOwn(file, key),
    hasInFile: ([section, key]) => Object.hasOwn((file[section] ?? {}) as object, key),
  };
  return [
    ...emptyKeys(file, to),
    ...gateShape(file),
    ...names36(names, gatesIn(text), to),
    ...fileValues(file, to),
  ];
};

/** Plausible new names that do not exist as flags. */
const findGuessed = (flags: ReadonlyMap<string, string>): ConfigFinding[] =>
  gatedIn36
    .map(({ old, gate }) => ({ name: old.replace('experimental-', ''), gate }))
    .filter(({ name }) => flags.has(name))
    .map(({ name, gate }) =>
      finding(
        'fail',
        `--${name}`,
        'is not defined: the server would not start',
        `--${GATES}=${gate}=${flags.get(name)}`,
      ),
    );

/** Returns findings for flags whose meaning changes between 3.5 and 3.6. Pure. */
export const flagFindings36 = (flags: ReadonlyMap<string, string>, to: Minor): ConfigFinding[] => {
  if (to === '3.5')
    return newIn36
      .filter((key) => flags.has(key))
      .map((key) =>
        finding(
          'fail',
          `--${key}`,
          'is not known before 3.6: the server would not start',
          oldNameOf(key).replace(/^experimental-/, '--experimental-'),
        ),
      );
  if (!isSince36(to)) return [];
  const names = { has: (key: string) => flags.has(key), display: (key: string) => `--${key}` };
  const values = refusedValues
    .filter(({ key, value }) => flags.get(key) === value)
    .map(({ key, value, instead }) =>
      finding('fail', `--${key}`, `is ${value}: the server would not start`, instead),
    );
  return [...names36(names, gatesIn(flags.get(GATES) ?? ''), to), ...findGuessed(flags), ...values];
};

/** The settings of one start, from its configuration file or from its flags and variables. */
export type StartSettings = NextStart & {
  readonly isFile: boolean;
  /** Another source that was not read may override or add settings. */
  readonly isPartial: boolean;
};
/** Settings that stop a server together. Not certain: an unread part of the start may contain the missing setting. */
export type SettingConflict = { readonly finding: ConfigFinding; readonly isCertain: boolean };
const LISTEN = 'listen-client-urls';
const ADVERTISE = 'advertise-client-urls';
const PEERS = 'listen-peer-urls';
/** The text of a value; empty if the value is missing, or known only when the server starts. */
const textOf = (value: unknown): string =>
  (typeof value === 'string' || typeof value === 'number') && !/\$[({\w]|`/.test(String(value))
    ? String(value)
    : '';
const conflict = (
  { isKnown, isPartial }: StartSettings,
  needs: readonly string[],
  said: ConfigFinding,
): SettingConflict => ({ finding: said, isCertain: !isPartial && needs.every(isKnown) });

/** Returns whether the server may become a proxy, which advertises nothing. */
const mayBeProxy = ({ read }: StartSettings, to: Minor): boolean => {
  if (findSetting('proxy', to, 'flag') === undefined) return false;
  const fallback = 'discovery-fallback';
  const isFallback = String(read(fallback) ?? defaultOf(fallback, to)) !== 'exit';
  return !['', 'off'].includes(String(read('proxy') ?? '')) || (Boolean(read('discovery')) && isFallback);
};
/**
 * A server whose flags or variables set the listening URLs has no default for the URLs that it advertises. With a
 * configuration file it has (seen on 3.3, 3.4 and 3.5).
 */
const advertiseConflicts = (start: StartSettings, to: Minor): SettingConflict[] => {
  const { read, isFile } = start;
  if (isFile || read(LISTEN) === undefined || read(ADVERTISE) !== undefined || mayBeProxy(start, to))
    return [];
  const said = finding('fail', ADVERTISE, `is not set, but ${LISTEN} is: ${stops}`, `set ${ADVERTISE}`);
  return [conflict(start, [ADVERTISE, 'proxy', 'discovery'], said)];
};

const bootstraps = ['initial-cluster', 'discovery', 'discovery-srv'];
/** A server accepts one way to find the other members, also when it already has data (seen on 3.3, 3.4 and 3.5). */
const bootstrapConflicts = (start: StartSettings): SettingConflict[] => {
  // In a file, a server does not distinguish this value from a missing one.
  const isDefault = (value: string): boolean => start.isFile && value === 'default=http://localhost:2380';
  const given = bootstraps.filter((key) => {
    const value = textOf(start.read(key));
    return value !== '' && !isDefault(value);
  });
  const [first, second] = given;
  if (first === undefined || second === undefined) return [];
  const said = finding(
    'fail',
    second,
    `is set together with ${first}: ${stops}`,
    `remove ${second}: a member with data does not use it`,
  );
  return [conflict(start, given, said)];
};

type Listener = {
  readonly key: string;
  readonly url: string;
  readonly host: string;
  readonly address: string;
  readonly port: string;
};
const anyAddress = ['0.0.0.0', '[::]'];
const listenerOf = (key: string, url: string): Listener[] => {
  const [, host = '', port = ''] =
    /^https?:\/\/(\[[^\]/]*\]|[^:/]*):(\d{1,5})$/i.exec(url.toLowerCase()) ?? [];
  // The server selects a free port instead of 0.
  if (host === '' || Number(port) === 0) return [];
  const address = host === 'localhost' ? '127.0.0.1' : host;
  return [{ key, url, host, address, port: String(Number(port)) }];
};
const listListeners = (start: StartSettings, to: Minor): Listener[] =>
  [PEERS, LISTEN, 'listen-metrics-urls'].flatMap((key) => {
    const { read, isKnown, isFile } = start;
    const given = read(key);
    const isUnset = given === undefined || given === null || (isFile && given === '');
    if (findSetting(key, to, 'flag') === undefined || (isUnset && !isKnown(key))) return [];
    const value = isUnset ? defaultOf(key, to) : textOf(given);
    return value.split(',').flatMap((url) => listenerOf(key, url.trim()));
  });
/**
 * A server opens a repeated client address once. From 3.5 on, it removes repeated URLs of the other flags (seen on
 * 3.3, 3.4 and 3.5).
 */
const isOneListener = (a: Listener, b: Listener, isFile: boolean, to: Minor): boolean => {
  if (a.key !== b.key) return false;
  if (a.key === LISTEN) return a.host === b.host;
  return a.url === b.url && !isFile && compareVersions(to, '3.5') >= 0;
};
/** A server opens each listener separately, and two of them cannot use one port of an address. */
const listenerConflicts = (start: StartSettings, to: Minor): SettingConflict[] => {
  const reuse = 'socket-reuse-port';
  if (isOn(start.read(reuse, ['socket-options', 'reuse-port'])) || mayBeProxy(start, to)) return [];
  const all = listListeners(start, to);
  const meets = (a: Listener, b: Listener): boolean =>
    a.port === b.port &&
    (a.address === b.address || [a, b].some(({ address }) => anyAddress.includes(address))) &&
    !isOneListener(a, b, start.isFile, to);
  return all.flatMap((one, i) => {
    const other = all.slice(0, i).find((before) => meets(before, one));
    if (other === undefined) return [];
    const message = `contains ${one.url}, and ${other.key} contains ${other.url}, which has the same port: ${stops}`;
    const said = finding('fail', one.key, message, 'use another port');
    return [conflict(start, [one.key, other.key, reuse], said)];
  });
};
/** Settings that version `to` accepts alone, but not together. Pure. */
export const listConflicts = (start: StartSettings, to: Minor): SettingConflict[] => [
  ...advertiseConflicts(start, to),
  ...bootstrapConflicts(start),
  ...listenerConflicts(start, to),
];
