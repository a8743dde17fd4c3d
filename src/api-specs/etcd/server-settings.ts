import { compareVersions, type Minor } from './versions.ts';

/** A setting that has another name from a version on. `config lint`, `config migrate`, the guards and the access rules read these rows. */
export type RenamedSetting = {
  readonly old: string;
  readonly now: string;
  /** The first version with the new name. */
  readonly since: Minor;
  /** Both versions read the old name, and only the new version reads the new one: every member must run it first. */
  readonly isLater?: true;
  /** The new setting is a list of gates, and the old one is this gate. */
  readonly gate?: string;
  /** A setting that the old name includes and the new name does not. */
  readonly includes?: string;
  readonly kind?: 'duration';
  /** The section and the key of the new name in the configuration file, if the file does not have it at the top. */
  readonly inFile?: readonly [section: string, key: string];
};
const experimental = (now: string, kind?: 'duration'): RenamedSetting => ({
  old: `experimental-${now}`,
  now,
  since: '3.6',
  isLater: true,
  ...(kind === undefined ? {} : { kind }),
});
const gateRow = (name: string, gate: string): RenamedSetting & { readonly gate: string } => ({
  old: `experimental-${name}`,
  now: 'feature-gates',
  since: '3.6',
  isLater: true,
  gate,
});
/** The first version without the old names of 3.5. */
export const FIRST_WITHOUT_OLD: Minor = '3.7';
/** Until every member runs 3.6, the old names serve both versions; 3.7 knows only the new ones. */
export const renamedIn36: readonly RenamedSetting[] = [
  experimental('bootstrap-defrag-threshold-megabytes'),
  experimental('compaction-batch-limit'),
  experimental('compaction-sleep-interval', 'duration'),
  experimental('compact-hash-check-time', 'duration'),
  experimental('corrupt-check-time', 'duration'),
  experimental('enable-distributed-tracing'),
  experimental('distributed-tracing-address'),
  experimental('distributed-tracing-instance-id'),
  experimental('distributed-tracing-sampling-rate'),
  experimental('distributed-tracing-service-name'),
  experimental('downgrade-check-time', 'duration'),
  experimental('memory-mlock'),
  {
    ...experimental('peer-skip-client-san-verification'),
    inFile: ['peer-transport-security', 'skip-client-san-verification'],
  },
  experimental('snapshot-catchup-entries'),
  // 3.5 and 3.6 spell the same setting differently in the file: `catch-up`, where the flag is `catchup`.
  {
    old: 'experimental-snapshot-catch-up-entries',
    now: 'snapshot-catchup-entries',
    since: '3.6',
    isLater: true,
  },
  experimental('warning-apply-duration', 'duration'),
  experimental('warning-unary-request-duration', 'duration'),
  experimental('watch-progress-notify-interval', 'duration'),
];
/** Switches that become feature gates. */
export const gatedIn36: readonly (RenamedSetting & { readonly gate: string })[] = [
  gateRow('initial-corrupt-check', 'InitialCorruptCheck'),
  gateRow('compact-hash-check-enabled', 'CompactHashCheck'),
  gateRow('enable-lease-checkpoint', 'LeaseCheckpoint'),
  gateRow('enable-lease-checkpoint-persist', 'LeaseCheckpointPersist'),
  gateRow('stop-grpc-service-on-defrag', 'StopGRPCServiceOnDefrag'),
  gateRow('txn-mode-write-with-shared-buffer', 'TxnModeWriteWithSharedBuffer'),
];
export const renamedSettings: readonly RenamedSetting[] = [
  { old: 'ca-file', now: 'trusted-ca-file', since: '3.4', includes: 'client-cert-auth' },
  { old: 'peer-ca-file', now: 'peer-trusted-ca-file', since: '3.4', includes: 'peer-client-cert-auth' },
  { old: 'log-output', now: 'log-outputs', since: '3.4' },
  { old: 'experimental-backend-bbolt-freelist-type', now: 'backend-bbolt-freelist-type', since: '3.5' },
  ...renamedIn36,
  ...gatedIn36,
];
/** All names of a setting in the versions, without the gates. */
export const renamesOf = (name: string): string[] => {
  const names = new Set([name]);
  // A name that is added here is visited too: a setting can have two renames.
  for (const one of names)
    for (const { old, now, gate } of renamedSettings) {
      if (gate === undefined && old === one) names.add(now);
      if (gate === undefined && now === one) names.add(old);
    }
  return [...names];
};
/** The same, with the list of gates for a switch that becomes a gate, and with the switches for the list. */
export const settingNamesOf = (name: string): string[] => [
  ...renamesOf(name),
  ...gatedIn36.flatMap(({ old, now }) => (old === name ? [now] : now === name ? [old] : [])),
];
const gatesIn36: readonly string[] = [...gatedIn36.map(({ gate }) => gate), 'SetMemberLocalAddr'];
/** The feature gates of a version from 3.6 on. */
export const gatesOf = (minor: Minor): readonly string[] =>
  compareVersions(minor, '3.7') < 0 ? gatesIn36 : [...gatesIn36, 'FastLeaseKeepAlive', 'PriorityRequest'];
