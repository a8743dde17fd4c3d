import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
} from 'node:crypto';
import { AppError } from '../../core/problem.ts';
import type { RequestProver } from '../../api/context.ts';
import type { Host } from '../../platform/host.ts';
import { compactJwt } from '../sign-jwt.ts';

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
const hashOf = (text: string): string => createHash('sha256').update(text).digest('base64url');
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
