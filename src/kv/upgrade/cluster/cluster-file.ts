import { next } from '../../../core/next.ts';
import { isAbsolute, join, posix, resolve } from 'node:path';
import { nextMinor, versionRows } from '../../../api-specs/etcd/versions.ts';
import { checkFields } from '../../../core/check.ts';
import {
  any,
  bool,
  type Fields,
  help,
  int,
  list,
  map,
  obj,
  oneOf,
  req,
  str,
  url,
} from '../../../core/field.ts';
import { AppError, problem, type Problem } from '../../../core/problem.ts';
import { objectSchema } from '../../../core/shape.ts';
import type { Host } from '../../../platform/host.ts';
import { assertTrusted, assertTrustedProgram } from '../../../platform/trust.ts';
import type { ClusterFile, MemberSpec } from '../../engine/model.ts';
import { isBucketUrl } from '../../snapshots/catalog.ts';
import { bucketUrlProblem } from '../../snapshots/destination.ts';
import { argvOf, wordsOf, type CommandLine } from '../../../core/shell.ts';
import { driverKinds, experimentalText, hookCommands, neededBy, remoteKinds } from './drivers.ts';
import { contentOf } from './yaml-file.ts';

const line = (summary: string) =>
  help(
    any(),
    `${summary}; a list of arguments, or one line that is split like a shell splits arguments. Use absolute paths`,
  );
const path = (summary: string, relativeTo: string) =>
  help(str(4096, { min: 1 }), `${summary}; relative to ${relativeTo}`);
const here = (summary: string) => path(summary, 'this file');
const there = (summary: string) => path(summary, 'this file, with driver ssh a path of its host');
const program = (summary: string) =>
  path(summary, 'this file unless it is a bare name; with driver ssh a path of its host');
const hookFields = {
  stop: line('Stops the member'),
  kill: line('Kills the process of the member; used after timeouts.stop_seconds'),
  start_old: line('Starts the member with its old binary'),
  start_new: line('Starts the member with its new binary'),
  is_running: line(
    'Exits 0 if the process of the member runs, 75 while it starts, 77 if the state is unknown',
  ),
  new_version: line('Prints the version of the new binary'),
  old_version: line('Prints the version of the old binary'),
  log: line("Prints the end of the member's log"),
  before_member: line('Runs here before a member is stopped'),
  after_member: line('Runs here after a member has passed its health check'),
} as const satisfies Fields;
const programFields = {
  binary: program('Server program of this version'),
  command: line('local: command line of this version (default: the flags of new_command, with binary)'),
  image: help(str(1024, { min: 1 }), 'docker, static-pod: image of this version'),
} as const satisfies Fields;
const versionsText =
  'Programs by minor version, for an upgrade over several versions; a key is a version such as "3.4"';
