import { nodeHost } from './platform/node/host.ts';
import { runProgram } from './cli/run.ts';
import { program } from './commands/program.ts';

/** The only place that ends the process; everything else returns. */
export const main = async (argv: readonly string[]): Promise<void> => {
  const code = await runProgram(nodeHost(), argv, program);
  process.exitCode = code;
  // Every write was waited for. Ending here saves the teardown, and what a failed command left open (a listener) never holds
  // the shell. On Windows pipes are written behind our back, so there the process ends by itself, or after a second.
  if (process.platform !== 'win32') process.exit(code);
  setTimeout(() => process.exit(code), 1000).unref();
};
