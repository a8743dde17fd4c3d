import { nearest } from '../core/nearest.ts';
import { AppError } from '../core/problem.ts';
import { type Endpoint, mockGuards, urlIsUsable } from './guards.ts';
import type { Setting, Settings } from './settings.ts';

/** Where a service is by configuration, or that the embedded mock is meant. */
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
  auth: { url: 'auth.token_url', secrets: ['auth.client_secret'] },
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
    `${setting.key} (${setting.origin}) holds ${where}, which no HTTP header can carry; nothing was sent`,
    {
      code: 'TOKEN_MALFORMED',
      tryThis: [`set ${setting.key} again: opsctl config set ${setting.key} --stdin`],
    },
  );
};

const tokenOf = (settings: Settings, { secrets, borrowed }: Endpoint): Setting | undefined => {
  const setting = [...secrets, ...(borrowed ? [borrowed.secret] : [])]
    .map((key) => settings.get(key))
    .find((one) => one !== undefined);
  return setting && checkedToken(setting);
};

/** A profile that is named and in no file is mistyped, whatever URL the environment holds. */
const profileIsKnown = ({ profile, profiles }: Settings): void => {
  if (!profile.isNew) return;
  const close = nearest(profile.name, profiles);
  throw new AppError(
    'config',
    `there is no profile \`${profile.name}\` (${profile.origin}); known: ${profiles.join(', ')}`,
    {
      code: 'PROFILE_UNKNOWN',
      tryThis: [
        close === undefined
          ? `opsctl config set tracker.url https://… --profile ${profile.name}`
          : `${profile.origin.startsWith('flag') ? '--profile ' : 'OPSCTL_PROFILE='}${close}`,
      ],
    },
  );
};

/** Which service a command talks to (spec/program#settings). Pure; throws when neither the service nor the mock is safe to assume. */
export const resolveTarget = (settings: Settings, service: ServiceName): Resolved => {
  const endpoint = endpoints[service];
  profileIsKnown(settings);
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
