import { childPath, pathPart } from '../../core/file-name.ts';
import { isAbsolute, join } from 'node:path';
import type { AuthContext } from '../auth-context.ts';
import { makePrivateDirectory, writeGuarded } from '../credential-store/guarded-file.ts';
import { type AccessToken, accessToken, type TokenRequirements } from '../token.ts';

/** A file that holds a fresh access token for as long as a program runs; nobody else can read it, and no process list shows it. */
export type TokenFile = {
  readonly path: string;
  /** Ends the refreshing and removes the file. */
  close(): Promise<void>;
};

/** A failed refresh is tried again: the program still has a token that lives. */
const retryMs = 30_000;
const shortestMs = 1000;

/** Half of what is left, and soon enough to keep the promise of `minTtlMs`. */
const nextRefreshMs = (leftMs: number, minTtlMs: number): number =>
  Math.max(shortestMs, Math.min(leftMs / 2, leftMs - minTtlMs - 5000));

/** The runtime directory of the user is in memory and ends with the session; else the temporary one. XDG: a relative value is invalid and ignored. */
const baseOf = ({ host }: AuthContext): string => {
  const given = host.env.XDG_RUNTIME_DIR ?? '';
  return isAbsolute(given) ? given : host.files.temporaryDirectory();
};

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
      // The token that is there counts as refused, so that a new one is asked for while it still lives.
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
  const token = await accessToken(context, wanted);
  const directory = childPath(
    baseOf(context),
    pathPart(`opsctl-${Buffer.from(host.random(12)).toString('hex')}`),
  );
  await makePrivateDirectory(host, directory);
  const path = join(directory, 'token');
  const put = (next: AccessToken): Promise<void> => writeGuarded(host, path, next.token);
  const stop = new AbortController();
  const close = async (): Promise<void> => {
    stop.abort();
    await host.files.remove(directory);
  };
  try {
    await put(token);
  } catch (error) {
    await close();
    throw error;
  }
  void refreshing(context, wanted, token, put, stop.signal).catch(() => undefined);
  return { path, close };
};
