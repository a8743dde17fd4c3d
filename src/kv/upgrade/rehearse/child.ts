import { lossyText } from '../../../core/utf8.ts';
import type { Host } from '../../../platform/host.ts';
import { AppError } from '../../../core/problem.ts';
import type { Report, UpgradeEvent } from '../../engine/types.ts';

export type ChildRun = {
  readonly code: number | null;
  readonly report?: Report /** What it said on stderr when it refused before it began. */;
  readonly complaint?: string;
};

/** This program again, with a home of its own, so that nothing of the rehearsal mixes with the real runs. */
const environment = (home: string): Record<string, string | undefined> => ({
  OPSCTL_HOME: home,
  OPSCTL_PROFILE: undefined,
  OPSCTL_KV_CLUSTER: undefined,
});

export const runSelf = async (
  host: Host,
  home: string,
  args: readonly string[],
  signal?: AbortSignal,
): Promise<string> => {
  const [command, ...first] = host.self;
  const done = await host.processes.run(command, [...first, ...args], { env: environment(home), signal });
  if (done.code !== 0)
    throw new AppError(
      'unknown',
      `opsctl ${args.slice(0, 3).join(' ')} failed: ${lastLine(done.stderr) ?? done.startError ?? `code ${done.code}`}`,
      {
        code: 'REHEARSAL_FAILED',
      },
    );
  return done.stdout;
};
const lastLine = (text: string): string | undefined => text.trim().split('\n').at(-1) || undefined;

/** `kv upgrade` on the copy; every event of it is handed on as it comes. */
export const upgradeCopy = async (
  host: Host,
  home: string,
  args: readonly string[],
  onEvent: (event: UpgradeEvent) => void,
): Promise<ChildRun> => {
  const [command, ...first] = host.self;
  const complaints = `${home}/stderr.log`;
  // stdout is the events, one a line; stderr goes to a file.
  const script = 'log="$1"; shift; exec "$@" 2> "$log"';
  const started = await host.processes.start(
    '/bin/sh',
    ['-c', script, 'sh', complaints, command, ...first, ...args, '-o', 'ndjson'],
    {
      env: environment(home),
    },
  );
  let report: Report | undefined;
  for await (const line of started.lines()) {
    const event = eventIn(line);
    if (event === undefined) continue;
    if (event.event === 'run-finished') report = event.report;
    onEvent(event);
  }
  const { code } = await started.exited;
  const complaint =
    report === undefined ? complaintIn(lossyText(await host.files.readBytes(complaints))) : undefined;
  return {
    code,
    ...(report === undefined ? {} : { report }),
    ...(complaint === undefined ? {} : { complaint }),
  };
};
/** The message of the error object that stderr ends with. */
const complaintIn = (stderr: string): string | undefined => {
  const last = lastLine(stderr);
  try {
    return (JSON.parse(last ?? '') as { message?: string }).message;
  } catch {
    return last;
  }
};
const eventIn = (line: string): UpgradeEvent | undefined => {
  try {
    const value = JSON.parse(line) as UpgradeEvent;
    return typeof value.event === 'string' ? value : undefined;
  } catch {
    return undefined;
  }
};
