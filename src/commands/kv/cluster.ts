import { resolve } from 'node:path';
import { str } from '../../core/field.ts';
import { AppError, invalidArguments, problem } from '../../core/problem.ts';
import type { Access } from '../../kv-upgrade/observe/access.ts';
import type { Flagged } from '../../etcd-client/certificates.ts';
import type { Driver } from '../../kv-upgrade/supervisors/driver.ts';
import type { ClusterFile } from '../../kv-upgrade/types.ts';
import type { Context, Flags, ValuesOf } from '../../cli/command.ts';

/** Which cluster is meant, and how to be let in. */
export const clusterFlags = {
  cluster: {
    field: str(undefined, { min: 1 }),
    summary: 'Cluster file (default: OPSCTL_KV_CLUSTER, else the simulated cluster that runs)',
    value: 'file',
    complete: 'file',
    isRepeated: true,
  },
} as const satisfies Flags;
/** Members by their addresses, and how to be let in. */
export const addressFlags = {
  endpoints: {
    field: str(undefined, { min: 1 }),
    summary: 'Members to talk to, instead of a cluster file: host:port or URL, comma-separated',
    value: 'list',
    isRepeated: true,
  },
  user: {
    field: str(undefined, { min: 1 }),
    summary: 'User of the store; the password comes from --password-file or OPSCTL_KV_PASSWORD',
    value: 'name',
  },
  'password-file': {
    field: str(undefined, { min: 1 }),
    summary: 'File with the password of --user',
    value: 'file',
    complete: 'file',
  },
  cacert: {
    field: str(undefined, { min: 1 }),
    summary: "PEM file with the authorities of the members' certificates",
    value: 'file',
    complete: 'file',
  },
  cert: {
    field: str(undefined, { min: 1 }),
    summary: 'PEM file with a client certificate',
    value: 'file',
    complete: 'file',
  },
  key: {
    field: str(undefined, { min: 1 }),
    summary: 'PEM file with the key of --cert',
    value: 'file',
    complete: 'file',
  },
  'server-name': {
    field: str(255, { min: 1 }),
    summary: "Name in the members' certificates, when it is not the host of their URL",
    value: 'name',
  },
} as const satisfies Flags;
export const endpointFlags = { ...clusterFlags, ...addressFlags } as const satisfies Flags;

export type EndpointValues = ValuesOf<typeof endpointFlags>;

export type Opened = {
  readonly cluster: ClusterFile;
  /** Absolute path of the cluster file; undefined when only endpoints were given. */
  readonly file?: string;
  readonly access: Access;
  /** Endpoints as they were typed, in the order of the members. */
  readonly typed: readonly string[];
};

/** `host:port` is plain HTTP, or HTTPS when certificates are given. */
const urlOf = (endpoint: string, isTls: boolean): string => {
  const text = /^[a-z]+:\/\//.test(endpoint) ? endpoint : `${isTls ? 'https' : 'http'}://${endpoint}`;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || (url.protocol !== 'http:' && url.protocol !== 'https:') || url.hostname === '') {
    throw invalidArguments([
      problem(
        '--endpoints',
        'format',
        `must be host:port or a URL, comma-separated; got ${JSON.stringify(endpoint)}`,
      ),
    ]);
  }
  return url.origin;
};

const tlsFlags = [
  ['cacert', 'ca_file'],
  ['cert', 'cert_file'],
  ['key', 'key_file'],
  ['server-name', 'server_name'],
] as const;
const flagged = (values: EndpointValues): Flagged =>
  Object.fromEntries(
    [...tlsFlags, ['password-file', 'password_file'] as const].flatMap(([flag, key]) =>
      values[flag] === undefined ? [] : [[key, `--${flag}`]],
    ),
  );

const fromEndpoints = (values: EndpointValues): { cluster: ClusterFile; typed: string[] } => {
  const typed = String(values.endpoints)
    .split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '');
  const isTls = tlsFlags.some(([flag]) => values[flag] !== undefined);
  const members = [...new Set(typed)].map((endpoint) => ({
    name: endpoint,
    client_url: urlOf(endpoint, isTls),
  }));
  if (members.length === 0) throw invalidArguments([problem('--endpoints', 'required', 'names no endpoint')]);
  return { cluster: { name: 'cluster', members }, typed: members.map(({ name }) => name) };
};

/** Flags win over the cluster file, each for itself. Their paths are relative to where the command is run. */
const withFlags = (cluster: ClusterFile, values: EndpointValues, cwd: string): ClusterFile => {
  const passwordFile =
    values['password-file'] === undefined ? {} : { password_file: resolve(cwd, values['password-file']) };
  const user =
    values.user === undefined ? { ...cluster.user, ...passwordFile } : { name: values.user, ...passwordFile };
  const given = tlsFlags.flatMap(([flag, key]) => {
    const value = values[flag];
    return value === undefined ? [] : [[key, key === 'server_name' ? value : resolve(cwd, value)]];
  });
  return {
    ...cluster,
    ...(user.name === undefined ? {} : { user: { ...user, name: user.name } }),
    ...(given.length === 0 ? {} : { tls: { ...cluster.tls, ...Object.fromEntries(given) } }),
  };
};

/** The file that is meant when no flag names one. */
const defaultFile = async (context: Context): Promise<string> => {
  const { host, settings, log } = context;
  const named = host.env['OPSCTL_KV_CLUSTER'];
  if (named !== undefined && named !== '') return named;
  const simulated = resolve(settings.directories.state, 'mock-kv', 'cluster.yaml');
  if ((await host.files.info(simulated)) !== undefined) {
    log.info(`using the simulated cluster of ${simulated}`);
    return simulated;
  }
  throw new AppError('config', 'no cluster is named', {
    code: 'NO_CLUSTER',
    tryThis: [
      '--cluster FILE',
      '--endpoints HOST:PORT,… for commands that only look',
      'opsctl kv init writes a cluster file',
      'opsctl mock kv start makes a simulated cluster',
    ],
  });
};

export const openCluster = async (
  context: Context,
  values: EndpointValues,
  purpose: 'read' | 'upgrade' = 'read',
): Promise<Opened> => {
  const { host, log } = context;
  const { openAccess } = await import('../../kv-upgrade/observe/access.ts');
  if (values.endpoints !== undefined && values.cluster !== undefined) {
    throw invalidArguments([problem('--endpoints', 'exclusive', 'cannot be given together with --cluster')]);
  }
  if (values.endpoints !== undefined) {
    const { cluster, typed } = fromEndpoints(values);
    const full = withFlags(cluster, values, host.cwd);
    const access = await openAccess(host, full, flagged(values));
    if (access.user !== undefined) log.hide(access.user.password);
    return { cluster: full, access, typed };
  }
  const { readCluster } = await import('../../kv-upgrade/cluster/cluster-file.ts');
  const file = resolve(host.cwd, values.cluster ?? (await defaultFile(context)));
  const cluster = withFlags(await readCluster(host, file, purpose), values, host.cwd);
  const access = await openAccess(host, cluster, flagged(values));
  if (access.user !== undefined) log.hide(access.user.password);
  return {
    cluster,
    file,
    access,
    typed: cluster.members.map(({ client_url }) => client_url.replace(/^[a-z]+:\/\//, '').replace(/\/$/, '')),
  };
};

export const driverFor = async (context: Context, cluster: ClusterFile): Promise<Driver> =>
  (await import('../../kv-upgrade/supervisors/open.ts')).openDriver(
    context.host,
    cluster,
    context.settings.directories.state,
  );
