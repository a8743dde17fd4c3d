import { lossyText } from '../../core/utf8.ts';
import { dirname, join } from 'node:path';
import { AppError } from '../../core/problem.ts';
import { type Live, liveServer } from '../../mock-server/instance-lock.ts';
import type { Host } from '../../platform/host.ts';
import type { Context } from '../../cli/command.ts';
import { alreadyRuns } from './already-runs.ts';
import { mockDirectory } from './embedded.ts';
import type { LaunchValues } from './launch.ts';
import { serverFlags } from './server-flags.ts';

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

/** Starts `mock serve` in a process of its own; resolves when it accepts connections. */
export const startDetached = async (context: Context, values: LaunchValues): Promise<Live> => {
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
    if (!host.processes.isAlive(pid)) throw await notStarted(context, logFile, `process ${pid} ended`);
    if (host.elapsed() > until) {
      host.processes.signal(pid, 'SIGTERM');
      throw await notStarted(context, logFile, `it was not ready after ${READY_MS / 1000} s`);
    }
    await host.sleep(POLL_MS, signal);
  }
};
