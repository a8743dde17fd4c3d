import { isAbsolute, join, resolve } from 'node:path';
import type { Host } from '../../../platform/host.ts';
import { assertTrusted, assertTrustedProgram } from '../../../platform/trust.ts';
import { checkFields } from '../../../core/check.ts';
import { AppError, problem } from '../../../core/problem.ts';
import type { Problem } from '../../../core/problem.ts';
import { objectSchema } from '../../../core/schema.ts';
import { nextMinor, versionRows } from '../../../api-specs/etcd/versions.ts';
import { clusterFields } from './cluster-fields.ts';
import { argvOf, wordsOf } from './command-line.ts';
import { neededBy } from './drivers.ts';
import type { ClusterFile, CommandLine, MemberSpec } from '../../engine/types.ts';
import { bucketUrlProblem, isBucketUrl } from '../../snapshots/bucket-url.ts';
import { contentOf } from './yaml-file.ts';

const isCommandLine = (value: unknown): value is CommandLine =>
  typeof value === 'string'
    ? (wordsOf(value)?.length ?? 0) > 0
    : Array.isArray(value) && value.every((word) => typeof word === 'string');

/** Two hosts may use the same directory names; names and URLs never. */
const repeated = (members: readonly MemberSpec[], driver: string): Problem[] =>
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

