import { usageError } from '../core/problem.ts';

export type JwtView = {
  readonly header: Readonly<Record<string, unknown>>;
  readonly claims: Readonly<Record<string, unknown>>;
  readonly issued_at: string | null;
  readonly not_before: string | null;
  readonly expires_at: string | null;
  readonly expired: boolean | null;
  readonly signature: 'not checked';
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

const longestMs = 8.64e15;
const time = (value: unknown): string | null =>
  typeof value === 'number' && Math.abs(value * 1000) <= longestMs
    ? new Date(value * 1000).toISOString()
    : null;

/** What a JWT says; nothing of it is checked, and that is said. */
export const jwtView = (token: string, nowMs: number): JwtView => {
  const parts = token.trim().split('.');
  const [header, claims] = [objectIn(parts[0]), objectIn(parts[1])];
  if (header === undefined || claims === undefined || parts.length !== 3)
    throw usageError(
      parts.length === 5
        ? 'the token is an encrypted JWT: only its receiver can read it'
        : 'the token is no JWT: opaque tokens say nothing about themselves',
      [],
      ['opsctl auth status asks the server about the account'],
    );
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