const memberFields = {
  name: req(str(255, { min: 1, pattern: '^[A-Za-z0-9._-]+$' })),
  client_url: req(help(url(), 'URL of the client interface, http://host:2379')),
  peer_url: help(url(), 'URL of the peer interface'),
  data_dir: there("The member's data directory"),
  wal_dir: there(
    'Directory of the write-ahead log, if it is outside of data_dir and opsctl cannot read that setting',
  ),
  pid_file: there('local: file with the process ID'),
  log_file: there('local: file that gets the output of the process'),
  old_binary: program('Server program of the running version'),
  new_binary: program('Server program of the target version'),
  old_command: line('local: command line of the running version'),
  new_command: line('local: command line of the target version'),
  config_file: there('Configuration file that is rewritten for the new version between stop and start'),
  new_config_file: here('New content of config_file, a file on this machine; only kv restart uses it'),
  env: help(
    map(str()),
    'local: environment added for the process; ETCD_INITIAL_ELECTION_TICK_ADVANCE=false is, unless set here',
  ),
  host: help(str(255, { min: 1 }), 'ssh: [user@]host, or a name of the ssh configuration'),
  unit: help(str(255, { min: 1 }), 'systemd: the unit'),
  binary_path: there('systemd: path that the unit starts; new_binary is put there'),
  container: help(str(255, { min: 1 }), 'docker: the container'),
  old_image: help(str(1024, { min: 1 }), 'docker, static-pod: image of the running version'),
  new_image: help(str(1024, { min: 1 }), 'docker, static-pod: image of the target version'),
  manifest: there('static-pod: the manifest that the kubelet watches'),
  versions: help(map(obj(programFields)), `${versionsText}; precedes versions of the cluster`),
} as const satisfies Fields;
const tlsFields = {
  ca_file: here("PEM file with the authorities that signed the members' certificates"),
  cert_file: here('PEM file with the client certificate, if the members require one'),
  key_file: here('PEM file with the key of cert_file, without a passphrase'),
  server_name: help(
    str(255, { min: 1 }),
    'Name in the certificates of the members, if it differs from the host of their client_url',
  ),
} as const satisfies Fields;
const userFields = {
  name: req(
    help(
      str(undefined, { min: 1 }),
      'User of the cluster; with authentication enabled it needs the root role',
    ),
  ),
  password_file: here('File with the password'),
  password_env: help(
    str(undefined, { min: 1 }),
    'Environment variable with the password (default OPSCTL_KV_PASSWORD)',
  ),
} as const satisfies Fields;
const s3Fields = {
  endpoint: help(url(), 'URL of an S3-compatible service (default: AWS_ENDPOINT_URL_S3, else AWS)'),
  region: help(str(64, { min: 1 }), 'Region of the bucket (default: AWS_REGION)'),
  addressing: help(
    oneOf('path', 'virtual'),
    'Bucket in the path or in the host name (default: path with an endpoint, else virtual)',
  ),
} as const satisfies Fields;
const clusterFields = {
  name: req(
    help(
      str(128, { min: 1, pattern: '^[A-Za-z0-9._-]+$' }),
      'Name of the cluster: typed to confirm, and part of file names',
    ),
  ),
  to: help(
    str(16, { pattern: '^\\d+\\.\\d+$' }),
    'Target version, for example 3.4 (default: the next version after the running one)',
  ),
  driver: help(
    oneOf(...driverKinds),
    `Program or service that stops and starts the members (default local); ${experimentalText}`,
  ),
  members: req(list(obj(memberFields), { min: 1, max: 99 })),
  hooks: obj(hookFields),
  ssh: obj({
    options: list(str()),
    proxy_jump: str(),
    sudo: bool(),
    // biome-ignore lint/suspicious/noThenProperty: a key of the cluster file
    then: oneOf(...remoteKinds),
  }),
  tls: help(obj(tlsFields), 'For members with https:// URLs'),
  user: help(obj(userFields), 'For a cluster with authentication'),
  ctl_binary: path(
    'Program that restores snapshots (etcdctl, from 3.6 on etcdutl); only `kv restore` and `kv rehearse` need it',
    'this file unless it is a bare name',
  ),
  utl_binary: path(
    'etcdutl of the running version; from 3.5 to 3.6 it checks the directory of each stopped member for v2 data (driver local)',
    'this file unless it is a bare name',
  ),
  versions: help(
    map(
      obj({
        ...programFields,
        ctl_binary: path(
          'ctl_binary while the cluster runs this version',
          'this file unless it is a bare name',
        ),
        utl_binary: path(
          'utl_binary while the cluster runs this version',
          'this file unless it is a bare name',
        ),
      }),
    ),
    versionsText,
  ),
  snapshot_dir: here('Directory for snapshots, or s3://BUCKET/PREFIX (default: the state directory)'),
  s3: help(obj(s3Fields), 'For snapshot_dir in a bucket; credentials come from the environment'),
  timeouts: obj({
    stop_seconds: help(
      int({ min: 1, max: 3600 }),
      'Time for a member to exit after the request to stop (default 120)',
    ),
    gate_seconds: help(int({ min: 1, max: 3600 }), 'Time for a member to pass its health check (default 60)'),
    stable_seconds: help(
      int({ min: 0, max: 3600 }),
      'Time that a member must stay healthy before the next member (default 1)',
    ),
    stable_before_last_seconds: help(
      int({ min: 0, max: 86_400 }),
      'Time that all upgraded members must be healthy at the same time before the last member of the old version is stopped (default 10)',
    ),
    soak_seconds: help(
      int({ min: 0, max: 2_592_000 }),
      'Time that the cluster runs a version before the upgrade to the next one (default 600)',
    ),
    snapshot_seconds: help(
      int({ min: 1, max: 3600 }),
      'Time without a byte of a snapshot before opsctl requests it again (default 8)',
    ),
  }),
  simulated: help(bool(), 'Set by `mock kv start`: a rehearsal, not a database'),
} as const satisfies Fields;

