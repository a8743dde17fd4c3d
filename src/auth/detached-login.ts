import { AppError } from '../core/problem.ts';
import { complete } from './complete-login.ts';
import { attemptFor, refusedByUser, showAddress } from './flow.ts';
import type { LoginPlan } from './login-plan.ts';
import { dropPending, type Pending, readPending, savePending } from './pending-login.ts';
import { secretsFrom } from './pkce.ts';
import { readIssuer } from './protocol/issuer.ts';
import { mockKey } from './settings.ts';
import type { AuthContext } from './auth-context.ts';
import type { Account } from './credential-store/account.ts';
import { verdictOfPaste } from './methods/paste.ts';

/** Long enough for a person who gets the address by mail; the service's own code lives minutes. */
const lifeMs = 30 * 60_000;

/** Nobody listens: any port of the dynamic range does, and a code that a stranger's program there would get is useless without the verifier. */
const unusedPort = (random: Uint8Array): number =>
  49_152 + ((((random[0] ?? 0) << 8) | (random[1] ?? 0)) % 16_384);

/** The address carries its state on purpose: it is what the person who signs in must open. */
export type Started = {
  readonly authorization_url: string;
  readonly redirect_uri: string;
  readonly expires_at: string;
};

/** First half: the address is shown, what is needed for the second half is stored 0600. */
export const startDetachedLogin = async (context: AuthContext, plan: LoginPlan): Promise<Started> => {
  const { host } = context;
  const secrets = secretsFrom((bytes) => host.random(bytes));
  const port = plan.port === 0 ? unusedPort(host.random(2)) : plan.port;
  const redirectUri = `http://${plan.redirectHost ?? '127.0.0.1'}:${port}${plan.path}`;
  const attempt = attemptFor(context, plan, redirectUri, secrets);
  const expiresMs = host.now() + lifeMs;
  await savePending(context, {
    server: plan.server.key,
    endpoints: plan.server.endpoints,
    clientId: plan.server.clientId,
    clientAuth: plan.server.clientAuth,
    issuer: plan.server.metadata?.issuer,
    resource: plan.params?.resource,
    redirectUri,
    verifier: secrets.verifier,
    state: secrets.state,
    nonce: secrets.nonce,
    requested: plan.scopes,
    account: plan.account,
    base: plan.base,
    expiresMs,
  });
  await showAddress(context, attempt.url);
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
      ...(metadata === undefined ? {} : { metadata }),
    },
    scopes: pending.requested,
    account: pending.account,
    base: pending.base,
    ...(resource === undefined ? {} : { params: { resource } }),
  };
};

/** Second half, in another process: the answer is checked against the stored state as the listener would. */
export const finishDetachedLogin = async (
  context: AuthContext,
  pasted: string,
  clientSecret: string | undefined,
): Promise<Account> => {
  const pending = await readPending(context);
  const verdict = verdictOfPaste(pasted, { state: pending.state });
  if (verdict.kind === 'ignored' || verdict.kind === 'relay') {
    const why = verdict.kind === 'ignored' ? verdict.why : 'the state is missing';
    throw new AppError('usage', `--finish: ${why}`, {
      code: 'WRONG_CALLBACK',
      tryThis: ['paste the whole address that the browser ended at', 'opsctl login --start (begins anew)'],
    });
  }
  if (verdict.kind === 'refused') {
    await dropPending(context);
    throw refusedByUser(verdict.refusal);
  }
  const plan = await planOf(context, pending, clientSecret);
  const attempt = {
    redirectUri: pending.redirectUri,
    requested: pending.requested,
    secrets: { verifier: pending.verifier, nonce: pending.nonce },
  };
  const account = await complete(context, plan, attempt, verdict.callback);
  await dropPending(context);
  return account;
};
