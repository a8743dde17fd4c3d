// Measures the CPU time and the peak memory of one process of Node.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

/**
 * Writes a module that prints the use of the process that imports it when that process exits, and returns its URL. Uses
 * VmHWM if the system has it, because maxRSS of a child starts at the memory of the process that forked it.
 * @param {string} directory
 */
export const moduleOfUse = (directory) => {
  const path = join(directory, 'cpu.mjs');
  writeFileSync(
    path,
    `import { existsSync, readFileSync } from 'node:fs';
const STATUS = '/proc/self/status';
process.on('exit', () => {
  const { userCPUTime: u, systemCPUTime: s, maxRSS } = process.resourceUsage();
  const kb = existsSync(STATUS) ? /VmHWM:\\s+(\\d+)/.exec(readFileSync(STATUS, 'utf8'))[1] : maxRSS;
  process.stderr.write('\\nused ' + (u + s) / 1e6 + ' ' + kb / 1024 + '\\n');
});
`,
  );
  return pathToFileURL(path).href;
};
/**
 * Reads what that module printed.
 * @param {string} stderr
 */
export const useIn = (stderr) => {
  const [, seconds, megabytes] = /used (\S+) (\S+)\n$/.exec(stderr) ?? [];
  return { seconds: Number(seconds), megabytes: Number(megabytes) };
};
