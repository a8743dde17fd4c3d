import { execa, type ResultPromise } from 'execa';
import type { Finished, RunOptions } from '../host.ts';
import { limits } from '../../core/limits.ts';

const startErrorOf = (result: {
  code?: string;
  originalMessage?: string;
  exitCode?: number;
  signal?: string;
}): string | undefined =>
  result.exitCode === undefined && result.signal === undefined && result.code !== undefined
    ? (result.originalMessage ?? result.code)
    : undefined;

/** Without any a child that reads would take this program's own input. */
const inputOf = ({ input, inputFile }: RunOptions, isPiped: boolean) => {
  if (inputFile !== undefined) return { inputFile };
  return input === undefined ? { stdin: isPiped ? ('ignore' as const) : ('inherit' as const) } : { input };
};

const LET_GO_MS = 100;
/**
 * A grandchild may keep the output open long after the child has exited. A time limit and Ctrl-C therefore
 * apply to the output, not only to the child.
 */
const letGo = (child: Pick<ResultPromise, 'kill' | 'stdout' | 'stderr'>): void => {
  child.kill('SIGKILL');
  child.stdout?.destroy();
  child.stderr?.destroy();
};

/** Cuts the output shortly after the time limit or an abort; what it returns ends that. */
const cutOutput = (child: Parameters<typeof letGo>[0], { timeoutMs, signal }: RunOptions): (() => void) => {
  const cuts: NodeJS.Timeout[] = [];
  const cutIn = (ms: number): number => cuts.push(setTimeout(() => letGo(child), ms));
  const cutSoon = (): number => cutIn(LET_GO_MS);
  if (timeoutMs !== undefined) cutIn(timeoutMs + LET_GO_MS);
  signal?.addEventListener('abort', cutSoon, { once: true });
  if (signal?.aborted) cutSoon();
  return () => {
    signal?.removeEventListener('abort', cutSoon);
    for (const cut of cuts) clearTimeout(cut);
  };
};

/**
 * Runs a child until it exits; see `Processes.run`. Never rejects, because a failing child is also a result.
 */
export const run = async (
  command: string,
  args: readonly string[],
  options: RunOptions,
): Promise<Finished> => {
  const isPiped = options.stdio !== 'inherit';
  const child = execa(command, args, {
    cwd: options.cwd,
    env: options.env as Record<string, string>,
    extendEnv: false,
    reject: false,
    stripFinalNewline: false,
    ...inputOf(options, isPiped),
    stdout: isPiped ? 'pipe' : 'inherit',
    stderr: isPiped ? 'pipe' : 'inherit',
    timeout: options.timeoutMs ?? 0,
    cancelSignal: options.signal,
    maxBuffer: options.maxBytes ?? limits.programBytes,
  });
  options.onStart?.((signal) => void child.kill(signal as NodeJS.Signals));
  const keep = isPiped ? cutOutput(child, options) : undefined;
  const result = await child;
  keep?.();
  const startError = startErrorOf(result);
  return {
    // The child may have succeeded after its output was cut. The partial output is not a valid result.
    code: result.isMaxBuffer ? null : (result.exitCode ?? null),
    signal: result.signal ?? null,
    stdout: result.stdout ?? '',
    stderr: result.stderr ?? '',
    timedOut: result.timedOut,
    ...(result.isMaxBuffer ? { isCut: true as const } : {}),
    ...(startError === undefined ? {} : { startError }),
  };
};
