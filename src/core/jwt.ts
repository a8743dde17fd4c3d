/** The parts of a JWT in compact form (RFC 7515), without verification. */
export type JwtParts = {
  readonly header: Readonly<Record<string, unknown>>;
  readonly claims: Readonly<Record<string, unknown>>;
  /** The signed text: header and claims as they were sent. */
  readonly text: string;
  readonly signature: Buffer;
};

const objectIn = (part: string | undefined): Readonly<Record<string, unknown>> | undefined => {
  try {
    const value: unknown = JSON.parse(Buffer.from(part ?? '', 'base64url').toString('utf8'));
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
};
/** Reads a JWT; undefined if it does not have three parts or if a part is not an object. Does not check the signature. */
export const readJwt = (token: string): JwtParts | undefined => {
  const [head = '', body = '', signature, ...rest] = token.trim().split('.');
  const [header, claims] = [objectIn(head), objectIn(body)];
  if (header === undefined || claims === undefined || signature === undefined || rest.length > 0)
    return undefined;
  return { header, claims, text: `${head}.${body}`, signature: Buffer.from(signature, 'base64url') };
};
/** Returns the header of a token whose other parts may be malformed; {} if there is none. */
export const headerOf = (token: string | undefined): Readonly<Record<string, unknown>> =>
  objectIn(token?.split('.')[0]) ?? {};
/** Returns the claims of a token whose other parts may be malformed; {} if there are none. Does not check the signature. */
export const claimsOf = (token: string | undefined): Readonly<Record<string, unknown>> =>
  objectIn(token?.split('.')[1]) ?? {};

/** A public key of a key set (RFC 7517). */
export type PublishedKey = {
  readonly kid?: string;
  readonly kty?: string;
  readonly crv?: string;
  readonly alg?: string;
  readonly use?: string;
  readonly key_ops?: readonly string[];
};
const keyTypes: Readonly<Record<string, string>> = { RS: 'RSA', PS: 'RSA', ES: 'EC', Ed: 'OKP' };
/** RFC 7518 3.4: each ES algorithm has one curve. */
const curves: Readonly<Record<string, string>> = { ES256: 'P-256', ES384: 'P-384', ES512: 'P-521' };
/** RFC 9864: Ed25519 is the new name of EdDSA on that curve. */
const algorithmOf = (alg: string): string => (alg === 'EdDSA' ? 'Ed25519' : alg);
/** RFC 7517 4.2 to 4.4: whether the issuer made the key for signatures of this algorithm. */
const isKeyFor = (key: PublishedKey, alg: string): boolean =>
  key.kty === keyTypes[alg.slice(0, 2)] &&
  (curves[alg] === undefined || key.crv === curves[alg]) &&
  (key.use ?? 'sig') === 'sig' &&
  algorithmOf(key.alg ?? alg) === algorithmOf(alg) &&
  (key.key_ops === undefined || (Array.isArray(key.key_ops) && key.key_ops.includes('verify')));
/**
 * Returns the keys of a key set that may verify a token. `unknown`: the set has no key with the key ID of the token, or
 * the token names no key and no key of the set is for its algorithm. `unfit`: the set has the key that the token names,
 * but the issuer did not make that key for signatures of this algorithm.
 */
export const keysFor = <Key extends PublishedKey>(
  { kid, alg }: Readonly<Record<string, unknown>>,
  keys: readonly Key[],
): readonly Key[] | 'unknown' | 'unfit' => {
  const named = keys.filter((key) => kid === undefined || key.kid === kid);
  if (named.length === 0) return 'unknown';
  const fitting = named.filter((key) => isKeyFor(key, String(alg)));
  if (fitting.length > 0) return fitting;
  return kid === undefined ? 'unknown' : 'unfit';
};
/**
 * True if the header names another kind of token (RFC 8725 3.11), such as `at+jwt` or `logout+jwt`. A token without a
 * type, and one of the type JWT, may be of any kind.
 */
export const isOtherKind = ({ typ }: Readonly<Record<string, unknown>>, own: string): boolean => {
  const type = typeof typ === 'string' ? typ.toLowerCase().replace(/^application\//, '') : '';
  return type.endsWith('+jwt') && type !== own;
};
