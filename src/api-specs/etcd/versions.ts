/** The store's versions as data: one row per minor. Only an upgrade from one row to the next is supported. */
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
  /**
   * The preferred gateway prefix, and all supported prefixes. spec/store#versions-3: /v3alpha replaced by
   * /v3beta in 3.3, removed in 3.4.
   */
  readonly prefix: string;
  readonly answers: readonly string[];
  /** The v2 interface: always served, served only with `enable-v2`, or removed (measured on real servers). */
  readonly v2: 'served' | 'enable-v2' | 'removed';
  /** Header that carries a token through the gateway. */
  readonly authHeader: 'Grpc-Metadata-Token' | 'Authorization';
  /** Body of a healthy /health, byte for byte. */
  readonly healthyBody: string;
  readonly can: {
    readonly moveLeader: boolean;
    readonly listLeases: boolean;
    /**
     * The interface that provides the hash of the keyspace: gRPC from 3.3 on, the gateway from 3.5 on
     * (spec/store#measured-versions).
     */
    readonly hashKv: false | 'grpc' | 'gateway';
    readonly authStatus: boolean;
    /** status carries raftAppliedIndex, dbSizeInUse, isLearner and errors. */
    readonly appliedIndex: boolean;
    readonly learners: boolean;
    /** A downgrade is requested over gRPC. `/version` and the status return the version of the data. */
    readonly downgrade: boolean;
  };
  /** How often the leader checks the versions of the members. The cluster version changes with this delay. */
  readonly monitorSeconds: number;
  readonly path: { readonly listLeases?: string; readonly timeToLive: string; readonly revokeLease: string };
  /** How the retention of the configuration file is written. spec/store#items: string in 3.3, was numeric. */
  readonly retention: 'number' | 'string';
  /**
   * Observed on 3.4 only: a server with a configuration file has no JSON gateway unless the file contains
   * `enable-grpc-gateway: true`.
   */
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
/** 3.7 has no experimental names. */
const access37: AccessRow = {
  ...access36,
  flags: access36.flags.filter((name) => !name.startsWith('experimental-')),
};
const logFlags = [
  { key: 'debug', flag: '--debug', instead: 'log-level: debug' },
  { key: 'log-package-levels', flag: '--log-package-levels', instead: 'log-level' },
];
const removedFlag = (key: string, instead: string) => ({ key, flag: `--${key}`, instead });
/** The flags of the proxy, which 3.6 does not have. */
export const proxyFlags = [
  'proxy',
  'proxy-dial-timeout',
  'proxy-failure-wait',
  'proxy-read-timeout',
  'proxy-refresh-interval',
  'proxy-write-timeout',
] as const;
const proxyNote = 'leave it out; the grpc-proxy is a separate program';
/**
 * Observed on real servers: as a flag each of these stops 3.6 at its start; as a key of the file or a
 * variable it is ignored silently.
 */
