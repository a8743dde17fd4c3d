import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Host } from '../../src/platform/host.ts';
import { nodeHost } from '../../src/platform/node/host.ts';

export type RealHost = {
  readonly host: Host;
  readonly folder: string /** Closes connections and removes the folder. */;
  close(): Promise<void>;
};

/** The real machine with a fresh folder as home: OPSCTL_HOME, HOME and the working folder point there, and no other setting leaks in. */
export const realHost = async (env: Readonly<Record<string, string | undefined>> = {}): Promise<RealHost> => {
  const folder = await mkdtemp(join(tmpdir(), 'opsctl-test-'));
  const host = nodeHost({
    env: { PATH: process.env.PATH, HOME: folder, OPSCTL_HOME: join(folder, 'opsctl'), ...env },
    cwd: folder,
  });
  return {
    host,
    folder,
    async close() {
      await host.network.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
};
