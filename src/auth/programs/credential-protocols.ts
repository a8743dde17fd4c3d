import { AppError } from '../../core/problem.ts';
import type { AccessToken } from '../token.ts';

/** What other programs ask for and understand; pure text in, text out. */

/** git-credential: lines of `name=value` up to an empty one. */
export const gitRequest = (text: string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    text
      .split(/\r?\n/)
      .filter((line) => line.includes('='))
      .map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
  );

/** Host and port in lower case, as they stand in an address. */
export const hostOf = (text: string): string => {
  const url = text.includes('://') ? text : `https://${text}`;
  return URL.canParse(url) ? new URL(url).host.toLowerCase() : text.toLowerCase();
};
export const isConfigured = (hosts: readonly string[], host: string): boolean =>
  hosts.some((each) => hostOf(each) === hostOf(host));

/** A token goes over TLS only: a repository under http:// gets none. */
export const gitAnswer = (
  request: Readonly<Record<string, string>>,
  hosts: readonly string[],
  username: string,
  token: AccessToken,
): string | undefined => {
  if (request.protocol !== 'https' || !isConfigured(hosts, request.host ?? '')) return undefined;
  const expiry =
    token.expiresMs === undefined ? '' : `password_expiry_utc=${Math.floor(token.expiresMs / 1000)}\n`;
  return `username=${username}\npassword=${token.token}\n${expiry}`;
};

/** docker-credential-helpers: the answer of `get`. */
export const dockerAnswer = (server: string, username: string, token: AccessToken): string =>
  `${JSON.stringify({ ServerURL: server, Username: username, Secret: token.token })}\n`;

const kubeVersions = ['client.authentication.k8s.io/v1', 'client.authentication.k8s.io/v1beta1'];

/** The version that kubectl asks for in KUBERNETES_EXEC_INFO; v1 when it says none. */
export const kubeVersion = (execInfo: string | undefined): string => {
  if (execInfo === undefined || execInfo === '') return 'client.authentication.k8s.io/v1';
  let version: unknown;
  try {
    version = (JSON.parse(execInfo) as { apiVersion?: unknown }).apiVersion;
  } catch {
    version = undefined;
  }
  if (typeof version === 'string' && kubeVersions.includes(version)) return version;
  throw new AppError('config', `kubectl asks for the credential version ${JSON.stringify(version ?? null)}`, {
    code: 'UNKNOWN_EXEC_VERSION',
    tryThis: [`set apiVersion of the exec entry to ${kubeVersions[0]}`],
  });
};

export const execCredential = (version: string, token: string, expiresMs: number | undefined): string =>
  `${JSON.stringify({
    apiVersion: version,
    kind: 'ExecCredential',
    status: {
      token,
      ...(expiresMs === undefined ? {} : { expirationTimestamp: new Date(expiresMs).toISOString() }),
    },
  })}\n`;