/** Flags that stop 3.5 at its start, and keys that its file ignores silently. */
export const newIn36: readonly string[] = [
  'feature-gates',
  'max-learners',
  'log-format',
  ...new Set(renamedIn36.map(({ now }) => now)),
];
/** In the file a duration is a number of nanoseconds, as a flag it is `1m`. */
export const durationsInFile: readonly string[] = [
  'grpc-keepalive-min-time',
  'grpc-keepalive-interval',
  'grpc-keepalive-timeout',
  'backend-batch-interval',
  ...renamedIn36.flatMap(({ old, now, kind }) => (kind === 'duration' ? [old, now] : [])),
];
/** Values that a version rejects or interprets differently, by setting. */
type RefusedValue = {
  readonly minor: Minor;
  readonly key: string;
  readonly value: string;
  /** What happens when a flag, a variable, or a key of the file has it. */
  readonly flag: 'stops' | 'warns';
  readonly variable: 'stops' | 'warns';
  readonly file: 'ignored';
  readonly instead: string;
};
export const refusedValues: readonly RefusedValue[] = [
  {
    minor: '3.6',
    key: 'v2-deprecation',
    value: 'not-yet',
    flag: 'stops',
    variable: 'stops',
    file: 'ignored',
    instead: 'leave it out: 3.6 enforces write-only',
  },
  {
    minor: '3.6',
    key: 'discovery-fallback',
    value: 'proxy',
    flag: 'stops',
    variable: 'stops',
    file: 'ignored',
    instead: 'discovery-fallback: exit',
  },
];

export const FILE_VARIABLE = 'ETCD_CONFIG_FILE';
/**
 * Returns whether this version reads the configuration file of the variable. 3.4 is the first one, so the
 * settings of the file take effect with the upgrade to 3.4 (seen on real servers).
 */
export const readsFileOfVariable = (minor: Minor): boolean => compareVersions(minor, '3.4') >= 0;
/**
 * Returns the configuration file that a server of this version reads instead of all flags and variables;
 * undefined if it reads flags and variables. `variable` is the value of ETCD_CONFIG_FILE. The servers ignore
 * empty names. An unknown version counts as a version that reads the file of the variable.
 */
export const findServerFile = (
  flags: ReadonlyMap<string, string>,
  variable: string | undefined,
  minor: Minor | undefined,
): string | undefined =>
  flags.get('config-file') ||
  (minor === undefined || readsFileOfVariable(minor) ? variable || undefined : undefined);
/** Its value may be relative to the server's working directory. */
export const isPathVariable = (name: string): boolean => /^ETCD_(DATA_DIR|WAL_DIR|(\w+_)?FILE)$/.test(name);

/**
 * The kind of a setting's value. As a flag or a variable, every value is text that the server parses. In the
 * configuration file it has a YAML type. `urls` are text with a specific format; `duration` is `5s` as a flag
 * and a number of nanoseconds in the file.
 */
export type SettingKind =
  | 'text'
  | 'urls'
  | 'bind-urls'
  | 'whole'
  | 'whole-32'
  | 'whole-63'
  | 'signed'
  | 'switch'
  | 'duration'
  | 'list'
  | 'mapping';
/**
 * The sources from which a version reads a setting: as a flag and a variable, as a top-level key of the
 * configuration file, or both.
 */
