import { createHash } from 'node:crypto';

const base64url = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64url');

/** 32 random bytes give the 43 characters of spec/sign-in; fewer bytes would be refused by the service. */
export const verifierFrom = (random: Uint8Array): string => base64url(random);

/** spec/sign-in#pkce-2: base64url without padding of the SHA-256 of the ASCII verifier. */
export const challengeFrom = (verifier: string): string =>
  createHash('sha256').update(verifier, 'ascii').digest('base64url');

/** The secrets of one authorization request; made anew for each (spec/sign-in: unique per authorization request). */
export type Secrets = {
  readonly verifier: string;
  readonly challenge: string;
  readonly state: string;
  readonly nonce: string;
};

export const secretsFrom = (random: (bytes: number) => Uint8Array): Secrets => {
  const verifier = verifierFrom(random(32));
  return {
    verifier,
    challenge: challengeFrom(verifier),
    state: base64url(random(32)),
    nonce: base64url(random(24)),
  };
};
