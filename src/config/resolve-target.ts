import { parseUrl, isLoopbackHost } from '../core/external-url.ts';
import { AppError, problem } from '../core/problem.ts';
import { redactedUrl } from '../core/redact-secrets.ts';
import { nearest, showHidden } from '../core/text.ts';
import { MOCK_PROFILE } from './load.ts';
import { type Setting, type Settings, type Key, findSettingKey, removalOf } from './settings.ts';
import { durationMs, longestMs } from '../core/format.ts';
import { isHeaderName, isWrittenHeader, isHeaderValue } from '../core/operation.ts';

/** The key with a service's URL and the keys of the secrets that go with it. */
type Endpoint = {
  readonly url: string;
  /** The setting that is enough in place of the URL, because the server publishes the URL. */
  readonly source?: string;
  readonly secrets: readonly string[];
  /** A secret of another service that is used if this service has none; `home` is the URL of that service. */
  readonly borrowed?: { readonly secret: string; readonly home: string };
};
/** What one guard finds wrong when a service has no URL; undefined when all is well. Pure. */
type Guard = (settings: Settings, endpoint: Endpoint) => AppError | undefined;
const configError = (code: string, message: string, ...tryThis: string[]): AppError =>
  new AppError('config', message, { code, tryThis });
/** A name that is in no file is most likely mistyped. */
const profileIsKnown: Guard = ({ profile, profiles }, { url, source = url }) =>
  profile.isNew
    ? configError(
        'PROFILE_UNKNOWN',
        `profile not found: ${JSON.stringify(profile.name)} (${profile.origin}); profiles: ${profiles.join(', ')}`,
        `opsctl config set ${source} https://… --profile ${profile.name}`,
      )
    : undefined;
/** spec/program#settings: naming another profile than `mock` means a real service. */
const profileIsMock: Guard = ({ profile }, { url, source = url }) =>
  profile.name === MOCK_PROFILE
    ? undefined
    : configError(
        'PROFILE_WITHOUT_URL',
        `profile \`${profile.name}\` (${profile.origin}) has no ${source}: refusing to use the mock server instead`,
        `opsctl config set ${source} https://… --profile ${profile.name}`,
        `--profile ${MOCK_PROFILE} for the mock server`,
      );
/** spec/program#settings: a token without a URL would go to the mock, and its owner would think that the real service had been changed. */
const noTokenIsGiven: Guard = (settings, { url, source = url, secrets, borrowed }) => {
  const homeless =
    borrowed !== undefined && settings.get(borrowed.home) === undefined ? [borrowed.secret] : [];
  const token = [...secrets, ...homeless]
    .map((key) => settings.get(key))
    .find((setting) => setting !== undefined);
  return (
    token &&
    configError(
      'TOKEN_WITHOUT_URL',
      `${token.key} is set (${token.origin}) but ${source} is not: refusing to use the mock server instead`,
      `opsctl config set ${source} https://…`,
      `remove ${token.key} to use the mock server`,
    )
  );
};
/** spec/program#settings: OPSCTL_MOCK=never turns the default off. */
const mockIsNotOff: Guard = (settings, { url, source = url }) => {
  const mock = settings.get('mock');
  if (mock === undefined) return undefined;
  if (mock.value !== 'never')
    return configError(
      'MOCK_SETTING',
      `mock (${mock.origin}) can only be \`never\`; got ${JSON.stringify(mock.value)}`,
    );
  return configError(
    'NO_URL',
    `${source} is not set, and the embedded mock server is turned off (${mock.origin})`,
    `opsctl config set ${source} https://…`,
  );
};
/**
 * spec/program#settings: a script must never assume that it changed a real service when it changed the mock.
 * The first failed check is reported.
 */
