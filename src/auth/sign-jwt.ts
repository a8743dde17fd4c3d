import { createPrivateKey, type KeyObject, sign } from 'node:crypto';
import { readJwt } from '../core/jwt.ts';
import { AppError, usageError } from '../core/problem.ts';

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
const badKey = (origin: string, why: string): AppError =>
  new AppError('config', `the private key of ${origin} cannot be used: ${why}`, {
    code: 'BAD_PRIVATE_KEY',
    tryThis: ['use an RSA (2048 bits or more) or P-256 private key in PEM form (PKCS#8)'],
  });
/** PEM as CI systems hold it: with line ends as two characters, as spaces or missing, in quotes, or in base64 as a whole. */
const repairPem = (given: string): string => {
  const text = given
    .replace(/^\uFEFF/, '')
    .trim()
    .replace(/^(['"])([\s\S]*)\1$/, '$2')
    .replaceAll('\\r', '')
    .replaceAll('\\n', '\n');
  const pem = text.includes('-----BEGIN') ? text : Buffer.from(text, 'base64').toString('latin1');
  const parts = /-----BEGIN ([A-Z0-9 ]+)-----([\s\S]*?)-----END \1-----/.exec(pem);
  if (parts === null) return pem;
  const [, label = '', body = ''] = parts;
  // A header inside the PEM is one of a key that has a password.
  if (body.includes(':')) return pem;
  const lines = body.replace(/\s+/g, '').match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`;
};
const whyNoKey = (pem: string): string => {
  if (/ENCRYPTED/.test(pem)) return 'it is protected by a password';
  const label = /-----BEGIN ([A-Z0-9 ]+)-----/.exec(pem)?.[1];
  if (label === undefined) return 'it is not a private key in PEM form';
  if (!label.includes('PRIVATE KEY')) return `it contains a ${label.toLowerCase()}, not a private key`;
  return pem.includes('-----END')
    ? 'its content is damaged'
    : 'it is cut off: the line -----END … is missing';
};
export const privateKeyFrom = (pem: string, origin: string): KeyObject => {
  const repaired = repairPem(pem);
  try {
    return createPrivateKey(repaired);
  } catch {
    throw badKey(origin, whyNoKey(repaired));
  }
};
const algorithmOf = (key: KeyObject, origin: string): 'RS256' | 'ES256' => {
  if (key.asymmetricKeyType === 'rsa') return 'RS256';
  if (key.asymmetricKeyType === 'ec' && key.asymmetricKeyDetails?.namedCurve === 'prime256v1') return 'ES256';
  throw badKey(origin, `its type is ${key.asymmetricKeyType ?? 'unknown'}`);
};
/** RFC 7515 compact form. The header has to name the algorithm of the key. */
export const compactJwt = (
  key: KeyObject,
  header: Readonly<Record<string, unknown>>,
  claims: Readonly<Record<string, unknown>>,
): string => {
  const text = `${encode(header)}.${encode(claims)}`;
  const signature = sign('sha256', Buffer.from(text), { key, dsaEncoding: 'ieee-p1363' });
  return `${text}.${signature.toString('base64url')}`;
};
/** A JWT that is signed with RS256 or ES256, whichever fits the key. */
export const signJwt = (
  key: KeyObject,
  origin: string,
  claims: Readonly<Record<string, unknown>>,
  keyId: string | undefined,
): string => {
  const alg = algorithmOf(key, origin);
  return compactJwt(key, { alg, typ: 'JWT', ...(keyId === undefined ? {} : { kid: keyId }) }, claims);
};

export type JwtView = {
  readonly header: Readonly<Record<string, unknown>>;
  readonly claims: Readonly<Record<string, unknown>>;
  readonly issued_at: string | null;
  readonly not_before: string | null;
  readonly expires_at: string | null;
  readonly expired: boolean | null;
  readonly signature: 'not checked';
};
const longestMs = 8.64e15;
const time = (value: unknown): string | null =>
  typeof value === 'number' && Math.abs(value * 1000) <= longestMs
    ? new Date(value * 1000).toISOString()
    : null;
/** The content of a JWT, without verification. The output states this. */
export const jwtView = (token: string, nowMs: number): JwtView => {
  const jwt = readJwt(token);
  if (jwt === undefined)
    throw usageError(
      token.split('.').length === 5
        ? 'the token is an encrypted JWT: only its receiver can read it'
        : 'the token is not a JWT; opaque tokens cannot be inspected',
      [],
      ['opsctl auth status asks the server about the account'],
    );
  const { header, claims } = jwt;
  return {
    header,
    claims,
    issued_at: time(claims.iat),
    not_before: time(claims.nbf),
    expires_at: time(claims.exp),
    expired: typeof claims.exp === 'number' ? claims.exp * 1000 <= nowMs : null,
    signature: 'not checked',
  };
};
