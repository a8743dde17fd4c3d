// Runs the simulator from the current sources. `node test/simulator/replay.mjs --operation 'mock journal' --seed 1
// --history 7` repeats one history and prints its events. For runs without --history, see the options of main.ts.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildSimulator } from './build.mjs';

const directory = mkdtempSync(join(tmpdir(), 'opsctl-simulator-'));
try {
  const program = await buildSimulator(join(directory, 'simulator.mjs'));
  process.exitCode =
    spawnSync(process.execPath, [program, ...process.argv.slice(2)], { stdio: 'inherit' }).status ?? 1;
} finally {
  rmSync(directory, { recursive: true, force: true });
}
