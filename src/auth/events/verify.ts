import { createPublicKey, type JsonWebKey, verify } from 'node:crypto';

/** RFC 8935 2.4: why a delivery was not accepted. */
export type Rejection = {
  readonly err: 'invalid_request' | 'invalid_key' | 'invalid_issuer' | 'invalid_audience';
  readonly description: string;
};
/** RFC 8417: one signed statement of a service about an account. */
export type SecurityEvent = {
  readonly id: string;
  readonly issuer: string;
  readonly audience: string;
  readonly issuedMs: number;
  readonly events: Readonly<Record<string, EventBody>>;
};
export type EventBody = {
  readonly subject?: Readonly<Record<string, unknown>>;
  readonly [more: string]: unknown;
};
export type Key = JsonWebKey & { readonly kid?: string; readonly alg?: string; readonly use?: string };
export type Trust = {
  readonly issuer: string;
  readonly audiences: readonly string[];
  readonly keys: readonly Key[];
  readonly nowMs: number | 'any';
};

/** `none` and the symmetric ones are not here: a receiver accepts what the issuer alone can sign. */
const digests: Readonly<Record<string, { readonly hash: string; readonly kty: string }>> = {
  RS256: { hash: 'sha256', kty: 'RSA' },
  RS384: { hash: 'sha384', kty: 'RSA' },
  RS512: { hash: 'sha512', kty: 'RSA' },
  ES256: { hash: 'sha256', kty: 'EC' },
  ES384: { hash: 'sha384', kty: 'EC' },
};
const maxAgeMs = 7 * 24 * 3600_000;
const skewMs = 300_000;

const reject = (err: Rejection['err'], description: string): Rejection => ({ err, description });
const json = (part: string | undefined): Record<string, unknown> | undefined => {
  try {
    const value: unknown = JSON.parse(Buffer.from(part ?? '', 'base64url').toString('utf8'));
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
};

const signatureHolds = (key: Key, hash: string, signed: string, signature: Uint8Array): boolean => {
  try {
    return verify(
      hash,
      Buffer.from(signed, 'ascii'),
      { key: createPublicKey({ key, format: 'jwk' }), dsaEncoding: 'ieee-p1363' },
      signature,
    );
  } catch {
    return false;
  }
};

const checkSignature = (
  token: string,
  header: Record<string, unknown>,
  keys: readonly Key[],
): Rejection | undefined => {
  const rule =
    typeof header.alg === 'string' && Object.hasOwn(digests, header.alg) ? digests[header.alg] : undefined;
  if (rule === undefined) return reject('invalid_key', 'the signature algorithm is not accepted');
  const fitting = keys.filter(
    (key) =>
      key.kty === rule.kty &&
      (header.kid === undefined || key.kid === header.kid) &&
      (key.use ?? 'sig') === 'sig',
  );
  const cut = token.lastIndexOf('.');
  const signature = Buffer.from(token.slice(cut + 1), 'base64url');
  if (fitting.some((key) => signatureHolds(key, rule.hash, token.slice(0, cut), signature))) return undefined;
  return reject(
    'invalid_key',
    fitting.length === 0 ? 'no key of the issuer has this key ID' : 'the signature does not verify',
  );
};

const checkClaims = (claims: Record<string, unknown>, trust: Trust): Rejection | SecurityEvent => {
  const { iss, aud, iat, jti, events } = claims;
  if (iss !== trust.issuer) return reject('invalid_issuer', 'the event is from another issuer');
  const audience = (Array.isArray(aud) ? aud : [aud]).find(
    (one): one is string => typeof one === 'string' && trust.audiences.includes(one),
  );
  if (audience === undefined) return reject('invalid_audience', 'the event is for another application');
  if (typeof jti !== 'string' || jti === '') return reject('invalid_request', 'jti is missing');
  if (typeof iat !== 'number') return reject('invalid_request', 'iat is missing');
  const ageMs = trust.nowMs === 'any' ? 0 : trust.nowMs - iat * 1000;
  if (ageMs < -skewMs || ageMs > maxAgeMs) return reject('invalid_request', 'the event is from another time');
  if (typeof events !== 'object' || events === null || Object.keys(events).length === 0)
    return reject('invalid_request', 'events are missing');
  return {
    id: jti,
    issuer: trust.issuer,
    audience,
    issuedMs: iat * 1000,
    events: events as SecurityEvent['events'],
  };
};

/** Signature first, claims after it: nothing of an unsigned text is believed. */
export const verifyEvent = (token: string, trust: Trust): Rejection | SecurityEvent => {
  const parts = token.trim().split('.');
  const [header, claims] = [json(parts[0]), json(parts[1])];
  if (parts.length !== 3 || header === undefined || claims === undefined)
    return reject('invalid_request', 'the body is not a signed token');
  // An id_token or access token of the same issuer must not pass for an event (RFC 8417 4.6).
  if (
    header.typ !== undefined &&
    String(header.typ).toLowerCase().replace('application/', '') !== 'secevent+jwt'
  )
    return reject('invalid_request', 'the token is of another kind');
  return checkSignature(token.trim(), header, trust.keys) ?? checkClaims(claims, trust);
};
