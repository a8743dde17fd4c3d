import { resolveTarget } from '../config/resolve-target.ts';
import type { Settings } from '../config/settings.ts';
import type { Host } from '../host/host.ts';
import type { Say, ServiceName, Target } from './command.ts';
import type { Embedded } from './mock/embedded.ts';

export type Reach = {
  /** Where a service is; the embedded server is started at the first question that needs it. */
  reach(service: ServiceName): Promise<Target>;
  /** Ends what `reach` started. */
  close(): Promise<void>;
};
type World = { readonly host: Host; readonly settings: Settings; readonly say: Say; readonly signal?: AbortSignal };

const mockHeaders = (service: ServiceName, { tracker, labels }: Embedded['ready']): Record<string, string> => {
  if (service === 'tracker') return { 'tracker-token': tracker.token };
  return service === 'labels' && labels.token !== '' ? { authorization: `Bearer ${labels.token}` } : {};
};

/** decisions 4: configured, or the embedded mock server; one for all services of a command. */
export const makeReach = ({ host, settings, say, signal }: World): Reach => {
  let embedded: Promise<Embedded> | undefined;
  const mock = (): Promise<Embedded> =>
    (embedded ??= import('./mock/embedded.ts').then((module) => module.embeddedMock(host, settings, say, signal)));
  return {
    reach: async (service) => {
      const found = resolveTarget(settings, service);
      if (found.kind === 'mock') {
        const server = await mock();
        const shared = server.isLive && service === 'tracker' ? { rateKey: `${settings.profile.name}-mock` } : {};
        return { baseUrl: server.url, headers: mockHeaders(service, server.ready), isMock: true, origin: 'mock', ...shared };
      }
      const { baseUrl, origin, token, header, prefix } = found;
      if (token !== undefined) say.hide(token);
      const headers: Record<string, string> = token === undefined ? {} : { [header.toLowerCase()]: prefix + token };
      const shared = service === 'tracker' ? { rateKey: `${settings.profile.name}-${new URL(baseUrl).host.replace(/[^A-Za-z0-9.]/g, '-')}` } : {};
      return { baseUrl, headers, isMock: false, origin, ...shared };
    },
    close: async () => {
      const server = await embedded?.catch(() => undefined);
      await server?.close();
    },
  };
};
