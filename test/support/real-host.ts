import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Host } from '../../src/platform/host.ts';
import { nodeHost } from '../../src/platform/node/host.ts';
import { closeAtEnd } from './closing.ts';
import { makeDirectory } from './directory.ts';

export type RealHost = {
  readonly host: Host;
  readonly directory: string;
  /** Closes connections and removes the directory. */
  close(): Promise<void>;
};

/**
 * The real machine with a new home directory. OPSCTL_HOME, HOME and the working directory refer to it, and no other settings
 * are inherited.
 */
export const realHost = async (env: Readonly<Record<string, string | undefined>> = {}): Promise<RealHost> => {
  const directory = makeDirectory('opsctl-test-');
  const host = nodeHost({
    env: { PATH: process.env.PATH, HOME: directory, OPSCTL_HOME: join(directory, 'opsctl'), ...env },
    cwd: directory,
  });
  return closeAtEnd({
    host,
    directory,
    async close() {
      await host.network.close();
      await rm(directory, { recursive: true, force: true });
    },
  });
};

/** The same machine, on which every program has at least a minute. A busy machine may need more than the limits for users. */
export const patient = <T extends RealHost>(real: T): T => {
  const { processes } = real.host;
  const run: Host['processes']['run'] = (command, args, options) =>
    processes.run(command, args, {
      ...options,
      ...(options?.timeoutMs === undefined ? {} : { timeoutMs: Math.max(options.timeoutMs, 60_000) }),
    });
  return { ...real, host: { ...real.host, processes: { ...processes, run } } };
};
