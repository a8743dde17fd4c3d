import { authPaths, demo } from '../../api-specs/oauth/endpoints.ts';
import { AppError, messageOf } from '../../core/problem.ts';
import { misfit } from '../../core/shape.ts';
import { CONTROL_PATH } from '../../mock-server/control.ts';
import {
  labelsToken,
  type Environment,
  type MockOptions,
  type SeedKind,
  type ServiceEntry,
} from '../../mock-server/service-set.ts';
import type { Live } from '../../mock-server/instance-lock.ts';
import { type CutOff, openState } from '../../mock-server/journal.ts';
import { identityOf } from '../../mock-server/local-authority.ts';
import { type MockSetup, portError, type RunningMock, startMock } from '../../mock-server/server.ts';
import { Store } from '../../mock-server/store.ts';
import type { Host } from '../../platform/host.ts';

/** The line that `mock serve -o json` prints once it accepts connections (spec/program#mock-server). */
export type Ready = {
  readonly ready: true;
  readonly pid: number;
  readonly tracker: {
    readonly base_url: string;
    readonly token: string;
    /** Only if no rate limit is enforced, because clients then need not limit their rate. */
    readonly rate_limit?: 'off';
  };
  readonly labels: { readonly base_url: string; readonly token: string };
  readonly auth: {
    readonly authorization_endpoint: string;
    readonly token_endpoint: string;
    readonly revocation_endpoint: string;
    readonly client_id: string;
  };
  readonly media: { readonly base_url: string };
  readonly url: string;
  /** Only with --tls: the certificate that clients have to trust. */
  readonly ca_file?: string;
};
const shape = {
  tracker: { base_url: 'text', token: 'text' },
  labels: { base_url: 'text', token: 'text' },
  auth: {
    authorization_endpoint: 'text',
    token_endpoint: 'text',
    revocation_endpoint: 'text',
    client_id: 'text',
  },
  media: { base_url: 'text' },
  url: 'text',
  ca_file: 'text?',
} as const;
/** That line as a server left it for other commands. */
export const readyIn = ({ url, ready }: Live): Ready => {
  const wrong = misfit(ready, shape);
  if (wrong === undefined) return ready as Ready;
  throw new AppError('config', `owner.json of the mock server at ${url} is corrupted: ${wrong}`, {
    code: 'FILE_DAMAGED',
    tryThis: ['opsctl mock stop, and start it again'],
  });
};
/** With `--labels-auth oauth`, a sign-in issues the token, so the line contains none of it. */
const readyOf = (host: Host, mock: RunningMock, caFile: string | undefined): Ready => {
  const { origin, env } = mock;
  return {
    ready: true,
    pid: host.pid,
    tracker: {
      base_url: origin,
      token: env.options.trackerToken,
      ...(env.options.ratePerMinute === undefined ? { rate_limit: 'off' } : {}),
    },
    labels: { base_url: origin, token: env.options.labelsAuth === 'any' ? labelsToken : '' },
    auth: {
      authorization_endpoint: origin + authPaths.authorize,
      token_endpoint: origin + authPaths.token,
      revocation_endpoint: origin + authPaths.revoke,
      client_id: demo.clients.desktop,
    },
    media: { base_url: origin },
    url: origin,
    ...(caFile === undefined ? {} : { ca_file: caFile }),
  };
};