const removedIn36 = [
  removedFlag('enable-v2', 'leave it out: 3.6 has no v2 interface'),
  removedFlag('experimental-enable-v2v3', 'leave it out: 3.6 has no v2 interface'),
  ...proxyFlags.map((key) => removedFlag(key, proxyNote)),
  removedFlag('experimental-max-learners', 'max-learners, once every member runs 3.6'),
];
const row35: VersionRow = {
  minor: '3.5',
  prefix: '/v3',
  answers: ['/v3', '/v3beta'],
  v2: 'enable-v2',
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
};
const row36: VersionRow = {
  ...row35,
  minor: '3.6',
  v2: 'removed',
  can: { ...row35.can, downgrade: true },
  monitorSeconds: 4,
  removed: [...logFlags, ...removedIn36],
  access: access36,
};
/** The discovery over the v2 interface (transcribed from the sources of 3.7.1). */
const removedIn37 = ['discovery', 'discovery-proxy'].map((key) =>
  removedFlag(key, 'leave it out: a member with data does not use it'),
);
export const versionRows: readonly VersionRow[] = [
  {
    minor: '3.2',
    prefix: '/v3alpha',
    answers: ['/v3alpha'],
    v2: 'served',
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
    v2: 'served',
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
    v2: 'enable-v2',
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
  row35,
  row36,
  { ...row36, minor: '3.7', removed: [...row36.removed, ...removedIn37], access: access37 },
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
/**
 * Returns a negative number, 0 or a positive number. Compares numerically and ignores the part after a `-` or
 * `+`.
 */
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

export const ruleConditions = ['authentication', 'directory-mode'] as const;
/** Known facts about single patch versions, with their sources. */
export type VersionRule = {
  /** First and last patch that this is true for. */
  readonly from: string;
  readonly through: string;
  /** arrive: must not be started · leave: must not be upgraded from, because what it left behind harms the next version. */
  readonly on: 'arrive' | 'leave';
  readonly level: 'fail' | 'warn';
  /** This problem cannot be accepted, because upstream documents no safe workaround. */
  readonly is_final?: boolean;
  /** It exists only with authentication, or only if the mode of the data directory, of member or of member/snap is not 0700. */
  readonly only_with?: (typeof ruleConditions)[number];
  readonly reason: string;
  /** What to take instead. */
  readonly instead: string;
  readonly source: string;
};
type MinorFacts = {
  readonly minor: Minor;
  /** Its newest patch on the day of the data. */
  readonly latest: string;
  /** It gets no more patches. */
  readonly is_ended?: boolean;
  readonly ended_on?: string;
};
/**
 * Built in, or read from an operator's file (kv/upgrade/cluster/yaml-file.ts). Versions age, so the table contains its date.
 */
export type VersionTable = {
  readonly data_of: string;
  readonly minors: readonly MinorFacts[];
  readonly rules: readonly VersionRule[];
};
const issue = (number: number): string => `https://github.com/etcd-io/etcd/issues/${number}`;
const changes = (minor: Minor): string =>
  `https://github.com/etcd-io/etcd/blob/main/CHANGELOG/CHANGELOG-${minor}.md`;
const guide = (minor: Minor): string =>
  `https://etcd.io/docs/v${minor}/upgrades/upgrade_${minor.replace('.', '_')}/`;
const minors: readonly MinorFacts[] = [
  { minor: '3.2', latest: '3.2.32', is_ended: true },
  { minor: '3.3', latest: '3.3.27', is_ended: true },
  { minor: '3.4', latest: '3.4.45', is_ended: true, ended_on: '2026-06-01' },
  { minor: '3.5', latest: '3.5.33' },
  { minor: '3.6', latest: '3.6.14' },
  { minor: '3.7', latest: '3.7.1' },
];
type Short = readonly [
  from: string,
  through: string,
  level: VersionRule['level'],
  reason: string,
  instead: string,
  source: string,
  only_with?: VersionRule['only_with'],
];
const directoryMode =
  'does not start if the mode of its data directory, of member or of member/snap is not 0700 (exist without desired file permission)';
const crcMismatch = 'does not start again after a part of its log was purged (walpb: crc mismatch)';
const defragDamage = 'a defragmentation can corrupt the data';
const applyDamage = 'a snapshot that arrives during a defragmentation can corrupt the data';
const arriving: readonly Short[] = [
  ['3.3.21', '3.3.21', 'fail', crcMismatch, '3.3.22 or later', issue(11918)],
  ['3.3.0', '3.3.18', 'warn', defragDamage, '3.3.23 or later', issue(11613)],
  [
    '3.3.23',
    '3.3.24',
    'fail',
    directoryMode,
    '3.3.25 or later, or chmod 700',
    issue(12144),
    'directory-mode',
  ],
  ['3.3.0', '3.3.22', 'warn', 'has known security vulnerabilities', '3.3.23 or later', changes('3.3')],
  ['3.4.8', '3.4.8', 'fail', crcMismatch, '3.4.9 or later', issue(11918)],
  ['3.4.11', '3.4.11', 'fail', 'panics on a slow write', '3.4.12 or later', issue(12197)],
  [
    '3.4.0',
    '3.4.3',
    'fail',
    'panics when a user that 3.3 or an earlier version created signs in with a password',
    '3.4.4 or later',
    issue(11405),
    'authentication',
  ],
  [
    '3.4.10',
    '3.4.12',
    'fail',
    directoryMode,
    '3.4.13 or later, or chmod 700',
    issue(12144),
    'directory-mode',
  ],
  ['3.4.0', '3.4.3', 'warn', defragDamage, '3.4.38 or later', issue(11613)],
  ['3.4.0', '3.4.37', 'warn', applyDamage, '3.4.38 or later', issue(20659)],
  [
    '3.5.0',
    '3.5.2',
    'fail',
    'members can contain different data after a crash under load; this release was withdrawn for production',
    '3.5.26 or later',
    issue(13766),
  ],
  [
    '3.5.3',
    '3.5.3',
    'fail',
    'panics at the start with authentication enabled',
    '3.5.26 or later',
    issue(13946),
  ],
  [
    '3.5.4',
    '3.5.5',
    'warn',
    'a crash during a defragmentation can cause different revisions',
    '3.5.26 or later',
    issue(14733),
  ],
  ['3.5.6', '3.5.22', 'warn', applyDamage, '3.5.26 or later', issue(20653)],
  [
    '3.5.23',
    '3.5.25',
    'warn',
    'keeps records of removed members, which 3.6 would treat as members',
    '3.5.26 or later',
    issue(20967),
  ],
  [
    '3.6.0',
    '3.6.3',
    'fail',
    'can fail to start if its log contains the promotion of a learner',
    '3.6.9 or later',
    issue(20387),
  ],
  ['3.6.4', '3.6.4', 'fail', applyDamage, '3.6.9 or later', issue(20650)],
  ['3.6.5', '3.6.8', 'warn', 'uses much more memory with large data', '3.6.9 or later', issue(21355)],
  ['3.7.0', '3.7.0', 'warn', 'has known security vulnerabilities', '3.7.1 or later', changes('3.7')],
];
const leaving: readonly Short[] = [
  ['3.3.0', '3.3.21', 'warn', crcMismatch, 'upgrade every member to 3.3.22 or later first', issue(11918)],
  [
    '3.4.0',
    '3.4.21',
    'warn',
    'with authentication enabled, members can contain different data after a snapshot',
    'upgrade every member to 3.4.22 or later first',
    issue(14649),
  ],
  [
    '3.5.26',
    '3.5.31',
    'warn',
    'its check for v2 data does not read the log (WAL), and 3.6 does not start with v2 data in the log',
    'upgrade every member to 3.5.32 or later first',
    guide('3.6'),
  ],
  [
    '3.6.0',
    '3.6.10',
    'fail',
    'the upgrade guide requires 3.6.11 or later on every member before 3.7',
    'upgrade every member to 3.6.11 or later first',
    guide('3.7'),
  ],
];
const rulesOf = (on: VersionRule['on'], rows: readonly Short[]): VersionRule[] =>
  rows.map(([from, through, level, reason, instead, source, only_with]) => ({
    ...{ from, through, on, level, reason, instead, source },
    ...(only_with === undefined ? {} : { only_with }),
  }));
export const versionTable: VersionTable = {
  data_of: '2026-08-31',
  minors,
  rules: [
    ...rulesOf('arrive', arriving),
    ...rulesOf('leave', leaving),
    {
      from: '3.5.0',
      through: '3.5.25',
      on: 'leave',
      level: 'fail',
      is_final: true,
      reason: 'removed members can reappear on 3.6 and count for the quorum',
      instead: 'upgrade every member to 3.5.32 or later first',
      source: issue(20967),
    },
  ],
};
/** The rules that hold for this version. Pure. */
export const rulesFor = (
  { rules }: VersionTable,
  version: string,
  on: VersionRule['on'],
): readonly VersionRule[] =>
  rules.filter(
    (rule) =>
      rule.on === on &&
      compareVersions(version, rule.from) >= 0 &&
      compareVersions(version, rule.through) <= 0,
  );
/**
 * Whether a program with this output of `version` is an etcdctl that cannot restore: from 3.6 on, only etcdutl has
 * `snapshot restore` (seen in the sources of 3.6). Pure.
 */
export const isCtlWithoutRestore = (text: string): boolean => {
  const [, major = 0, minor = 0] = /^\w*ctl version:\s*v?(\d+)\.(\d+)/m.exec(text)?.map(Number) ?? [];
  return major > 3 || (major === 3 && minor >= 6);
};
/** The etcdutl next to this etcdctl, by its usual name. Undefined if the program has another name. Pure. */
export const utlNextTo = (ctl: string): string | undefined => {
  const path = ctl.replace(/ctl(?=[^/]*$)/, 'utl');
  return path === ctl ? undefined : path;
};
/** Newer than the newest known version, so the table cannot list its problems. */
export const isUnknownTo = ({ minors: known }: VersionTable, version: string): boolean => {
  const facts = known.find(({ minor }) => minor === minorOf(version));
  return facts === undefined || compareVersions(version, facts.latest) > 0;
};
const following = (version: string): string =>
  version.replace(/(\d+)$/, (patch) => String(Number(patch) + 1));
/** The first patch without anything against it, of this level or a worse one, from the minor's first patch on. Pure. */
export const leastOf = (
  table: VersionTable,
  minor: Minor,
  on: VersionRule['on'],
  level: VersionRule['level'],
): string => {
  const counts = (rule: VersionRule): boolean => level === 'warn' || rule.level === 'fail';
  let least = `${minor}.0`;
  for (;;) {
    const against = rulesFor(table, least, on).filter(counts);
    if (against.length === 0) return least;
    least = following(
      against
        .map(({ through }) => through)
        .toSorted(compareVersions)
        .at(-1) as string,
    );
  }
};