type Place = 'both' | 'flag' | 'file';
export type ServerSetting = {
  readonly name: string;
  readonly kind: SettingKind;
  readonly place: Place;
  /** First and last minor that reads it (measured with the flag parsers and the file readers of the servers). */
  readonly since: Minor;
  readonly until?: Minor;
  /** The first patch of the minor version that reads it, where earlier patches do not. */
  readonly sincePatch?: string;
};
type Group = readonly [
  kind: SettingKind,
  place: Place,
  since: Minor,
  until: Minor | undefined,
  names: string,
];
const now = undefined;
const groups: readonly Group[] = [
  [
    'text',
    'both',
    '3.2',
    now,
    'auth-token auto-compaction-retention data-dir discovery-srv ' +
      'initial-cluster initial-cluster-state initial-cluster-token metrics name wal-dir',
  ],
  ['text', 'both', '3.2', '3.6', 'discovery discovery-proxy'],
  ['text', 'both', '3.2', '3.5', 'discovery-fallback'],
  ['text', 'flag', '3.6', now, 'discovery-fallback'],
  ['text', 'both', '3.3', now, 'auto-compaction-mode'],
  ['text', 'both', '3.2', now, 'cors'],
  ['urls', 'both', '3.2', now, 'advertise-client-urls initial-advertise-peer-urls'],
  ['bind-urls', 'both', '3.2', now, 'listen-client-urls listen-peer-urls'],
  ['bind-urls', 'both', '3.3', now, 'listen-metrics-urls'],
  ['bind-urls', 'both', '3.5', now, 'listen-client-http-urls'],
  [
    'whole',
    'both',
    '3.2',
    now,
    'election-timeout heartbeat-interval max-request-bytes max-wals snapshot-count',
  ],
  ['whole', 'both', '3.3', now, 'auth-token-ttl max-txn-ops'],
  ['whole-63', 'both', '3.2', now, 'max-snapshots'],
  ['signed', 'both', '3.2', now, 'quota-backend-bytes'],
  [
    'switch',
    'both',
    '3.2',
    now,
    'enable-pprof force-new-cluster initial-election-tick-advance strict-reconfig-check',
  ],
  ['switch', 'both', '3.2', '3.5', 'enable-v2'],
  [
    'whole',
    'both',
    '3.2',
    '3.5',
    'proxy-dial-timeout proxy-failure-wait proxy-read-timeout proxy-refresh-interval proxy-write-timeout',
  ],
  ['text', 'both', '3.2', '3.5', 'proxy'],
  ['text', 'both', '3.3', '3.5', 'experimental-enable-v2v3'],
  ['duration', 'both', '3.2', now, 'grpc-keepalive-interval grpc-keepalive-min-time grpc-keepalive-timeout'],
  ['list', 'both', '3.2', now, 'cipher-suites'],
  ['switch', 'both', '3.3', now, 'experimental-initial-corrupt-check'],
  ['duration', 'both', '3.3', now, 'experimental-corrupt-check-time'],
  ['switch', 'both', '3.2', '3.4', 'debug'],
  ['text', 'both', '3.2', '3.4', 'log-package-levels'],
  ['text', 'flag', '3.2', '3.2', 'log-output'],
  ['text', 'both', '3.3', '3.3', 'log-output'],
  ['list', 'both', '3.4', '3.4', 'log-output'],
  ['text', 'both', '3.4', now, 'logger discovery-srv-name log-level'],
  ['list', 'both', '3.4', now, 'log-outputs'],
  ['text', 'both', '3.4', now, 'host-whitelist'],
  [
    'duration',
    'both',
    '3.4',
    now,
    'backend-batch-interval experimental-warning-apply-duration experimental-watch-progress-notify-interval',
  ],
  ['signed', 'both', '3.4', now, 'backend-batch-limit experimental-compaction-batch-limit'],
  ['whole', 'both', '3.4', now, 'bcrypt-cost'],
  ['whole-32', 'both', '3.4', now, 'max-concurrent-streams'],
  ['text', 'both', '3.4', '3.4', 'experimental-backend-bbolt-freelist-type'],
  [
    'switch',
    'both',
    '3.4',
    now,
    'enable-grpc-gateway experimental-enable-lease-checkpoint experimental-enable-lease-checkpoint-persist pre-vote unsafe-no-fsync',
  ],
  [
    'text',
    'both',
    '3.5',
    now,
    'backend-bbolt-freelist-type experimental-distributed-tracing-address experimental-distributed-tracing-instance-id ' +
      'experimental-distributed-tracing-service-name log-rotation-config-json tls-max-version tls-min-version v2-deprecation',
  ],
  [
    'switch',
    'both',
    '3.5',
    now,
    'enable-log-rotation experimental-compact-hash-check-enabled experimental-enable-distributed-tracing experimental-memory-mlock ' +
      'experimental-stop-grpc-service-on-defrag experimental-txn-mode-write-with-shared-buffer',
  ],
  [
    'whole',
    'both',
    '3.5',
    now,
    'experimental-bootstrap-defrag-threshold-megabytes self-signed-cert-validity',
  ],
  [
    'duration',
    'both',
    '3.5',
    now,
    'experimental-compact-hash-check-time experimental-compaction-sleep-interval experimental-downgrade-check-time',
  ],
  ['signed', 'both', '3.5', now, 'experimental-distributed-tracing-sampling-rate'],
  ['duration', 'both', '3.6', now, 'experimental-warning-unary-request-duration'],
  ['whole', 'file', '3.5', now, 'experimental-snapshot-catch-up-entries'],
  ['whole', 'flag', '3.5', now, 'experimental-snapshot-catchup-entries'],
  ['text', 'both', '3.6', now, 'feature-gates log-format'],
  // The file has them in the section discovery-config.
  [
    'text',
    'flag',
    '3.6',
    now,
    'discovery-token discovery-endpoints discovery-cert discovery-key discovery-cacert discovery-user ' +
      'discovery-password',
  ],
  [
    'duration',
    'flag',
    '3.6',
    now,
    'discovery-dial-timeout discovery-request-timeout discovery-keepalive-time discovery-keepalive-timeout',
  ],
  ['switch', 'flag', '3.6', now, 'discovery-insecure-transport discovery-insecure-skip-tls-verify'],
  ['whole', 'both', '3.6', now, 'max-learners'],
  ['text', 'flag', '3.2', '3.3', 'ca-file peer-ca-file'],
  ['text', 'flag', '3.2', now, 'cert-file config-file key-file trusted-ca-file'],
  ['text', 'flag', '3.2', now, 'peer-cert-file peer-key-file peer-trusted-ca-file'],
  ['text', 'flag', '3.3', now, 'client-crl-file peer-cert-allowed-cn peer-crl-file'],
  [
    'switch',
    'flag',
    '3.2',
    now,
    'auto-tls client-cert-auth help peer-auto-tls peer-client-cert-auth version',
  ],
  ['text', 'flag', '3.2', now, 'snapshot'],
  ['switch', 'flag', '3.4', '3.5', 'experimental-peer-skip-client-san-verification'],
  ['switch', 'both', '3.6', now, 'experimental-peer-skip-client-san-verification'],
  ['text', 'flag', '3.4', now, 'client-cert-allowed-hostname peer-cert-allowed-hostname'],
  ['text', 'flag', '3.5', now, 'client-cert-file client-key-file peer-client-cert-file peer-client-key-file'],
  ['duration', 'flag', '3.5', now, 'raft-read-timeout raft-write-timeout'],
  ['switch', 'flag', '3.5', now, 'socket-reuse-address socket-reuse-port'],
];
const kindOf = (name: string): { kind: SettingKind; place: Place } => {
  const [kind, place] = groups.find(([, , , , names]) => names.split(' ').includes(name)) ?? ['text', 'both'];
  return { kind, place };
};
/** Settings that a later patch received from a newer version (the changelogs and the sources of the patches). */
const settingsOfPatches: readonly ServerSetting[] = (
  [
    ['switch', 'flag', '3.2', '3.2.28', 'experimental-peer-skip-client-san-verification'],
    ['switch', 'flag', '3.3', '3.3.16', 'experimental-peer-skip-client-san-verification'],
    ['bind-urls', 'both', '3.4', '3.4.25', 'listen-client-http-urls'],
    ['text', 'both', '3.4', '3.4.25', 'tls-min-version'],
    ['text', 'both', '3.4', '3.4.25', 'tls-max-version'],
    ['switch', 'both', '3.4', '3.4.31', 'next-cluster-version-compatible'],
  ] as const
).map(([kind, place, since, sincePatch, name]) => ({ name, kind, place, since, until: since, sincePatch }));
/** Every setting of every version. A name whose kind changed has a row for each kind. */
export const serverSettings: readonly ServerSetting[] = [
  ...groups.flatMap(([kind, place, since, until, names]) =>
    names.split(' ').map((name): ServerSetting => {
      // 3.7 has no experimental names.
      const last = until ?? (name.startsWith('experimental-') ? '3.6' : undefined);
      return { name, kind, place, since, ...(last === undefined ? {} : { until: last }) };
    }),
  ),
  ...renamedIn36.map(({ old, now: name }): ServerSetting => ({ name, ...kindOf(old), since: '3.6' })),
  ...settingsOfPatches,
];
/** Mappings in the configuration file, with the kinds of their keys. */
export const fileSections: Readonly<
  Record<string, { readonly since: Minor; readonly keys: readonly ServerSetting[] }>
