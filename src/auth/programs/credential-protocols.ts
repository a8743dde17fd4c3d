import { parseUrl } from '../../core/external-url.ts';
import { join } from 'node:path';
import { limits } from '../../core/limits.ts';
import { AppError, usageError } from '../../core/problem.ts';
import { decodeUtf8 } from '../../core/text.ts';
import type { Host } from '../../platform/host.ts';
import { makeOwnDirectory, runtimeDirectory } from '../../platform/process-identity.ts';
import type { AuthContext } from '../auth-context.ts';
import { orUnwritable, writeGuarded } from '../credential-store/guarded-file.ts';
import { type AccessToken, accessToken, refuseBound, type TokenRequirements } from '../token.ts';

/** What other programs ask for and understand; pure text in, text out. */

/** git-credential: lines of `name=value` up to an empty one. */
export const gitRequest = (text: string): Readonly<Record<string, string>> => {
  const lines = text.split(/\r?\n/);
  const end = lines.indexOf('');
  const pairs = lines
    .slice(0, end < 0 ? undefined : end)
    .filter((line) => line.includes('='))
    .map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)] as const);
  const canBearer = pairs.some(([name, value]) => name === 'capability[]' && value === 'authtype');
  return { ...Object.fromEntries(pairs), ...(canBearer ? { 'capability[]': 'authtype' } : {}) };
};
/** Host and port in lower case, as in a URL. */
export const hostOf = (text: string): string => {
  const url = text.includes('://') ? text : `https://${text}`;
  return parseUrl(url)?.host.toLowerCase() ?? text.toLowerCase();
};
/** Characters that a URL parser removes or maps to others: a host with one of them is a different text. */
const isPlainHost = (text: string): boolean => /^(?:https?:\/\/)?[A-Za-z0-9._~:[\]-]+(?:\/.*)?$/.test(text);
/** Compares the host as git and docker wrote it: a parser would turn `git<TAB>hub.com` into `github.com`. */
export const isConfigured = (hosts: readonly string[], host: string): boolean =>
  hosts.some((each) => each.toLowerCase() === host.toLowerCase()) ||
  (isPlainHost(host) && hosts.some((each) => hostOf(each) === hostOf(host)));
/** A line break would start another attribute, and git ends with an error at a carriage return. */
const gitLine = (name: string, value: string): string => {
  if (!/[\r\n\0]/.test(value)) return `${name}=${value}\n`;
  throw usageError(`git cannot receive a ${name} with a line break or a zero byte`, []);
};
/** A token is sent over TLS only: a repository under http:// gets none of it. */
export const gitAnswer = (
  request: Readonly<Record<string, string>>,
  hosts: readonly string[],
  username: string,
  token: AccessToken,
): string | undefined => {
  if (request.protocol !== 'https' || !isConfigured(hosts, request.host ?? '')) return undefined;
  const seconds = Math.floor((token.expiresMs ?? 0) / 1000);
  const expiry = token.expiresMs === undefined ? '' : gitLine('password_expiry_utc', String(seconds));
  // git 2.46 and newer sends the token as Bearer if it announces that capability. A user name would replace
  // the token.
  return request['capability[]'] === 'authtype'
    ? `capability[]=authtype\nauthtype=Bearer\n${gitLine('credential', token.token)}${expiry}`
    : gitLine('username', username) + gitLine('password', token.token) + expiry;
};
/** docker-credential-helpers: the response to `get`. */
export const dockerAnswer = (server: string, username: string, token: AccessToken): string =>
  `${JSON.stringify({ ServerURL: server, Username: username, Secret: token.token })}\n`;
const kubeVersions = ['client.authentication.k8s.io/v1', 'client.authentication.k8s.io/v1beta1'];
/** The version that kubectl requests in KUBERNETES_EXEC_INFO; v1 if it requests none. */
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

export const credentialInput = async (host: Host): Promise<string> => {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of host.terminal.stdin.bytes()) {
    parts.push(part);
    size += part.length;
    if (size > limits.credentialRequestBytes)
      throw usageError(
        `standard input has more than ${limits.credentialRequestBytes} bytes: no credential request has`,
        [],
      );
  }
  return decodeUtf8(Buffer.concat(parts), 'standard input', 'usage');
};

/** A token that lasts for what the program does with it; `refused` is one that its server did not take. */
export const credentialToken = async (
  context: AuthContext,
  account: string | undefined,
  refused?: string,
): Promise<AccessToken> =>
  refuseBound(await accessToken(context, { account, minTtlMs: 60_000, refused }), 'a credential helper');

/**
 * A file that contains a fresh access token while a program runs. Only its owner can read it, and no process
 * list shows the token.
 */
export type TokenFile = {
  readonly path: string;
  /** Ends the refreshing and removes the file. */
  close(): Promise<void>;
};
/** A failed refresh is retried, because the program still has a valid token. */
const retryMs = 30_000;
const shortestMs = 1000;
/** Half of the remaining time, and soon enough to keep the promise of `minTtlMs`. */
const nextRefreshMs = (leftMs: number, minTtlMs: number): number =>
  Math.max(shortestMs, Math.min(leftMs / 2, leftMs - minTtlMs - 5000));
const refreshing = async (
  context: AuthContext,
  wanted: TokenRequirements & { readonly minTtlMs: number },
  first: AccessToken,
  put: (token: AccessToken) => Promise<void>,
  stop: AbortSignal,
): Promise<void> => {
  let current = first;
  while (!stop.aborted) {
    const leftMs = current.expiresMs === undefined ? undefined : current.expiresMs - context.host.now();
    if (leftMs === undefined) return;
    await context.host.sleep(nextRefreshMs(leftMs, wanted.minTtlMs), stop);
    try {
      // Treats the current token as rejected, so that a new one is requested while it is still valid.
      current = await accessToken(context, { ...wanted, refused: current.token });
      await put(current);
    } catch (error) {
      if (stop.aborted) return;
      const why = error instanceof Error ? error.message : 'unknown cause';
      context.log.warn(`The token of the running command could not be refreshed: ${why}`);
      await context.host.sleep(retryMs, stop);
    }
  }
};
export const openTokenFile = async (
  context: AuthContext,
  wanted: TokenRequirements & { readonly minTtlMs: number },
): Promise<TokenFile> => {
  const { host } = context;
  const token = refuseBound(await accessToken(context, wanted), 'a command that reads a token file');
  const base = await runtimeDirectory(host);
  const directory = await makeOwnDirectory(host, 'token', base).catch(orUnwritable(base));
  const path = join(directory, 'token');
  const writeToken = (next: AccessToken): Promise<void> => writeGuarded(host, path, next.token);
  const stop = new AbortController();
  const close = async (): Promise<void> => {
    stop.abort();
    await host.files.remove(directory);
  };
  try {
    await writeToken(token);
  } catch (error) {
    await close();
    throw error;
  }
  void refreshing(context, wanted, token, writeToken, stop.signal).catch(() => undefined);
  return { path, close };
};
