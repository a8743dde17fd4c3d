import type { MockRequest } from '../service-set.ts';
import { base64url, hmac, sha256 } from './keys.ts';
import type { Auth, Session, User } from './state.ts';

const NAME = 'opsctl_session';
const LIFE_SECONDS = 14 * 86_400;

/** One browser: the value of its cookie, and its session if a user has signed in. */
export type Browser = {
  readonly cookie: string;
  readonly hash: string;
  readonly session: Session | undefined;
  readonly isNew: boolean;
};

const cookieOf = (request: MockRequest): string | undefined =>
  new RegExp(`(?:^|;\\s*)${NAME}=([A-Za-z0-9_-]{32,64})(?:;|$)`).exec(request.headers.cookie ?? '')?.[1];

export const isSessionOver = (auth: Auth, session: Session): boolean =>
  auth.env.now() - session.created_at >= LIFE_SECONDS * 1000;

export const browserOf = (auth: Auth, request: MockRequest): Browser => {
  const cookie = cookieOf(request);
  if (cookie === undefined) return newBrowser(auth);
  const hash = sha256(cookie);
  const session = auth.sessions.get(hash);
  return {
    cookie,
    hash,
    session: session && !isSessionOver(auth, session) ? session : undefined,
    isNew: false,
  };
};
const newBrowser = (auth: Auth): Browser => {
  const cookie = base64url(auth.env.random(32));
  return { cookie, hash: sha256(cookie), session: undefined, isNew: true };
};

export const setCookie = (auth: Auth, cookie: string): string =>
  `${NAME}=${cookie}; Path=/o/; HttpOnly; SameSite=Lax; Max-Age=${LIFE_SECONDS}${auth.env.origin().startsWith('https:') ? '; Secure' : ''}`;

/** The users of a session that can still act, the one who signed in last first. */
export const signedIn = (auth: Auth, browser: Browser): User[] =>
  (browser.session?.users ?? []).flatMap((id) => {
    const user = auth.users.get(id);
    return user?.state === 'active' ? [user] : [];
  });

/**
 * Signs a user in under a new cookie, so that a cookie planted before the sign-in is useless. Pending
 * requests of the same browser in other tabs move to the new session. Call inside a transaction.
 */
export const signIn = (auth: Auth, browser: Browser, user: User): Browser => {
  const next = newBrowser(auth);
  const now = auth.env.now();
  const users = [user.id, ...(browser.session?.users ?? []).filter((id) => id !== user.id)];
  const session: Session = { id: next.hash.slice(0, 12), users, created_at: now, seen_at: now };
  auth.sessions.delete(browser.hash);
  auth.sessions.put(next.hash, session);
  for (const pending of auth.pending.filter((p) => p.browser === browser.hash))
    auth.pending.put(pending.id, { ...pending, browser: next.hash });
  return { ...next, session };
};

/**
 * spec/sign-in#check-3.11: a form is valid for this request at this step. The caller has already checked that
 * the request belongs to this browser. The proof does not include the cookie, because a sign-in in another
 * tab changes it while this form is open.
 */
export const proofOf = (auth: Auth, request: string, step: string): string =>
  hmac(auth.secret(), `${step} ${request}`);
