import { parseUrl } from '../../core/external-url.ts';
import { refuseLongSecret } from '../../core/field.ts';
import { AppError, invalidArguments, problem } from '../../core/problem.ts';
import { redactedUrl } from '../../core/redact-secrets.ts';
import type { Host } from '../../platform/host.ts';
import { type ClusterTls, type Flagged, readCertificates } from '../client/certificates.ts';
import { type Store, openStore } from '../client/etcd-client.ts';
import type { Credentials } from '../client/messages.ts';
import type { ClusterFile } from './model.ts';
import { resolve } from 'node:path';

/** Connection and sign-in flags, by flag name. */
export type GivenAccess = {
  readonly [flag in 'endpoints' | 'user' | 'password-file' | 'cacert' | 'cert' | 'key' | 'server-name']?:
    | string
    | undefined;
};

/** Treats `host:port` as plain HTTP, or as HTTPS if a TLS flag is set. */
const urlOf = (endpoint: string, isTls: boolean): string => {
  const text = /^[a-z]+:\/\//.test(endpoint) ? endpoint : `${isTls ? 'https' : 'http'}://${endpoint}`;
  const url = parseUrl(text);
  if (url === undefined || (url.protocol !== 'http:' && url.protocol !== 'https:') || url.hostname === '') {
    throw invalidArguments([
      problem(
        '--endpoints',
        'format',
        `must be host:port or a URL, comma-separated; got ${JSON.stringify(redactedUrl(endpoint))}`,
      ),
    ]);
  }
  if (url.username !== '' || url.password !== '')
    throw invalidArguments([
      problem(
        '--endpoints',
        'rule',
        'must not contain a user name or password; use --user and --password-file',
      ),
    ]);
  return url.origin;
};

const tlsFlags = [
  ['cacert', 'ca_file'],
  ['cert', 'cert_file'],
  ['key', 'key_file'],
  ['server-name', 'server_name'],
] as const;

export const nameFlags = (values: GivenAccess): Flagged =>
  Object.fromEntries(
    [...tlsFlags, ['password-file', 'password_file'] as const].flatMap(([flag, key]) =>
      values[flag] === undefined ? [] : [[key, `--${flag}`]],
    ),
  );

export const fromEndpoints = (values: GivenAccess): { cluster: ClusterFile; typed: string[] } => {
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

/**
 * Overrides single values of the cluster file with flags. Paths in flags are relative to the current
 * directory.
 */
export const withFlags = (cluster: ClusterFile, values: GivenAccess, cwd: string): ClusterFile => {
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

/** Timeout of one response during an inspection, because refusals must be reported within two seconds. */
const lookTimeoutMs = 1000;
/** Timeout of one retry for a member that responds slowly. */
export const busyTimeoutMs = 3000;

export type Access = {
  readonly tls?: ClusterTls;
  readonly user?: Credentials;
  /**
   * Returns one client per URL and timeout, so that each client fetches its token once. A signal ends the requests of a
   * client of its own.
   */
  store(url: string, timeoutMs?: number, signal?: AbortSignal): Store;
  /** Returns a client without credentials, which detects whether authentication is on. */
  anonymous(url: string): Store;
};

/**
 * Reads the password of the cluster file's user from a file or an environment variable. A password is never
 * part of a command line.
 */
const credentialsOf = async (
  host: Host,
  cluster: ClusterFile,
  flagged: Flagged,
): Promise<Credentials | undefined> => {
  const { user } = cluster;
  if (user === undefined) return undefined;
  if (user.password_file !== undefined) {
    const text = await host.files.read(user.password_file);
    const named = flagged.password_file ?? 'user.password_file';
    if (text === undefined)
      throw new AppError('config', `${named}: file not found: ${user.password_file}`, {
        code: 'CLUSTER_FILE',
      });
    const password = text.replace(/\r?\n$/, '');
    refuseLongSecret('config', named, password);
    if (password === '')
      throw new AppError('config', `${named}: the file ${user.password_file} is empty`, {
        code: 'CLUSTER_FILE',
      });
    return { name: user.name, password };
  }
  const password = host.env[user.password_env ?? 'OPSCTL_KV_PASSWORD'];
  if (password === undefined) {
    throw new AppError('auth', `user ${user.name} needs a password`, {
      code: 'PASSWORD_NEEDED',
      tryThis: [
        `set ${user.password_env ?? 'OPSCTL_KV_PASSWORD'}`,
        'set user.password_file in the cluster file',
      ],
    });
  }
  refuseLongSecret('config', user.password_env ?? 'OPSCTL_KV_PASSWORD', password);
  return { name: user.name, password };
};

/**
 * Opens access to the members. The file paths are absolute; `flagged` contains the flags that specified them.
 */
export const openAccess = async (
  host: Host,
  cluster: ClusterFile,
  flagged: Flagged = {},
): Promise<Access> => {
  const tls = cluster.tls === undefined ? undefined : await readCertificates(host, cluster.tls, flagged);
  return accessWith(host, tls, await credentialsOf(host, cluster, flagged));
};

export const accessWith = (
  host: Host,
  tls: ClusterTls | undefined,
  user: Credentials | undefined,
): Access => {
  const stores = new Map<string, Store>();
  return {
    tls,
    user,
    store: (url, timeoutMs = lookTimeoutMs, signal = undefined) => {
      if (signal !== undefined) return openStore(host, { url, tls, user, timeoutMs, signal });
      const key = `${timeoutMs} ${url}`;
      const found = stores.get(key) ?? openStore(host, { url, tls, user, timeoutMs });
      stores.set(key, found);
      return found;
    },
    anonymous: (url) => openStore(host, { url, tls, timeoutMs: lookTimeoutMs, isGatewayOnly: true }),
  };
};
