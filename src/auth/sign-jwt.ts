import { withoutByteOrderMark, pemText } from '../core/text.ts';
import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  hash,
  type KeyObject,
  sign,
} from 'node:crypto';
import { readJwt } from '../core/json.ts';
import { AppError, usageError } from '../core/problem.ts';
import type { RequestProver } from '../api/context.ts';
import type { Host } from '../platform/host.ts';

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
const badKey = (origin: string, why: string): AppError =>
  new AppError('config', `the private key of ${origin} cannot be used: ${why}`, {
    code: 'BAD_PRIVATE_KEY',
    tryThis: ['use an RSA (2048 bits or more) or P-256 private key in PEM form (PKCS#8)'],
  });
/** PEM as CI systems hold it: with line ends as two characters, as spaces or missing, in quotes, or in base64 as a whole. */
const repairPem = (given: string): string => {
  const text = withoutByteOrderMark(given)
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
  return pemText(label, body.replace(/\s+/g, ''));
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

type JwtView = {
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

/** RFC 9449: tokens that only the holder of a private key can use. Each request carries a signed proof for its method and address. */
export const dpopAlgorithm = 'ES256';
/** A new private key, in the form in which the credential store keeps it. */
export const makeDpopKey = (): string =>
  generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({
    type: 'pkcs8',
    format: 'pem',
  }) as string;

type PublicJwk = { readonly kty: 'EC'; readonly crv: string; readonly x: string; readonly y: string };
const publicJwkOf = (key: KeyObject): PublicJwk => {
  const { crv = '', x = '', y = '' } = createPublicKey(key).export({ format: 'jwk' });
  return { kty: 'EC', crv, x, y };
};
const hashOf = (text: string): string => hash('sha256', text, 'base64url');
/** RFC 7638: the hash of the required members in lexicographic order. */
const thumbprintOf = ({ crv, kty, x, y }: PublicJwk): string => hashOf(JSON.stringify({ crv, kty, x, y }));

/** RFC 9449 4.2: `htu` has neither query nor fragment. */
const targetOf = (url: string): string => {
  const { origin, pathname } = new URL(url);
  return origin + pathname;
};
/** RFC 9449 8: the token endpoint returns it in its body; 9: a service returns it in the challenge. */
const asksForNonce = ({ headers, text }: Parameters<RequestProver['notesNonce']>[1]): boolean =>
  headers['dpop-nonce'] !== undefined &&
  (/\berror="?use_dpop_nonce\b/.test(headers['www-authenticate'] ?? '') ||
    /"error"\s*:\s*"use_dpop_nonce"/.test(text));

/** Signs requests with one key, and remembers the nonces of the servers that it talks to. */
export type DpopProver = RequestProver & {
  /** RFC 9449 10: binds the authorization code to the key. */
  readonly thumbprint: string;
};
/** One prover for a key in a process: a nonce that one request received is right for the next. */
const provers = new Map<string, DpopProver>();
export const dpopProver = (host: Pick<Host, 'now' | 'random'>, pem: string): DpopProver => {
  const known = provers.get(pem);
  if (known !== undefined) return known;
  const made = makeProver(host, pem);
  provers.set(pem, made);
  return made;
};
const readKey = (pem: string): KeyObject => {
  try {
    return createPrivateKey(pem);
  } catch {
    throw new AppError('config', 'the stored DPoP key of the account cannot be read', {
      code: 'BAD_DPOP_KEY',
      tryThis: ['opsctl login --dpop (creates a new key)'],
    });
  }
};
const makeProver = (host: Pick<Host, 'now' | 'random'>, pem: string): DpopProver => {
  const key = readKey(pem);
  const jwk = publicJwkOf(key);
  const nonces = new Map<string, string>();
  const proofFor = (method: string, url: string, accessToken: string | undefined): string => {
    const nonce = nonces.get(new URL(url).origin);
    return compactJwt(
      key,
      { typ: 'dpop+jwt', alg: dpopAlgorithm, jwk },
      {
        jti: Buffer.from(host.random(16)).toString('base64url'),
        htm: method,
        htu: targetOf(url),
        iat: Math.floor(host.now() / 1000),
        ...(accessToken === undefined ? {} : { ath: hashOf(accessToken) }),
        ...(nonce === undefined ? {} : { nonce }),
      },
    );
  };
  const notesNonce: RequestProver['notesNonce'] = (url, read) => {
    const nonce = read.headers['dpop-nonce'];
    // RFC 9449 8.1: the characters of NQCHAR; anything else does not belong into a proof.
    if (nonce !== undefined && /^[\x21\x23-\x5b\x5d-\x7e]{1,1024}$/.test(nonce))
      nonces.set(new URL(url).origin, nonce);
    return asksForNonce(read);
  };
  const proverFor = (accessToken?: string): RequestProver => ({
    prove: (request) => ({
      ...request,
      headers: {
        ...request.headers,
        ...(accessToken === undefined ? {} : { authorization: `DPoP ${accessToken}` }),
        dpop: proofFor(request.method, request.url, accessToken),
      },
    }),
    notesNonce,
    forToken: proverFor,
  });
  return { thumbprint: thumbprintOf(jwk), ...proverFor() };
};
