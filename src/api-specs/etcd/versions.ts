/** The store's versions as data: one row per minor. An upgrade from a row to the next is supported, nothing else. */
export type Minor = `${number}.${number}`;

/** Which settings about who may connect a version reads, and where (measured on real servers; spec/store#measured-configuration). */
export type AccessRow = {
  /** Flags without dashes. As environment variables the server reads the same names. */
  readonly flags: readonly string[];
  /** Keys at the top of the configuration file. */
  readonly top: readonly string[];
  /** Keys of `client-transport-security` and `peer-transport-security`. */
  readonly section: readonly string[];
  /** A trusted CA alone makes the server reject clients without a certificate. */
  readonly trustedCaRequires: boolean;
};

export type VersionRow = {
  readonly minor: Minor;
  /** The gateway prefix to use, and all that answer. spec/store#versions-3: /v3alpha replaced by /v3beta in 3.3, removed in 3.4. */
  readonly prefix: string;
  readonly answers: readonly string[];
  /** Header that carries a token through the gateway. */
  readonly authHeader: 'Grpc-Metadata-Token' | 'Authorization';
  /** Body of a healthy /health, byte for byte. */
  readonly healthyBody: string;
  readonly can: {
    readonly moveLeader: boolean;
    readonly listLeases: boolean;
    /** Where the hash of the keyspace can be asked for: the store's own interface has it from 3.3 on, the gateway from 3.5 on (spec/store#measured-versions). */
    readonly hashKv: false | 'grpc' | 'gateway';
    readonly authStatus: boolean;
    /** status carries raftAppliedIndex, dbSizeInUse, isLearner and errors. */
    readonly appliedIndex: boolean;
    readonly learners: boolean;
    /** A downgrade is asked for through the store's own interface; `/version` and status say the version of the data. */
    readonly downgrade: boolean;
  };
  /** How often the leader looks at the versions of the members: the cluster's version moves that late. */
  readonly monitorSeconds: number;
  readonly path: { readonly listLeases?: string; readonly timeToLive: string; readonly revokeLease: string };
  /** How the retention of the configuration file is written. spec/store#items: string in 3.3, was numeric. */
  readonly retention: 'number' | 'string';
  /** Seen on 3.4 only: a server that reads a configuration file has no JSON gateway unless the file says `enable-grpc-gateway: true`. */
  readonly wantsGatewayInFile?: true;
  /** Configuration keys and flags that stop this version at its start, with what to do. */
  readonly removed: readonly { readonly key: string; readonly flag: string; readonly instead: string }[];
  readonly access: AccessRow;
};

const accessUntil33: AccessRow = {
  flags: [
    ...['ca-file', 'peer-ca-file', 'trusted-ca-file', 'peer-trusted-ca-file', 'client-cert-auth'],
    ...['peer-client-cert-auth', 'client-crl-file', 'peer-crl-file', 'peer-cert-allowed-cn', 'auto-tls'],
    ...['peer-auto-tls', 'cors', 'auth-token', 'experimental-peer-skip-client-san-verification'],
  ],
  top: ['cors', 'auth-token'],
  section: ['ca-file', 'trusted-ca-file', 'client-cert-auth', 'auto-tls'],
  trustedCaRequires: false,
};
const isNoCaFile = (key: string): boolean => key !== 'ca-file' && key !== 'peer-ca-file';
const access34: AccessRow = {
  flags: [
    ...accessUntil33.flags.filter(isNoCaFile),
    ...['client-cert-allowed-hostname', 'peer-cert-allowed-hostname', 'host-whitelist'],
  ],
  top: [...accessUntil33.top, 'host-whitelist'],
  section: accessUntil33.section.filter(isNoCaFile),
  trustedCaRequires: true,
};
const access35: AccessRow = { ...access34, section: [...access34.section, 'allowed-cn', 'allowed-hostname'] };
const access36: AccessRow = { ...access35, flags: [...access35.flags, 'peer-skip-client-san-verification'] };

const logFlags = [
  { key: 'debug', flag: '--debug', instead: 'log-level: debug' },
  { key: 'log-package-levels', flag: '--log-package-levels', instead: 'log-level' },
];

const removedFlag = (key: string, instead: string) => ({ key, flag: `--${key}`, instead });
const proxyNote = 'leave it out; the grpc-proxy is a program of its own';
/** Seen on real servers: as a flag each of these ends 3.6 at its start, as a key of the file or a variable it is ignored without a word. */
const removedIn36 = [
  removedFlag('enable-v2', 'leave it out: 3.6 has no v2 interface'),
  removedFlag('experimental-enable-v2v3', 'leave it out: 3.6 has no v2 interface'),
  ...[
    'proxy',
    'proxy-dial-timeout',
    'proxy-failure-wait',
    'proxy-read-timeout',
    'proxy-refresh-interval',
    'proxy-write-timeout',
  ].map((key) => removedFlag(key, proxyNote)),
  removedFlag('experimental-max-learners', 'max-learners, once every member runs 3.6'),
  removedFlag(
    'experimental-snapshot-catch-up-entries',
    'snapshot-catchup-entries, once every member runs 3.6',
  ),
];

