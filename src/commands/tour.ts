import { join } from 'node:path';
import { bool } from '../core/field.ts';
import { durationText } from '../core/duration.ts';
import { AppError } from '../core/problem.ts';
import { rawResult } from '../core/result.ts';
import { shellLine } from '../core/shell.ts';
import type { Started } from '../platform/host.ts';
import { defineCommand, type Command, type Context } from '../cli/command.ts';

/** One line of the tour; `{directory}` is the directory of the tour. */
export type Stop = { readonly says: string; readonly args: readonly string[] };
export type Chapter = { readonly title: string; readonly stops: readonly Stop[] };

const quiet = ['-o', 'table', '--no-input'];
/** Every command is run as it stands here, by the program that prints it. */
export const chapters: readonly Chapter[] = [
  {
    title: '1. Sign in',
    stops: [
      {
        says: 'PKCE, a loopback listener and consent; without a terminal the built-in script answers the pages',
        args: ['login'],
      },
      { says: 'Who is signed in, for how long, with which scopes', args: ['auth', 'status'] },
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
      { says: 'Statistics are counted from the stories', args: ['tracker', 'labels', 'list'] },
      { says: 'Search', args: ['tracker', 'search', 'label:tour', '--type', 'story'] },
      {
        says: 'What would be sent, without sending it',
        args: ['tracker', 'labels', 'delete', 'tour', '--dry-run'],
      },
      { says: 'Labels of the label service', args: ['labels', 'list'] },
    ],
  },
  {
    title: '3. Upgrade a cluster from 3.2 to 3.3',
    stops: [
      {
        says: 'Three members, each a process of its own (a rehearsal, not a database)',
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
        says: 'Preflight checks: is anything in the way?',
        args: ['kv', 'check', '--cluster', '{directory}/cluster/cluster.yaml'],
      },
      {
        says: 'The plan, step by step',
        args: ['kv', 'plan', '--cluster', '{directory}/cluster/cluster.yaml'],
      },
      {
        says: 'Do it: snapshots, one member at a time, the leader last',
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
        says: 'All members run 3.3',
        args: ['kv', 'status', '--cluster', '{directory}/cluster/cluster.yaml'],
      },
    ],
  },
];

const last = `
Next:
  opsctl --help                       all commands
  opsctl mock serve                   the services as a server for your own scripts
  opsctl config set tracker.url URL   talk to a real deployment
  opsctl kv init                      write the file of your own cluster
`;

type Trip = {
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
    throw new AppError('unknown', `opsctl ${shellLine(real)} ended with ${done.code ?? done.signal}`, {
      tryThis: [`look at ${trip.directory}`, 'run the tour again'],
    });
};

const serve = async (trip: Trip): Promise<Started> => {
  const { host } = trip.context;
  const [command, ...first] = host.self;
  const started = await host.processes.start(command, [...first, 'mock', 'serve', '-o', 'json'], {
    env: trip.env,
  });
  for await (const line of started.lines()) if (line.includes('"ready":true')) return started;
  throw new AppError('unknown', 'the mock server did not start');
};

const tour = async (trip: Trip): Promise<void> => {
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

const command = defineCommand({
  path: ['tour'],
  noDryRun: 'opsctl tour --help',
  summary: 'All three jobs end to end on the embedded services',
  about:
    'Runs the real commands in a directory of its own, prints each of them and what it answers, and removes the directory at the end. Your own settings are not touched.',
  flags: { keep: { field: bool(), summary: 'Keep the directory to look around' } },
  run: async (context, values) => {
    const { host } = context;
    const directory = join(
      host.files.temporaryDirectory(),
      `opsctl-tour-${Buffer.from(host.random(4)).toString('hex')}`,
    );
    await host.files.makeDirectory(directory, 0o700);
    const own = Object.fromEntries(
      Object.keys(host.env).flatMap((name) => (name.startsWith('OPSCTL_') ? [[name, undefined]] : [])),
    );
    const trip: Trip = { context, directory, env: { ...own, OPSCTL_HOME: join(directory, 'home') } };
    const start = host.elapsed();
    try {
      await tour(trip);
    } finally {
      if (!values.keep) await host.files.remove(directory);
    }
    return rawResult(
      `\nAll three jobs done in ${durationText(host.elapsed() - start)}.\n${values.keep ? `Everything is in ${directory}\n` : ''}${last}`,
    );
  },
});

export const commands: readonly Command[] = [command];