const mockGuards: readonly Guard[] = [profileIsKnown, profileIsMock, noTokenIsGiven, mockIsNotOff];
/** The problem of a base URL, as a phrase to put after its name, and how to write the URL. */
export type UrlFault = { readonly code: string; readonly why: string; readonly tryThis: string };
/** An absolute http or https URL without the parts that a base URL cannot have. A password in it is not repeated. */
const formFault = (value: string, url: URL | undefined): UrlFault | undefined => {
  const wrong = (why: string): UrlFault => ({
    code: 'URL_MALFORMED',
    why,
    tryThis: 'write it like https://api.example.com',
  });
  if (url === undefined) return wrong(`is not a URL: ${showHidden(redactedUrl(value))}`);
  if (url.username !== '' || url.password !== '') return wrong('must not hold a user name or password');
  if (!/^https?:\/\//i.test(value))
    return wrong(`must start with https://; got ${showHidden(redactedUrl(value))}`);
  return url.hash === '' ? undefined : wrong('must not have a fragment (#…)');
};
/** spec/sign-in and spec/tracker#authentication: HTTPS only; spec/program#settings: plain HTTP is for loopback. */
const transportFault = (value: string, url: URL): UrlFault | undefined => {
  if (url.protocol === 'https:' || isLoopbackHost(url.hostname)) return undefined;
  const why = `uses plain HTTP to ${url.hostname}, which is allowed for loopback only`;
  return { code: 'PLAIN_HTTP', why, tryThis: redactedUrl(value).replace(/^http:/i, 'https:') };
};
/** The first thing that speaks against a base URL; undefined for a good one. Pure. */
const urlFault = (value: string): UrlFault | undefined => {
  const url = parseUrl(value);
  return formFault(value, url) ?? (url && transportFault(value, url));
};
/** Returns an error that names the source of the setting if the URL of the setting has a fault. */
const urlIsUsable = ({ key, value, origin }: Setting): AppError | undefined => {
  const fault = urlFault(value);
  return fault && configError(fault.code, `${key} (${origin}) ${fault.why}`, fault.tryThis);
};

/** The configured URL of a service, or a mark for the embedded mock server. */
export type Resolved =
  | {
      readonly kind: 'configured';
      /** Without a slash at the end. */
      readonly baseUrl: string;
      readonly origin: string;
      readonly token: string | undefined;
      /** The token goes out as `header: prefix + token`. */
      readonly header: string;
      readonly prefix: string;
    }
  | { readonly kind: 'mock' };
type ServiceName = 'tracker' | 'labels' | 'auth' | 'api';
const endpoints: Readonly<Record<ServiceName, Endpoint>> = {
  tracker: { url: 'tracker.url', secrets: ['tracker.token'] },
  labels: {
    url: 'labels.url',
    secrets: ['labels.token'],
    borrowed: { secret: 'access_token', home: 'api.url' },
  },
  auth: { url: 'auth.token_url', source: 'auth.issuer', secrets: ['auth.client_secret'] },
  api: { url: 'api.url', secrets: ['access_token'] },
};
/** A URL setting that has passed every check, without a slash at its end; undefined when it is not set. Throws AppError('config'). */
export const checkedUrl = (settings: Settings, key: string): Setting | undefined => {
  const setting = settings.get(key);
  if (setting === undefined) return undefined;
  const wrong = urlIsUsable(setting);
  if (wrong !== undefined) throw wrong;
  return { ...setting, value: setting.value.replace(/\/+$/, '') };
};
const noToken = (url: Setting): AppError =>
  new AppError('auth', `no token for the tracker at ${url.value} (${url.origin})`, {
    code: 'NO_TOKEN',
    tryThis: ['OPSCTL_TRACKER_TOKEN=…', 'opsctl config set tracker.token --stdin'],
  });
// Visible ASCII, space and tab, and the bytes above it.
const NOT_IN_A_HEADER = /[^\t\u0020-\u007e\u0080-\u00ff]/;
/** RFC 9110 5.5: a header cannot carry every character. Found here, before anything is sent; the value itself is not shown. */
const checkedToken = (setting: Setting): Setting => {
  const found = NOT_IN_A_HEADER.exec(setting.value)?.[0];
  if (found === undefined) return setting;
  const code = `U+${(found.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;
  const where = found === '\n' || found === '\r' ? 'a line end inside' : `the character ${code}`;
  throw new AppError(
    'config',
    `${setting.key} (${setting.origin}) contains ${where}, which is not allowed in HTTP headers; no request was sent`,
    {
      code: 'TOKEN_MALFORMED',
      tryThis: [`set ${setting.key} again: opsctl config set ${setting.key} --stdin`],
    },
  );
};
/** spec/program#settings: CI systems pass a missing secret as an empty variable, which must not select another service. */
const refuseEmptyVariables = (settings: Settings, { url, secrets, borrowed }: Endpoint): void => {
  const keys = ['profile', 'mock', url, ...secrets, ...(borrowed ? [borrowed.secret] : [])];
  const variable = keys.map((key) => settings.emptyVariable?.(key)).find((name) => name !== undefined);
  if (variable === undefined) return;
  throw configError(
    'EMPTY_VARIABLE',
    `${variable} is set but empty; no request was sent`,
    `set ${variable} (in CI, check that the secret exists and that this job may read it)`,
    `unset ${variable}`,
  );
};
const tokenOf = (settings: Settings, { secrets, borrowed }: Endpoint): Setting | undefined => {
  const setting = [...secrets, ...(borrowed ? [borrowed.secret] : [])]
    .map((key) => settings.get(key))
    .find((one) => one !== undefined);
  return setting && checkedToken(setting);
};
/** A named profile that no file defines is a typing mistake, regardless of the URL that the environment sets. */
const refuseUnknownProfile = ({ profile, profiles }: Settings, { url }: Endpoint): void => {
  if (!profile.isNew) return;
  const close = nearest(profile.name, profiles);
  throw new AppError(
    'config',
    `profile not found: ${JSON.stringify(profile.name)} (${profile.origin}); profiles: ${profiles.join(', ')}`,
    {
      code: 'PROFILE_UNKNOWN',
      tryThis: [
        close === undefined
          ? `opsctl config set ${url} https://… --profile ${profile.name}`
          : `${profile.origin.startsWith('flag') ? '--profile ' : 'OPSCTL_PROFILE='}${close}`,
      ],
    },
  );
};
/** Which service a command talks to (spec/program#settings). Pure; throws when neither the service nor the mock is safe to assume. */
export const resolveTarget = (settings: Settings, service: ServiceName): Resolved => {
  const endpoint = endpoints[service];
  refuseEmptyVariables(settings, endpoint);
  refuseUnknownProfile(settings, endpoint);
  const url = checkedUrl(settings, endpoint.url);
  if (url === undefined) {
    for (const guard of mockGuards) {
      const refusal = guard(settings, endpoint);
      if (refusal !== undefined) throw refusal;
    }
    return { kind: 'mock' };
  }
  const secret = service === 'auth' ? undefined : tokenOf(settings, endpoint);
  if (service === 'tracker' && secret === undefined) throw noToken(url);
  const isTracker = service === 'tracker';
  const header = isTracker
    ? (settings.get('tracker.token_header')?.value ?? 'Tracker-Token')
    : 'Authorization';
  return {
    kind: 'configured',
    baseUrl: url.value,
    origin: url.origin,
    token: secret?.value,
    header,
    prefix: isTracker ? '' : 'Bearer ',
  };
};

