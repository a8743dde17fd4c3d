import { join } from 'node:path';
import type { Host } from '../../platform/host.ts';
import { own } from '../../mock-server/instance-lock.ts';
import type { Settings } from '../../config/settings.ts';
import { defaultOptions } from '../../mock-server/defaults.ts';
import type { Logger } from '../../cli/command.ts';
import type { Ready } from './ready.ts';

/** Long enough for a queue of commands, short enough for a person to learn what is in the way. */
const WAIT_MS = 60_000;
const MOVED_MS = 1000;

export const mockDirectory = (settings: Settings): string => join(settings.directories.state, 'mock');

export type Embedded = {
  readonly url: string;
  /** A server of another process: this one only visits. */
  readonly isLive: boolean;
  readonly ready: Ready;
  close(): Promise<void>;
};

/** The mock server of this state directory: the one that runs, or one in this process until `close`. */
export const embeddedMock = async (
  host: Host,
  settings: Settings,
  log: Logger,
  signal?: AbortSignal,
): Promise<Embedded> => {
  const directory = mockDirectory(settings);
  const owner = await own(host, directory, {
    what: 'a command',
    waitMs: WAIT_MS,
    signal,
    onWait: (who) => log.info(`waiting for ${who}, which uses the embedded mock server now`),
  });
  if (owner.kind === 'live') {
    const { url, pid } = owner.live;
    const { readyIn } = await import('./ready.ts');
    log.info(`using the mock server at ${url} (process ${pid})`);
    return { url, isLive: true, ready: readyIn(owner.live), close: async () => {} };
  }
  return ownServer(host, directory, log, owner.release).catch(async (error: unknown) => {
    await owner.release();
    throw error;
  });
};

/** A server in this process, over the state of the directory that it owns. */
const ownServer = async (
  host: Host,
  directory: string,
  log: Logger,
  release: () => Promise<void>,
): Promise<Embedded> => {
  const { start } = await import('./start.ts');
  const started = await start(host, {
    directory,
    options: defaultOptions,
    seed: 'demo',
    port: 0,
    tls: false,
    isPrivate: true,
    warn: log.warn,
  });
  const { env } = started.mock;
  const isMoved = Math.abs(env.now() - host.now()) > MOVED_MS;
  log.info(
    `using the embedded mock server; its state is in ${directory}${isMoved ? `, its clock is set to ${new Date(env.now()).toISOString()}` : ''}`,
  );
  const close = async () => {
    await started.close();
    await release();
  };
  return { url: started.mock.origin, isLive: false, ready: started.ready, close };
};
