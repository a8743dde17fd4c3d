import { createPrivateKey, type KeyObject, sign } from 'node:crypto';
import { AppError } from '../core/problem.ts';

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

const badKey = (origin: string, why: string): AppError =>
  new AppError('config', `the private key of ${origin} cannot be used: ${why}`, {
    code: 'BAD_PRIVATE_KEY',
    tryThis: ['use an RSA (2048 bits or more) or P-256 private key in PEM form (PKCS#8)'],
  });

export const privateKeyFrom = (pem: string, origin: string): KeyObject => {
  try {
    return createPrivateKey(pem);
  } catch {
    throw badKey(origin, 'it is not a private key in PEM form');
  }
};

const algorithmOf = (key: KeyObject, origin: string): 'RS256' | 'ES256' => {
  if (key.asymmetricKeyType === 'rsa') return 'RS256';
  if (key.asymmetricKeyType === 'ec' && key.asymmetricKeyDetails?.namedCurve === 'prime256v1') return 'ES256';
  throw badKey(origin, `its type is ${key.asymmetricKeyType ?? 'unknown'}`);
};

/** RFC 7515 compact form, by RS256 or ES256 as the key is. */
export const signJwt = (
  key: KeyObject,
  origin: string,
  claims: Readonly<Record<string, unknown>>,
  keyId: string | undefined,
): string => {
  const alg = algorithmOf(key, origin);
  const text = `${encode({ alg, typ: 'JWT', ...(keyId === undefined ? {} : { kid: keyId }) })}.${encode(claims)}`;
  const signature = sign('sha256', Buffer.from(text), { key, dsaEncoding: 'ieee-p1363' });
  return `${text}.${signature.toString('base64url')}`;
};
