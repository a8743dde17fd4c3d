import { type Advice, after } from '../../../core/next.ts';
import {
  FILE_VARIABLE,
  findServerFile,
  defaultOf,
  renamedSettings,
  variableOf,
} from '../../../api-specs/etcd/server-settings.ts';
import {
  previousMinor,
  rowOf,
  versionRows,
  type AccessRow,
  type Minor,
} from '../../../api-specs/etcd/versions.ts';

export const sourceFormats = ['config', 'env', 'unit', 'pod', 'compose', 'command'] as const;
/** A setting in a member's configuration that the new version reads differently or ignores. */
export type ConfigFinding = {
  readonly level: 'fail' | 'warn';
  readonly key: string;
  readonly message: string;
  readonly hint: Advice;
  /** Present when `migrateConfig` fixes it. */
  readonly isFixed?: true;
  /** It changes who may connect: always a failure, even if a plan would rewrite it. */
  readonly isAccess?: true;
  /** Not while members of the previous version run: they would reject it. */
  readonly isLater?: true;
};
/**
 * A finding for a setting that both versions accept now, to be changed when every member runs the new
 * version.
 */
export const later = (key: string, message: string, hint: Advice): ConfigFinding => ({
  level: 'warn',
  key,
  message,
  hint: `keep it until every member runs 3.6, then ${hint}`,
  isFixed: true,
  isLater: true,
});
export const finding = (
  level: ConfigFinding['level'],
  key: string,
  message: string,
  hint: Advice,
  isFixed?: true,
): ConfigFinding =>
  isFixed === undefined ? { level, key, message, hint } : { level, key, message, hint, isFixed };

/**
 * Creates a finding for a setting that decides who may connect. A version that drops, ignores or reads it
 * differently changes access without a message, so every finding here is a failure.
 */
const accessFinding = (...said: Parameters<typeof finding>): ConfigFinding => ({
  ...finding(...said),
  isAccess: true,
});
type Settings = Readonly<Record<string, unknown>>;
/** The current version, and the version to start. */
export type Versions = { readonly from?: Minor | undefined; readonly to: Minor };

const sections = ['client-transport-security', 'peer-transport-security'] as const;
export type Section = (typeof sections)[number];

const all = (part: 'flags' | 'top' | 'section'): string[] => [
  ...new Set(versionRows.flatMap(({ access }) => access[part])),
];
const flagNames = all('flags');
const sectionNames = all('section');
/** Names that users write into a section, although every version reads them only as flags. */
const everyName = [...new Set([...flagNames, ...sectionNames, ...all('top'), 'crl-file'])];

// The words that Go parses, and those of YAML 1.1, which the servers read.
const on = /^(?:1|[tT]|true|TRUE|True|[yY]|yes|YES|Yes|on|ON|On)$/;
const off = /^(?:0|[fF]|false|FALSE|False|[nN]|no|NO|No|off|OFF|Off)$/;
/** Returns whether a server reads this value of a switch as true. Pure. */
export const isOn = (value: unknown): boolean =>
  value === true || (typeof value === 'string' && on.test(value));
/** A key without a value, or a switch that is off, does not restrict access. */
const isSet = (value: unknown): boolean =>
  value !== undefined &&
  value !== null &&
  value !== '' &&
  value !== false &&
  !(typeof value === 'string' && off.test(value));

/** A list of hosts that contains `*` accepts every host, so a version that ignores it accepts the same clients. */
const restricts = (key: string, value: unknown): boolean =>
  isSet(value) && !(key === 'host-whitelist' && typeof value === 'string' && value.split(',').includes('*'));

const isPeer = (key: string): boolean => key.startsWith('peer-');
const opens = (key: string): string => {
  if (!/ca-file$|client-cert-auth$/.test(key)) return 'it does not limit who may connect';
  return isPeer(key)
    ? 'any host could connect to the peer port without a certificate'
    : 'anyone could connect without a certificate';
};
const instead = (key: string): string => {
  if (!/(^|[.-])ca-file$/.test(key)) return 'remove it, or write it where the version reads it';
  const pair = trustedPairs.find(({ ca }) => isPeer(ca) === isPeer(key));
  return `${pair?.ca} with the same file, and ${pair?.auth}: true (every version from 3.2 on reads both)`;
};
const insteadInSection = (section: Section, key: string): Advice =>
  key === 'ca-file' || key.endsWith('-ca-file') || key.endsWith('client-cert-auth')
    ? after(
        `in ${section}: trusted-ca-file with the file of the CA, and client-cert-auth: true (`,
        ['kv', 'config', 'migrate'],
        'writes them for ca-file)',
      )
    : `remove it there; opsctl help shows which keys a version reads: ${rowOf('3.6')?.access.section.join(', ')}`;

