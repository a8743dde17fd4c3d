/** Small programs for driver tests: shell scripts in a directory that is first in PATH, and a machine that finds the scripts. */
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { realHost, type RealHost } from './real-host.ts';
import { makeDirectory } from './directory.ts';

export type ProgramHost = RealHost & {
  /** Writes an executable shell script and returns its path. */
  program(name: string, body: string): string;
  at(name: string): string;
};

export const programHost = async (): Promise<ProgramHost> => {
  const bin = makeDirectory();
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
  };
};
