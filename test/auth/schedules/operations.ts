import { createHash } from 'node:crypto';
import type { AuthContext } from '../../../src/auth/auth-context.ts';
import { checkCallback } from '../../../src/auth/callback.ts';
import type { Account } from '../../../src/auth/credential-store/account.ts';
import { openCredentialStore } from '../../../src/auth/credential-store/store.ts';
import { applyEvent } from '../../../src/auth/events/receiver.ts';
import { complete } from '../../../src/auth/complete-login.ts';
import { renewAccount } from '../../../src/auth/renew.ts';
import { signOut } from '../../../src/auth/issued-tokens.ts';
import type { Environment } from './environment.ts';

export type Outcome = { readonly ok: boolean; readonly code?: string; readonly removed?: boolean };
export type Operation = (context: AuthContext, environment: Environment) => Promise<Outcome>;

const sha512 = (data: string | Uint8Array): Buffer => createHash('sha512').update(data).digest();
const accountOf = async (context: AuthContext): Promise<Account> => {
  const found = (await openCredentialStore(context).read()).accounts.find(({ name }) => name === 'work');
  if (found === undefined)
    throw Object.assign(new Error('no account'), { detail: { code: 'NOT_SIGNED_IN' } });
  return found;
};

const settled = async (work: () => Promise<Outcome>): Promise<Outcome> => {
  try {
    return await work();
  } catch (error) {
    const code = (error as { detail?: { code?: string } }).detail?.code;
    return { ok: false, code: code ?? String(error) };
  }
};

const login =
  (user: string, scopes: string, adds: boolean): Operation =>
  (context, { server }) =>
    settled(async () => {
      const before = adds ? await accountOf(context) : undefined;
      const asked = before === undefined ? scopes : [...new Set([...before.granted, scopes])].join('+');
      const verdict = checkCallback(new URLSearchParams({ code: `${user}~${asked}`, state: 's' }), {
        state: 's',
      });
      if (verdict.kind !== 'code') throw new Error('the callback was not taken');
      const plan = {
        server,
        scopes: asked.split('+'),
        account: 'work',
        ...(before === undefined ? {} : { base: { name: before.name, signIn: before.signIn } }),
      };
      const attempt = {
        redirectUri: 'http://127.0.0.1:1',
        requested: asked.split('+'),
        secrets: { verifier: 'v', nonce: 'n' },
      };
      await complete(context, plan, attempt, verdict.callback);
      return { ok: true };
    });

/** The operations of commands on the account `work`, which Ada owns at the start with the scope `a`. */
export const operations = {
  refresh: (context) =>
    settled(async () => {
      await renewAccount(context, await accountOf(context), { minTtlMs: 0, force: true });
      return { ok: true };
    }),
  login: login('bob', 'b', false),
  addScope: login('ada', 'x', true),
  addOther: login('ada', 'y', true),
  logout: (context) =>
    settled(async () => ({
      ok: true,
      removed: (await signOut(context, await accountOf(context), false)).removed,
    })),
  /** The browser sessions ended: no command may use the access token afterwards. */
  sessionsRevoked: (context, environment) =>
    settled(async () => {
      await openCredentialStore(context).swap((data) =>
        applyEvent(data, {
          ...environment.event,
          events: { 'x/sessions-revoked': { subject: { sub: 'ada' } } },
        }),
      );
      environment.noteEvent();
      return { ok: true };
    }),
  /** The service revoked the tokens of Ada's client. */
  tokenRevoked: (context, environment) =>
    settled(async () => {
      const stored = await accountOf(context);
      if (environment.rotating.familyOf(stored.refreshToken ?? '')?.user !== 'ada')
        return { ok: true, removed: false };
      const token = sha512(sha512(stored.refreshToken ?? '')).toString('base64');
      environment.rotating.revokeUser('ada');
      const { effects } = await openCredentialStore(context).swap((data) =>
        applyEvent(data, {
          ...environment.event,
          events: {
            'x/token-revoked': {
              subject: { token, token_identifier_alg: 'hash_base64_sha512_sha512' },
            },
          },
        }),
      );
      // The event names the token of that time. The server rejects a later token at its next use.
      return { ok: true, removed: effects.length > 0 };
    }),
} as const satisfies Record<string, Operation>;
export type OperationName = keyof typeof operations;
