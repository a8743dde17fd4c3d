import { HttpError } from '../http-error.ts';
import type { Environment } from '../service.ts';
import { Store } from '../store.ts';
import { seedTracker } from './seed.ts';
import { type Tracker, trackerState } from './state.ts';

/** Workspaces that one server holds; a test that forgets to reuse its token must not fill the memory. */
const MOST = 1000;

export type Workspaces<T> = {
  /** The workspace of a token, made and filled at its first request. */
  of(token: string): T;
  /** A reset of the server begins all of them anew. */
  clear(kind: 'demo' | 'empty'): void;
};

/** spec/tracker#authentication-7: with --workspace-per-token each token has records of its own, in memory only. */
export const makeWorkspaces = <T>(
  env: Environment,
  serve: (env: Environment, state: Tracker) => T,
): Workspaces<T> => {
  const known = new Map<string, T>();
  let kind: 'demo' | 'empty' = 'demo';
  const make = (token: string): T => {
    if (known.size >= MOST)
      throw new HttpError(
        403,
        `This server holds ${MOST} workspaces at most; reset it, or use fewer tokens.`,
      );
    const own: Environment = {
      ...env,
      store: new Store(),
      options: { ...env.options, trackerToken: token },
    };
    const state = trackerState(own);
    own.store.transact(() => seedTracker(state, kind));
    const served = serve(own, state);
    known.set(token, served);
    return served;
  };
  return {
    of: (token) => known.get(token) ?? make(token),
    clear: (to) => {
      kind = to;
      known.clear();
    },
  };
};
