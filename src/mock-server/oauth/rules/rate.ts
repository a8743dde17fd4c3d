import { OAuthError } from '../errors.ts';
import type { Auth } from '../state.ts';

/** spec/sign-in#limits-6; spec/sign-in#check-12.9: none unless a setting gives one. Counts whole minutes. */
export const makeRateRule = (auth: Auth) => {
  let minute = 0;
  let count = 0;
  return (): void => {
    const limit = auth.settings().rate_per_minute;
    if (limit === null) return;
    const now = Math.floor(auth.env.now() / 60_000);
    if (now !== minute) [minute, count] = [now, 0];
    count += 1;
    if (count > limit)
      throw new OAuthError('rate_limit_exceeded', `More than ${limit} requests in this minute`, 429, {
        'retry-after': '60',
      });
  };
};
