import { nodeHost } from './host/node/host.ts';
import { runProgram } from './cli/run.ts';

/** The only place that ends the process; everything else returns. */
export const main = async (argv: readonly string[]): Promise<void> => {
  process.exitCode = await runProgram(nodeHost(), argv);
};
