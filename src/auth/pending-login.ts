import { join } from 'node:path';
import { AppError } from '../core/problem.ts';
import { fittingJson } from '../core/shape.ts';
import type { BaseAccount } from './keep-account.ts';
import type { Endpoints } from './endpoints.ts';
import type { AuthContext } from './auth-context.ts';
import type { ClientAuthentication } from '../core/sign-in-words.ts';
import { makePrivateDirectory, readGuarded, writeGuarded } from './credential-store/guarded-file.ts';
import { acquire, type Lock } from './credential-store/lock.ts';

/** A login that was started in one command and is finished in another. It holds the verifier: mode 0600, and it expires. */
export type Pending = {
  readonly server: string;
  readonly endpoints: Endpoints;
  readonly clientId: string;
  readonly clientAuth?: ClientAuthentication;
  /** The server was named by it: what it announces holds for the second half too. */
  readonly issuer?: string;
  /** Of the authorization request, for the exchange. */
  readonly resource?: string;
  readonly redirectUri: string;
  readonly verifier: string;
  readonly state: string;
  readonly nonce: string;
  readonly requested: readonly string[];
  readonly account?: string;
  readonly base?: BaseAccount;
  readonly expiresMs: number;
};

const pathOf = (context: AuthContext): string =>
  join(context.settings.directories.state, 'pending-login.json');

export const savePending = async (context: AuthContext, pending: Pending): Promise<void> => {
  await makePrivateDirectory(context.host, context.settings.directories.state);
  await writeGuarded(context.host, pathOf(context), JSON.stringify(pending));
};

/** Whatever else lies there cannot be finished. */
const shape = {
  server: 'text',
  endpoints: { authorize: 'text', token: 'text', revoke: 'text' },
  clientId: 'text',
  redirectUri: 'text',
  verifier: 'text',
  state: 'text',
  nonce: 'text',
  requested: ['text'],
  expiresMs: 'number',
} as const;

const none = (why: string): AppError =>
  new AppError('auth', why, { code: 'NO_PENDING_LOGIN', tryThis: ['opsctl login --start'] });

export const readPending = async (context: AuthContext): Promise<Pending> => {
  const text = await readGuarded(context.host, pathOf(context));
  if (text === undefined) throw none('no login was started for this profile');
  const pending = fittingJson<Pending>(text, shape);
  if (pending === undefined) {
    await dropPending(context);
    throw none('the started login cannot be read');
  }
  for (const secret of [pending.verifier, pending.state, pending.nonce]) context.log.hide(secret);
  if (pending.expiresMs > context.host.now()) return pending;
  await dropPending(context);
  throw none('the started login has expired');
};

export const dropPending = (context: AuthContext): Promise<void> =>
  context.host.files.remove(pathOf(context));

/** One login waits per profile: hundreds of tabs overnight come from programs that start another one each time. */
export const claimLogin = async (context: AuthContext, replaces: boolean): Promise<Lock> => {
  const { host, settings } = context;
  await makePrivateDirectory(host, settings.directories.state);
  const path = join(settings.directories.state, 'login.lock');
  const take = (waitMs: number) => acquire(host, path, { waitMs, signal: context.signal });
  const taken = await take(0).catch(async (error: unknown) => {
    if (!(error instanceof AppError) || error.detail.code !== 'LOCK_BUSY') throw error;
    const pid = pidIn(await host.files.read(path));
    if (!replaces || pid === undefined) throw alreadyWaiting(settings.profile, pid);
    host.processes.signal(pid, 'SIGTERM');
    return take(5000);
  });
  if (taken === undefined) throw alreadyWaiting(settings.profile, undefined);
  return taken;
};

const pidIn = (text: string | undefined): number | undefined => {
  try {
    const { pid } = JSON.parse(text ?? '') as { pid?: unknown };
    return typeof pid === 'number' ? pid : undefined;
  } catch {
    return undefined;
  }
};

const alreadyWaiting = (profile: AuthContext['settings']['profile'], pid: number | undefined): AppError =>
  new AppError(
    'auth',
    `another login${profile.origin === 'default' ? '' : ` of profile ${profile.name}`} is waiting for the browser${pid === undefined ? '' : ` (process ${pid})`}`,
    {
      code: 'LOGIN_WAITING',
      tryThis: ['finish it in the browser', 'opsctl login --replace (ends the other one)'],
    },
  );
