import { Buffer } from 'node:buffer';
import { join } from 'node:path';
import type { Host } from '../../platform/host.ts';
import { AppError } from '../../core/problem.ts';
import { type CutOff, openState } from '../../mock-server/journal.ts';
import { type MockSetup, type RunningMock, startMock } from '../../mock-server/server.ts';
import type { MockOptions } from '../../mock-server/service.ts';
import type { SeedKind } from '../../mock-server/service-set.ts';
import { Store } from '../../mock-server/store.ts';
import { type Ready, readyOf } from './ready.ts';
import { documents, serviceEntries } from './services.ts';

export type StartOptions = {
  /** Where the state is kept; undefined keeps nothing. The caller owns the directory (mock/owner.ts). */
  readonly directory: string | undefined;
  readonly options: MockOptions;
  readonly seed: SeedKind;
  readonly port: number;
  readonly tls: boolean;
  /** Only this process talks to it. */
  readonly isPrivate?: boolean;
  readonly clockMs?: number;
  readonly idSeed?: string;
  /** Told of failures inside the mock. */
  warn(text: string): void;
};
export type Started = { readonly mock: RunningMock; readonly ready: Ready; close(): Promise<void> };

/** Certificates of a server that keeps nothing live as long as it does. */
const temporaryDirectory = (host: Host): string =>
  join(
    host.files.temporaryDirectory(),
    `opsctl-mock-${host.pid}-${Buffer.from(host.random(6)).toString('hex')}`,
  );

const portError = (error: unknown, port: number): unknown => {
  const { code } = error as { code?: string };
  if (code === 'EADDRINUSE') {
    return new AppError('config', `port ${port} of 127.0.0.1 is in use`, {
      code: 'PORT_IN_USE',
      tryThis: ['another --port, or --port 0 for a free one', 'opsctl mock status (is it this server?)'],
    });
  }
  if (code === 'EACCES') {
    return new AppError('config', `this user may not listen on port ${port}`, {
      code: 'PORT_NOT_ALLOWED',
      tryThis: ['a --port above 1023, or --port 0'],
    });
  }
  return error;
};

const reported = (error: unknown): string =>
  error instanceof Error ? (error.stack ?? error.message) : String(error);

/** The certificate of an HTTPS server; one of a server without state goes when the server stops. */
const identityOf = async (host: Host, { tls, directory }: StartOptions) => {
  if (!tls) return { identity: undefined, forgetIdentity: async () => {} };
  const { identityIn } = await import('../../mock-server/local-authority.ts');
  const path = directory ?? temporaryDirectory(host);
  return {
    identity: await identityIn(host, path),
    forgetIdentity: async () => (directory === undefined ? host.files.remove(path) : undefined),
  };
};

const cutOffText = ({ path, bytes }: CutOff): string =>
  `${path} ended in the middle of a write: its last ${bytes} bytes are dropped, everything before them is kept; no answer had confirmed that write`;

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
    failed: (error, id) => given.warn(`the mock server failed at request ${id}: ${reported(error)}`),
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
