import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

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
    nodeOptions: `--require ${hook}`,
    peakMb: () => Number(readFileSync(written, 'utf8')) / 1024,
  };
};