const accessOf = (minor: Minor | undefined): AccessRow | undefined => rowOf(minor)?.access;
/** The current version of the member; by default, the version from which an upgrade to `to` starts. */
const before = ({ from, to }: Versions): Minor | undefined => from ?? previousMinor(to);

type Reading = (flag: string, key?: readonly [section: string, key: string]) => unknown;
const certificateSettings = {
  clients: { prefix: '', section: 'client-transport-security' },
  peers: { prefix: 'peer-', section: 'peer-transport-security' },
} as const;
type Party = keyof typeof certificateSettings;
const certificateKeys = ['client-cert-auth', 'trusted-ca-file', 'ca-file'] as const;
const ownKeys = ['cert-file', 'key-file'] as const;
const readerOf = (who: Party, read: Reading): ((key: string) => unknown) => {
  const { prefix, section } = certificateSettings[who];
  return (key) => read(`${prefix}${key}`, [section, key]);
};
/**
 * Returns whether the server generates its certificate: then it ignores its settings about the certificates of others
 * (seen on 3.3, 3.4 and 3.5).
 */
const generatesCertificate = (who: Party, read: Reading): boolean => {
  const get = readerOf(who, read);
  return isOn(get('auto-tls')) && !ownKeys.some((key) => isSet(get(key)));
};
const trustedFinding = (shown: string, auth: string, who: string, versions: Versions): ConfigFinding => {
  const from = before(versions);
  return accessFinding(
    'fail',
    shown,
    `without ${auth}: ${versions.to} rejects ${who} without a certificate, and ${from} accepts them`,
    `write ${auth}: true if all ${who} have a certificate, or remove ${shown}`,
  );
};
const areUrlsPlain = (urls: unknown): boolean =>
  typeof urls === 'string' &&
  urls.trim() !== '' &&
  urls.split(',').every((url) => /^\s*(?:http|unix):/.test(url));
/** The listeners that use the certificates of clients or of peers. The first one always exists. */
const listeners = {
  clients: ['listen-client-urls', 'listen-metrics-urls', 'listen-client-http-urls'],
  peers: ['listen-peer-urls'],
} as const;
/** A listener without TLS ignores the certificate files, so it does not request certificates. */
const isPlain = (who: keyof typeof listeners, read: (key: string) => unknown): boolean => {
  const [first, ...others] = listeners[who];
  return (
    areUrlsPlain(read(first)) &&
    others.map((key) => read(key)).every((urls) => urls === undefined || urls === '' || areUrlsPlain(urls))
  );
};
const changesTrusted = (versions: Versions): boolean =>
  accessOf(before(versions))?.trustedCaRequires === false &&
  accessOf(versions.to)?.trustedCaRequires === true;

/** Returns whether only the new version reads a key, which is known only if the previous version is known. */
const isNew = (part: 'top' | 'section' | 'flags', key: string, { from, to }: Versions): boolean =>
  from !== undefined &&
  accessOf(to)?.[part].includes(key) === true &&
  accessOf(from)?.[part].includes(key) === false;
const newFinding = (shown: string, { from, to }: Versions): ConfigFinding =>
  accessFinding(
    'fail',
    shown,
    `is ignored by ${from} and applied by ${to}: other clients may connect than before`,
    after('remove it for the upgrade, and set it afterwards with', ['kv', 'restart']),
  );

const ignoredText = (part: 'top' | 'section', key: string, shown: string, to: Minor): string => {
  const wasRead = versionRows.some(({ access }) => access[part].includes(key));
  const why = opens(shown.startsWith('peer-') ? `peer-${key}` : key);
  return wasRead ? `is ignored by ${to}: ${why}` : `is not read there by any version: ${why}`;
};

