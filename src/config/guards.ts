import { AppError } from '../kernel/problem.ts';
import { MOCK_PROFILE } from './profiles.ts';
import type { Setting, Settings } from './settings.ts';

const loopback = (host: string): boolean => host === 'localhost' || host === '[::1]' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host);

/** doc1 and doc2 Authentication: HTTPS only; decisions 4: plain HTTP is for loopback. */
export const urlIsAllowed = ({ key, value, origin }: Setting): URL => {
  let url: URL;
  try {
    url = new URL(value);
  } catch {
    throw new AppError('config', `${key} is not a URL: ${JSON.stringify(value)} (${origin})`, { tryThis: ['write it like https://api.example.com'] });
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw new AppError('config', `${key} must start with https://; got ${JSON.stringify(value)} (${origin})`);
  }
  if (url.username !== '' || url.password !== '')
    throw new AppError('config', `${key} must not hold a user name or password (${origin})`, { tryThis: ['give the token by its own setting'] });
  if (url.protocol === 'http:' && !loopback(url.hostname)) {
    throw new AppError('config', `${key} would send the token unencrypted to ${url.hostname} (${origin}); plain HTTP is allowed for loopback only`, {
      code: 'PLAIN_HTTP',
      tryThis: [value.replace(/^http:/, 'https:')],
    });
  }
  return url;
};

/** decisions 4: a script must never believe that it changed a real service when it changed the mock. */
export const mockIsMeant = (settings: Settings, service: string): void => {
  const urlKey = service === 'auth' ? 'auth.token_url' : `${service}.url`;
  const never = settings.get('mock');
  if (never?.value === 'never') {
    throw new AppError('config', `${urlKey} is not set, and the embedded mock server is turned off (${never.origin})`, {
      code: 'NO_URL',
      tryThis: [`opsctl config set ${urlKey} https://…`],
    });
  }
  const token = settings.get(`${service}.token`);
  if (token !== undefined) {
    throw new AppError('config', `a token is given (${token.origin}) but no ${urlKey}: refusing to use the mock server instead`, {
      code: 'TOKEN_WITHOUT_URL',
      tryThis: [`opsctl config set ${urlKey} https://…`, `remove the token to use the mock server`],
    });
  }
  const { profile } = settings;
  if (profile.name !== MOCK_PROFILE) {
    throw new AppError('config', `profile ${profile.name} (${profile.origin}) has no ${urlKey}: refusing to use the mock server instead`, {
      code: 'PROFILE_WITHOUT_URL',
      tryThis: [`opsctl config set ${urlKey} https://… --profile ${profile.name}`, '--profile mock for the mock server'],
    });
  }
};