const isCommandLine = (value: unknown): value is CommandLine =>
  typeof value === 'string'
    ? (wordsOf(value)?.length ?? 0) > 0
    : Array.isArray(value) && value.every((word) => typeof word === 'string');
/** Two hosts may use the same directory names, but names and URLs must be unique. */
const findRepeated = (members: readonly MemberSpec[], driver: string): Problem[] =>
  (
    [
      'name',
      'client_url',
      'peer_url',
      ...(driver === 'local' ? (['data_dir', 'pid_file'] as const) : []),
    ] as const
  ).flatMap((key) => {
    const values = members.map((member) => member[key]);
    return values.flatMap((value, i) => {
      const first = values.indexOf(value);
      return value === undefined || first === i
        ? []
        : [problem(`members[${i}].${key}`, 'rule', `is the same as that of members[${first}]`)];
    });
  });
/** The table of versions can name the old and the new programs. */
const isInTable = (key: string, hasTable: boolean): boolean => hasTable && /^(old|new)_/.test(key);
type Kinds = { readonly driver: string; readonly remote: string; readonly hasTable: boolean };
const missingKeys = (member: MemberSpec, at: string, { driver, remote, hasTable }: Kinds): Problem[] => {
  const isRemote = driver === 'ssh';
  const of = typeof member.name === 'string' ? ` (${member.name})` : '';
  return (isRemote ? [driver, remote] : [driver]).flatMap((kind) =>
    neededBy(kind)
      .filter((key) => member[key] === undefined && !isInTable(key, hasTable))
      .map((key) =>
        problem(
          `${at}.${key}`,
          'required',
          `is required with driver ${kind === driver ? kind : `ssh, then ${kind}`}${of}`,
        ),
      ),
  );
};
const commandProblem = (
  member: MemberSpec,
  at: string,
  which: 'old' | 'new',
  { driver, remote, hasTable }: Kinds,
): Problem[] => {
  const [line, binary] = [member[`${which}_command`], member[`${which}_binary`]];
  const path = `${at}.${which}_command`;
  if (line !== undefined && !isCommandLine(line))
    return [problem(path, 'type', 'must be a list of arguments or one line of text with closed quotes')];
  const isProcess = (driver === 'ssh' ? remote : driver) === 'local';
  if (!isProcess || hasTable || argvOf(line, binary) !== undefined) return [];
  const of = typeof member.name === 'string' ? ` (${member.name})` : '';
  return [
    problem(
      path,
      'required',
      `is required with driver ${driver === 'ssh' ? 'ssh, then local' : 'local'}${of}`,
      `or ${which}_binary, if the line contains only flags`,
    ),
  ];
};
const tableProblems = (versions: ClusterFile['versions'], at: string): Problem[] =>
  Object.entries(versions ?? {}).flatMap(([minor, row]) => {
    const path = `${at}versions.${minor}`;
    const unknown = versionRows.every((known) => known.minor !== minor)
      ? [problem(path, 'enum', `must be one of ${versionRows.map((known) => known.minor).join(', ')}`)]
      : [];
    const { command } = row;
    return command === undefined || isCommandLine(command)
      ? unknown
      : [
          ...unknown,
          problem(
            `${path}.command`,
            'type',
            'must be a list of arguments or one line of text with closed quotes',
          ),
        ];
  });
const memberProblems = (member: MemberSpec, at: string, kinds: Kinds): Problem[] => [
  ...missingKeys(member, at, kinds),
  ...commandProblem(member, at, 'old', kinds),
  ...commandProblem(member, at, 'new', kinds),
];
export type Purpose = 'read' | 'upgrade';
/**
 * Returns every problem in the content of a cluster file. A file that only contains URLs is enough for
 * read-only commands. Pure.
 */
