import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * The heap of a measured program. Without a limit, the peak also contains garbage, and a loaded machine collects it later: one
 * export needed 83 MB on an idle machine and 101 MB on a loaded one. A program that keeps a long list exceeds this limit and
 * exits with an error, on every machine.
 */
const heapMb = 32;
/**
 * Measures the peak memory of a program: `nodeOptions` goes into its environment, and `peakMb()` reads the value that the
 * program wrote when it exited. The value is VmHWM, because `maxRSS` of a child starts at the memory of the process that forked it.
 */
export const peakMemory = (directory: string): { nodeOptions: string; peakMb: () => number } => {
  const written = join(directory, 'peak');
  const hook = join(directory, 'peak.cjs');
  writeFileSync(
    hook,
    `const fs = require('node:fs');
process.on('exit', () => fs.writeFileSync(${JSON.stringify(written)}, /VmHWM:\\s+(\\d+)/.exec(fs.readFileSync('/proc/self/status', 'utf8'))[1]));
`,
  );
  return {
    nodeOptions: `--require ${hook} --max-old-space-size=${heapMb} --max-semi-space-size=1`,
    peakMb: () => Number(readFileSync(written, 'utf8')) / 1024,
  };
};