/**
 * Published files write `peer-client-cert-auth` into the section, where no version reads it. From 3.4 on,
 * trusted-ca-file alone makes the peer port reject peers without a certificate, so the name does not allow any connection.
 */
const harmlessFinding = (section: Section, key: string, given: Settings, to: Minor): ConfigFinding[] =>
  section === 'peer-transport-security' &&
  key === 'peer-client-cert-auth' &&
  isSet(given['trusted-ca-file']) &&
  accessOf(to)?.trustedCaRequires === true
    ? [
        finding(
          'warn',
          `${section}.${key}`,
          `is not read there by any version; ${to} rejects peers without a certificate because trusted-ca-file is set`,
          `write client-cert-auth: true in ${section}`,
        ),
      ]
    : [];

const sectionFindings = (section: Section, file: Settings, versions: Versions): ConfigFinding[] => {
  const values = file[section];
  if (typeof values !== 'object' || values === null || Array.isArray(values)) return [];
  const given = values as Settings;
  const access = accessOf(versions.to);
  const found = everyName
    .filter((key) => restricts(key, given[key]))
    .flatMap((key): ConfigFinding[] => {
      const shown = `${section}.${key}`;
      if (isNew('section', key, versions)) return [newFinding(shown, versions)];
      if (access === undefined || access.section.includes(key)) return [];
      const harmless = harmlessFinding(section, key, given, versions.to);
      if (harmless.length > 0) return harmless;
      const isMergeable = !isSet(given['trusted-ca-file']) || given['trusted-ca-file'] === given['ca-file'];
      return [
        accessFinding(
          'fail',
          shown,
          ignoredText('section', key, shown, versions.to),
          isMergeable
            ? insteadInSection(section, key)
            : 'put the certificates of both CAs into the trusted-ca-file, set client-cert-auth: true, and remove ca-file',
          key === 'ca-file' && isMergeable ? true : undefined,
        ),
      ];
    });
  const isTrustedOnly =
    isSet(given['trusted-ca-file']) && !isSet(given['ca-file']) && !isOn(given['client-cert-auth']);
  const who = section === 'client-transport-security' ? 'clients' : 'peers';
  const isIgnored =
    isPlain(who, (key) => file[key]) || generatesCertificate(who, (_, place) => given[place?.[1] ?? '']);
  return isTrustedOnly && !isIgnored && changesTrusted(versions)
    ? [...found, trustedFinding(`${section}.trusted-ca-file`, `${section}.client-cert-auth`, who, versions)]
    : found;
};

const topFindings = (file: Settings, versions: Versions): ConfigFinding[] => {
  const access = accessOf(versions.to);
  return everyName
    .filter((key) => restricts(key, file[key]))
    .flatMap((key): ConfigFinding[] => {
      if (isNew('top', key, versions)) return [newFinding(key, versions)];
      // These names have separate rules.
      if (access === undefined || access.top.includes(key) || key.includes('skip-client-san')) return [];
      const section: Section = isPeer(key) ? 'peer-transport-security' : 'client-transport-security';
      const isCa = key === 'ca-file' || key === 'peer-ca-file';
      return [
        {
          ...finding('fail', key, ignoredText('top', key, key, versions.to), insteadInSection(section, key)),
          // Clients needed no certificate before: only the operator can decide this change.
          ...(isCa ? ({ isFixed: true, isLater: true } as const) : {}),
        },
      ];
    });
};

/**
 * Returns the settings of a configuration file that decide who may connect and that version `to` treats
 * differently. Pure.
 */
export const accessInFile = (file: Settings, versions: Versions): ConfigFinding[] => [
  ...sections.flatMap((section) => sectionFindings(section, file, versions)),
  ...topFindings(file, versions),
];

/** The CA of clients and of peers, with the name that also required a certificate. */
const trustedPairs = renamedSettings.flatMap(({ old, now: ca, includes: auth }) =>
  auth === undefined ? [] : [{ ca, old, auth, who: isPeer(ca) ? 'peers' : 'clients' } as const],
);

