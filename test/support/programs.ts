/** Small programs for driver tests: shell scripts in a directory that is first in PATH, and a machine that finds the scripts. */
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { realHost, type RealHost } from './real-host.ts';

export type ProgramHost = RealHost & {
  /** Writes an executable shell script and returns its path. */
  program(name: string, body: string): string;
  at(name: string): string;
};

export const programHost = async (): Promise<ProgramHost> => {
  const bin = mkdtempSync(join(tmpdir(), 'opsctl-bin-'));
  const real = await realHost({ PATH: `${bin}:${process.env['PATH']}` });
  return {
    ...real,
    at: (name) => join(real.directory, name),
    program: (name, body) => {
      const path = join(bin, name);
      writeFileSync(path, `#!/bin/sh\n${body}\n`);
      chmodSync(path, 0o755);
      return path;
    },
    close: async () => {
      await real.close();
      rmSync(bin, { recursive: true, force: true });
    },
  };
};
