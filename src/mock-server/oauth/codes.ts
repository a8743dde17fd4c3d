import { base64url, sha256 } from './digest.ts';
import { addGrant, grantOf } from './grants.ts';
import type { Asked, Auth, Code, User } from './state.ts';

/** spec/sign-in#check-3.16: opaque, 256 bits, with a slash that clients must decode. */
const codePrefix = '4/0';

/** A code for what the user granted. Call inside a transaction. */
export const issueCode = (
  auth: Auth,
  asked: Asked,
  user: User,
  granted: readonly string[],
  accessForSeconds: number | null,
  signedInAt: number,
): { code: string; scopes: readonly string[] } => {
  const code = codePrefix + base64url(auth.env.random(32));
  const hash = sha256(code);
  // spec/sign-in#check-4.6: incremental consent answers with the union.
  const earlier = asked.include_granted ? (grantOf(auth, user.id, asked.client)?.scopes ?? []) : [];
  const scopes = [...new Set([...granted, ...earlier])].slice(0, 30);
  const record: Code = {
    hash,
    asked,
    user: user.id,
    scopes,
    signed_in_at: signedInAt,
    access_for_seconds: accessForSeconds,
    created_at: auth.env.now(),
    used: null,
  };
  auth.codes.put(hash, record);
  addGrant(auth, user.id, asked.client, granted);
  noteChallenge(auth, asked);
  return { code, scopes };
};

/** spec/sign-in#pkce-1: "unique per authorization request"; spec/sign-in#check-5.20: a repeated one is allowed and noted. */
const noteChallenge = (auth: Auth, asked: Asked): void => {
  if (asked.challenge === null) return;
  const key = sha256(asked.challenge);
  if (auth.challenges.has(key)) {
    const id = auth.env.store.next('auth.warnings');
    auth.warnings.put(id, {
      at: auth.env.now(),
      client: asked.client,
      text: 'the same code challenge came in two authorization requests',
    });
  }
  auth.challenges.put(key, auth.env.now());
};

export const isCodeOver = (auth: Auth, code: Code): boolean =>
  auth.env.now() >= code.created_at + auth.settings().code_seconds * 1000;