/** The problem of a value, as a phrase to put after the name of its setting, and a correct value. */
export type Fault = { readonly why: string; readonly tryThis: string; readonly code?: string };
type Rule = (value: string, key: Key) => Fault | undefined;
const quoteText = (value: string): string => JSON.stringify(value);
const isDuration: Rule = (value) => {
  const ms = durationMs(value);
  if (ms === undefined)
    return { why: `is not a duration: ${quoteText(value)}`, tryThis: 'write it like 30s or 5m' };
  return ms > 0 && ms <= longestMs
    ? undefined
    : {
        why: `must be longer than 0 and at most 24 days; got ${quoteText(value)}`,
        tryThis: 'write it like 30s or 5m',
      };
};
const isName: Rule = (value) => {
  const tryThis = 'write it like X-Api-Token';
  if (!isHeaderName(value)) return { why: `is not a header name: ${quoteText(value)}`, tryThis };
  return isWrittenHeader(value)
    ? { why: `cannot be ${value}: opsctl writes this header`, tryThis }
    : undefined;
};
/** A token travels in a header. The message does not repeat it. */
const isToken: Rule = (value, { key, env }) =>
  isHeaderValue(value)
    ? undefined
    : {
        why: 'must not contain line ends or characters beyond Latin-1',
        tryThis: env === undefined ? `opsctl config set ${key} --stdin` : `unset ${env}`,
      };