type Given = {
  readonly has: (key: string) => boolean;
  readonly get: (key: string) => string | undefined;
  readonly display: (key: string) => string;
  readonly unknownText: (key: string, to: Minor) => string;
};
const givenFindings = ({ has, get, display, unknownText }: Given, versions: Versions): ConfigFinding[] => {
  const access = accessOf(versions.to);
  const given = flagNames.filter((key) => has(key) && isSet(get(key)));
  const dropped = given
    .filter((key) => access?.flags.includes(key) === false && !key.includes('skip-client-san'))
    .map((key) => accessFinding('fail', display(key), unknownText(key, versions.to), instead(key)));
  const trusted = trustedPairs
    .filter(({ ca, old, auth }) => given.includes(ca) && !given.includes(old) && !isOn(get(auth)))
    .filter(({ who }) => !isPlain(who, get) && !generatesCertificate(who, get))
    .filter(() => changesTrusted(versions))
    .map(({ ca, auth, who }) => trustedFinding(display(ca), display(auth), who, versions));
  return [...dropped, ...trusted];
};

/** Returns the same findings for a command line. Pure. */
export const accessInFlags = (
  flags: ReadonlyMap<string, string>,
  env: Readonly<Record<string, string>>,
  versions: Versions,
): ConfigFinding[] => {
  // With a configuration file a server reads no other flag, but still exits at an unknown flag.
  const isFile = findServerFile(flags, env[FILE_VARIABLE], versions.to) !== undefined;
  const found = givenFindings(
    {
      has: (key) => flags.has(key),
      get: (key) => flags.get(key) ?? env[variableOf(key)],
      display: (key) => `--${key}`,
      unknownText: (_, to) => `is not known to ${to}: the server would not start`,
    },
    versions,
  );
  return isFile ? found.filter(({ message }) => message.startsWith('is not known')) : found;
};

/** Returns the same findings for a server's environment. Pure. */
export const accessInEnvironment = (
  env: Readonly<Record<string, string>>,
  flags: ReadonlyMap<string, string>,
  versions: Versions,
): ConfigFinding[] => [
  ...givenFindings(
    {
      has: (key) => restricts(key, env[variableOf(key)]),
      get: (key) => env[variableOf(key)] ?? flags.get(key),
      display: variableOf,
      unknownText: (key, to) => `is ignored by ${to}: ${opens(key)}`,
    },
    versions,
  ),
  ...flagNames
    .filter((key) => restricts(key, env[variableOf(key)]) && isNew('flags', key, versions))
    .map((key) => newFinding(variableOf(key), versions)),
];

/**
 * The location of a CA setting in the old form that `accessInFile` found: its section, or the top of the
 * file.
 */
export const caFileIn = (key: string): { readonly section: Section; readonly isTop: boolean } | undefined => {
  if (key === 'ca-file') return { section: 'client-transport-security', isTop: true };
  if (key === 'peer-ca-file') return { section: 'peer-transport-security', isTop: true };
  const section = sections.find((one) => key === `${one}.ca-file`);
  return section === undefined ? undefined : { section, isTop: false };
};

