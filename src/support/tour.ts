import { args, trustCall } from '../core/program-call.ts';
import { join } from 'node:path';
import type { EngineContext } from '../api/context.ts';
import { categoryOfExit, AppError } from '../core/problem.ts';
import { shellLine } from '../core/shell.ts';
import type { Started } from '../platform/host.ts';
import { columnsOf, wrapMessage, wrapMessages } from '../core/format.ts';

/** One line of the tour; `{directory}` is the directory of the tour. */
type Stop = { readonly says: string; readonly args: readonly string[] };
export type Chapter = { readonly title: string; readonly stops: readonly Stop[] };
/** The program that prints a command also runs it, with exactly this text. */
export const chapters: readonly Chapter[] = [
  {
    title: '1. Sign in',
    stops: [
      {
        says: 'Sign in with PKCE, a loopback listener and consent; without a terminal, the built-in script completes the pages',
        args: ['login'],
      },
      {
        says: 'Show the current account, the lifetime of its token, and its scopes',
        args: ['auth', 'status'],
      },
      {
        says: 'Call the data API with the bearer token',
        args: ['media', 'get', '/media/v3/channels', '--param', 'part=id', '--param', 'mine=true'],
      },
    ],
  },
  {
    title: '2. Work with the tracker and the label service',
    stops: [
      {
        says: 'Create a label',
        args: [
          'tracker',
          'labels',
          'create',
          '--name',
          'tour',
          '--color',
          '#2a7de1',
          '--columns',
          'id,name,color,created_at',
        ],
      },
      {
        says: 'Use it by its name',
        args: [
          'tracker',
          'stories',
          'create',
          '--name',
          'Try opsctl',
          '--story-type',
          'feature',
          '--label',
          'tour',
          '--owner',
          '@ana',
        ],
      },
      {
        says: 'Unset a field',
        args: [
          'tracker',
          'labels',
          'update',
          'tour',
          '--unset',
          'color',
          '--description',
          'Made by the tour',
          '--columns',
          'id,name,color,description',
        ],
      },
      {
        says: 'List the labels, with statistics that the service counts from the stories',
        args: ['tracker', 'labels', 'list'],
      },
      {
        says: 'Search the stories with this label',
        args: ['tracker', 'search', 'label:tour', '--type', 'story'],
      },
      {
        says: 'Print the request without sending it',
        args: ['tracker', 'labels', 'delete', 'tour', '--dry-run'],
      },
      { says: 'List the labels of the label service', args: ['labels', 'list'] },
    ],
  },
  {
    title: '3. Upgrade a cluster from 3.2 to 3.3',
    stops: [
      {
        says: 'Start three simulated members, each in a separate process (not a database)',
        args: [
          'mock',
          'kv',
          'start',
          '--members',
          '3',
          '--dir',
          '{directory}/cluster',
          '--monitor-ms',
          '1000',
        ],
      },
      {
        says: 'Check whether anything prevents the upgrade',
        args: ['kv', 'check', '--cluster', '{directory}/cluster/cluster.yaml'],
      },
      {
        says: 'Show the plan, step by step',
        args: ['kv', 'plan', '--cluster', '{directory}/cluster/cluster.yaml'],
      },
      {
        says: 'Upgrade: take snapshots, then change one member at a time and the leader last',
        args: [
          'kv',
          'upgrade',
          '--cluster',
          '{directory}/cluster/cluster.yaml',
          '--yes',
          '--accept-point-of-no-return',
        ],
      },
      {
        says: 'Show that all members run 3.3',
        args: ['kv', 'status', '--cluster', '{directory}/cluster/cluster.yaml'],
      },
    ],
  },
];

const quiet = ['-o', 'table', '--no-input'];
export type TourContext = {
  readonly context: EngineContext;
  readonly directory: string;
  readonly env: Readonly<Record<string, string | undefined>>;
};
const write = (trip: TourContext, text: string): Promise<void> =>
  trip.context.host.terminal.stdout.write(text);
/** Prints the line, runs it, prints what it printed. A line that fails ends the tour. */
const stop = async (trip: TourContext, { says, args }: Stop): Promise<void> => {
  const { host, signal } = trip.context;
  const real = args.map((arg) => arg.replace('{directory}', trip.directory));
  const columns = columnsOf(host.terminal.stdout);
  await write(trip, `\n${wrapMessage(`# ${says}`, columns, '# ')}\n$ opsctl ${shellLine(real)}\n`);
  const done = await host.processes.run(...trustCall([...host.self, ...real, ...quiet]), {
    env: trip.env,
    signal,
    timeoutMs: 60_000,
  });
  const messages = done.stderr
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('using the mock server'));
  await write(trip, messages.map((line) => `${wrapMessages(line, columns)}\n`).join('') + done.stdout);
  if (done.code !== 0)
    throw new AppError(
      categoryOfExit(done.code),
      done.code === null
        ? `opsctl ${shellLine(real)} was stopped by ${done.signal}`
        : `opsctl ${shellLine(real)} exited with code ${done.code}`,
      {
        tryThis: [`inspect the files in ${trip.directory}`, 'run the tour again'],
      },
    );
};
const serve = async (trip: TourContext): Promise<Started> => {
  const { host } = trip.context;
  const started = await host.processes.start(...trustCall(host.self, args`mock serve -o json`), {
    env: trip.env,
  });
  for await (const line of started.lines()) if (line.includes('"ready":true')) return started;
  // The server has printed the reason on stderr.
  throw new AppError(categoryOfExit((await started.exited).code), 'the mock server did not start');
};
export const tour = async (trip: TourContext): Promise<void> => {
  const { host } = trip.context;
  const server = await serve(trip);
  try {
    for (const { title, stops } of chapters) {
      await write(trip, `\n${title}\n${'='.repeat(title.length)}\n`);
      for (const each of stops) await stop(trip, each);
    }
  } finally {
    await host.processes.run(
      ...trustCall(host.self, args`mock kv stop --dir ${join(trip.directory, 'cluster')} -q`),
      {
        env: trip.env,
        timeoutMs: 20_000,
      },
    );
    server.kill('SIGTERM');
    await server.exited;
  }
};
