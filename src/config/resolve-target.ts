import { AppError } from '../kernel/problem.ts';
import { mockIsMeant, urlIsAllowed } from './guards.ts';
import type { Settings } from './settings.ts';

/** Where a service is by configuration, or that the embedded mock is meant. Throws when neither is safe to assume. */
export type Resolved =
  | {
      readonly kind: 'configured';
      readonly baseUrl: string;
      readonly origin: string;
      readonly token: string | undefined;
      readonly header: string;
      readonly prefix: string;
    }
  | { readonly kind: 'mock' };

/** decisions 4. `auth` is resolved by its endpoints; `api` and `labels` may take the token of a sign-in later. */
export const resolveTarget = (settings: Settings, service: 'tracker' | 'labels' | 'auth' | 'api'): Resolved => {
  const urlKey = service === 'auth' ? 'auth.token_url' : `${service}.url`;
  const url = settings.get(urlKey);
  if (url === undefined) {
    mockIsMeant(settings, service);
    return { kind: 'mock' };
  }
  urlIsAllowed(url);
  const token =
    settings.get(service === 'api' ? 'access_token' : `${service}.token`)?.value ??
    (service === 'labels' ? settings.get('access_token')?.value : undefined);
  if (service === 'tracker' && token === undefined) {
    throw new AppError('auth', `no token for the tracker at ${url.value} (${url.origin})`, {
      code: 'NO_TOKEN',
      tryThis: ['OPSCTL_TRACKER_TOKEN=…', 'opsctl config set tracker.token --stdin'],
    });
  }
  const header = service === 'tracker' ? (settings.get('tracker.token_header')?.value ?? 'Tracker-Token') : 'Authorization';
  return { kind: 'configured', baseUrl: url.value, origin: url.origin, token, header, prefix: service === 'tracker' ? '' : 'Bearer ' };
};
