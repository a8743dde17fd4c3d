import { join } from 'node:path';
import { categoryOfExit } from '../core/exit.ts';
import { AppError } from '../core/problem.ts';
import { shellLine } from '../core/shell.ts';
import type { Started } from '../platform/host.ts';
import type { Context } from '../cli/command.ts';
import { type Stop, chapters } from './tour.ts';

const quiet = ['-o', 'table', '--no-input'];
export type Trip = {
  readonly context: Context;
  readonly directory: string;
  readonly env: Readonly<Record<string, string | undefined>>;
};

const write = (trip: Trip, text: string): Promise<void> => trip.context.host.terminal.stdout.write(text);

/** Prints the line, runs it, prints what it printed. A line that fails ends the tour. */
const stop = async (trip: Trip, { says, args }: Stop): Promise<void> => {
  const { host, signal } = trip.context;
  const [command, ...first] = host.self;
  const real = args.map((arg) => arg.replace('{directory}', trip.directory));
  await write(trip, `\n# ${says}\n$ opsctl ${shellLine(real)}\n`);
  const done = await host.processes.run(command, [...first, ...real, ...quiet], {
    env: trip.env,
    signal,
    timeoutMs: 60_000,
  });
  const messages = done.stderr
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('using the mock server'));
  await write(trip, messages.map((line) => `${line}\n`).join('') + done.stdout);
  if (done.code !== 0)
    throw new AppError(
      categoryOfExit(done.code),
      `opsctl ${shellLine(real)} ended with ${done.code ?? done.signal}`,
      {
        tryThis: [`look at ${trip.directory}`, 'run the tour again'],
      },
    );
};

const serve = async (trip: Trip): Promise<Started> => {
  const { host } = trip.context;
  const [command, ...first] = host.self;
  const started = await host.processes.start(command, [...first, 'mock', 'serve', '-o', 'json'], {
    env: trip.env,
  });
  for await (const line of started.lines()) if (line.includes('"ready":true')) return started;
  // Why is on stderr already.
  throw new AppError(categoryOfExit((await started.exited).code), 'the mock server did not start');
};

export const tour = async (trip: Trip): Promise<void> => {
  const { host } = trip.context;
  const server = await serve(trip);
  const [command, ...first] = host.self;
  try {
    for (const { title, stops } of chapters) {
      await write(trip, `\n${title}\n${'='.repeat(title.length)}\n`);
      for (const each of stops) await stop(trip, each);
    }
  } finally {
    await host.processes.run(
      command,
      [...first, 'mock', 'kv', 'stop', '--dir', join(trip.directory, 'cluster'), '-q'],
      {
        env: trip.env,
        timeoutMs: 20_000,
      },
    );
    server.kill('SIGTERM');
    await server.exited;
  }
};
