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

/** Whether a server reads this variable. Images put others beside them, passwords too: those are none of an upgrade's business. */
export const isServerVariable = (name: string): boolean =>
  known.has(name) || name.startsWith('ETCD_EXPERIMENTAL_');

/** Its value may be relative to the server's working directory. */
export const isPathVariable = (name: string): boolean => /^ETCD_(DATA_DIR|WAL_DIR|(\w+_)?FILE)$/.test(name);
