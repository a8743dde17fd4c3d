import { resolve } from 'node:path';
import { invalidArguments, problem } from '../../../core/problem.ts';
import type { Flagged } from '../../client/certificates.ts';
import type { ClusterFile } from '../../engine/model.ts';

/** How members are reached and how to be let in, as flags say it: each under the name of its flag. */
export type GivenAccess = {
  readonly [flag in 'endpoints' | 'user' | 'password-file' | 'cacert' | 'cert' | 'key' | 'server-name']?:
    | string
    | undefined;
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

/** Flags win over the cluster file, each for itself. Their paths are relative to where the command is run. */
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
