import { hasIpv4Form } from '../../../core/external-url.ts';
import { cutText } from '../../../core/problem.ts';
import {
  choiceRules,
  cipherSuitesOf,
  fileSections,
  findSectionKey,
  findSetting,
  listReaders,
  settingNames,
  type ServerSetting,
  type SettingKind,
  settingOf,
  variableOf,
  defaultOf,
  nanosecondsOf,
  renamesOf,
} from '../../../api-specs/etcd/server-settings.ts';
import { compareVersions, type Minor, previousMinor, versionRows } from '../../../api-specs/etcd/versions.ts';
import { nearest } from '../../../core/text.ts';
import { type ConfigFinding, finding } from './access.ts';

type Settings = Readonly<Record<string, unknown>>;
const minors = versionRows.map(({ minor }) => minor);
/** Settings with separate rules (retention, log outputs, feature gates). */
const hasOwnRules = new Set(['auto-compaction-retention', 'log-output', 'log-outputs', 'feature-gates']);
const stops = 'the server would not start';

/** The lowest and the highest number of each kind (measured on the servers). */
const ranges = {
  whole: [0n, 2n ** 64n - 1n],
  'whole-32': [0n, 2n ** 32n - 1n],
  'whole-63': [0n, 2n ** 63n - 1n],
  signed: [-(2n ** 63n), 2n ** 63n - 1n],
} as const;
/** The reader of the file rounds a large number down, so a number above the limit is never rounded to the limit. */
const isInteger = (value: unknown, [least, most]: readonly [bigint, bigint]): boolean =>
  typeof value === 'number' && Number.isInteger(value) && value >= Number(least) && value < Number(most + 1n);
type FileRule = { readonly fits: (value: unknown) => boolean; readonly what: string; readonly hint: string };
const digits = 'write digits, without quotes';
const text: FileRule = {
  fits: (value) => typeof value === 'string',
  what: 'text',
  hint: 'put it in quotes',
};
const fileRules: Readonly<Record<SettingKind, FileRule>> = {
  text,
  urls: text,
  'bind-urls': text,
  whole: {
    fits: (value) => isInteger(value, ranges.whole),
    what: 'a whole number of 64 bits',
    hint: digits,
  },
  'whole-32': {
    fits: (value) => isInteger(value, ranges['whole-32']),
    what: 'a whole number of 32 bits',
    hint: digits,
  },
  'whole-63': {
    fits: (value) => isInteger(value, ranges['whole-63']),
    what: 'a whole number of 63 bits',
    hint: digits,
  },
  signed: {
    fits: (value) => isInteger(value, ranges.signed),
    what: 'a whole number of 64 bits',
    hint: digits,
  },
  switch: {
    fits: (value) => typeof value === 'boolean',
    what: 'true or false',
    hint: 'write true or false, without quotes',
  },
  duration: {
    fits: (value) => isInteger(value, ranges.signed),
    what: 'a number of nanoseconds',
    hint: 'write nanoseconds: 5000000000 for 5 s',
  },
  list: {
    fits: (value) => Array.isArray(value) && value.every((one) => typeof one === 'string'),
    what: 'a list of texts',
    hint: 'write [VALUE]',
  },
  mapping: {
    fits: (value) => typeof value === 'object' && !Array.isArray(value),
    what: 'a mapping',
    hint: 'indent its keys below it',
  },
};
const formatValue = (value: unknown): string => cutText(JSON.stringify(value) ?? String(value), 60);
const fileValue = ({ kind }: ServerSetting, key: string, value: unknown): ConfigFinding[] => {
  const { fits, what, hint } = fileRules[kind];
  if (value === undefined || value === null || fits(value)) return [];
  if (kind !== 'duration' || typeof value !== 'string')
    return [finding('fail', key, `is ${formatValue(value)}, which is not ${what}: ${stops}`, hint)];
  const nanoseconds = nanosecondsOf(value);
  return [
    finding(
      'fail',
      key,
      `is "${value}"; the file requires a number of nanoseconds, and ${stops}`,
      nanoseconds === undefined ? hint : `${key}: ${nanoseconds}`,
      nanoseconds === undefined ? undefined : true,
    ),
  ];
};
const sectionValues = (section: string, value: unknown, to: Minor): ConfigFinding[] => {
  if (value === undefined || value === null) return [];
  if (typeof value !== 'object' || Array.isArray(value))
    return [
      finding(
        'fail',
        section,
        `is ${formatValue(value)}, which is not a mapping: ${stops}`,
        'indent its keys below it',
      ),
    ];
  return Object.entries(value).flatMap(([name, inner]) => {
    const setting = findSectionKey(section, name.toLowerCase(), to);
    return setting === undefined ? [] : fileValue(setting, `${section}.${name}`, inner);
  });
};
/** Values whose YAML type stops the version `to` (measured with the file readers of the servers). Pure. */
export const typeFindings = (file: Settings, to: Minor): ConfigFinding[] =>
  Object.entries(file).flatMap(([key, value]) => {
    const section = fileSections[key];
    if (section !== undefined)
      return compareVersions(to, section.since) >= 0 ? sectionValues(key, value, to) : [];
    // The servers read a second key in another case as well.
    const name = key.toLowerCase();
    const setting = hasOwnRules.has(name) ? undefined : findSetting(name, to, 'file');
    return setting === undefined ? [] : fileValue(setting, key, value);
  });

