import { nodeHost } from './host/node/host.ts';
import { runProgram } from './cli/run.ts';

/** The only place that ends the process; everything else returns. */
export const main = async (argv: readonly string[]): Promise<void> => {
  const code = await runProgram(nodeHost(), argv);
  process.exitCode = code;
  // All output is written by now. What still holds the process (a listener of a command that failed) must not hold the shell.
  setTimeout(() => process.exit(code), 1000).unref();
};