/** The settings of a next start. A part of the start that was not read may contain any setting that was not found. */
export type NextStart = { readonly read: Reading; readonly isKnown: (flag: string) => boolean };
/** A limit of access that the next start does not have, or that only an unread part of it may have. */
export type LostLimit = { readonly finding: ConfigFinding; readonly isCertain: boolean };
/** Returns whether a start with these settings requests a certificate at each listener with TLS. */
export const requestsCertificate = (who: Party, read: Reading, minor: Minor | undefined): boolean => {
  const get = readerOf(who, read);
  const access = accessOf(minor);
  return (
    !generatesCertificate(who, read) &&
    (isOn(get('client-cert-auth')) ||
      (access?.section.includes('ca-file') === true && isSet(get('ca-file'))) ||
      (access?.trustedCaRequires === true && isSet(get('trusted-ca-file'))))
  );
};
/** The URLs of a listener. The default URLs are equal in every version. */
const urlsOf = (key: string, read: Reading): string[] => {
  const value = read(key);
  const text = typeof value === 'string' && value.trim() !== '' ? value : defaultOf(key, '3.3');
  return text
    .split(',')
    .map((url) => url.trim())
    .filter((url) => url !== '');
};
const hostOf = (url: string): string => url.replace(/^\w+:\/\//, '').replace(/:\d+\/?$/, '');
/** The URLs without TLS on hosts where the running process has none. */
const openedUrls = (key: string, running: Reading, next: Reading): string[] => {
  const open = new Set(urlsOf(key, running).filter(areUrlsPlain).map(hostOf));
  return urlsOf(key, next).filter((url) => areUrlsPlain(url) && !open.has(hostOf(url)));
};
/**
 * Returns which listeners of the running process request a certificate and would not after the next start. A
 * listener that the next start does not have opens nothing.
 */
const lostCertificates = (
  who: Party,
  running: Reading,
  { read, isKnown }: NextStart,
  { from, to }: Versions,
): LostLimit[] => {
  if (!requestsCertificate(who, running, from)) return [];
  const { prefix } = certificateSettings[who];
  const kept = listeners[who]
    .filter((key) => urlsOf(key, running).some((url) => !areUrlsPlain(url)))
    .filter((key) => !isKnown(key) || urlsOf(key, read).length > 0);
  // Other functions judge a setting that only one of both versions reads.
  const isRequested = [from, to].some((minor) => requestsCertificate(who, read, minor));
  const rejects = `its process rejects ${who} without a certificate, and the next one would accept them`;
  const isGenerated = generatesCertificate(who, read);
  const dropped = isGenerated
    ? accessFinding(
        'fail',
        `${prefix}auto-tls`,
        `is on in its next start without ${prefix}cert-file, and then the server ignores ${prefix}client-cert-auth: ${rejects}`,
        `write ${prefix}cert-file, ${prefix}key-file, ${prefix}client-cert-auth and ${prefix}trusted-ca-file of the running process there`,
      )
    : accessFinding(
        'fail',
        `${prefix}client-cert-auth`,
        `is not in its next start: ${rejects}`,
        `write ${prefix}client-cert-auth and ${prefix}trusted-ca-file of the running process there`,
      );
  const isCertain = (isGenerated ? ownKeys : certificateKeys).every((key) => isKnown(`${prefix}${key}`));
  return [
    ...(isRequested || kept.length === 0 ? [] : [{ finding: dropped, isCertain }]),
    ...kept.flatMap((key): LostLimit[] => {
      const urls = openedUrls(key, running, read);
      if (urls.length === 0) return [];
      const message = `is ${urls.join(',')} in its next start, without TLS: ${rejects}`;
      const hint = `write the addresses of the running process there: ${urlsOf(key, running).join(',')}`;
      return [{ finding: accessFinding('fail', key, message, hint), isCertain: isKnown(key) }];
    }),
  ];
};
/** Further settings that reject clients or peers, with their place in a configuration file. */
const limitSettings: readonly (readonly [flag: string, key?: readonly [section: Section, key: string]])[] = [
  ['client-crl-file'],
  ['peer-crl-file'],
  ['client-cert-allowed-hostname', ['client-transport-security', 'allowed-hostname']],
  ['peer-cert-allowed-hostname', ['peer-transport-security', 'allowed-hostname']],
  ['peer-cert-allowed-cn', ['peer-transport-security', 'allowed-cn']],
  ['host-whitelist'],
  ['auth-token'],
];
/** Simple tokens are the default of every version. */
const isLimit = (flag: string, value: unknown): boolean =>
  restricts(flag, value) && !(flag === 'auth-token' && String(value).startsWith('simple'));
const lostText = (flag: string): string =>
  flag === 'auth-token'
    ? 'is not in its next start: its process accepts signed tokens, and the next one would accept only simple tokens, so users would have to sign in again'
    : 'is set for its process and not in its next start: other clients may connect than before';
/**
 * Returns what the running process rejects and its next start would accept because its settings differ. Other
 * functions judge what the new version reads differently. Pure.
 */
export const droppedAccess = (running: Reading, next: NextStart, versions: Versions): LostLimit[] => [
  ...(['clients', 'peers'] as const).flatMap((who) => lostCertificates(who, running, next, versions)),
  ...limitSettings
    .filter(([flag, key]) => isLimit(flag, running(flag, key)) && !isLimit(flag, next.read(flag, key)))
    .map(([flag]) => ({
      finding: accessFinding('fail', flag, lostText(flag), `write ${flag} of the running process there`),
      isCertain: next.isKnown(flag),
    })),
];