/** The servers read the keys of the file without regard to case. */
export const normalizeKeys = (file: Settings): Settings => {
  const known = new Set([...settingNames('file'), ...Object.keys(fileSections)]);
  const entries = Object.entries(file).map(([key, value]): [string, unknown] => {
    const lower = key.toLowerCase();
    return [known.has(lower) && file[lower] === undefined ? lower : key, value];
  });
  return Object.fromEntries(entries);
};

/** Go allows one underscore between two digits, and behind a prefix. */
const goNumber = '(0x(_?[\\da-f])+|0b(_?[01])+|0o?(_?[0-7])*|[1-9](_?\\d)*)';
const flagForms: Readonly<Record<SettingKind, RegExp | undefined>> = {
  text: undefined,
  list: undefined,
  mapping: undefined,
  urls: undefined,
  'bind-urls': undefined,
  whole: new RegExp(`^${goNumber}$`, 'i'),
  'whole-32': new RegExp(`^${goNumber}$`, 'i'),
  'whole-63': new RegExp(`^${goNumber}$`, 'i'),
  signed: new RegExp(`^[-+]?${goNumber}$`, 'i'),
  switch: /^(1|0|t|f|true|false|T|F|TRUE|FALSE|True|False)$/,
  duration: /^[-+]?(0|((\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h)){1,100})$/,
};
/** A server keeps a duration as a number of nanoseconds in 64 bits. */
const isDurationInRange = (value: string): boolean => {
  const nanoseconds = nanosecondsOf(value.replace(/^[-+]/, ''));
  return nanoseconds === undefined || nanoseconds < 2 ** 63;
};
const isRanged = (kind: SettingKind): kind is keyof typeof ranges => Object.hasOwn(ranges, kind);
/** Returns whether a number that has the form of a flag is in the range of its kind. */
const isInRange = (kind: SettingKind, value: string): boolean => {
  if (kind === 'duration') return isDurationInRange(value);
  if (!isRanged(kind)) return true;
  const digits = value
    .replace(/^[-+]|_/g, '')
    .toLowerCase()
    .replace(/^0(?=[0-7])/, '0o');
  // A prefix without digits.
  if (/^0[xbo]$/.test(digits)) return false;
  const number = BigInt(digits) * (value.startsWith('-') ? -1n : 1n);
  const [least, most] = ranges[kind];
  return number >= least && number <= most;
};
const flagWords: Readonly<Record<SettingKind, string>> = {
  text: '',
  list: '',
  mapping: '',
  urls: '',
  'bind-urls': '',
  whole: 'a whole number of 64 bits',
  'whole-32': 'a whole number of 32 bits',
  'whole-63': 'a whole number of 63 bits',
  signed: 'a whole number of 64 bits',
  switch: 'true or false',
  duration: 'a duration such as 5s',
};

/** Go 1.17 and later reject a leading zero (seen on 3.4.23 and 3.5.16, and not on 3.3.25). */
const isByte = (part: string, to: Minor): boolean =>
  Number(part) <= 255 && !(compareVersions(to, '3.4') >= 0 && /^0\d/.test(part));
