import { createPublicKey, verify } from 'node:crypto';

export type Jwk = Readonly<Record<string, unknown>>;
export type Jwt = {
  readonly header: Readonly<Record<string, unknown>>;
  readonly claims: Readonly<Record<string, unknown>>;
  readonly text: string;
  readonly signature: Buffer;
};

const objectIn = (part: string): Readonly<Record<string, unknown>> | undefined => {
  try {
    const value: unknown = JSON.parse(Buffer.from(part, 'base64url').toString('utf8'));
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
};

/** A signed JWT in its parts, nothing of it checked. */
export const parseJwt = (token: string): Jwt | undefined => {
  const [head = '', body = '', signature = '', ...rest] = token.split('.');
  const [header, claims] = [objectIn(head), objectIn(body)];
  if (header === undefined || claims === undefined || rest.length > 0) return undefined;
  return { header, claims, text: `${head}.${body}`, signature: Buffer.from(signature, 'base64url') };
};

/** RFC 7515 with the two algorithms that this server's peers use; `none` and shared secrets are nobody's proof. */
const algorithms: Readonly<Record<string, { readonly kty: string; readonly dsaEncoding?: 'ieee-p1363' }>> = {
  RS256: { kty: 'RSA' },
  ES256: { kty: 'EC', dsaEncoding: 'ieee-p1363' },
};

export const isSignedBy = ({ header, text, signature }: Jwt, jwk: Jwk): boolean => {
  const algorithm = algorithms[String(header.alg)];
  if (algorithm === undefined || jwk.kty !== algorithm.kty) return false;
  if (header.kid !== undefined && jwk.kid !== undefined && header.kid !== jwk.kid) return false;
  try {
    const key = createPublicKey({ key: jwk as never, format: 'jwk' });
    const { dsaEncoding } = algorithm;
    return verify('sha256', Buffer.from(text), dsaEncoding ? { key, dsaEncoding } : key, signature);
  } catch {
    return false;
  }
};

export const audiencesOf = ({ claims }: Jwt): string[] =>
  [claims.aud].flat().filter((aud): aud is string => typeof aud === 'string');