export const clusterProblems = (content: unknown, purpose: Purpose = 'upgrade'): Problem[] => {
  if (typeof content !== 'object' || content === null || Array.isArray(content))
    return [
      problem(
        '',
        'type',
        'must be a mapping with `name` and `members`',
        next(['kv', 'init'], 'writes such a file'),
      ),
    ];
  const wrong = checkFields(clusterFields, content as Record<string, unknown>);
  const isWrong = (path: string): boolean => wrong.some((one) => one.path === path);
  // A problem that follows from an invalid value is not reported again below.
  return [
    ...wrong,
    ...useProblems(withoutNoise(content as ClusterFile), purpose).filter(({ path }) => !isWrong(path)),
  ];
};
/** Members that are not mappings and a driver that is not valid have been reported already. */
const withoutNoise = (content: ClusterFile): ClusterFile => {
  const members = Array.isArray(content.members) ? content.members : [];
  const hooks =
    typeof content.hooks === 'object' && content.hooks !== null
      ? { hooks: content.hooks }
      : { hooks: undefined };
  return {
    ...content,
    ...hooks,
    members: members.map((one) => (typeof one === 'object' && one !== null ? one : ({} as MemberSpec))),
  };
};
const startOfName = 'must start with a letter, a digit or "_"';
/** A name becomes part of file names and an argument of programs. */
const nameProblems = ({ name, members }: ClusterFile): Problem[] => {
  const names = [['name', name], ...members.map((one, i) => [`members[${i}].name`, one.name])];
  return names.flatMap(([path = '', text]) =>
    typeof text === 'string' && /^[.-]/.test(text)
      ? [problem(path, 'format', `${startOfName}; got ${JSON.stringify(text)}`)]
      : [],
  );
};
/** Names, addresses, environment and command lines have rules of their own. */
const otherKeys = ['name', 'client_url', 'peer_url', 'old_command', 'new_command', 'env', 'versions'];
/** A new key of a member is an argument of a program until it is listed above. */
const memberArguments = Object.keys(memberFields).filter((key) => !otherKeys.includes(key));
const isUnsafeArgument = (text: unknown): text is string =>
  typeof text === 'string' && /^-|\p{Cc}/u.test(text);
const tableArguments = (versions: ClusterFile['versions'], at: string): [string, unknown][] =>
  Object.entries(versions ?? {}).flatMap(([minor, row]) =>
    (['binary', 'image', 'ctl_binary', 'utl_binary'] as const).map((key): [string, unknown] => [
      `${at}versions.${minor}.${key}`,
      row[key],
    ]),
  );
/**
 * ssh, docker, systemctl and the programs of the store receive these values, so no value may start like a
 * flag.
 */
const argumentProblems = ({ members, ssh, ...cluster }: ClusterFile): Problem[] => {
  const values: [string, unknown][] = [
    ['ctl_binary', cluster.ctl_binary],
    ['utl_binary', cluster.utl_binary],
    ['snapshot_dir', cluster.snapshot_dir],
    ['ssh.proxy_jump', ssh?.proxy_jump],
    ...tableArguments(cluster.versions, ''),
    ...members.flatMap((one, i) => tableArguments(one.versions, `members[${i}].`)),
    ...members.flatMap((one, i) =>
      memberArguments.map((key): [string, unknown] => [
        `members[${i}].${key}`,
        (one as Readonly<Record<string, unknown>>)[key],
      ]),
    ),
  ];
  return values.flatMap(([path, text]) =>
    isUnsafeArgument(text)
      ? [
          problem(
            path,
            'format',
            `must not start with "-" or contain control characters; got ${JSON.stringify(text)}`,
            'a path can start with "./"',
          ),
        ]
      : [],
  );
};
const bucketProblems = ({ snapshot_dir: where }: ClusterFile): Problem[] => {
  const why = where !== undefined && isBucketUrl(where) ? bucketUrlProblem(where) : undefined;
  return why === undefined ? [] : [problem('snapshot_dir', 'format', why)];
};
const membersProblems = ({ members, versions, ssh }: ClusterFile, driver: string): Problem[] =>
  members.flatMap((member, i) =>
    memberProblems(member, `members[${i}]`, {
      driver,
      remote: ssh?.then ?? 'local',
      hasTable: versions !== undefined || member.versions !== undefined,
    }),
  );