> = (() => {
  const key = (kind: SettingKind, since: Minor, name: string): ServerSetting => ({
    name,
    kind,
    place: 'file',
    since,
  });
  const security = [
    ...['cert-file', 'key-file', 'trusted-ca-file'].map((name) => key('text', '3.2', name)),
    { ...key('text', '3.2', 'ca-file'), until: '3.3' as Minor },
    ...['client-cert-auth', 'auto-tls'].map((name) => key('switch', '3.2', name)),
    ...['client-cert-file', 'client-key-file'].map((name) => key('text', '3.5', name)),
    ...['allowed-cn', 'allowed-hostname'].map((name) => key('list', '3.5', name)),
    key('switch', '3.6', 'skip-client-san-verification'),
  ];
  return {
    'client-transport-security': { since: '3.2' as Minor, keys: security },
    'peer-transport-security': { since: '3.2' as Minor, keys: security },
    'socket-options': {
      since: '3.5' as Minor,
      keys: ['reuse-address', 'reuse-port'].map((name) => key('switch', '3.5', name)),
    },
    'discovery-config': {
      since: '3.6' as Minor,
      keys: [key('text', '3.6', 'token'), key('mapping', '3.6', 'client')],
    },
  };
})();
const isIn = ({ since, until }: ServerSetting, minor: Minor): boolean =>
  compareVersions(minor, since) >= 0 && (until === undefined || compareVersions(minor, until) <= 0);