const missingKeys = (member: MemberSpec, at: string, driver: string, then: string): Problem[] => {
  const isRemote = driver === 'ssh';
  const of = typeof member.name === 'string' ? ` (${member.name})` : '';
  return (isRemote ? [driver, then] : [driver]).flatMap((kind) =>
    neededBy(kind)
      .filter((key) => member[key] === undefined)
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
  driver: string,
  then: string,
): Problem[] => {
  const [line, binary] = [member[`${which}_command`], member[`${which}_binary`]];
  const path = `${at}.${which}_command`;
  if (line !== undefined && !isCommandLine(line))
    return [problem(path, 'type', 'must be a list of words or one line of text with closed quotes')];
  const isProcess = (driver === 'ssh' ? then : driver) === 'local';
  if (!isProcess || argvOf(line, binary) !== undefined) return [];
  const of = typeof member.name === 'string' ? ` (${member.name})` : '';
  return [
    problem(
      path,
      'required',
      `is required with driver ${driver === 'ssh' ? 'ssh, then local' : 'local'}${of}`,
      `or ${which}_binary, when the line has only flags`,
    ),
  ];
};

const memberProblems = (member: MemberSpec, at: string, driver: string, then: string): Problem[] => [
  ...missingKeys(member, at, driver, then),
  ...commandProblem(member, at, 'old', driver, then),
  ...commandProblem(member, at, 'new', driver, then),
];

export type Purpose = 'read' | 'upgrade';
/** Everything that is wrong with a cluster file's content, all at once. A file that only names URLs is enough to look at a cluster. Pure. */
export const clusterProblems = (content: unknown, purpose: Purpose = 'upgrade'): Problem[] => {
  if (typeof content !== 'object' || content === null || Array.isArray(content))
    return [
      problem('', 'type', 'must be a mapping with `name` and `members`', 'opsctl kv init writes such a file'),
    ];
  const wrong = checkFields(clusterFields, content as Record<string, unknown>);
  const isWrong = (path: string): boolean => wrong.some((one) => one.path === path);
  // What is said below is left out where the value itself is wrong, and not only its use.
  return [
    ...wrong,
    ...useProblems(withoutNoise(content as ClusterFile), purpose).filter(({ path }) => !isWrong(path)),
  ];
};

/** Members that are no mappings, and a driver that is none, have been complained of already. */
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
/** A name is part of file names and an argument of programs. */
const nameProblems = ({ name, members }: ClusterFile): Problem[] => {
  const names = [['name', name], ...members.map((one, i) => [`members[${i}].name`, one.name])];
  return names.flatMap(([path = '', text]) =>
    typeof text === 'string' && /^[.-]/.test(text)
      ? [problem(path, 'format', `${startOfName}; got ${JSON.stringify(text)}`)]
      : [],
  );
};

const memberArguments = [
  ...['host', 'unit', 'container', 'old_image', 'new_image', 'old_binary', 'new_binary', 'binary_path'],
  ...['data_dir', 'pid_file', 'log_file', 'config_file', 'new_config_file', 'manifest'],
] as const;
const isUnsafeArgument = (text: unknown): text is string =>
  typeof text === 'string' && /^-|\p{Cc}/u.test(text);
/** ssh, docker, systemctl and the programs of the store receive these values: none of them may look like a flag. */
const argumentProblems = ({ members, ssh, ...cluster }: ClusterFile): Problem[] => {
  const values: [string, unknown][] = [
    ['ctl_binary', cluster.ctl_binary],
    ['utl_binary', cluster.utl_binary],
    ['snapshot_dir', cluster.snapshot_dir],
    ['ssh.proxy_jump', ssh?.proxy_jump],
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

const useProblems = (cluster: ClusterFile, purpose: Purpose): Problem[] => {
  const found: Problem[] = [];
  const driver = cluster.driver ?? 'local';
  if (purpose === 'upgrade')
    found.push(
      ...cluster.members.flatMap((member, i) =>
        memberProblems(member, `members[${i}]`, driver, cluster.ssh?.then ?? 'local'),
      ),
    );
  found.push(
    ...nameProblems(cluster),
    ...argumentProblems(cluster),
    ...repeated(cluster.members, driver),
    ...bucketProblems(cluster),
  );
  for (const [name, line] of Object.entries(cluster.hooks ?? {})) {
    if (!isCommandLine(line))
      found.push(
        problem(`hooks.${name}`, 'type', 'must be a list of words or one line of text with closed quotes'),
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
/** Paths in the file are relative to the file. Not those of other hosts, not a bare program name, and not words of a command. */
const withAbsolutePaths = (cluster: ClusterFile, directory: string): ClusterFile => {
  const absolute = (path: string): string =>
    isAbsolute(path) || !path.includes('/') ? path : resolve(directory, path);
  const isHere = cluster.driver !== 'ssh';
  const member = (spec: MemberSpec): MemberSpec => {
    const changed = pathKeys.flatMap((key) => {
      const value = spec[key];
      if (value === undefined || !isHere) return [];
      const isProgram = key === 'old_binary' || key === 'new_binary';
      return [[key, isProgram ? absolute(value) : resolve(directory, value)]];
    });
    const { new_config_file } = spec;
    return {
      ...spec,
      ...Object.fromEntries(changed),
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
    ...(tls === undefined ? {} : { tls: within(tls, ['ca_file', 'cert_file', 'key_file']) }),
    ...(user === undefined ? {} : { user: within(user, ['password_file']) }),
  };
};

/** A bucket has no path on this machine. */
const snapshotPlace = (
  directory: string,
  where: string,
): Pick<ClusterFile, 'snapshot_dir' | 'snapshot_url'> =>
  isBucketUrl(where)
    ? { snapshot_url: where.replace(/\/+$/, '') }
    : { snapshot_dir: resolve(directory, where) };

export const readCluster = async (
  host: Host,
  path: string,
  purpose: Purpose = 'read',
): Promise<ClusterFile> => {
  const absolute = resolve(host.cwd, path);
  if ((await host.files.info(absolute))?.kind === 'directory')
    throw new AppError('config', `${path} is a directory, not a cluster file`, {
      code: 'NO_CLUSTER_FILE',
      tryThis: [`--cluster ${join(path, 'cluster.yaml')}`],
    });
  await assertTrusted(host, `the cluster file ${path}`, absolute);
  const text = await host.files.read(absolute);
  const tryThis = ['opsctl kv init --endpoints URL --out cluster.yaml', 'opsctl mock kv start --members 3'];
  if (text === undefined)
    throw new AppError('config', `there is no cluster file ${path}`, { code: 'NO_CLUSTER_FILE', tryThis });
  const problems = (content: unknown): Problem[] => clusterProblems(content, purpose);
  const content = await contentOf(text, { what: path, code: 'CLUSTER_FILE', problems, asTyped: ['to'] });
  const cluster = content as ClusterFile;
  for (const [name, line] of Object.entries(cluster.hooks ?? {}))
    await assertTrustedProgram(host, `the hook ${name}`, argvOf(line, undefined) ?? []);
  return withAbsolutePaths(cluster, resolve(absolute, '..'));
};

/** JSON Schema of the cluster file, for editors. */
export const clusterSchema = (): Record<string, unknown> => ({
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'opsctl cluster file',
  ...objectSchema(clusterFields, new Map(), { version: '3.1', refPrefix: '#/$defs/' }),
});
