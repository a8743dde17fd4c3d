import type { ShellScript } from '../../../core/shell.ts';
import type { Finished, Host } from '../../../platform/host.ts';

/** Runs a POSIX shell script where a member lives. The script goes over standard input: nothing of it is in a process list. */
export type Shell = {
  /** For messages: `here`, or the host. */
  readonly where: string;
  run(script: ShellScript, options?: { readonly timeoutMs?: number }): Promise<Finished>;
  /** Makes a file of this machine readable there; `wanted` is where it goes when it has to travel. */
  send(path: string, wanted: string): Promise<{ readonly path: string; remove(): Promise<void> }>;
  /** How a person would run one command there. */
  shown(command: string): string;
};

export const defaultMs = 10_000;

export const localShell = (host: Host): Shell => ({
  where: 'here',
  run: (script, { timeoutMs = defaultMs } = {}) =>
    host.processes.run('/bin/sh', ['-s'], { input: String(script), timeoutMs }),
  send: async (path) => ({ path, remove: async () => {} }),
  shown: (command) => command,
});
