import { resolve } from 'node:path';
import { bool, list, oneOf, str } from '../../core/field.ts';
import { defineCommand, type Argument, type Flags } from '../../cli/command.ts';
import { portFlag } from './server-flags.ts';

const command = {
  name: 'command',
  field: list(str()),
  summary: 'The command and its arguments; without one the server runs until Ctrl-C',
  rest: true,
  optional: true,
} as const satisfies Argument;

const cassette = {
  name: 'file',
  field: str(4096, { min: 1 }),
  summary: 'The cassette',
  complete: 'file',
} as const satisfies Argument;

const serviceFlags = {
  service: {
    field: oneOf('tracker', 'labels', 'api'),
    summary: 'Whose OPSCTL_…_URL the command gets (default tracker)',
  },
  port: portFlag,
} as const satisfies Flags;

const recordCommand = defineCommand({
  path: ['mock', 'record'],
  noDryRun: 'opsctl mock record --help',
  summary: 'Record the requests to a real service and its responses',
  about:
    'Listens on 127.0.0.1, hands every request on to the service and appends it with its response to a cassette. Tokens, codes and passwords are masked ' +
    'before they are written; other content is kept as it is, so look at a cassette before you commit it.',
  args: [command],
  flags: {
    upstream: {
      field: str(2048, { min: 1 }),
      summary: 'Base URL of the service: https, or http on this machine',
      value: 'url',
      required: true,
    },
    out: {
      field: str(4096, { min: 1 }),
      summary: 'The cassette; an existing one is continued',
      value: 'file',
      required: true,
      complete: 'file',
    },
    ...serviceFlags,
  },
  examples: [
    {
      line: 'opsctl mock record --upstream https://tracker.example.com --out nightly.cassette -- ./nightly-sync.sh',
      says: 'Record what a script does',
    },
  ],
  run: async (context, values) => {
    const [{ makeRecorder, upstreamFrom }, { serveThrough }] = await Promise.all([
      import('../../mock-server/cassette/recorder.ts'),
      import('./serve-through.ts'),
    ]);
    const upstream = upstreamFrom(values.upstream);
    const path = resolve(context.host.cwd, values.out);
    const file = context.host.files.append(path, 0o600);
    const recorder = makeRecorder(context.host, upstream, file);
    return serveThrough(context, values, recorder.handle, {
      what: `recording ${upstream}`,
      close: async () => {
        recorder.close();
        context.log.info(`${recorder.count()} exchanges recorded in ${values.out}`);
        return undefined;
      },
    });
  },
});

const replayCommand = defineCommand({
  path: ['mock', 'replay'],
  noDryRun: 'opsctl mock replay --help',
  summary: 'Answer from a cassette instead of a service',
  about:
    'Equal requests get their responses in the recorded order, then the last one again. A request that the cassette does not have is answered 404; with ' +
    '--strict the command then exits with 20.',
  args: [cassette, command],
  flags: {
    ...serviceFlags,
    strict: { field: bool(), summary: 'Exit with 20 after a request that the cassette does not have' },
  },
  examples: [
    {
      line: 'opsctl mock replay nightly.cassette --strict -- ./nightly-sync.sh',
      says: 'Without the service',
    },
  ],
  run: async (context, values) => {
    const [{ readCassette }, { makePlayer }, { serveThrough }] = await Promise.all([
      import('../../mock-server/cassette/cassette.ts'),
      import('../../mock-server/cassette/player.ts'),
      import('./serve-through.ts'),
    ]);
    const player = makePlayer(await readCassette(context.host.files, resolve(context.host.cwd, values.file)));
    return serveThrough(context, values, player.handle, {
      what: `replaying ${values.file}`,
      close: async () => {
        for (const request of player.unknown)
          context.log.warn(`the cassette has no ${request} with this query and body`);
        if (player.unused() > 0) context.log.info(`${player.unused()} recorded responses were not asked for`);
        return values.strict === true && player.unknown.length > 0 ? 'no' : undefined;
      },
    });
  },
});

const columns = ['exchange', 'method', 'path', 'where', 'recorded', 'received'];

const compareCommand = defineCommand({
  path: ['mock', 'compare'],
  noDryRun: 'opsctl mock compare --help',
  summary: 'Report where a service answers differently than a cassette',
  about:
    'Sends the recorded requests in their order to a fresh embedded server, or with --url to another one, and compares status, media type and body. ' +
    'Identifiers and times may differ. Exits with 20 when something else does. With --url the requests change that service; it gets the tokens of OPSCTL_TRACKER_TOKEN and OPSCTL_LABELS_TOKEN.',
  args: [cassette],
  examples: [
    {
      line: 'opsctl mock compare nightly.cassette',
      says: 'Does the embedded server answer as the recording?',
    },
  ],
  flags: {
    url: {
      field: str(2048, { min: 1 }),
      summary: 'Base URL of the service to compare (default: a fresh embedded server)',
      value: 'url',
    },
    seed: { field: oneOf('demo', 'empty'), summary: 'Records of the embedded server (default empty)' },
  },
  run: async (context, values) => {
    const { compareCassette } = await import('./compare-cassette.ts');
    return compareCassette(context, values, columns);
  },
});

export const cassetteCommands = [recordCommand, replayCommand, compareCommand];