/** The setting as this version reads it there; undefined if it does not. */
export const findSetting = (
  name: string,
  minor: Minor,
  place: Exclude<Place, 'both'>,
): ServerSetting | undefined =>
  serverSettings.find(
    (one) => one.name === name && isIn(one, minor) && (one.place === 'both' || one.place === place),
  );
export const findSectionKey = (section: string, name: string, minor: Minor): ServerSetting | undefined =>
  fileSections[section]?.keys.find((one) => one.name === name && isIn(one, minor));
/** Versions that read the setting there, oldest first. */
export const listReaders = (name: string, place: Exclude<Place, 'both'>, minors: readonly Minor[]): Minor[] =>
  minors.filter((minor) => findSetting(name, minor, place) !== undefined);
/** All names that some version reads at this place. */
export const settingNames = (place: Exclude<Place, 'both'>): string[] => [
  ...new Set(
    serverSettings.filter((one) => one.place === 'both' || one.place === place).map(({ name }) => name),
  ),
];
/** The environment variable of a setting: `--data-dir` is ETCD_DATA_DIR. */
export const variableOf = (setting: string): string => `ETCD_${setting.toUpperCase().replaceAll('-', '_')}`;
/** The setting of a variable that starts with ETCD_. */
export const settingOf = (variable: string): string => variable.slice(5).toLowerCase().replaceAll('_', '-');
/** Credentials of the discovery, which only the first start of a member uses. */
const discoveryCredentials = ['discovery-user', 'discovery-password'];
const serverVariables = new Set(
  [...settingNames('flag').filter((name) => !discoveryCredentials.includes(name)), 'unsupported-arch'].map(
    variableOf,
  ),
);
/**
 * Determines whether a server reads this variable. Images set other variables, even passwords, which an
 * upgrade does not need.
 */
