import { createHash, createHmac, timingSafeEqual } from 'node:crypto';

export const base64url = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64url');
export const sha256 = (text: string): string => createHash('sha256').update(text).digest('base64url');
/** How stored refresh tokens and security events name a token. */
export const tokenHash = (token: string): string =>
  createHash('sha512').update(createHash('sha512').update(token).digest()).digest('base64');
export const hmac = (secret: string, text: string): string =>
  createHmac('sha256', secret).update(text).digest('base64url');

/** spec/sign-in#check-12.12: time does not tell how much of a secret was right. */
export const sameText = (left: string, right: string): boolean => {
  const [a, b] = [Buffer.from(left), Buffer.from(right)];
  return a.length === b.length && timingSafeEqual(a, b);
};
