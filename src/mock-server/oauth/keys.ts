import { type KeyObject, createPrivateKey, generateKeyPairSync, sign } from 'node:crypto';
import { base64url } from './digest.ts';
import type { Auth, SigningKey } from './state.ts';

type Alg = SigningKey['alg'];
/** Keys of an algorithm are made at their first use: an RSA pair takes longer than everything else a start does. */
const signingKey = (auth: Auth, alg: Alg): SigningKey => {
  const found = auth.keys.get(alg);
  if (found !== undefined) return found;
  const pair =
    alg === 'RS256'
      ? generateKeyPairSync('rsa', { modulusLength: 2048 })
      : generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const kid = base64url(auth.env.random(9));
  const made: SigningKey = {
    kid,
    alg,
    pem: pair.privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
    jwk: { ...pair.publicKey.export({ format: 'jwk' }), kid, alg, use: 'sig' },
  };
  auth.env.store.transact(() => auth.keys.put(alg, made));
  return made;
};

export type Signer = {
  jwt(alg: Alg, claims: Readonly<Record<string, unknown>>, typ?: string): string;
  publicKeys(): Readonly<Record<string, unknown>>[];
};

/** Signs with keys of the store; parsed keys are kept as long as the store has the same ones. */
export const makeSigner = (auth: Auth): Signer => {
  const parsed = new Map<string, KeyObject>();
  const keyOf = (key: SigningKey): KeyObject => {
    const found = parsed.get(key.kid) ?? createPrivateKey(key.pem);
    parsed.set(key.kid, found);
    return found;
  };
  const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  return {
    jwt: (alg, claims, typ = 'JWT') => {
      const key = signingKey(auth, alg);
      const text = `${encode({ alg, kid: key.kid, typ })}.${encode(claims)}`;
      const options = alg === 'ES256' ? { key: keyOf(key), dsaEncoding: 'ieee-p1363' as const } : keyOf(key);
      return `${text}.${sign('sha256', Buffer.from(text), options).toString('base64url')}`;
    },
    publicKeys: () => (['RS256', 'ES256'] as const).map((alg) => signingKey(auth, alg).jwk),
  };
};
