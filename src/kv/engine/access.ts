import type { Host } from '../../platform/host.ts';
import { AppError } from '../../core/problem.ts';
import { refuseLongSecret } from '../../core/field.ts';
import { type ClusterTls, type Flagged, readCertificates } from '../client/certificates.ts';
import type { Credentials } from '../client/endpoint.ts';
import { openStore, type Store } from '../client/etcd-client.ts';
import type { ClusterFile } from './model.ts';

/** Time for one answer while a cluster is looked at: refusals must come within two seconds. */
const lookTimeoutMs = 1000;
/** For one more try where a member answers, but late. */
export const busyTimeoutMs = 3000;

export type Access = {
  readonly tls?: ClusterTls;
  readonly user?: Credentials;
  /** One store per URL and time-out: its token is fetched once. */
  store(url: string, timeoutMs?: number): Store;
  /** The same member without credentials: to see whether authentication is on. */
  anonymous(url: string): Store;
};

/** The password of the cluster file's user: a file, else an environment variable. It is never part of a command line. */
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
      throw new AppError('config', `${named}: there is no file ${user.password_file}`, {
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
      tryThis: [`set ${user.password_env ?? 'OPSCTL_KV_PASSWORD'}`, 'user.password_file in the cluster file'],
    });
  }
  refuseLongSecret('config', user.password_env ?? 'OPSCTL_KV_PASSWORD', password);
  return { name: user.name, password };
};

/** Files of the cluster are absolute by now; `flagged` says which of them a flag named. */
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
    store: (url, timeoutMs = lookTimeoutMs) => {
      const key = `${timeoutMs} ${url}`;
      const found = stores.get(key) ?? openStore(host, { url, tls, user, timeoutMs });
      stores.set(key, found);
      return found;
    },
    anonymous: (url) => openStore(host, { url, tls, timeoutMs: lookTimeoutMs, isGatewayOnly: true }),
  };
};
