import { compareVersions, type Minor } from './versions.ts';

/** Settings whose name changes with 3.6. Until every member runs it the old names serve both versions; 3.7 knows only the new ones. */
type Renamed = { readonly old: string; readonly now: string; readonly kind?: 'duration' };
const experimental = (now: string, kind?: 'duration'): Renamed => ({
  old: `experimental-${now}`,
  now,
  ...(kind === undefined ? {} : { kind }),
});
export const renamedIn36: readonly Renamed[] = [
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
  experimental('peer-skip-client-san-verification'),
  experimental('snapshot-catchup-entries'),
  experimental('warning-apply-duration', 'duration'),
  experimental('warning-unary-request-duration', 'duration'),
  experimental('watch-progress-notify-interval', 'duration'),
];
/** Switches that become feature gates. */
type GatedSetting = { readonly old: string; readonly gate: string };
export const gatedIn36: readonly GatedSetting[] = [
  { old: 'experimental-initial-corrupt-check', gate: 'InitialCorruptCheck' },
  { old: 'experimental-compact-hash-check-enabled', gate: 'CompactHashCheck' },
  { old: 'experimental-enable-lease-checkpoint', gate: 'LeaseCheckpoint' },
  { old: 'experimental-enable-lease-checkpoint-persist', gate: 'LeaseCheckpointPersist' },
  { old: 'experimental-stop-grpc-service-on-defrag', gate: 'StopGRPCServiceOnDefrag' },
  { old: 'experimental-txn-mode-write-with-shared-buffer', gate: 'TxnModeWriteWithSharedBuffer' },
];
export const gatesIn36: readonly string[] = [...gatedIn36.map(({ gate }) => gate), 'SetMemberLocalAddr'];
/** Flags that stop 3.5 at its start, and keys that its file ignores silently. */
export const newIn36: readonly string[] = [
  'feature-gates',
  'max-learners',
  'log-format',
  ...renamedIn36.map(({ now }) => now),
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

/** Flags that servers of 3.2 to 3.6 know; each is an environment variable too: `--data-dir` is ETCD_DATA_DIR. */
const flags = [
  ...[
    'name',
    'data-dir',
    'wal-dir',
    'config-file',
    'snapshot-count',
    'heartbeat-interval',
    'election-timeout',
  ],
  ...['listen-peer-urls', 'listen-client-urls', 'listen-client-http-urls', 'listen-metrics-urls'],
  ...['initial-advertise-peer-urls', 'advertise-client-urls', 'initial-cluster', 'initial-cluster-state'],
  ...['initial-cluster-token', 'initial-election-tick-advance', 'max-snapshots', 'max-wals', 'cors'],
  ...['quota-backend-bytes', 'backend-batch-interval', 'backend-batch-limit', 'backend-bbolt-freelist-type'],
  ...['max-txn-ops', 'max-request-bytes', 'max-concurrent-streams', 'grpc-keepalive-interval'],
  ...['grpc-keepalive-min-time', 'grpc-keepalive-timeout', 'socket-reuse-address', 'socket-reuse-port'],
  ...['discovery', 'discovery-fallback', 'discovery-proxy', 'discovery-srv', 'discovery-srv-name'],
  ...[
    'strict-reconfig-check',
    'pre-vote',
    'enable-v2',
    'v2-deprecation',
    'enable-grpc-gateway',
    'enable-pprof',
  ],
  ...['auto-compaction-mode', 'auto-compaction-retention', 'force-new-cluster', 'unsafe-no-fsync', 'metrics'],
  ...['proxy', 'proxy-dial-timeout', 'proxy-failure-wait', 'proxy-read-timeout', 'proxy-refresh-interval'],
  ...['proxy-write-timeout', 'raft-read-timeout', 'raft-write-timeout', 'host-whitelist', 'cipher-suites'],
  ...[
    'ca-file',
    'cert-file',
    'key-file',
    'client-cert-auth',
    'client-cert-file',
    'client-key-file',
    'client-crl-file',
  ],
  ...['client-cert-allowed-hostname', 'trusted-ca-file', 'auto-tls', 'tls-min-version', 'tls-max-version'],
  ...['peer-ca-file', 'peer-cert-file', 'peer-key-file', 'peer-client-cert-auth', 'peer-client-cert-file'],
  ...['peer-client-key-file', 'peer-crl-file', 'peer-cert-allowed-cn', 'peer-cert-allowed-hostname'],
  ...['peer-trusted-ca-file', 'peer-auto-tls', 'self-signed-cert-validity', 'auth-token', 'auth-token-ttl'],
  ...['bcrypt-cost', 'debug', 'log-level', 'log-output', 'log-outputs', 'log-package-levels', 'logger'],
  ...['log-format', 'log-rotation-config-json', 'enable-log-rotation', 'feature-gates'],
  ...['compact-hash-check-time', 'corrupt-check-time', 'compaction-batch-limit', 'compaction-sleep-interval'],
  ...['downgrade-check-time', 'enable-distributed-tracing', 'distributed-tracing-address', 'memory-mlock'],
  ...[
    'distributed-tracing-service-name',
    'distributed-tracing-instance-id',
    'distributed-tracing-sampling-rate',
  ],
  ...['peer-skip-client-san-verification', 'snapshot-catchup-entries', 'warning-apply-duration'],
  ...[
    'warning-unary-request-duration',
    'watch-progress-notify-interval',
    'bootstrap-defrag-threshold-megabytes',
  ],
  ...['max-learners', 'unsupported-arch'],
];
const variableOf = (flag: string): string => `ETCD_${flag.toUpperCase().replaceAll('-', '_')}`;
const known = new Set(flags.map(variableOf));
/**
 * Determines whether a server reads this variable. Images set other variables, even passwords, which an
 * upgrade does not need.
 */
export const isServerVariable = (name: string): boolean =>
  known.has(name) || name.startsWith('ETCD_EXPERIMENTAL_');
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
  | 'list';
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
    'auth-token auto-compaction-retention data-dir discovery discovery-fallback discovery-proxy discovery-srv ' +
      'initial-cluster initial-cluster-state initial-cluster-token metrics name wal-dir',
  ],
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
    'auth-token-ttl election-timeout heartbeat-interval max-request-bytes max-txn-ops max-wals snapshot-count',
  ],
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
  ['whole', 'file', '3.5', '3.5', 'experimental-snapshot-catch-up-entries'],
  ['whole', 'both', '3.6', now, 'experimental-snapshot-catchup-entries'],
  [
    'text',
    'both',
    '3.6',
    now,
    'feature-gates log-format discovery-token discovery-endpoints discovery-cert discovery-key discovery-cacert discovery-user ' +
      'discovery-password',
  ],
  [
    'duration',
    'both',
    '3.6',
    now,
    'discovery-dial-timeout discovery-request-timeout discovery-keepalive-time discovery-keepalive-timeout',
  ],
  ['switch', 'both', '3.6', now, 'discovery-insecure-transport discovery-insecure-skip-tls-verify'],
  ['whole', 'both', '3.6', now, 'max-learners'],
  ['text', 'flag', '3.2', '3.3', 'ca-file peer-ca-file'],
  ['text', 'flag', '3.2', now, 'cert-file config-file key-file trusted-ca-file'],
  [
    'text',
    'flag',
    '3.2',
    now,
    'client-crl-file peer-cert-allowed-cn peer-cert-file peer-crl-file peer-key-file peer-trusted-ca-file',
  ],
  [
    'switch',
    'flag',
    '3.2',
    now,
    'auto-tls client-cert-auth help peer-auto-tls peer-client-cert-auth version',
  ],
  ['text', 'flag', '3.2', now, 'snapshot'],
  ['switch', 'flag', '3.3', now, 'experimental-peer-skip-client-san-verification'],
  ['text', 'flag', '3.4', now, 'client-cert-allowed-hostname peer-cert-allowed-hostname'],
  ['text', 'flag', '3.5', now, 'client-cert-file client-key-file peer-client-cert-file peer-client-key-file'],
  ['duration', 'flag', '3.5', now, 'raft-read-timeout raft-write-timeout'],
  ['switch', 'flag', '3.5', now, 'socket-reuse-address socket-reuse-port'],
];
const kindOf = (name: string): { kind: SettingKind; place: Place } => {
  const [kind, place] = groups.find(([, , , , names]) => names.split(' ').includes(name)) ?? ['text', 'both'];
  return { kind, place };
};
/** Every setting of every version. A name whose kind changed has a row for each kind. */
export const serverSettings: readonly ServerSetting[] = [
  ...groups.flatMap(([kind, place, since, until, names]) =>
    names.split(' ').map((name) => ({ name, kind, place, since, ...(until === undefined ? {} : { until }) })),
  ),
  ...renamedIn36.map(({ old, now: name }): ServerSetting => ({ name, ...kindOf(old), since: '3.6' })),
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
  ];
  return {
    'client-transport-security': { since: '3.2' as Minor, keys: security },
    'peer-transport-security': { since: '3.2' as Minor, keys: security },
    'socket-options': {
      since: '3.5' as Minor,
      keys: ['reuse-address', 'reuse-port'].map((name) => key('switch', '3.5', name)),
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
const notesOfVersion: Readonly<Partial<Record<Minor, readonly string[]>>> = {
  '3.3': [
    'gRPC server logs are off by default; the debug setting turns them on',
    'container images of 3.3 are published in another registry: check new_image',
  ],
  '3.4': ['clients that call the gateway under /v3beta keep working; /v3alpha returns 404'],
  '3.5': ['the logger is zap: log lines are JSON, so filters for the old text format no longer match'],
  '3.6': ['3.6 has no v2 interface and does not start with v2 data'],
};
/** The text of the warnings is known for 3.2 and 3.3. Later versions write the same facts in other words. */
const newerMemberLines = (to: Minor): string =>
  to === '3.3'
    ? 'warnings "the local etcd version … is not up-to-date" and "member … has a higher version"'
    : 'warnings that other members have another version';
/** Notes for operators about an upgrade that no check of a member can cover (spec/store#procedure-1, spec/store#states-2). */
export const upgradeNotes = (to: Minor): readonly string[] => [
  'test services that depend on the store against the new version in a staging environment first',
  `until all members run ${to}, members log ${newerMemberLines(to)}; these lines are expected`,
  ...(notesOfVersion[to] ?? []),
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