const isCount: Rule = (value) =>
  /^[1-9]\d{0,5}$/.test(value)
    ? undefined
    : { why: `must be a whole number from 1; got ${quoteText(value)}`, tryThis: 'write it like 10' };
const isRate: Rule = (value, key) =>
  value === 'off' || isCount(value, key) === undefined
    ? undefined
    : { why: `must be a whole number from 1, or off; got ${quoteText(value)}`, tryThis: 'write it like 195' };
const rules: Readonly<Record<NonNullable<Key['kind']>, Rule>> = {
  url: urlFault,
  duration: isDuration,
  header: isName,
  token: isToken,
  count: isCount,
  rate: isRate,
  file: () => undefined,
};
const isOneOf = (words: readonly string[], value: string, { key }: Key): Fault | undefined => {
  if (words.includes(value)) return undefined;
  const close = nearest(value, words);
  return {
    why: `must be one of ${words.join(', ')}; got ${quoteText(value)}${close === undefined ? '' : ` (did you mean ${close}?)`}`,
    tryThis: close === undefined ? `opsctl config unset ${key}` : `opsctl config set ${key} ${close}`,
  };
};
/** Returns the problem of a setting's value; undefined if the value is valid. Pure. */
export const faultOf = (key: Key, value: string): Fault | undefined => {
  if (value === '') return { why: 'must not be empty', tryThis: `opsctl config unset ${key.key}` };
  if (key.words !== undefined) return isOneOf(key.words, value, key);
  return key.kind === undefined ? undefined : rules[key.kind](value, key);
};

/** Keys whose readers check the value and have their own error codes. */
const checkedByReader = new Set([
  'tracker.url',
  'labels.url',
  'timeout',
  'max_time',
  'rate_per_minute',
  'mock',
]);
/** Throws if a setting that a command reads has a value that it cannot have. The message names its origin. */
const assertUsable = (setting: Setting): void => {
  const key = findSettingKey(setting.key);
  if (key === undefined || setting.origin === 'default' || checkedByReader.has(key.key)) return;
  const fault = faultOf(key, setting.value);
  if (fault === undefined) return;
  // A change of the configuration does not change a variable or a flag.
  const isOfConfig = fault.tryThis.startsWith('opsctl config ');
  const [, name = setting.key] = /^(?:environment|flag) (.+)$/.exec(setting.origin) ?? [];
  throw new AppError('config', `${setting.key} (${setting.origin}) ${fault.why}`, {
    code: fault.code ?? 'SETTING_VALUE',
    problems: [problem(name, 'format', fault.why)],
    tryThis: [isOfConfig && !setting.origin.startsWith('profile') ? removalOf(setting) : fault.tryThis],
  });
};
/** The same settings; reading one with a wrong value is an error before a request is sent. */
export const checkedSettings = (settings: Settings): Settings => ({
  ...settings,
  get: (key) => {
    const found = settings.get(key);
    if (found !== undefined) assertUsable(found);
    return found;
  },
});
