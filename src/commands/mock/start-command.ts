import { dirname, join } from 'node:path';
import type { Context } from '../../api/context.ts';
import { defineCommand } from '../../cli/command.ts';
import { AppError } from '../../core/problem.ts';
import { nothing, recordResult } from '../../core/result.ts';
import { lossyText } from '../../core/utf8.ts';
import { type Live, liveServer } from '../../mock-server/instance-lock.ts';
import type { Host } from '../../platform/host.ts';
import { mockDirectory } from './embedded.ts';
import { alreadyRuns, type LaunchValues, portFlag, serverFlags } from './launch.ts';

export const startCommand = defineCommand({
  path: ['mock', 'start'],
  noDryRun: 'opsctl mock status shows whether a server runs',
  summary: 'Start the embedded services in the background',
  about:
    'Returns when the server accepts connections. Later commands, including those in other shells and later steps of a CI job, discover it automatically. `mock env` prints the variables for other programs; `mock stop` stops the server.',
  flags: { port: portFlag, ...serverFlags },
  examples: [
    {
      line: 'opsctl mock start --seed empty --rate-limit off',
      says: 'Start the services for the next steps of a CI job',
    },
  ],
  run: async (context, values) => {
    const { url, pid, ready } = await startDetached(context, values);
    return recordResult(ready, {
      columns: ['url', 'pid'],
      message: `mock server running at ${url} (process ${pid}); stop it with opsctl mock stop`,
    });
  },
});

const READY_MS = 30_000;
const POLL_MS = 20;
const LOG_LINES = 20;
/** The flags as they were given, for the process that serves. */
const wordsOf = (values: LaunchValues): string[] =>
  (['port', ...(Object.keys(serverFlags) as (keyof typeof serverFlags)[])] as const).flatMap((name) => {
    const value = values[name];
    if (value === undefined || value === false) return [];
    if (value === true) return [`--${name}`];
    return (Array.isArray(value) ? value : [value]).map((one) => `--${name}=${one}`);
  });
/** On a full disk the server cannot even write why it ended. */
const fullDisk = async ({ files }: Host, log: string): Promise<string> =>
  (await files.freeBytes(dirname(log))) === 0 ? `the disk of ${dirname(log)} is full` : '';
const notStarted = async (context: Context, log: string, why: string): Promise<AppError> => {
  const text = lossyText(await context.host.files.readBytes(log));
  const tail = text.trim().split('\n').slice(-LOG_LINES).join('\n') || (await fullDisk(context.host, log));
  return new AppError('config', `the mock server did not start: ${why}${tail === '' ? '' : `\n${tail}`}`, {
    code: 'MOCK_NOT_STARTED',
    tryThis: ['opsctl mock serve (the same flags; it prints its errors here)'],
    data: { log },
  });
};
/** Starts `mock serve` in a separate process. Resolves when it accepts connections. */
const startDetached = async (context: Context, values: LaunchValues): Promise<Live> => {
  const { host, settings, signal } = context;
  const directory = mockDirectory(settings);
  const running = liveServer(host, directory);
  if (running !== undefined) throw alreadyRuns(running.url, running.pid);
  await host.files.makeDirectory(directory, 0o700);
  const logFile = join(directory, 'server.log');
  await host.files.replace(logFile, '', 0o600);
  const [program, ...first] = host.self;
  const { pid } = await host.processes.start(program, [...first, 'mock', 'serve', ...wordsOf(values)], {
    detached: true,
    logFile,
  });
  const until = host.elapsed() + READY_MS;
  for (;;) {
    const live = liveServer(host, directory);
    if (live !== undefined) return live;
    if (!host.processes.isAlive(pid)) throw await notStarted(context, logFile, `process ${pid} exited`);
    if (host.elapsed() > until) {
      host.processes.signal(pid, 'SIGTERM');
      throw await notStarted(context, logFile, `not ready after ${READY_MS / 1000} s`);
    }
    await host.sleep(POLL_MS, signal);
  }
};

/** A large state takes its time to be written. */
const STOP_MS = 60_000;
/** Waits until the server of the state directory has let go of it: the next command may start one there. */
const hasEnded = async ({ host, signal }: Context, directory: string, pid: number): Promise<boolean> => {
  const until = host.elapsed() + STOP_MS;
  while (liveServer(host, directory)?.pid === pid) {
    if (host.elapsed() > until) return false;
    await host.sleep(POLL_MS, signal);
  }
  return true;
};
export const stopCommand = defineCommand({
  path: ['mock', 'stop'],
  noDryRun: 'opsctl mock status shows whether a server runs',
  summary: 'Stop the running mock server',
  run: async (context) => {
    const { isServed, withMockServer } = await import('./embedded.ts');
    if (!isServed(context)) return nothing('no mock server is running');
    const directory = mockDirectory(context.settings);
    const own = liveServer(context.host, directory);
    return nothing(
      await withMockServer(context, async (ask, url) => {
        await ask('POST', 'shutdown');
        const isEnded = own?.url === url && (await hasEnded(context, directory, own.pid));
        return `the mock server at ${url} ${isEnded ? 'has stopped' : 'ends'}`;
      }),
    );
  },
});

export const statusCommand = defineCommand({
  path: ['mock', 'status'],
  summary: 'Show the status and content of the mock server',
  run: async (context) => {
    const { isServed, withMockServer } = await import('./embedded.ts');
    const served = isServed(context);
    const { url, pid, ...rest } = await withMockServer(context, (ask) => ask('GET', 'status'));
    return recordResult({ running: served, url: served ? url : null, pid: served ? pid : null, ...rest });
  },
});
