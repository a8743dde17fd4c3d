/** The whole program in this process, with the real machine under it: only stdout and stderr are caught, and no terminal is there. */
import { codeCache } from './code-cache.ts';
import { runProgram } from '../../src/cli/run.ts';
import type { Host } from '../../src/platform/host.ts';
import { nodeHost } from '../../src/platform/node/host.ts';

export type Ran = {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly tookMs: number;
  json(): any;
};
export type ProgramOptions = {
  /** OPSCTL_HOME: configuration and state. */
  readonly home: string;
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Changes the machine under the program: faults. */
  readonly host?: (host: Host) => Host;
  readonly cwd?: string;
};

const caught = (texts: string[]) => ({
  isTty: false,
  columns: 80,
  write: async (text: string | Uint8Array): Promise<void> =>
    void texts.push(typeof text === 'string' ? text : Buffer.from(text).toString()),
});

export const opsctl = async (
  argv: readonly string[],
  { home, env = {}, host: change = (host) => host, cwd = home }: ProgramOptions,
): Promise<Ran> => {
  const real = nodeHost({
    env: { PATH: process.env['PATH'], HOME: home, OPSCTL_HOME: home, CI: 'true', ...codeCache, ...env },
    cwd,
  });
  const [out, err]: [string[], string[]] = [[], []];
  const host = change({ ...real, terminal: { ...real.terminal, stdout: caught(out), stderr: caught(err) } });
  const began = performance.now();
  const code = await runProgram(host, argv);
  const stdout = out.join('');
  return {
    code,
    stdout,
    stderr: err.join(''),
    tookMs: performance.now() - began,
    json: () => JSON.parse(stdout),
  };
};

/**
 * Runs what changes nothing until it ends in time, three times at most: a machine under load may hold any process up for a while,
 * a limit that is really missed is missed each time.
 */
export const soonest = async (ms: number, run: () => Promise<Ran>): Promise<Ran> => {
  let best = await run();
  for (let again = 0; again < 2 && best.tookMs >= ms; again += 1) {
    const next = await run();
    if (next.tookMs < best.tookMs) best = next;
  }
  return best;
};