const useProblems = (cluster: ClusterFile, purpose: Purpose): Problem[] => {
  const found: Problem[] = [];
  const driver = cluster.driver ?? 'local';
  if (purpose === 'upgrade') found.push(...membersProblems(cluster, driver));
  found.push(
    ...tableProblems(cluster.versions, ''),
    ...cluster.members.flatMap((member, i) => tableProblems(member.versions, `members[${i}].`)),
    ...nameProblems(cluster),
    ...argumentProblems(cluster),
    ...findRepeated(cluster.members, driver),
    ...bucketProblems(cluster),
  );
  for (const [name, line] of Object.entries(cluster.hooks ?? {})) {
    if (!isCommandLine(line))
      found.push(
        problem(
          `hooks.${name}`,
          'type',
          'must be a list of arguments or one line of text with closed quotes',
        ),
      );
  }
  if (
    purpose === 'upgrade' &&
    driver === 'hooks' &&
    (cluster.hooks?.stop === undefined ||
      cluster.hooks.start_new === undefined ||
      cluster.hooks.start_old === undefined)
  ) {
    found.push(problem('hooks', 'required', 'needs stop, start_old and start_new with driver hooks'));
  }
  const targets = versionRows.flatMap((row) => nextMinor(row.minor) ?? []);
  if (cluster.to !== undefined && !targets.includes(cluster.to as never))
    found.push(problem('to', 'enum', `must be one of ${targets.join(', ')}; got ${cluster.to}`));
  return found;
};
const pathKeys = [
  'data_dir',
  'wal_dir',
  'pid_file',
  'log_file',
  'old_binary',
  'new_binary',
  'config_file',
  'binary_path',
  'manifest',
] as const;
type Versions = NonNullable<ClusterFile['versions']>;
const absoluteTable = (
  versions: Versions,
  isBinaryHere: boolean,
  absolute: (path: string) => string,
): Versions => {
  const keys = ['ctl_binary', 'utl_binary', ...(isBinaryHere ? (['binary'] as const) : [])] as const;
  const rows = Object.entries(versions).map(([minor, row]) => {
    const changed = keys.flatMap((key) => (row[key] === undefined ? [] : [[key, absolute(row[key])]]));
    return [minor, { ...row, ...Object.fromEntries(changed) }];
  });
  return Object.fromEntries(rows) as Versions;
};
const tlsFiles = ['ca_file', 'cert_file', 'key_file'] as const;
/**
 * Resolves the paths in the file relative to the file. Paths on other hosts, bare program names and arguments
 * of commands stay as they are.
 */
const withAbsolutePaths = (cluster: ClusterFile, directory: string): ClusterFile => {
  const absolute = (path: string): string =>
    isAbsolute(path) || !path.includes('/') ? path : resolve(directory, path);
  const isHere = cluster.driver !== 'ssh';
  const tableAt = (versions: Versions): Versions => absoluteTable(versions, isHere, absolute);
  const member = (spec: MemberSpec): MemberSpec => {
    const changed = pathKeys.flatMap((key) => {
      const value = spec[key];
      if (value === undefined || !isHere) return [];
      const isProgram = key === 'old_binary' || key === 'new_binary';
      return [[key, isProgram ? absolute(value) : resolve(directory, value)]];
    });
    const { new_config_file, versions } = spec;
    return {
      ...spec,
      ...Object.fromEntries(changed),
      ...(versions === undefined || !isHere ? {} : { versions: tableAt(versions) }),
      ...(new_config_file === undefined ? {} : { new_config_file: resolve(directory, new_config_file) }),
    };
  };
  const { snapshot_dir: snapshots, ctl_binary, utl_binary, tls, user, ...others } = cluster;
  const within = <T extends object>(part: T, keys: readonly (keyof T)[]): T => {
    const named = keys.filter((key) => typeof part[key] === 'string');
    return {
      ...part,
      ...Object.fromEntries(named.map((key) => [key, resolve(directory, part[key] as string)])),
    };
  };
  return {
    ...others,
    members: cluster.members.map(member),
    ...(snapshots === undefined ? {} : snapshotPlace(directory, snapshots)),
    ...(ctl_binary === undefined ? {} : { ctl_binary: absolute(ctl_binary) }),
    ...(utl_binary === undefined ? {} : { utl_binary: absolute(utl_binary) }),
    ...(cluster.versions === undefined ? {} : { versions: tableAt(cluster.versions) }),
    ...(tls === undefined ? {} : { tls: within(tls, tlsFiles) }),
    ...(user === undefined ? {} : { user: within(user, ['password_file']) }),
  };
};
/**
 * Returns the snapshot directory as an absolute path, or the bucket URL, which has no path on this machine.
 */
