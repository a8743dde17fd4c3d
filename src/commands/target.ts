import { resolveTarget } from '../config/resolve-target.ts';
import type { Settings } from '../config/settings.ts';
import type { Reach, ServiceName, Target } from '../cli/command.ts';
import { type Environment, configuredTarget } from './configured-target.ts';
import type { Embedded } from './mock/embedded.ts';
import { signedIn } from './sign-in-token.ts';

const mockHeaders = (
  service: ServiceName,
  { tracker, labels }: Embedded['ready'],
): Record<string, string> => {
  if (service === 'tracker') return { 'tracker-token': tracker.token };
  return service === 'labels' && labels.token !== '' ? { authorization: `Bearer ${labels.token}` } : {};
};

/** The embedded server as a target. */
const mockTarget = (settings: Settings, service: ServiceName, server: Embedded): Target => ({
  baseUrl: server.url,
  headers: mockHeaders(service, server.ready),
  isMock: true,
  isPassing: !server.isLive,
  origin: 'mock',
  ...(server.isLive && service === 'tracker' && server.ready.tracker.rate_limit !== 'off'
    ? { rateKey: `${settings.profile.name}-mock` }
    : {}),
});

/** spec/program#settings: configured, or the embedded mock server; one for all services of a command. */
export const makeReach = (env: Environment): Reach => {
  const { host, settings, log, signal } = env;
  let embedded: Promise<Embedded> | undefined;
  const mock = (): Promise<Embedded> =>
    (embedded ??= import('./mock/embedded.ts').then((module) =>
      module.embeddedMock(host, settings, log, signal),
    ));
  // The data API's commands fetch its token themselves (auth/bearer.ts): they also renew one that is refused.
  const takesSignIn = (service: ServiceName, headers: object): boolean =>
    service === 'labels' && Object.keys(headers).length === 0;
  const reach = async (service: ServiceName): Promise<Target> => {
    const found = resolveTarget(settings, service);
    const target =
      found.kind === 'mock'
        ? mockTarget(settings, service, await mock())
        : await configuredTarget(env, service, found);
    return takesSignIn(service, target.headers)
      ? { ...target, headers: await signedIn(env, reach, target.isMock) }
      : target;
  };
  return {
    reach,
    close: async () => {
      const server = await embedded?.catch(() => undefined);
      await server?.close();
    },
  };
};
