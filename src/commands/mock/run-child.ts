import { type Result, nothing } from '../../core/result.ts';
import type { Context } from '../../cli/command.ts';

/** Shells give a command that a signal ended 128 and the signal's number. */
const SIGNALS: Readonly<Record<string, number>> = {
  SIGHUP: 1,
  SIGINT: 2,
  SIGQUIT: 3,
  SIGABRT: 6,
  SIGKILL: 9,
  SIGSEGV: 11,
  SIGPIPE: 13,
  SIGTERM: 15,
};

/** As shells, env and timeout do. */
const COMMAND_NOT_FOUND = 127;

/** Runs a command with further variables; its exit code, as a shell gives it. */
export const runChild = async (
  context: Context,
  [program = '', ...args]: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): Promise<number> => {
  const ended = await context.host.processes.run(program, args, {
    env,
    stdio: 'inherit',
    signal: context.signal,
  });
  if (ended.startError === undefined) return ended.code ?? 128 + (SIGNALS[ended.signal ?? ''] ?? 0);
  const hint = '  try: write the command after --, as one word each';
  await context.host.terminal.stderr.write(`error: cannot run ${program}: ${ended.startError}\n${hint}\n`);
  return COMMAND_NOT_FOUND;
};

/** Ends this process as the command ended. */
export const endAs = (context: Context, code: number): Result => {
  if (code !== 0) context.host.exit(code);
  return nothing();
};
