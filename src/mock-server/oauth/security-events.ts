import { cutText, messageOf } from '../../core/problem.ts';
import {
  type EventType,
  eventContentType,
  eventTypes,
  tokenIdentifierAlg,
} from '../../api-specs/oauth/console-records.ts';
import { base64url, makeSigner, type Signer } from './keys.ts';
import type { Auth, Delivery, Family, Subscription, User } from './state.ts';

/** RFC 8417 claims of one event for one receiver. */
const claimsOf = (
  auth: Auth,
  subscription: Subscription,
  type: EventType,
  subject: Record<string, unknown>,
  id: string,
  more: Record<string, unknown>,
) => ({
  iss: auth.env.origin(),
  aud: subscription.client,
  iat: Math.floor(auth.env.now() / 1000),
  jti: id,
  events: { [type]: { subject, ...more } },
});

/**
 * Writes one delivery per subscription and sends it after the response. Call inside a transaction, after the
 * change (spec/sign-in#check-11.7).
 */
const emit = (
  auth: Auth,
  clients: ReadonlySet<string>,
  type: EventType,
  subject: Record<string, unknown>,
  more: Record<string, unknown> = {},
): void => {
  let signer: Signer | undefined;
  for (const subscription of auth.subscriptions.values()) {
    if (!clients.has(subscription.client) || !subscription.types.includes(type)) continue;
    signer ??= makeSigner(auth);
    const id = base64url(auth.env.random(16));
    const alg = auth.clients.get(subscription.client)?.id_token_alg ?? 'RS256';
    const delivery: Delivery = {
      id,
      subscription: subscription.id,
      client: subscription.client,
      url: subscription.url,
      type,
      body: signer.jwt(alg, claimsOf(auth, subscription, type, subject, id, more), 'secevent+jwt'),
      state: 'pending',
      attempts: 0,
      last_status: null,
      last_error: null,
      created_at: auth.env.now(),
      done_at: null,
    };
    auth.deliveries.put(id, delivery);
    auth.env.later(() => deliver(auth, id));
  }
};

const subjectOf = (auth: Auth, user: string) => ({
  subject_type: 'iss-sub',
  iss: auth.env.origin(),
  sub: user,
});
/** Only applications with a grant of the user receive events about the account. */
const clientsOf = (auth: Auth, user: User): ReadonlySet<string> =>
  new Set(auth.grants.filter((grant) => grant.user === user.id).map(({ client }) => client));

/** spec/sign-in#events: token-revoked. The token is named by a hash that the application can compute too. */
export const emitTokenRevoked = (auth: Auth, family: Family): void =>
  emit(auth, new Set([family.client]), eventTypes.tokenRevoked, {
    subject_type: 'oauth_token',
    token_type: 'refresh_token',
    token_identifier_alg: tokenIdentifierAlg,
    token: family.hash,
  });
/** spec/sign-in#events: sessions-revoked. */
export const emitSessionsRevoked = (auth: Auth, user: User): void =>
  emit(auth, clientsOf(auth, user), eventTypes.sessionsRevoked, subjectOf(auth, user.id));
/**
 * spec/sign-in#check-11.8: a new receiver that lists the type immediately gets one event, to show that its
 * endpoint works.
 */
export const emitVerification = (auth: Auth, { client, id }: Subscription): void =>
  emit(
    auth,
    new Set([client]),
    eventTypes.verification,
    { subject_type: 'iss-sub', iss: auth.env.origin() },
    { state: id },
  );
/** spec/sign-in#check-11.8: what else happens to an account. */
export const emitAccount = (
  auth: Auth,
  user: User,
  type: 'accountEnabled' | 'accountPurged' | 'credentialChangeRequired',
): void => emit(auth, clientsOf(auth, user), eventTypes[type], subjectOf(auth, user.id));
/** spec/sign-in#check-11.8: all grants of a user for one application were removed in one step. */
export const emitTokensRevoked = (auth: Auth, user: string, client: string): void =>
  emit(auth, new Set([client]), eventTypes.tokensRevoked, subjectOf(auth, user));
/** spec/sign-in#events: account-disabled. */
export const emitAccountDisabled = (auth: Auth, user: User): void =>
  emit(auth, clientsOf(auth, user), eventTypes.accountDisabled, subjectOf(auth, user.id), {
    reason: 'hijacking',
  });

type Attempt = {
  readonly state: Delivery['state'];
  readonly last_status: number | null;
  readonly last_error: string | null;
};

/** RFC 8935 2.3 and 2.4: 202 is acceptance, a 4xx is final, anything else is tried again. */
const attempt = async (auth: Auth, delivery: Delivery): Promise<Attempt> => {
  try {
    const reply = await auth.env.host.network.request({
      method: 'POST',
      url: delivery.url,
      headers: { 'content-type': eventContentType, accept: 'application/json' },
      body: delivery.body,
      timeoutMs: 5000,
      maxReplyBytes: 65_536,
    });
    const text = await reply.text();
    if (reply.status < 300) return { state: 'delivered', last_status: reply.status, last_error: null };
    const isFinal = reply.status < 500 && reply.status !== 429;
    return {
      state: isFinal ? 'refused' : 'pending',
      last_status: reply.status,
      last_error: cutText(text, 200),
    };
  } catch (error) {
    return {
      state: 'pending',
      last_status: null,
      last_error: messageOf(error),
    };
  }
};

const note = (auth: Auth, id: string, result: Attempt, most: number): Delivery | undefined => {
  const before = auth.deliveries.get(id);
  if (before === undefined) return undefined;
  const attempts = before.attempts + 1;
  const state = result.state === 'pending' && attempts >= most ? 'failed' : result.state;
  const next: Delivery = {
    ...before,
    ...result,
    attempts,
    state,
    done_at: state === 'pending' ? null : auth.env.now(),
  };
  auth.env.store.transact(() => auth.deliveries.put(id, next));
  return next;
};

/**
 * Sends one event until it is accepted, rejected, or has reached the configured number of attempts; always
 * with the same `jti`. A server that stops makes no further attempt: the event stays pending for the next server.
 */
export const deliver = async (auth: Auth, id: string): Promise<void> => {
  const { host, stopping } = auth.env;
  const { event_attempts: most, event_backoff_ms: backoffMs } = auth.settings();
  for (let tries = 0; tries < most; tries++) {
    const delivery = auth.deliveries.get(id);
    if (delivery === undefined || delivery.state !== 'pending') return;
    const next = note(auth, id, await attempt(auth, delivery), most);
    if (next?.state !== 'pending') return;
    await host.sleep(backoffMs * 2 ** tries, stopping).catch(() => undefined);
    if (stopping?.aborted === true) return;
  }
};
