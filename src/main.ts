import { nodeHost } from './platform/node/host.ts';
import { runProgram } from './cli/run.ts';
import { program } from './commands/program.ts';

/** The only place that ends the process; everything else returns. */
export const main = async (argv: readonly string[]): Promise<void> => {
  const code = await runProgram(nodeHost(), argv, program);
  process.exitCode = code;
  // All writes have finished. Exiting here skips the teardown, and an open listener of a failed command never
  // blocks the shell. On Windows, pipes are written asynchronously, so the process exits when it is idle, or
  // after a second.
  if (process.platform !== 'win32') process.exit(code);
  setTimeout(() => process.exit(code), 1000).unref();
};