const isAddress = (given: string, to: Minor): boolean => {
  const host = given.replace(/^\[(.*)\]$/, '$1');
  return (
    host === 'localhost' ||
    /^[0-9a-f:.]*:[0-9a-f:.]*$/i.test(host) ||
    (hasIpv4Form(host) && host.split('.').every((part) => isByte(part, to)))
  );
};
/** A host may contain only the escaped bytes `%25` and those that are not ASCII; the zone of an address, all. */
const hasInvalidCharacter = (host: string): boolean => {
  const withoutZone = host.replace(/%25(%[0-9a-f]{2}|[^%\]])*(?=\]$)/i, '');
  return /[\s^`{}|\\]|%(?!25|[89a-f][0-9a-f])/i.test(withoutZone);
};
/** What a version does with a URL after it has parsed it. */
type UrlUse = 'parsed' | 'listened' | 'advertised';
const useOf = (name: string, kind: SettingKind | undefined): UrlUse =>
  kind === 'bind-urls' ? 'listened' : name.includes('advertise') ? 'advertised' : 'parsed';
type UrlParts = Readonly<Record<'host' | 'port' | 'path', string>> & {
  readonly isSocket: boolean;
  /** The text contains one host, which may be empty, and one port, which may be empty too. */
  readonly hasPort: boolean;
};
const splitUrl = (scheme: string, authority: string, path: string): UrlParts => {
  const [, host = authority, port] = /^(.*):([^:\]]*)$/.exec(authority.replace(/^.*@/, '')) ?? [];
  const hasPort = port !== undefined && (!host.includes(':') || /^\[[^\]]*\]$/.test(host));
  return { host, port: port ?? '', path, isSocket: scheme.startsWith('unix'), hasPort };
};
/** The rules of the parser of the servers. Until 3.4, a socket has a host and a port, and no path. */
const parsedProblem = ({ host, port, path, isSocket, hasPort }: UrlParts, to: Minor): string | undefined => {
  if (hasInvalidCharacter(host)) return 'has an invalid character in its host';
  if (/\D/.test(port)) return 'has a port that is not a number';
  if (isSocket && compareVersions(to, '3.5') >= 0) return undefined;
  if (!hasPort) return 'has no port';
  return path === '' ? undefined : 'has a path';
};
/** Returns why the version does not start with this URL (seen on 3.3, 3.4 and 3.5). Undefined if it accepts it. */
const urlProblem = (url: string, use: UrlUse, to: Minor): string | undefined => {
  const [, scheme = '', authority = '', path = ''] =
    /^([a-z][a-z0-9+.-]*):\/\/([^/?#]*)([^?#]*)/i.exec(url) ?? [];
  if (!['http', 'https', 'unix', 'unixs'].includes(scheme.toLowerCase()))
    return 'has no scheme http, https, unix or unixs';
  const parts = splitUrl(scheme.toLowerCase(), authority, path);
  const problem = parsedProblem(parts, to);
  if (problem !== undefined || use === 'parsed') return problem;
  // 3.3 only warns about an advertised URL without a host.
  if (use === 'advertised' && compareVersions(to, '3.4') >= 0) {
    if (!parts.hasPort) return 'has no port';
    return parts.host === '' ? 'has no host' : undefined;
  }
  if (use !== 'listened' || parts.isSocket) return undefined;
  if (!isAddress(parts.host, to)) return 'has no valid IP address (a host name or a leading zero)';
  return Number(parts.port) > 65_535 ? 'has a port above 65535' : undefined;
};
type Named = {
  /** All settings with a value, in order. */
  readonly keys: readonly string[];
  readonly get: (key: string) => string | undefined;
  readonly display: (key: string) => string;
  readonly isFile: boolean;
};
const urlForm = 'write SCHEME://HOST:PORT';
const urlFindings = ({ keys, get, display }: Named, to: Minor, place: 'flag' | 'file'): ConfigFinding[] =>
  keys.flatMap((key) => {
    const kind = findSetting(key, to, place)?.kind;
    const isCors = key === 'cors' && compareVersions(to, '3.4') >= 0;
    if (kind !== 'urls' && kind !== 'bind-urls' && !isCors) return [];
    const value = get(key) ?? '';
    // A flag of 3.3 must have a value, except that of the metrics.
    const isEmptyFlag = place === 'flag' && get(key) === '' && (isCors || compareVersions(to, '3.4') < 0);
    if (isEmptyFlag && key !== 'listen-metrics-urls')
      return [finding('fail', display(key), `is empty: ${stops}`, 'leave it out')];
    return (value === '' ? [] : value.split(','))
      .map((url) => url.trim())
      .filter((url) => !(isCors && (url === '*' || url === '')))
      .flatMap((url) => {
        const problem = urlProblem(url, useOf(key, kind), to);
        const shown = url === '' ? 'an empty URL' : url;
        if (problem !== undefined)
          return [finding('fail', display(key), `contains ${shown}, which ${problem}: ${stops}`, urlForm)];
        return /^[^/]*:\/\/[^/?#]*:([/?#]|$)/.test(url)
          ? [finding('warn', display(key), `contains ${shown}, whose port is empty`, urlForm)]
          : [];
      });
  });
const appliesTo = ({ since, until }: Pick<ServerSetting, 'since' | 'until'>, to: Minor): boolean =>
  compareVersions(to, since) >= 0 && (until === undefined || compareVersions(to, until) <= 0);
const choiceFinding = ({ display, isFile }: Named, rule: (typeof choiceRules)[number], value: string) => {
  const { name, since, values } = rule;
  return name === 'logger' && value === 'capnslog'
    ? finding(
        'fail',
        display(name),
        `is capnslog, which ${since} removed: ${stops}`,
        'write logger: zap, or remove it',
        isFile ? true : undefined,
      )
    : finding(
        'fail',
        display(name),
        `is "${value}": ${stops}`,
        `write one of ${values.filter((one) => one !== '').join(', ')}`,
      );
};
const choiceFindings = (named: Named, to: Minor): ConfigFinding[] =>
  choiceRules
    .filter((rule) => appliesTo(rule, to) && !(rule.isFlagOnly === true && named.isFile))
    .flatMap((rule) => {
      const value = named.keys.includes(rule.name) ? named.get(rule.name) : undefined;
      return value === undefined || rule.values.includes(value) ? [] : [choiceFinding(named, rule, value)];
    });
const numberIn = (value: string | undefined, or: number): number =>
  value === undefined || value === '' || Number.isNaN(Number(value)) ? or : Number(value);
/** Checks the rules of the servers for the two timers of the consensus. */
const timerFindings = ({ keys, get, display }: Named, to: Minor): ConfigFinding[] => {
  const names = ['heartbeat-interval', 'election-timeout'];
  const key = names.find((name) => keys.includes(name));
  if (key === undefined) return [];
  const [heartbeat = 0, election = 0] = names.map((name) => numberIn(get(name), Number(defaultOf(name, to))));
  const isGood = heartbeat > 0 && election > 0 && election >= 5 * heartbeat && election <= 50_000;
  return isGood
    ? []
    : [
        finding(
          'fail',
          display(key),
          `the heartbeat interval is ${heartbeat} ms and the election timeout ${election} ms: ${stops}`,
          'use an election timeout of at least 5 heartbeats and at most 50000',
        ),
      ];
};
/** 3.5 exits if this interval is not positive (seen on 3.5.16). */
const CHECK_TIME = 'experimental-compact-hash-check-time';
const checkTimeFindings = ({ keys, get, display }: Named, to: Minor): ConfigFinding[] => {
  const value = to === '3.5' && keys.includes(CHECK_TIME) ? get(CHECK_TIME) : undefined;
  if (value === undefined) return [];
  // A file contains the number of nanoseconds. A server rounds a fraction of a nanosecond down.
  const least = /^[-+]?\d+$/.test(value) ? Number(value) : nanosecondsOf(value.replace(/^[-+]/, ''));
  return value.startsWith('-') || (least !== undefined && least < 1)
    ? [finding('fail', display(CHECK_TIME), `is ${value}, which is not positive: ${stops}`, 'leave it out')]
    : [];
};
const compactionFindings = ({ keys, get, display }: Named, to: Minor): ConfigFinding[] => {
  const [mode, retention] = ['auto-compaction-mode', 'auto-compaction-retention'];
  if (to === '3.2') return [];
  const [kind, value] = [get(mode) ?? defaultOf(mode, to), get(retention)];
  if (keys.includes(mode) && !['', 'periodic', 'revision'].includes(kind))
    return [finding('fail', display(mode), `is "${kind}": ${stops}`, 'write periodic or revision')];
  return kind === 'revision' && value !== undefined && nanosecondsOf(value) !== undefined
    ? [
        finding(
          'warn',
          display(retention),
          `is "${value}" with mode revision: it means ${nanosecondsOf(value)?.toLocaleString('en-US')} revisions, so the server never compacts`,
          `write a number of revisions, or ${display(mode)} periodic`,
        ),
      ]
    : [];
};
/** Checks the kind of token: a signed token needs its method and a key. */
const tokenFindings = ({ get, display }: Named): ConfigFinding[] => {
  const [kind = '', ...options] = (get('auth-token') ?? '').split(',');
  const has = (name: RegExp): boolean => options.some((option) => name.test(option.trim()));
  const isGood =
    kind === '' || kind === 'simple' || (kind === 'jwt' && has(/^sign-method=./) && has(/^(pub|priv)-key=./));
  return isGood
    ? []
    : [
        finding(
          'fail',
          display('auth-token'),
          `is "${kind}"${kind === 'jwt' ? ' without sign-method or a key' : ''}: ${stops}`,
          'write simple, or jwt,pub-key=FILE,priv-key=FILE,sign-method=RS256',
        ),
      ];
};
/** Checks that a listener with TLS has a certificate. `has`: a setting that any source of the server contains. */
const listenerFindings = ({ get, display }: Named, has: (key: string) => boolean): ConfigFinding[] =>
  (['', 'peer-'] as const).flatMap((of) => {
    const key = of === '' ? 'listen-client-urls' : 'listen-peer-urls';
    const secure = (get(key) ?? '').split(',').find((url) => /^\s*(https|unixs):/i.test(url));
    if (secure === undefined || ['cert-file', 'key-file', 'auto-tls'].some((name) => has(`${of}${name}`)))
      return [];
    return [
      finding(
        'fail',
        display(key),
        `contains ${secure.trim()}, and no certificate is set: ${stops}`,
        `set ${display(`${of}cert-file`)} and ${display(`${of}key-file`)}`,
      ),
    ];
  });
/** Checks the names of cipher suites. A server compares them exactly, and rejects an empty name too. */
const suiteFindings = (
  suites: readonly unknown[] | undefined,
  display: Named['display'],
  to: Minor,
): ConfigFinding[] => {
  const known = cipherSuitesOf(to);
  const wrong = suites?.find((one) => typeof one === 'string' && !known.includes(one));
  if (typeof wrong !== 'string') return [];
  const close = nearest(wrong.trim().toUpperCase(), known);
  return [
    finding(
      'fail',
      display('cipher-suites'),
      `contains ${wrong === '' ? 'an empty name' : `"${cutText(wrong, 60)}"`}, which is not a cipher suite of ${to}: ${stops}`,
      close === undefined || wrong === ''
        ? 'remove the name, and separate names with commas only'
        : `write ${close}`,
    ),
  ];
};
const streams = ['default', 'stderr', 'stdout'];
/**
 * Checks the places of the log (measured on the servers): capnslog writes to one stream, zap also to several places and to files, but
 * to `default` only alone. `logger`: the logger that another source sets.
 */
const outputFindings = ({ get, display, isFile }: Named, to: Minor, logger?: string): ConfigFinding[] => {
  const name = to === '3.3' ? 'log-output' : 'log-outputs';
  const places = get(name)?.split(',') ?? [];
  if (to === '3.2' || places.length === 0) return [];
  const fail = (message: string, hint: string): ConfigFinding[] => [
    finding('fail', display(name), `${message}: ${stops}`, hint),
  ];
  const other = places.find((place) => !streams.includes(place));
  const isStreamOnly =
    to === '3.3' || (to === '3.4' && (get('logger') ?? logger ?? defaultOf('logger', to)) === 'capnslog');
  const zap = isFile ? 'logger: zap' : `${display('logger')}=zap`;
  const hint =
    to === '3.3' ? 'write default, stderr or stdout' : `set ${zap}, or write default, stderr or stdout`;
  if (isStreamOnly && other !== undefined)
    return fail(`is ${other}, and the logger capnslog writes only to default, stderr or stdout`, hint);
  if (isStreamOnly && places.length > 1)
    return fail('is more than one place, and the logger is capnslog', hint);
  return places.length > 1 && places.includes('default')
    ? fail('contains default together with another place', 'write stderr instead of default')
    : [];
};
/** The value that takes effect, from any source of the server. Undefined: it is not known before the start. */
type Effective = {
  readonly isOn: (key: string) => boolean | undefined;
  /** The places of the log. */
  readonly places: readonly string[] | undefined;
  readonly logger: string | undefined;
};
const CHECKPOINT = 'experimental-enable-lease-checkpoint';
const PERSIST = `${CHECKPOINT}-persist`;
const ROTATION = 'enable-log-rotation';
/** Checks switches that stop a server without another setting (measured on 3.4.23, 3.5.16 and 3.5.30). */
const requirementFindings = (
  { keys, display }: Named,
  to: Minor,
  { isOn, places, logger }: Effective,
): ConfigFinding[] => {
  const isSet = (key: string): boolean => keys.includes(key) && isOn(key) === true;
  const files = places?.filter((place) => !streams.includes(place)).length;
  const isCapnslog = logger !== undefined && logger !== 'zap';
  const found: ConfigFinding[] = [];
  const add = (key: string, message: string, hint: string): void => {
    found.push(finding('fail', display(key), `${message}: ${stops}`, hint));
  };
  // Two streams without a file do not stop a server, although it has no file to rotate.
  if (
    to === '3.5' &&
    isSet(ROTATION) &&
    files !== undefined &&
    (files > 1 || (files === 0 && places?.length === 1))
  )
    add(ROTATION, `is on, and log-outputs contains ${files} files`, 'write one file into log-outputs');
  if ((to === '3.4' || to === '3.5') && isSet(PERSIST) && isOn(CHECKPOINT) === false)
    add(PERSIST, `is on without ${CHECKPOINT}`, `set ${display(CHECKPOINT)} too`);
  if (to === '3.4' && isSet(CHECKPOINT) && isOn(PERSIST) === false && isCapnslog)
    add(CHECKPOINT, `is on without ${PERSIST}, and the logger is capnslog`, `set ${display(PERSIST)} too`);
  return found;
};
/** Checks that flags, variables and keys share: URLs, lists of values, timers. Pure. */
const commonFindings = (named: Named, to: Minor, place: 'flag' | 'file'): ConfigFinding[] => [
  ...urlFindings(named, to, place),
  ...tokenFindings(named),
  ...choiceFindings(named, to),
  ...timerFindings(named, to),
  ...checkTimeFindings(named, to),
];
const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' ? value : typeof value === 'number' ? String(value) : undefined;
/** Values of a configuration file that the version `to` rejects although their YAML type is right. Pure. */
export const valuesInFile = (file: Settings, to: Minor): ConfigFinding[] => {
  const keys = Object.keys(file).filter((key) => findSetting(key, to, 'file') !== undefined);
  const isText = (key: string): boolean => textOf(file[key]) !== undefined;
  const named: Named = {
    keys: keys.filter(isText),
    get: (key) => textOf(file[key]),
    display: (key) => key,
    isFile: true,
  };
  const outputs = file['log-outputs'];
  const places = Array.isArray(outputs) && outputs.length > 0 ? outputs.join(',') : undefined;
  const get = (key: string): string | undefined => (key === 'log-outputs' ? places : named.get(key));
  const effective: Effective = {
    isOn: (key) => file[key] === true,
    places: places?.split(',') ?? (Array.isArray(outputs ?? []) ? [defaultOf('log-outputs', to)] : undefined),
    logger: textOf(file['logger'] ?? defaultOf('logger', to)),
  };
  const has = (key: string): boolean => {
    const section = file[key.startsWith('peer-') ? 'peer-transport-security' : 'client-transport-security'];
    const name = key.replace(/^peer-/, '');
    const value = typeof section === 'object' && section !== null ? (section as Settings)[name] : undefined;
    return value !== undefined && value !== null && value !== '' && value !== false;
  };
  return [
    ...commonFindings(named, to, 'file'),
    ...outputFindings({ ...named, get }, to),
    ...requirementFindings({ ...named, keys }, to, effective),
    ...listenerFindings(named, has),
    ...(Array.isArray(file['cipher-suites']) ? suiteFindings(file['cipher-suites'], named.display, to) : []),
  ];
};
/** A value that contains a variable is unknown before the start of the server. */
const isUnknown = (value: string): boolean => /\$[({\w]/.test(value);
/** Returns whether the server reads a value as true. */
export const isTrue = (value: string): boolean => /^(1|t|true)$/i.test(value);
const formFindings = ({ keys, get, display }: Named, to: Minor): ConfigFinding[] =>
  keys.flatMap((key) => {
    const kind = findSetting(key, to, 'flag')?.kind;
    const form = kind === undefined ? undefined : flagForms[kind];
    const value = get(key);
    return kind === undefined ||
      form === undefined ||
      value === undefined ||
      (form.test(value) && isInRange(kind, value))
      ? []
      : [
          finding(
            'fail',
            display(key),
            `is ${formatValue(value)}, which is not ${flagWords[kind]}: ${stops}`,
            `write ${flagWords[kind]}`,
          ),
        ];
  });
const exclusiveFindings = ({ keys, get, display }: Named, to: Minor): ConfigFinding[] =>
  to === '3.5' &&
  isTrue(get('enable-v2') ?? '') &&
  keys.includes('v2-deprecation') &&
  !['not-yet', undefined].includes(get('v2-deprecation'))
    ? [
        finding(
          'fail',
          display('enable-v2'),
          `and ${display('v2-deprecation')} exclude each other: ${stops}`,
          `leave out ${display('enable-v2')}`,
        ),
      ]
    : [];
type Given = ReadonlyMap<string, string>;
/** What the server uses, after flags win over variables. An unknown value stays undefined. */
const effectiveOf = (first: Given, second: Given, to: Minor): Effective => {
  const usedValue = (key: string): string | undefined => {
    const value = first.get(key) ?? second.get(key) ?? defaultOf(key, to);
    return isUnknown(value) ? undefined : value;
  };
  const isOn = (key: string): boolean | undefined => {
    const value = usedValue(key);
    return value === undefined ? undefined : isTrue(value);
  };
  return {
    isOn,
    places: usedValue('log-outputs')?.split(','),
    logger: usedValue('logger'),
  };
};
/** Values of flags or variables that the version `to` rejects. With a configuration file the server parses flags, but does not use them. Pure. */
export const valuesGiven = (
  given: ReadonlyMap<string, string>,
  to: Minor,
  how: {
    readonly isVariable: boolean;
    readonly hasFile: boolean;
    /** The settings of another source: the flags beside variables, or the variables beside flags. */
    readonly beside: ReadonlyMap<string, string>;
  },
): ConfigFinding[] => {
  const named: Named = {
    keys: [...given.keys()].filter((key) => findSetting(key, to, 'flag') !== undefined),
    get: (key) => (isUnknown(given.get(key) ?? '') ? undefined : given.get(key)),
    display: (key) => (how.isVariable ? variableOf(key) : `--${key}`),
    isFile: false,
  };
  const [first, second] = how.isVariable ? [how.beside, given] : [given, how.beside];
  const effective = effectiveOf(first, second, to);
  const forms = formFindings(named, to);
  const isParsed = ({ key }: ConfigFinding): boolean => !forms.some((one) => one.key === key);
  const has = (key: string): boolean => {
    const value = given.get(key) ?? how.beside.get(key) ?? '';
    return value !== '' && !/^(0|f|false)$/i.test(value);
  };
  const others = how.hasFile
    ? []
    : [
        ...commonFindings(named, to, 'flag'),
        ...compactionFindings(named, to),
        ...exclusiveFindings(named, to),
        ...outputFindings(named, to, how.beside.get('logger')),
        ...requirementFindings(named, to, effective),
        ...listenerFindings(named, has),
        ...suiteFindings(named.get('cipher-suites')?.split(','), named.display, to),
      ];
  return [...forms, ...others.filter(isParsed)];
};

/** Flags with a fixed list of values that the servers check while they parse the command line. */
const parsedChoices = ['initial-cluster-state', 'discovery-fallback', 'proxy', 'v2-deprecation'];
/** Returns why a server cannot parse this value of a flag. Undefined if it can; it checks other rules later. */
const parseProblem = (name: string, value: string, to: Minor): string | undefined => {
  const kind = findSetting(name, to, 'flag')?.kind;
  if (kind === undefined || isUnknown(value)) return undefined;
  if (flagForms[kind]?.test(value) === false) return `not ${flagWords[kind]}`;
  const rule = choiceRules.find((one) => one.name === name && appliesTo(one, to));
  if (rule !== undefined && parsedChoices.includes(name) && !rule.values.includes(value))
    return `not one of ${rule.values.join(', ')}`;
  // 3.3 reads the URLs of the metrics only after it has parsed the command line.
  const isUrl =
    (kind === 'urls' || kind === 'bind-urls') && !(name === 'listen-metrics-urls' && to === '3.3');
  const isCors = name === 'cors' && compareVersions(to, '3.4') >= 0 && value !== '*';
  if (value === '' || !(isUrl || isCors)) return undefined;
  const problems = value.split(',').map((url) => urlProblem(url.trim(), 'parsed', to));
  return problems.some((one) => one !== undefined) ? 'not a list of URLs' : undefined;
};
/** A server parses every value of a repeated flag, so an earlier value stops it too (seen on 3.3, 3.4 and 3.5). Pure. */
export const earlierFindings = (words: readonly string[], to: Minor): ConfigFinding[] =>
  parseWords(words).earlier.flatMap(([name, value]) => {
    const problem = parseProblem(name, value, to);
    return problem === undefined
      ? []
      : [
          finding(
            'fail',
            `--${name}`,
            `is set more than once, and one value is ${formatValue(value)}, which is ${problem}: ${stops}`,
            `remove --${name}=${cutText(value, 60)}`,
          ),
        ];
  });

const readersOf = (name: string, place: 'flag' | 'file'): string => {
  const read = listReaders(name, place, minors);
  return read.length === 0 ? '' : `${read[0]}${read.length === 1 ? '' : ` to ${read.at(-1)}`}`;
};
/** The name by which this version reads a setting whose name changed. */
export const newNameOf = (name: string, to: Minor, place: 'flag' | 'file'): string | undefined =>
  findSetting(name, to, place) === undefined
    ? renamesOf(name).find((one) => one !== name && findSetting(one, to, place) !== undefined)
    : undefined;
/** Returns whether the program, or every patch of the version if the program is unknown, reads the setting there. */
const isCertain = (name: string, to: Minor, place: 'flag' | 'file', program?: string): boolean => {
  const setting = findSetting(name, to, place);
  if (setting?.sincePatch === undefined) return setting !== undefined;
  return program !== undefined && compareVersions(program, setting.sincePatch) >= 0;
};
/**
 * A name that the version does not read: only its later patches do, another version knows it, or it is similar to a known
 * name.
 */
const unknownName = (
  level: ConfigFinding['level'],
  display: (name: string) => string,
  name: string,
  to: Minor,
  place: 'flag' | 'file',
  program?: string,
): ConfigFinding => {
  const effect = level === 'fail' ? stops : 'the server ignores it';
  const patch = findSetting(name, to, place)?.sincePatch;
  if (patch !== undefined) {
    const isKnown = program !== undefined;
    const which = isKnown ? `, and the new version is ${program}: ` : '; with an earlier patch, ';
    const rule = `is a setting of ${to} from ${patch} on${which}${effect}`;
    return finding(isKnown ? level : 'warn', display(name), rule, `use ${patch} or later`);
  }
  const readers = readersOf(name, place);
  if (readers !== '') {
    const now = newNameOf(name, to, place);
    const hint = now === undefined ? 'leave it out' : display(now);
    return finding(level, display(name), `is a setting of ${readers}, not of ${to}: ${effect}`, hint);
  }
  const close = nearest(name, settingNames(place));
  return finding(
    level,
    display(name),
    `is not a setting of any version: ${effect}`,
    close === undefined ? 'leave it out' : `did you mean ${display(close)}?`,
  );
};
/** Keys of a configuration file that no server reads; it ignores them. Pure. */
export const unknownKeys = (file: Settings, to: Minor): ConfigFinding[] =>
  Object.entries(file).flatMap(([key, value]) => {
    const section = fileSections[key];
    if (section !== undefined && typeof value === 'object' && value !== null)
      return Object.keys(value)
        .filter((name) => findSectionKey(key, name, to) === undefined)
        .map((name) => {
          const close = nearest(
            name,
            section.keys.map((one) => one.name),
          );
          return finding(
            'warn',
            `${key}.${name}`,
            `is not read there by ${to}: the server ignores it`,
            close === undefined || close === name ? 'leave it out' : `did you mean ${close}?`,
          );
        });
    // 3.3 does not need this key: its gateway is always on.
    return section !== undefined || key === 'enable-grpc-gateway' || isCertain(key, to, 'file')
      ? []
      : [unknownName('warn', (name) => name, key, to, 'file')];
  });
/** Variables with the prefix of the servers that no server reads. Pure. */
export const unknownVariables = (env: Readonly<Record<string, string>>, to: Minor): ConfigFinding[] =>
  Object.keys(env)
    .filter((name) => name.startsWith('ETCD_'))
    .map((name) => settingOf(name))
    .filter((name) => !isCertain(name, to, 'flag'))
    .map((name) => unknownName('warn', variableOf, name, to, 'flag'));
/** Flags that stop the version `to`, or its given patch, because it does not define them. Pure. */
export const unknownFlags = (
  flags: ReadonlyMap<string, string>,
  to: Minor,
  program?: string,
): ConfigFinding[] =>
  [...flags.keys()]
    .filter((name) => !isCertain(name, to, 'flag', program))
    // The table of 3.6 is not measured: a flag that it lacks may exist.
    .map((name) =>
      unknownName(
        compareVersions(to, '3.6') < 0 || readersOf(name, 'flag') !== '' ? 'fail' : 'warn',
        (one) => `--${one}`,
        name,
        to,
        'flag',
        program,
      ),
    );

/** The kind of a flag in any version. Undefined for an unknown flag: only the server knows whether it has a value. */
const kindOfFlag = (name: string): SettingKind | undefined =>
  minors.map((to) => findSetting(name, to, 'flag')?.kind).find((kind) => kind !== undefined);
const flagForm = /^--?([a-z][a-z0-9-]*)(?:=([\s\S]*))?$/;
const isSwitch = (name: string, next: string | undefined): boolean => {
  const kind = kindOfFlag(name);
  return kind === 'switch' || (kind === undefined && (next?.startsWith('-') ?? true));
};
type Words = {
  readonly flags: ReadonlyMap<string, string>;
  readonly strays: readonly string[];
  /** Values of repeated flags that a later value replaces. */
  readonly earlier: readonly (readonly [name: string, value: string])[];
  /** A flag at the end of the command line that has no value. */
  readonly missing: string | undefined;
  /** A flag whose value is the next flag. */
  readonly swallowing: { readonly name?: string; readonly next?: string } | undefined;
};
/** An argument with its value, which is the next argument if the flag needs one. */
type Argument = {
  readonly word: string;
  readonly name?: string;
  readonly value?: string;
  readonly next?: string;
};
const readArgument = (word: string, next: string | undefined): Argument => {
  const [, name, value] = flagForm.exec(word) ?? [];
  if (name === undefined) return { word };
  if (value !== undefined || isSwitch(name, next)) return { word, name, value: value ?? 'true' };
  return next === undefined ? { word, name } : { word, name, value: next, next };
};
/**
 * The arguments of a command line, and those behind a `--` that ends the flags. A plain word after `--` is a program that
 * a wrapper starts (`nice -n 5 -- etcd …`), whose flags follow. The server rejects such a word, in either place.
 */
const listArguments = (
  words: readonly string[],
): { readonly all: Argument[]; readonly rest: readonly string[] } => {
  const all: Argument[] = [];
  const isCommand = words[0] !== undefined && !words[0].startsWith('-');
  for (let i = isCommand ? 1 : 0; i < words.length; i += 1) {
    if (words[i] === '--') {
      if (words[i + 1]?.startsWith('-') ?? true) return { all, rest: words.slice(i + 1) };
      continue;
    }
    const one = readArgument(words[i] as string, words[i + 1]);
    all.push(one);
    if (one.next !== undefined) i += 1;
  }
  return { all, rest: [] };
};
/**
 * Parses flags by name, and other arguments separately. As in the server, a switch accepts a value only after `=`, every
 * other flag uses the next argument, also if that is a flag, and `--` ends the flags of one program.
 */
export const parseWords = (words: readonly string[]): Words => {
  const flags = new Map<string, string>();
  const earlier: [string, string][] = [];
  const { all, rest } = listArguments(words);
  for (const { name, value } of all) {
    if (name === undefined || value === undefined) continue;
    const before = flags.get(name);
    if (before !== undefined) earlier.push([name, before]);
    flags.set(name, value);
  }
  const strays = [...all.flatMap(({ name, word }) => (name === undefined ? [word] : [])), ...rest];
  const missing = all.find(({ name, value }) => name !== undefined && value === undefined)?.name;
  const swallowing = all.find(
    ({ next }) => next !== undefined && kindOfFlag(flagForm.exec(next)?.[1] ?? '') !== undefined,
  );
  return { flags, strays, earlier, missing, swallowing };
};
/**
 * Arguments of a server's command line that stop it. A command that is not the server itself may have other
 * arguments. Pure.
 */
export const strayFindings = (words: readonly string[]): ConfigFinding[] => {
  const program = words[0]?.split('/').at(-1) ?? '';
  if (!/^etcd(-?v?\d[\w.-]*)?$/.test(program) && !(words[0] ?? '').startsWith('-')) return [];
  const { strays, missing, swallowing } = parseWords(words);
  if (missing !== undefined)
    return [finding('fail', `--${missing}`, `has no value: ${stops}`, `write --${missing}=VALUE`)];
  if (swallowing !== undefined)
    return [
      finding(
        strays.length > 0 ? 'fail' : 'warn',
        `--${swallowing.name}`,
        `has no value of its own: the server reads ${swallowing.next} as its value`,
        `write --${swallowing.name}=VALUE`,
      ),
    ];
  return strays
    .filter((word) => !/[$%{]/.test(word))
    .slice(0, 1)
    .map((word) =>
      finding(
        'fail',
        word,
        `is neither a flag nor the value of a flag: ${stops}`,
        'write the value of a Boolean flag after an equals sign: --enable-pprof=true',
      ),
    );
};

/** The default that opens a member when it changes: which web pages may read responses of the gateway. Pure. */
export const changedDefaults = (
  isSet: (key: string) => boolean,
  to: Minor,
  from?: Minor,
): ConfigFinding[] => {
  const [before, now] = [defaultOf('cors', from ?? previousMinor(to) ?? to), defaultOf('cors', to)];
  // An upgrade over several versions names the version that changed the default, and not its target.
  const since = versionRows.find(({ minor }) => defaultOf('cors', minor) === now)?.minor ?? to;
  return before === now || isSet('cors')
    ? []
    : [
        finding(
          'warn',
          'cors',
          `is not set: from ${since} on the default is ${now}, so web pages of every origin can call the JSON gateway`,
          'set cors to the origins that need it, for example https://console.example.com:443',
        ),
      ];
};
