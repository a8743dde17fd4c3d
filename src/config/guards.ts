import { AppError } from '../core/problem.ts';
import { MOCK_PROFILE } from './profiles.ts';
import type { Setting, Settings } from './settings.ts';

/** The key with a service's URL and the keys of the secrets that go with it. */
export type Endpoint = {
  readonly url: string;
  readonly secrets: readonly string[];
  /** A secret of another service that is taken when there is no own one; `home` is that service's URL. */
  readonly borrowed?: { readonly secret: string; readonly home: string };
};

/** What one guard finds wrong when a service has no URL; undefined when all is well. Pure. */
export type Guard = (settings: Settings, endpoint: Endpoint) => AppError | undefined;

const configError = (code: string, message: string, ...tryThis: string[]): AppError =>
  new AppError('config', message, { code, tryThis });

/** A name that is in no file is most likely mistyped. */
const profileIsKnown: Guard = ({ profile, profiles }, { url }) =>
  profile.isNew
    ? configError(
        'PROFILE_UNKNOWN',
        `there is no profile \`${profile.name}\` (${profile.origin}); known: ${profiles.join(', ')}`,
        `opsctl config set ${url} https://… --profile ${profile.name}`,
      )
    : undefined;

/** spec/program#settings: naming another profile than `mock` means a real service. */
const profileIsMock: Guard = ({ profile }, { url }) =>
  profile.name === MOCK_PROFILE
    ? undefined
    : configError(
        'PROFILE_WITHOUT_URL',
        `profile \`${profile.name}\` (${profile.origin}) has no ${url}: refusing to use the mock server instead`,
        `opsctl config set ${url} https://… --profile ${profile.name}`,
        `--profile ${MOCK_PROFILE} for the mock server`,
      );

/** spec/program#settings: a token without a URL would go to the mock, and its owner would think that the real service had been changed. */
const noTokenIsGiven: Guard = (settings, { url, secrets, borrowed }) => {
  const homeless =
    borrowed !== undefined && settings.get(borrowed.home) === undefined ? [borrowed.secret] : [];
  const token = [...secrets, ...homeless]
    .map((key) => settings.get(key))
    .find((setting) => setting !== undefined);
  return (
    token &&
    configError(
      'TOKEN_WITHOUT_URL',
      `${token.key} is set (${token.origin}) but ${url} is not: refusing to use the mock server instead`,
      `opsctl config set ${url} https://…`,
      `remove ${token.key} to use the mock server`,
    )
  );
};

/** spec/program#settings: OPSCTL_MOCK=never turns the default off. */
const mockIsNotOff: Guard = (settings, { url }) => {
  const mock = settings.get('mock');
  if (mock === undefined) return undefined;
  if (mock.value !== 'never')
    return configError(
      'MOCK_SETTING',
      `mock (${mock.origin}) can only be \`never\`; got ${JSON.stringify(mock.value)}`,
    );
  return configError(
    'NO_URL',
    `${url} is not set, and the embedded mock server is turned off (${mock.origin})`,
    `opsctl config set ${url} https://…`,
  );
};

/** spec/program#settings: a script must never believe that it changed a real service when it changed the mock. The first that refuses is said. */
export const mockGuards: readonly Guard[] = [profileIsKnown, profileIsMock, noTokenIsGiven, mockIsNotOff];

/** A host name that leads to this machine. Pure. */
export const loopback = (host: string): boolean =>
  host === 'localhost' || host.endsWith('.localhost') || host === '[::1]' || /^127(\.\d{1,3}){3}$/.test(host);

/** What is wrong with a base URL: the sentence after its name, and how to write it. */
export type UrlFault = { readonly code: string; readonly why: string; readonly tryThis: string };

/** An absolute http or https URL without the parts that a base URL cannot have. A password in it is not repeated. */
const formFault = (value: string): UrlFault | undefined => {
  const wrong = (why: string): UrlFault => ({
    code: 'URL_MALFORMED',
    why,
    tryThis: 'write it like https://api.example.com',
  });
  if (!URL.canParse(value)) return wrong(`is not a URL: ${JSON.stringify(value)}`);
  const url = new URL(value);
  if (url.username !== '' || url.password !== '') return wrong('must not hold a user name or password');
  if (!/^https?:\/\//i.test(value)) return wrong(`must start with https://; got ${JSON.stringify(value)}`);
  return url.hash === '' ? undefined : wrong('must not have a fragment (#…)');
};

/** spec/sign-in and spec/tracker#authentication: HTTPS only; spec/program#settings: plain HTTP is for loopback. */
const transportFault = (value: string): UrlFault | undefined => {
  const url = new URL(value);
  if (url.protocol === 'https:' || loopback(url.hostname)) return undefined;
  const why = `would send tokens unencrypted to ${url.hostname}; plain HTTP is allowed for loopback only`;
  return { code: 'PLAIN_HTTP', why, tryThis: value.replace(/^http:/i, 'https:') };
};

/** The first thing that speaks against a base URL; undefined for a good one. Pure. */
export const urlFault = (value: string): UrlFault | undefined => formFault(value) ?? transportFault(value);

/** The same for a setting, as an error that says where the setting comes from. */
export const urlIsUsable = ({ key, value, origin }: Setting): AppError | undefined => {
  const fault = urlFault(value);
  return fault && configError(fault.code, `${key} (${origin}) ${fault.why}`, fault.tryThis);
};
