import { limits } from './core/limits.ts';
import type { Host } from './platform/host.ts';
import { nodeHost } from './platform/node/host.ts';
import { WORDS_FOLLOW } from './cli/parse.ts';
import { runProgram } from './cli/run.ts';
import { program } from './commands/program.ts';

/** The words of the command line, which `opsctl mcp` sends on standard input. */
const wordsOf = async (host: Host, argv: readonly string[]): Promise<readonly string[]> => {
  if (argv.length !== 1 || argv[0] !== WORDS_FOLLOW) return argv;
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of host.terminal.stdin.bytes()) {
    size += part.length;
    // The words come from one line of a client, which has this limit; quotes and braces of the list come on top.
    if (size > 2 * limits.inputBytes) return argv;
    parts.push(part);
  }
  try {
    const words: unknown = JSON.parse(Buffer.concat(parts).toString('utf8'));
    return Array.isArray(words) ? words.map(String) : argv;
  } catch {
    return argv;
  }
};

/** The only place that ends the process; everything else returns. */
export const main = async (argv: readonly string[]): Promise<void> => {
  const host = nodeHost();
  const code = await runProgram(host, await wordsOf(host, argv), program);
  process.exitCode = code;
  // All writes have finished. Exiting here skips the teardown, and an open listener of a failed command never
  // blocks the shell. On Windows, pipes are written asynchronously, so the process exits when it is idle, or
  // after a second.
  if (process.platform !== 'win32') process.exit(code);
  setTimeout(() => process.exit(code), 1000).unref();
};
