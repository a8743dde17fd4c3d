import type { Minor } from './versions.ts';

/** Settings whose name changes with 3.6. Until every member runs it the old names serve both versions; 3.7 knows only the new ones. */
export type Renamed = { readonly old: string; readonly now: string; readonly kind?: 'duration' };
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
export type GatedSetting = { readonly old: string; readonly gate: string };
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
export type RefusedValue = {
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
/** Its value may be relative to the server's working directory. */
export const isPathVariable = (name: string): boolean => /^ETCD_(DATA_DIR|WAL_DIR|(\w+_)?FILE)$/.test(name);