const snapshotPlace = (
  directory: string,
  where: string,
): Pick<ClusterFile, 'snapshot_dir' | 'snapshot_url'> =>
  isBucketUrl(where)
    ? { snapshot_url: where.replace(/\/+$/, '') }
    : { snapshot_dir: resolve(directory, where) };
/** Returns the valid content of a cluster file, with its paths as they are written. */
const readWritten = async (host: Host, path: string, purpose: Purpose): Promise<ClusterFile> => {
  const absolute = resolve(host.cwd, path);
  if ((await host.files.info(absolute))?.kind === 'directory')
    throw new AppError('config', `${path} is a directory, not a cluster file`, {
      code: 'NO_CLUSTER_FILE',
      tryThis: [`--cluster ${join(path, 'cluster.yaml')}`],
    });
  await assertTrusted(host, `the cluster file ${path}`, absolute);
  const text = await host.files.read(absolute);
  const tryThis = [
    next(['kv', 'init', '--endpoints', 'URL', '--out', 'cluster.yaml']),
    'opsctl mock kv start --members 3',
  ];
  if (text === undefined)
    throw new AppError('config', `cluster file not found: ${path}`, { code: 'NO_CLUSTER_FILE', tryThis });
  const problems = (content: unknown): Problem[] => clusterProblems(content, purpose);
  const content = await contentOf(text, { what: path, code: 'CLUSTER_FILE', problems, asTyped: ['to'] });
  return content as ClusterFile;
};
export type AccessFile = {
  readonly name: (typeof tlsFiles)[number] | 'password_file';
  readonly path: string;
  /** The path as the cluster file names it. */
  readonly written: string;
  /** The path that a copy of the cluster file names. */
  readonly pathOfCopy: string;
};
/**
 * Returns the certificates and the password file that a cluster file names. A relative path in a copy of the
 * cluster file names a file below the directory of the copy, an absolute path the same file.
 */
export const readAccessFiles = async (
  host: Host,
  path: string,
  directoryOfCopy: string,
): Promise<readonly AccessFile[]> => {
  const { tls, user } = await readWritten(host, path, 'read');
  const files = { ...tls, password_file: user?.password_file };
  return ([...tlsFiles, 'password_file'] as const).flatMap((name) => {
    const written = files[name];
    if (written === undefined) return [];
    const absolute = resolve(host.cwd, path, '..', written);
    return [{ name, path: absolute, written, pathOfCopy: posix.resolve(directoryOfCopy, written) }];
  });
};
export const readCluster = async (
  host: Host,
  path: string,
  purpose: Purpose = 'read',
): Promise<ClusterFile> => {
  const cluster = await readWritten(host, path, purpose);
  const absoluteCluster = withAbsolutePaths(cluster, resolve(host.cwd, path, '..'));
  for (const { name, words } of hookCommands(absoluteCluster))
    await assertTrustedProgram(host, `the hook ${name}`, words);
  return absoluteCluster;
};
/** JSON Schema of the cluster file, for editors. */
export const clusterSchema = (): Record<string, unknown> => ({
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'opsctl cluster file',
  ...objectSchema(clusterFields, new Map(), { version: '3.1', refPrefix: '#/$defs/' }),
});

/** How long opsctl waits for a member to exit after the stop request. */
export const stopGraceMs = ({ timeouts }: Pick<ClusterFile, 'timeouts'>): number =>
  (timeouts?.stop_seconds ?? 120) * 1000;
