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
