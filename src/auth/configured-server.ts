import type { AuthContext } from './auth-context.ts';
import { endpointsFrom, serverKey } from './endpoints.ts';

/** The server that the settings name; undefined when they name none. */
export const configuredServer = (context: AuthContext): string | undefined => {
  const auth = context.settings.get('auth.url')?.value;
  if (auth !== undefined) return serverKey(endpointsFrom({ auth }));
  return context.settings.get('auth.issuer')?.value.replace(/\/$/, '');
};
