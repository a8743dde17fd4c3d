/** Builds the simulator once per test file and runs it as a separate process, because it replaces the clock of its whole process. */
import { execFile } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { buildSimulator, type SourceChange } from './build.mjs';
import type { Figures } from './figures.ts';
import { makeDirectory } from '../support/directory.ts';

const run = promisify(execFile);

export type Simulator = {
  /** Returns the figures, whether or not the simulator found a bug. */
  play(...args: string[]): Promise<Figures>;
  remove(): void;
};

export const simulator = async (changes: readonly SourceChange[] = []): Promise<Simulator> => {
  const directory = makeDirectory('opsctl-simulator-');
  const program = await buildSimulator(join(directory, 'simulator.mjs'), changes);
  return {
    play: async (...args) => {
      const { stdout } = await run(process.execPath, [program, ...args], {
        maxBuffer: 64 * 1024 * 1024,
      }).catch((error: { stdout?: string; stderr?: string }) => {
        if (!error.stdout?.startsWith('{')) throw new Error(`the simulator failed: ${error.stderr}`);
        return { stdout: error.stdout };
      });
      return JSON.parse(stdout) as Figures;
    },
    remove: () => rmSync(directory, { recursive: true, force: true }),
  };
};