export const isServerVariable = (name: string): boolean =>
  serverVariables.has(name) || name.startsWith('ETCD_EXPERIMENTAL_');

type Default = string | Readonly<Partial<Record<Minor, string>>>;
/**
 * The value of a setting that a start does not contain, as the help of the servers writes it. A setting without
 * a row is off or empty. A default that changed has the first version of each value.
 */
const defaults: Readonly<Record<string, Default>> = {
  name: 'default',
  'listen-client-urls': 'http://localhost:2379',
  'listen-peer-urls': 'http://localhost:2380',
  'advertise-client-urls': 'http://localhost:2379',
  'initial-advertise-peer-urls': 'http://localhost:2380',
  'initial-cluster-state': 'new',
  'initial-cluster-token': 'etcd-cluster',
  'initial-election-tick-advance': 'true',
  'strict-reconfig-check': 'true',
  'pre-vote': { '3.4': 'false', '3.5': 'true' },
  'discovery-fallback': { '3.2': 'proxy', '3.6': 'exit' },
  'snapshot-count': { '3.2': '100000', '3.6': '10000' },
  'heartbeat-interval': '100',
  'election-timeout': '1000',
  'max-snapshots': '5',
  'max-wals': '5',
  'quota-backend-bytes': '0',
  'backend-batch-limit': '0',
  'backend-bbolt-freelist-type': 'map',
  'experimental-backend-bbolt-freelist-type': 'array',
  'max-txn-ops': '128',
  'max-request-bytes': '1572864',
  'grpc-keepalive-min-time': '5s',
  'grpc-keepalive-interval': '2h',
  'grpc-keepalive-timeout': '20s',
  'raft-read-timeout': '5s',
  'raft-write-timeout': '5s',
  'auto-compaction-mode': 'periodic',
  'auto-compaction-retention': '0',
  'enable-v2': { '3.2': 'true', '3.4': 'false' },
  'v2-deprecation': { '3.5': 'not-yet', '3.6': 'write-only' },
  'enable-grpc-gateway': 'true',
  proxy: 'off',
  'proxy-failure-wait': '5000',
  'proxy-refresh-interval': '30000',
  'proxy-dial-timeout': '1000',
  'proxy-write-timeout': '5000',
  'proxy-read-timeout': '0',
  cors: { '3.2': '', '3.4': '*' },
  'host-whitelist': '*',
  'auth-token': 'simple',
  'auth-token-ttl': '300',
  'bcrypt-cost': '10',
  'self-signed-cert-validity': '1',
  'tls-min-version': 'TLS1.2',
  metrics: 'basic',
  logger: { '3.4': 'capnslog', '3.5': 'zap' },
  'log-level': 'info',
  'log-output': 'default',
  'log-outputs': 'default',
  'experimental-corrupt-check-time': '0s',
  'experimental-compact-hash-check-time': '1m',
  'experimental-compaction-batch-limit': '1000',
  'experimental-compaction-sleep-interval': '10ms',
  'experimental-distributed-tracing-address': 'localhost:4317',
  'experimental-distributed-tracing-service-name': 'etcd',
  'experimental-distributed-tracing-sampling-rate': '0',
  'experimental-txn-mode-write-with-shared-buffer': 'true',
  'experimental-warning-apply-duration': '100ms',
  'experimental-watch-progress-notify-interval': '10m',
};
/** The default of this version. A setting with a new name keeps its default. */
export const defaultOf = (name: string, minor: Minor): string => {
  const row = defaults[name] ?? defaults[renamedIn36.find(({ now: new36 }) => new36 === name)?.old ?? ''];
  if (typeof row === 'string') return row;
  const isSwitch = serverSettings.some((one) => one.name === name && one.kind === 'switch');
  const value = Object.entries(row ?? {}).findLast(([since]) => compareVersions(since, minor) <= 0)?.[1];
  return value ?? (isSwitch ? 'false' : '');
};
/** The bytes of a quota whose value is 0, in every version. */
export const defaultQuota = 2 * 1024 ** 3;
/** Converts a duration such as `1m30s` to nanoseconds. Undefined if the text is not a duration. */
export const nanosecondsOf = (text: string): number | undefined => {
  const units = { ns: 1, us: 1e3, µs: 1e3, ms: 1e6, s: 1e9, m: 60e9, h: 3600e9 };
  if (!/^(\d+(\.\d+)?(ns|us|µs|ms|s|m|h)){1,100}$/.test(text)) return undefined;
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)(ns|us|µs|ms|s|m|h)/g)];
  return Math.round(
    parts.reduce((sum, [, count, unit]) => sum + Number(count) * units[unit as keyof typeof units], 0),
  );
};
/** Returns whether a start with this value of a setting works like a start without the setting. */
export const isDefaultValue = (name: string, value: unknown, minor: Minor): boolean => {
  const [text, usual] = [String(value ?? ''), defaultOf(name, minor)];
  if (text === '' || text === usual) return true;
  if (name === 'quota-backend-bytes') return Number(text) === defaultQuota;
  const nanoseconds = nanosecondsOf(usual);
  return nanoseconds !== undefined && nanoseconds === (nanosecondsOf(text) ?? Number(text));
};
/** Values that a version accepts for a setting; all others stop the server, as a flag or a variable and in the file. */
type ChoiceRule = {
  readonly name: string;
  readonly since: Minor;
  readonly until?: Minor;
  readonly values: readonly string[];
  /** The configuration file is not checked: the server starts with any value there. */
  readonly isFlagOnly?: true;
};
const zapLevels = ['debug', 'info', 'warn', 'error', 'dpanic', 'panic', 'fatal'];
export const choiceRules: readonly ChoiceRule[] = [
  { name: 'logger', since: '3.4', until: '3.4', values: ['capnslog', 'zap'] },
  { name: 'logger', since: '3.5', values: ['zap'] },
  { name: 'log-level', since: '3.4', until: '3.4', values: zapLevels },
  {
    name: 'log-level',
    since: '3.5',
    values: ['', ...zapLevels, ...zapLevels.map((level) => level.toUpperCase())],
  },
  { name: 'proxy', since: '3.2', until: '3.5', values: ['off', 'readonly', 'on'] },
  { name: 'discovery-fallback', since: '3.2', until: '3.5', values: ['exit', 'proxy'] },
  { name: 'initial-cluster-state', since: '3.2', values: ['new', 'existing'] },
  { name: 'tls-min-version', since: '3.5', values: ['', 'TLS1.2', 'TLS1.3'] },
  { name: 'tls-max-version', since: '3.5', values: ['', 'TLS1.2', 'TLS1.3'] },
  {
    name: 'v2-deprecation',
    since: '3.5',
    until: '3.5',
    values: ['not-yet', 'write-only', 'write-only-drop-data', 'write-only-skip-check', 'gone'],
    isFlagOnly: true,
  },
];
const suitesBefore13: readonly string[] = [
  ...['RC4_128_SHA', '3DES_EDE_CBC_SHA', 'AES_128_CBC_SHA', 'AES_256_CBC_SHA', 'AES_128_CBC_SHA256'].flatMap(
    (name) => [`RSA_WITH_${name}`, `ECDHE_RSA_WITH_${name}`],
  ),
  ...['AES_128_GCM_SHA256', 'AES_256_GCM_SHA384'].flatMap((name) => [
    ...[`RSA_WITH_${name}`, `ECDHE_RSA_WITH_${name}`, `ECDHE_ECDSA_WITH_${name}`],
  ]),
  ...['RC4_128_SHA', 'AES_128_CBC_SHA', 'AES_256_CBC_SHA', 'AES_128_CBC_SHA256'].map(
    (name) => `ECDHE_ECDSA_WITH_${name}`,
  ),
  ...['RSA', 'ECDSA'].flatMap((name) => [
    `ECDHE_${name}_WITH_CHACHA20_POLY1305`,
    `ECDHE_${name}_WITH_CHACHA20_POLY1305_SHA256`,
  ]),
].map((name) => `TLS_${name}`);
const suitesOf13 = ['TLS_AES_128_GCM_SHA256', 'TLS_AES_256_GCM_SHA384', 'TLS_CHACHA20_POLY1305_SHA256'];
/** The names that a version accepts in `cipher-suites` (measured on 3.3.25, 3.4.23 and 3.5.16). */
export const cipherSuitesOf = (to: Minor): readonly string[] =>
  compareVersions(to, '3.4') < 0 ? suitesBefore13 : [...suitesBefore13, ...suitesOf13];
