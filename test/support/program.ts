/** The whole program in this process, on the real machine. Only stdout and stderr are captured, and no terminal is available. */
import { codeCache } from './code-cache.ts';
import { runProgram } from '../../src/cli/run.ts';
import { program } from '../../src/commands/program.ts';
import type { Host } from '../../src/platform/host.ts';
import { nodeHost } from '../../src/platform/node/host.ts';

export type Ran = {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
  /** Sum of all deliberate waits in milliseconds. The total duration depends more on the machine. */
  readonly waitedMs: number;
  json(): any;
};
export type ProgramOptions = {
  /** OPSCTL_HOME: configuration and state. */
  readonly home: string;
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Changes the machine of the program, for example to inject faults. */
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
  let waitedMs = 0;
  const real = nodeHost({
    env: { PATH: process.env['PATH'], HOME: home, OPSCTL_HOME: home, ...codeCache, ...env },
    cwd,
  });
  const [out, err]: [string[], string[]] = [[], []];
  const sleep: Host['sleep'] = async (ms, signal) => {
    await real.sleep(ms, signal);
    waitedMs += ms;
  };
  const host = change({
    ...real,
    sleep,
    terminal: { ...real.terminal, stdout: caught(out), stderr: caught(err) },
  });
  const code = await runProgram(host, argv, program);
  const stdout = out.join('');
  return {
    code,
    stdout,
    stderr: err.join(''),
    waitedMs,
    json: () => JSON.parse(stdout),
  };
};
