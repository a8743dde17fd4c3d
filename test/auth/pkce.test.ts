import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { challengeFrom, secretsFrom, verifierFrom } from '../../src/auth/callback.ts';
import { verifierPattern } from '../../src/api-specs/oauth/endpoints.ts';

const isVerifier = (text: string): boolean => verifierPattern.test(text);

test('the example of RFC 7636 appendix B', () => {
  expect(challengeFrom('dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk')).toBe(
    'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
  );
});

test.each([
  [42, false],
  [43, true],
  [128, true],
  [129, false],
])('spec/sign-in#limits: a verifier of %i characters is allowed: %s', (length, allowed) => {
  expect(isVerifier('a'.repeat(length))).toBe(allowed);
});

test.each(['+', '/', '=', ' ', 'é', '%', '\n', '"'])(
  'spec/sign-in#pkce-1: %j is not one of its characters',
  (char) => {
    expect(isVerifier('a'.repeat(50) + char)).toBe(false);
  },
);

test('spec/sign-in#pkce-1: all of A-Z a-z 0-9 - . _ ~', () => {
  expect(isVerifier('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~')).toBe(true);
});

test('any 32 random bytes give a verifier that the service accepts, and a challenge of 43 characters', () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 32, maxLength: 32 }), (bytes) => {
      expect(isVerifier(verifierFrom(bytes))).toBe(true);
      expect(challengeFrom(verifierFrom(bytes))).toMatch(/^[A-Za-z0-9_-]{43}$/);
    }),
  );
});

test('every request has a different verifier, state and nonce', () => {
  const made = Array.from({ length: 50 }, () => secretsFrom((n) => randomBytes(n)));
  expect(new Set(made.flatMap(({ verifier, state, nonce }) => [verifier, state, nonce])).size).toBe(150);
});
