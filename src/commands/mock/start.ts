import { messageOf } from '../../core/error-message.ts';
import { AppError } from '../../core/problem.ts';
import type { Host } from '../../platform/host.ts';
import { type CutOff, openState } from '../../mock-server/journal.ts';
import { portError } from '../../mock-server/port-error.ts';
import { identityOf } from '../../mock-server/served-identity.ts';
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

/** Places in the program help with what nobody expected only. */
const reported = (error: unknown): string =>
  error instanceof Error && !(error instanceof AppError) ? (error.stack ?? error.message) : messageOf(error);

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
