import { join } from 'node:path';
import { AppError } from '../core/problem.ts';
import { fittingJson } from '../core/shape.ts';
import type { BaseAccount } from './keep-account.ts';
import type { Endpoints } from './endpoints.ts';
import type { AuthContext } from './auth-context.ts';
import type { ClientAuthentication } from '../core/sign-in-words.ts';
import { makePrivateDirectory, readGuarded, writeGuarded } from './credential-store/guarded-file.ts';
import { acquire, type Lock } from './credential-store/lock.ts';
import { type Holder, lookAt, replaceLock, thisProcess, unlock } from '../platform/file-lock.ts';
import { describeProcess, processState, signalRecorded } from '../platform/process-identity.ts';

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
  const lock = await take(0).catch(async (error: unknown) => {
    if (!(error instanceof AppError) || error.detail.code !== 'LOCK_BUSY') throw error;
    const seen = await lookAt<Holder>(host, path);
    const by = seen.kind === 'held' ? seen.by : undefined;
    if (!replaces || by === undefined) throw alreadyWaiting(context, by);
    return signalRecorded(host, by, 'SIGTERM') ? take(5000) : replaceUnsignaled(context, path, by);
  });
  if (lock === undefined) throw alreadyWaiting(context, undefined);
  return lock;
};

/** The user asked for it: the lock changes its owner, and a process that may be somebody else's gets no signal. */
const replaceUnsignaled = async (context: AuthContext, path: string, by: Holder): Promise<Lock> => {
  const { host, log } = context;
  const mine = thisProcess(host);
  await replaceLock(host, path, mine);
  log.warn(
    `The other login (${describeProcess(host, by)}) was not stopped: this command cannot check whether it still runs. Press Ctrl-C there if it still waits.`,
  );
  return { release: () => unlock(host, path, mine) };
};

const alreadyWaiting = ({ host, settings }: AuthContext, by: Holder | undefined): AppError => {
  const { profile } = settings;
  const where = profile.origin === 'default' ? '' : ` of profile ${profile.name}`;
  const who = by === undefined ? '' : ` (${describeProcess(host, by)})`;
  const isHere = by === undefined || processState(host, by) === 'alive';
  return new AppError('auth', `another login${where} is waiting for the browser${who}`, {
    code: 'LOGIN_WAITING',
    tryThis: [
      'finish it in the browser',
      isHere
        ? 'opsctl login --replace (stops the other login)'
        : 'opsctl login --replace (takes its place; the other login is not stopped)',
    ],
  });
};
