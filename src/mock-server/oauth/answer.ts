import type { MockReply, Environment } from '../service.ts';
import { pageHeaders } from './layout.ts';
import type { Asked } from './state.ts';

const encode = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);

/** spec/sign-in#authorize-5 state: "returned unchanged as a name=value pair in the fragment identifier"; spec/program#choices: also in the query, or there only. Pure. */
export const answerUri = (
  asked: Pick<Asked, 'redirect_uri' | 'state'>,
  values: Readonly<Record<string, string>>,
  stateIn: Environment['options']['stateIn'],
): string => {
  const state = asked.state === null ? undefined : `state=${asked.state}`;
  const pairs = Object.entries(values).map(([name, value]) => `${name}=${encode(value)}`);
  if (state !== undefined && stateIn !== 'fragment') pairs.unshift(state);
  // RFC 6749 3.1.2: a query of the redirect URI is kept.
  const joint = !asked.redirect_uri.includes('?') ? '?' : /[?&]$/.test(asked.redirect_uri) ? '' : '&';
  const fragment = state !== undefined && stateIn !== 'query' ? `#${state}` : '';
  return `${asked.redirect_uri}${joint}${pairs.join('&')}${fragment}`;
};

/** RFC 9700 4.12: never 307; 303 makes a GET of the redirected form. */
export const redirectReply = (
  env: Environment,
  asked: Asked,
  values: Readonly<Record<string, string>>,
  cookies: readonly string[],
  { status, issuer }: { readonly status: 302 | 303; readonly issuer: string },
): MockReply => ({
  status,
  headers: {
    ...pageHeaders(),
    // RFC 9207: which server answers.
    location: answerUri(asked, { ...values, iss: issuer }, env.options.stateIn),
    ...(cookies.length > 0 ? { 'set-cookie': cookies } : {}),
  },
});
