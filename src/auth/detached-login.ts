import { join } from 'node:path';
import { AppError } from '../core/problem.ts';
import { type ClientAuthentication, fittingJson } from '../core/shape.ts';
import { type Holder, lookAt, replaceLock, thisProcess, unlock } from '../platform/file-lock.ts';
import { describeProcess, processState, signalRecorded } from '../platform/process-identity.ts';
import type { AuthContext } from './auth-context.ts';
import { secretsFrom, valuesOf } from './callback.ts';
import { type BaseAccount, checkRefusalIssuer, complete, type LoginPlan } from './complete-login.ts';
import type { Account } from './credential-store/account.ts';
import {
  acquire,
  type Lock,
  makePrivateDirectory,
  readGuarded,
  writeGuarded,
} from './credential-store/guarded-file.ts';
import { readIssuer } from './protocol/discovery.ts';
import type { Endpoints } from './protocol/token-client.ts';
import { attemptFor, refusedByUser, showAddress } from './flow.ts';
import { verdictOfPaste } from './methods/paste.ts';
import { mockKey } from './settings.ts';

/** A login that was started in one command and is finished in another. It holds the verifier: mode 0600, and it expires. */
export type Pending = {
  readonly server: string;
  readonly endpoints: Endpoints;
  readonly clientId: string;
  readonly clientAuth?: ClientAuthentication;
  /** The server was named by it: what it announces holds for the second half too. */
  readonly issuer?: string;
  /** Of the authorization request, for the exchange. */
  readonly resource?: string | readonly string[];
  readonly redirectUri: string;
  readonly verifier: string;
  readonly state: string;
  readonly nonce: string;
  /** The key that the tokens are bound to; the first half announced it. */
  readonly dpopKey?: string;
  readonly requested: readonly string[];
  readonly account?: string;
  readonly base?: BaseAccount;
  readonly expiresMs: number;
};
const pathOf = (context: AuthContext): string =>
  join(context.settings.directories.state, 'pending-login.json');
const savePending = async (context: AuthContext, pending: Pending): Promise<void> => {
  await makePrivateDirectory(context.host, context.settings.directories.state);
  await writeGuarded(context.host, pathOf(context), JSON.stringify(pending));
};
/** Any other content is not a pending login. */
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
  for (const secret of [pending.verifier, pending.state, pending.nonce, pending.dpopKey])
    if (secret !== undefined) context.log.hide(secret);
  if (pending.expiresMs > context.host.now()) return pending;
  await dropPending(context);
  throw none('the started login has expired');
};
const dropPending = (context: AuthContext): Promise<void> => context.host.files.remove(pathOf(context));
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
/**
 * At the user's request, the lock changes its owner. The previous owner gets no signal, because its process
 * ID may belong to another program.
 */
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
        : 'opsctl login --replace (replaces the other login without stopping it)',
    ],
  });
};

/** Long enough for a user who receives the URL by mail. The service's own code is valid for minutes. */
const lifeMs = 30 * 60_000;
/**
 * There is no listener: any port of the dynamic range is suitable. A code that another program on that port
 * receives is useless without the verifier.
 */
const unusedPort = (random: Uint8Array): number =>
  49_152 + ((((random[0] ?? 0) << 8) | (random[1] ?? 0)) % 16_384);
/** The URL contains its state on purpose: the person who signs in must open exactly this URL. */
export type Started = {
  readonly authorization_url: string;
  readonly redirect_uri: string;
  readonly expires_at: string;
};
/** First half: shows the URL and stores the data for the second half with mode 0600. */
export const startDetachedLogin = async (context: AuthContext, plan: LoginPlan): Promise<Started> => {
  const { host } = context;
  const secrets = secretsFrom((bytes) => host.random(bytes));
  const port = plan.port === 0 ? unusedPort(host.random(2)) : plan.port;
  const redirectUri = `http://${plan.redirectHost ?? '127.0.0.1'}:${port}${plan.path}`;
  const attempt = await attemptFor(context, plan, redirectUri, secrets, true);
  const expiresMs = host.now() + lifeMs;
  await savePending(context, {
    server: plan.server.key,
    endpoints: plan.server.endpoints,
    clientId: plan.server.clientId,
    clientAuth: plan.server.clientAuth,
    issuer: plan.server.metadata?.issuer,
    resource: valuesOf(plan.params, 'resource'),
    redirectUri,
    verifier: secrets.verifier,
    state: secrets.state,
    nonce: secrets.nonce,
    dpopKey: plan.server.dpopKey,
    requested: plan.scopes,
    account: plan.account,
    base: plan.base,
    expiresMs,
  });
  await showAddress(context, attempt);
  context.log.info(
    'The browser will end at an address that cannot be reached. Copy it and run: opsctl login --finish URL',
  );
  return {
    authorization_url: attempt.url,
    redirect_uri: redirectUri,
    expires_at: new Date(expiresMs).toISOString(),
  };
};
/** The second half of the plan: what the first one had learnt from the metadata still holds. */
const planOf = async (
  context: AuthContext,
  pending: Pending,
  clientSecret: string | undefined,
): Promise<Pick<LoginPlan, 'server' | 'scopes' | 'account' | 'base' | 'params'>> => {
  const { issuer, resource } = pending;
  const metadata = issuer === undefined ? undefined : await readIssuer(context, issuer);
  return {
    server: {
      endpoints: pending.endpoints,
      key: pending.server,
      isMock: pending.server === mockKey,
      clientId: pending.clientId,
      clientSecret: clientSecret ?? context.settings.get('auth.client_secret')?.value,
      clientAuth: pending.clientAuth,
      dpopKey: pending.dpopKey,
      ...(metadata === undefined ? {} : { metadata }),
    },
    scopes: pending.requested,
    account: pending.account,
    base: pending.base,
    params: [resource ?? []].flat().map((value) => ['resource', value] as const),
  };
};
/** Second half, in another process: checks the response against the stored state like the listener. */
export const finishDetachedLogin = async (
  context: AuthContext,
  pasted: string,
  clientSecret: string | undefined,
): Promise<Account> => {
  const pending = await readPending(context);
  const verdict = verdictOfPaste(pasted, { state: pending.state });
  if (verdict.kind === 'failed') throw verdict.error;
  if (verdict.kind === 'ignored' || verdict.kind === 'relay') {
    const why = verdict.kind === 'ignored' ? verdict.why : 'the state is missing';
    throw new AppError('usage', `--finish: ${why}`, {
      code: 'WRONG_CALLBACK',
      tryThis: ['paste the whole address that the browser ended at', 'opsctl login --start (starts again)'],
    });
  }
  const plan = await planOf(context, pending, clientSecret);
  if (verdict.kind === 'refused') {
    await checkRefusalIssuer(context, plan.server, verdict.refusal);
    await dropPending(context);
    throw refusedByUser(verdict.refusal, pending.requested);
  }
  const attempt = {
    redirectUri: pending.redirectUri,
    requested: pending.requested,
    secrets: { verifier: pending.verifier, nonce: pending.nonce },
  };
  const account = await complete(context, plan, attempt, verdict.callback);
  await dropPending(context);
  return account;
};
