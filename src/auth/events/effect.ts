import { createHash } from 'node:crypto';
import { type Account, endedAccount, type StoredCredentials } from '../credential-store/account.ts';
import type { EventBody, SecurityEvent } from './verify.ts';

/** What one event did to one account. */
export type Effect = {
  readonly event: string;
  readonly account: string;
  readonly did: 'dropped the credential' | 'dropped the access token';
};

const sha512 = (data: string | Uint8Array): Buffer => createHash('sha512').update(data).digest();

/** A token is named by a hash or by its first characters; the token itself is never sent. */
const namesToken = (subject: Readonly<Record<string, unknown>>, token: string | undefined): boolean => {
  if (token === undefined || typeof subject.token !== 'string') return false;
  if (subject.token_identifier_alg === 'prefix')
    return subject.token.length >= 16 && token.startsWith(subject.token);
  return (
    subject.token_identifier_alg === 'hash_base64_sha512_sha512' &&
    sha512(sha512(token)).toString('base64') === subject.token
  );
};

const isOf = (account: Account, event: SecurityEvent, { subject = {} }: EventBody): boolean =>
  account.clientId === event.audience &&
  typeof subject.sub === 'string' &&
  subject.sub === account.subject &&
  (subject.iss ?? event.issuer) === event.issuer;

/** The last part decides: {secevent_base} is open in the document. */
const kindOf = (type: string): string => type.slice(type.lastIndexOf('/') + 1);

const withoutAccess = (account: Account): Account => {
  const { accessToken, accessExpiresMs, ...rest } = account;
  return rest;
};

/** spec/sign-in#events: what each of the three types means for a stored account; undefined when it does not concern it. */
const changed = (
  account: Account,
  event: SecurityEvent,
  type: string,
  body: EventBody,
): { readonly account: Account; readonly did: Effect['did'] } | undefined => {
  const kind = kindOf(type);
  const ends = (why: string) => ({
    account: endedAccount(account, why),
    did: 'dropped the credential' as const,
  });
  if (
    kind === 'token-revoked' &&
    account.clientId === event.audience &&
    namesToken(body.subject ?? {}, account.refreshToken)
  )
    return ends('a security event revoked the token');
  if (kind === 'tokens-revoked' && isOf(account, event, body))
    return ends('a security event revoked all tokens of the account');
  if (kind === 'account-disabled' && isOf(account, event, body)) return ends('the account was disabled');
  if (kind === 'account-purged' && isOf(account, event, body)) return ends('the account was deleted');
  // The browser sessions ended; whether the refresh token still holds is for the service to say at the next use.
  if (kind === 'sessions-revoked' && isOf(account, event, body) && account.accessToken !== undefined)
    return { account: withoutAccess(account), did: 'dropped the access token' };
  return undefined;
};

export const applyEvent = (
  data: StoredCredentials,
  event: SecurityEvent,
): { readonly data: StoredCredentials; readonly effects: readonly Effect[] } => {
  const effects: Effect[] = [];
  const accounts = data.accounts.map((stored) =>
    Object.entries(event.events).reduce((account, [type, body]) => {
      const change = changed(account, event, type, body);
      if (change === undefined) return account;
      effects.push({ event: kindOf(type), account: account.name, did: change.did });
      return change.account;
    }, stored),
  );
  return { data: effects.length === 0 ? data : { ...data, accounts }, effects };
};