const CONSOLE = authPaths.console;
/** Every service of the embedded server, loaded at its first request. The authorization server has all paths that are left. */
const serviceEntries: readonly ServiceEntry[] = [
  {
    name: 'tracker',
    claims: (path) => /^\/(api\/v3|app)(\/|$)/.test(path),
    load: async () => (await import('../../mock-server/tracker/service.ts')).makeTracker,
  },
  {
    name: 'labels',
    claims: (path) => /^\/(v2beta|batch|__opsctl\/labels)(\/|$)/.test(path),
    load: async () => (await import('../../mock-server/labels/service.ts')).makeLabels,
  },
  {
    name: 'auth',
    claims: (path) => !path.startsWith(CONTROL_PATH) || path.startsWith(CONSOLE),
    load: async () => (await import('../../mock-server/oauth/service.ts')).makeAuth,
  },
];
const text = (value: unknown): string => JSON.stringify(value, null, 2);
const labelsDiscovery = async (env: Environment): Promise<string> => {
  const [{ discovery }, { labelsService }] = await Promise.all([
    import('../../reference/discovery.ts'),
    import('../../api-specs/labels/labels.ts'),
  ]);
  return text(discovery(labelsService, env.origin()));
};
/** Machine-readable descriptions of the services, generated from their tables. */
export const documents: Readonly<Record<string, (env: Environment) => Promise<string>>> = {
  '/': async (env) =>
    text({
      tracker: `${env.origin()}/api/v3`,
      labels: `${env.origin()}/v2beta`,
      media: env.origin() + authPaths.media,
      sign_in: env.origin() + authPaths.metadata,
      documents: Object.keys(documents).map((path) => env.origin() + path),
      status: `${env.origin()}${CONTROL_PATH}status`,
    }),
  '/openapi.json': async (env) => {
    const [{ openApi }, { tracker }] = await Promise.all([
      import('../../reference/openapi.ts'),
      import('../../api-specs/tracker/index.ts'),
    ]);
    return text(openApi(tracker, env.origin()));
  },
  '/openapi/labels.json': async (env) => {
    const [{ openApi }, { labelsService }] = await Promise.all([
      import('../../reference/openapi.ts'),
      import('../../api-specs/labels/labels.ts'),
    ]);
    return text(openApi(labelsService, env.origin()));
  },
  '/swagger.json': async (env) => {
    const [{ swagger }, { tracker }] = await Promise.all([
      import('../../reference/openapi.ts'),
      import('../../api-specs/tracker/index.ts'),
    ]);
    return text(swagger(tracker, new URL(env.origin()).host));
  },
  '/discovery/labels/v2beta': labelsDiscovery,
  // The paths at which generic clients expect such documents: build(…, version), and next to the service.
  '/discovery/v1/apis/labels/v2beta/rest': labelsDiscovery,
  '/$discovery/rest': labelsDiscovery,
};

export type StartOptions = {
  /** The state directory; undefined disables saving. The caller owns the directory (mock/owner.ts). */
  readonly directory: string | undefined;
  readonly options: MockOptions;
  readonly seed: SeedKind;
  readonly port: number;
  readonly tls: boolean;
  /** Only this process talks to it. */
  readonly isPrivate?: boolean;
  readonly clockMs?: number;
  readonly idSeed?: string;
  /** Receives failures inside the mock. */
  warn(text: string): void;
};
export type Started = { readonly mock: RunningMock; readonly ready: Ready; close(): Promise<void> };
/** Stack traces are useful only for unexpected errors. */
const describeError = (error: unknown): string =>
  error instanceof Error && !(error instanceof AppError) ? (error.stack ?? error.message) : messageOf(error);
const cutOffText = ({ path, bytes }: CutOff): string =>
  `${path} ends in an incomplete write: dropped its last ${bytes} bytes; no response had confirmed that write`;
/** Starts the embedded services with their state; used by `mock serve`, `mock run` and by commands without configuration. */
export const start = async (host: Host, given: StartOptions): Promise<Started> => {
  const state = given.directory === undefined ? undefined : await openState(host.files, given.directory);
  for (const one of state?.cutOff ?? []) given.warn(cutOffText(one));
  const { identity, forgetIdentity } = await identityOf(host, given);
  const setup: MockSetup = {
    host,
    options: given.options,
    services: serviceEntries,
    documents,
    store: state?.store ?? new Store(),
    journal: state?.journal,
    seed: given.seed,
    port: given.port,
    isPrivate: given.isPrivate,
    tls: identity,
    clockMs: given.clockMs,
    idSeed: given.idSeed,
    onFailure: (error, id) => given.warn(`the mock server failed at request ${id}: ${describeError(error)}`),
    facts: { state_directory: given.directory ?? null, options: { ...given.options, trackerToken: '***' } },
  };
  try {
    const mock = await startMock(setup);
    return {
      mock,
      ready: readyOf(host, mock, identity?.caFile),
      close: async () => {
        await mock.close();
        await forgetIdentity();
      },
    };
  } catch (error) {
    await state?.journal.close();
    await forgetIdentity();
    throw portError(error, given.port);
  }
};
