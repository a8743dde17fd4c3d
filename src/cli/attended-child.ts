import type { Finished, Host } from '../platform/host.ts';

/** A variable that is undefined is removed from the environment of the child. */
type Given = { readonly env?: Readonly<Record<string, string | undefined>>; readonly signal?: AbortSignal };

/**
 * Handles signals like a shell: Ctrl-C at a terminal reaches the child and this program, and the child
 * decides how to react (an interactive program continues). Every other signal was sent only to this program,
 * so it is forwarded. This program exits after the child.
 */
export const runAttended = async (
  host: Host,
  [program = '', ...args]: readonly string[],
  given: Given = {},
): Promise<Finished> => {
  let kill: ((name: string) => void) | undefined;
  const off = host.onSignal((name) => {
    if (name !== 'SIGINT' || !host.terminal.stdin.isTty) kill?.(name);
  });
  const onStart = (send: (name: string) => void): void => {
    kill = send;
  };
  return host.processes.run(program, args, { ...given, stdio: 'inherit', onStart }).finally(off);
};

const signalNumbers: Readonly<Record<string, number>> = { SIGHUP: 1, SIGINT: 2, SIGKILL: 9, SIGTERM: 15 };
/** The exit code as a shell gives it. */
export const codeOf = ({ code, signal }: Finished): number =>
  code ?? 128 + (signalNumbers[signal ?? ''] ?? 0);