export const versionRows: readonly VersionRow[] = [
  {
    minor: '3.2',
    prefix: '/v3alpha',
    answers: ['/v3alpha'],
    authHeader: 'Grpc-Metadata-Token',
    healthyBody: '{"health": "true"}',
    can: {
      moveLeader: false,
      listLeases: false,
      hashKv: false,
      authStatus: false,
      appliedIndex: false,
      learners: false,
      downgrade: false,
    },
    monitorSeconds: 5,
    path: { timeToLive: '/kv/lease/timetolive', revokeLease: '/kv/lease/revoke' },
    retention: 'number',
    removed: [],
    access: accessUntil33,
  },
  {
    minor: '3.3',
    prefix: '/v3beta',
    answers: ['/v3beta', '/v3alpha'],
    authHeader: 'Authorization',
    healthyBody: '{"health":"true"}',
    can: {
      moveLeader: true,
      listLeases: true,
      hashKv: 'grpc',
      authStatus: false,
      appliedIndex: false,
      learners: false,
      downgrade: false,
    },
    monitorSeconds: 5,
    path: {
      listLeases: '/kv/lease/leases',
      timeToLive: '/kv/lease/timetolive',
      revokeLease: '/kv/lease/revoke',
    },
    retention: 'string',
    removed: [],
    access: accessUntil33,
  },
  {
    minor: '3.4',
    prefix: '/v3',
    answers: ['/v3', '/v3beta'],
    authHeader: 'Authorization',
    healthyBody: '{"health":"true"}',
    can: {
      moveLeader: true,
      listLeases: true,
      hashKv: 'grpc',
      authStatus: false,
      appliedIndex: true,
      learners: true,
      downgrade: false,
    },
    monitorSeconds: 5,
    path: { listLeases: '/lease/leases', timeToLive: '/lease/timetolive', revokeLease: '/lease/revoke' },
    retention: 'string',
    wantsGatewayInFile: true,
    removed: [],
    access: access34,
  },
  {
    minor: '3.5',
    prefix: '/v3',
    answers: ['/v3', '/v3beta'],
    authHeader: 'Authorization',
    healthyBody: '{"health":"true","reason":""}',
    can: {
      moveLeader: true,
      listLeases: true,
      hashKv: 'gateway',
      authStatus: true,
      appliedIndex: true,
      learners: true,
      downgrade: false,
    },
    monitorSeconds: 5,
    path: { listLeases: '/lease/leases', timeToLive: '/lease/timetolive', revokeLease: '/lease/revoke' },
    retention: 'string',
    removed: logFlags,
    access: access35,
  },
  {
    minor: '3.6',
    prefix: '/v3',
    answers: ['/v3', '/v3beta'],
    authHeader: 'Authorization',
    healthyBody: '{"health":"true","reason":""}',
    can: {
      moveLeader: true,
      listLeases: true,
      hashKv: 'gateway',
      authStatus: true,
      appliedIndex: true,
      learners: true,
      downgrade: true,
    },
    monitorSeconds: 4,
    path: { listLeases: '/lease/leases', timeToLive: '/lease/timetolive', revokeLease: '/lease/revoke' },
    retention: 'string',
    removed: [...logFlags, ...removedIn36],
    access: access36,
  },
];

/** Names of the fields of `/version`: the document's first, then those of real servers. */
export const versionFields = {
  server: ['kvserver', 'etcdserver'],
  cluster: ['kvcluster', 'etcdcluster'],
  /** From 3.6 on: the version of the data. */
  storage: ['storage'],
} as const;

/** `3.3.25` → `3.3`; undefined for anything that is not a version. */
export const minorOf = (version: string | undefined): Minor | undefined => {
  const parts = /^v?(\d+)\.(\d+)(?:\.\d+)?(?:[-+].*)?$/.exec(version ?? '');
  return parts === null ? undefined : (`${Number(parts[1])}.${Number(parts[2])}` as Minor);
};

export const rowOf = (version: string | undefined): VersionRow | undefined =>
  versionRows.find((row) => row.minor === minorOf(version));

/** The row to talk with when the version is not known (yet): the document's prefix. */
export const defaultRow: VersionRow = versionRows[1] as VersionRow;

/** Negative, 0 or positive; compares numbers, not text, and ignores what follows a `-` or `+`. */
export const compareVersions = (left: string, right: string): number => {
  const numbers = (text: string): number[] =>
    (text.replace(/^v/, '').split(/[-+]/)[0] ?? '').split('.').map(Number);
  const [a, b] = [numbers(left), numbers(right)];
  for (let i = 0; i < 3; i += 1) if ((a[i] ?? 0) !== (b[i] ?? 0)) return (a[i] ?? 0) - (b[i] ?? 0);
  return 0;
};

/** The minor before, which a downgrade leads to. */
export const previousMinor = (minor: Minor): Minor | undefined =>
  versionRows[versionRows.findIndex((row) => row.minor === minor) - 1]?.minor;

/** The only minor that may follow: one step, same major. spec/store#versions-1 and spec/store#versions-4. */
export const nextMinor = (minor: Minor): Minor | undefined => {
  const index = versionRows.findIndex((row) => row.minor === minor);
  return index < 0 ? undefined : versionRows[index + 1]?.minor;
};
