import { Buffer } from 'node:buffer';
import { clientEnvironment } from './commands/mock/serve.ts';
import { type Started, start } from './commands/mock/start.ts';
import { CONTROL_PATH } from './mock-server/control.ts';
import { defaultOptions, savedStateFrom } from './mock-server/service-set.ts';
import { nodeHost } from './platform/node/host.ts';
import type { Host } from './platform/host.ts';
import type { Mock, MockOptions, RecordedRequest, RequestFilter, Workspace } from './testing/api.d.ts';

const KEPT_REQUESTS = 10_000;

/** Sends one request to the server's control interface. Resolves with the text of the response. */
const controlOf =
  (host: Host, url: string) =>
  async (method: string, path: string, body?: unknown): Promise<string> => {
    const reply = await host.network.request({
      method,
      url: `${url}${CONTROL_PATH}${path}`,
      headers: { 'content-type': 'application/json' },
      body: body === undefined || typeof body === 'string' ? body : JSON.stringify(body),
    });
    const text = await reply.text();
    if (reply.status >= 400) throw new Error(`the mock server refused ${method} ${path}: ${text}`);
    return text;
  };

const queryText = ({ body, status, ...rest }: RequestFilter): string => {
  const query = new URLSearchParams({ limit: String(KEPT_REQUESTS) });
  for (const [name, value] of Object.entries(rest)) if (value !== undefined) query.set(name, value);
  if (status !== undefined) query.set('status', String(status));
  if (body !== undefined) query.set('body', typeof body === 'string' ? body : JSON.stringify(body));
  return query.toString();
};

const listRequests = (requests: readonly RecordedRequest[]): string =>
  requests.map(({ method, path, status }) => `  ${method} ${path} ${status}`).join('\n');

const isoTime = (time: Date | string | number): string => new Date(time).toISOString();

type Control = ReturnType<typeof controlOf>;

const requestCalls = (control: Control): Pick<Mock, 'requests' | 'expectRequests' | 'clearRequests'> => {
  const requests = async (filter: RequestFilter = {}): Promise<RecordedRequest[]> =>
    (JSON.parse(await control('GET', `requests/match?${queryText(filter)}`)) as { rows: RecordedRequest[] })
      .rows;
  return {
    requests,
    expectRequests: async (filter, count) => {
      const found = await requests(filter);
      if (found.length === count) return found;
      const all = await requests();
      throw new Error(
        `expected ${count} requests like ${JSON.stringify(filter)}, received ${found.length}. All requests:\n${listRequests(all)}`,
      );
    },
    clearRequests: async () => void (await control('DELETE', 'requests')),
  };
};

const stateCalls = (
  control: Control,
): Pick<
  Mock,
  | 'webhookDeliveries'
  | 'triggerWebhooks'
  | 'resendWebhook'
  | 'reset'
  | 'snapshot'
  | 'restore'
  | 'addFault'
  | 'clearFaults'
  | 'setClock'
  | 'advanceClock'
> => ({
  reset: async (seed = 'demo') => void (await control('POST', 'reset', { kind: seed })),
  snapshot: async () => ({ state: await control('GET', 'state') }),
  restore: async ({ state }) => void (await control('PUT', 'state', state)),
  addFault: async (fault) => (JSON.parse(await control('POST', 'faults', fault)) as { id: number }).id,
  clearFaults: async () => void (await control('DELETE', 'faults')),
  setClock: async (time, { frozen } = {}) =>
    void (await control('PUT', 'clock', { time: isoTime(time), frozen })),
  webhookDeliveries: async () =>
    JSON.parse(await control('GET', 'webhooks/deliveries')) as Awaited<ReturnType<Mock['webhookDeliveries']>>,
  triggerWebhooks: async (event, id) => void (await control('POST', 'webhooks/trigger', { event, id })),
  resendWebhook: async (number) => void (await control('POST', 'webhooks/resend', { number })),
  advanceClock: async (ms) => void (await control('PUT', 'clock', { advance_ms: ms })),
});

/** One workspace of a server that has one for each token. */
const workspaceOf = (
  host: Host,
  ready: Started['ready'],
  calls: ReturnType<typeof requestCalls>,
): Workspace => {
  const token = `workspace-${Buffer.from(host.random(12)).toString('hex')}`;
  return {
    baseUrl: ready.tracker.base_url,
    token,
    env: { ...clientEnvironment(ready), OPSCTL_TRACKER_TOKEN: token },
    requests: (filter = {}) => calls.requests({ ...filter, token }),
    expectRequests: (filter, count) => calls.expectRequests({ ...filter, token }, count),
  };
};

const mockFrom = (host: Host, { ready, close }: Started, hasWorkspaces: boolean): Mock => {
  const control = controlOf(host, ready.url);
  const { tracker, labels, auth } = ready;
  const calls = requestCalls(control);
  return {
    url: ready.url,
    tracker: { baseUrl: tracker.base_url, token: tracker.token },
    labels: { baseUrl: labels.base_url, token: labels.token },
    auth: {
      authorizationEndpoint: auth.authorization_endpoint,
      tokenEndpoint: auth.token_endpoint,
      revocationEndpoint: auth.revocation_endpoint,
      clientId: auth.client_id,
    },
    env: clientEnvironment(ready),
    ...calls,
    workspace: () => {
      if (!hasWorkspaces)
        throw new Error('this server has one workspace: start it with { workspacePerToken: true }');
      return workspaceOf(host, ready, calls);
    },
    ...stateCalls(control),
    close: async () => {
      await close();
      await host.network.close();
    },
  };
};

/** See api.d.ts, which is published as the types of this module. */
export const startMock = async (options: MockOptions = {}): Promise<Mock> => {
  const { seed = 'demo', rateLimit = 'off' } = options;
  const saved = typeof seed === 'string' ? undefined : savedStateFrom(seed.state);
  if (typeof seed !== 'string' && saved === undefined)
    throw new TypeError('seed is not a snapshot of a mock server');
  const host = nodeHost();
  const started = await start(host, {
    directory: undefined,
    options: {
      ...defaultOptions,
      ratePerMinute: rateLimit === 'off' ? undefined : rateLimit,
      trackerToken: options.trackerToken ?? defaultOptions.trackerToken,
      labelsAuth: options.labelsAuth ?? defaultOptions.labelsAuth,
      ...(options.workspacePerToken ? { workspacePerToken: true } : {}),
      ...(options.strict ? { isStrict: true } : {}),
    },
    seed: typeof seed === 'string' ? seed : 'empty',
    port: options.port ?? 0,
    tls: false,
    isPrivate: true,
    clockMs: options.clock === undefined ? undefined : new Date(options.clock).getTime(),
    idSeed: options.idSeed,
    warn: (text) => process.emitWarning(text),
  });
  if (saved !== undefined) await started.mock.restore(saved);
  return mockFrom(host, started, options.workspacePerToken === true);
};
