/** Setup of every test file: reports the CPU time of the file and of the processes that it started to the reporter. */
import { readFileSync } from 'node:fs';
import { afterAll } from 'vitest';

declare module 'vitest' {
  interface TaskMeta {
    /** CPU seconds of a test file, with those of its processes that have exited. */
    cpuSeconds?: number;
  }
}

/** Returns the CPU seconds of this process and of its children that have exited, or undefined if the system does not report them. */
const cpuSeconds = (): number | undefined => {
  try {
    const fields = readFileSync('/proc/self/stat', 'utf8').split(') ').at(-1)?.split(' ') ?? [];
    // utime, stime, cutime and cstime, in hundredths of a second.
    return fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0) / 100;
  } catch {
    return undefined;
  }
};
// The files of one process follow each other, so the difference belongs to the file.
const before = cpuSeconds();
// biome-ignore lint/correctness/noEmptyPattern: Vitest reads the names of fixtures from this pattern.
afterAll(({}, { file }) => {
  const after = cpuSeconds();
  if (before !== undefined && after !== undefined) file.meta.cpuSeconds = after - before;
});
