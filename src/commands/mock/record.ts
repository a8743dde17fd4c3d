import { resolve } from 'node:path';
import { countText } from '../../core/format.ts';
import type { Context } from '../../api/context.ts';
import { defineCommand } from '../../cli/command.ts';
import { bool, list, oneOf, str } from '../../core/field.ts';
import type { Argument, Flags } from '../../core/flag.ts';
import { AppError, writeFailureReason } from '../../core/problem.ts';
import { redactedUrl } from '../../core/redact-secrets.ts';
import type { Result } from '../../core/result.ts';
import { readCassette, upstreamFrom } from '../../mock-server/cassette/cassette.ts';
import { compareWith, type Row } from '../../mock-server/cassette/compare.ts';
import { defaultOptions } from '../../mock-server/service-set.ts';
import { allowHostFlag, portFlag } from './launch.ts';
import { start } from './start.ts';

const command = {
  name: 'command',
  effects: ['runs'],
  field: list(str()),
  summary: 'Command and its arguments (default: run the server until Ctrl-C)',
  rest: true,
  allowsEmpty: true,
  optional: true,
} as const satisfies Argument;
const cassette = {
  name: 'file',
  effects: ['reads'],
  field: str(4096, { min: 1 }),
  summary: 'Cassette file',
  complete: 'file',
} as const satisfies Argument;
const serviceFlags = {
  service: {
    field: oneOf('tracker', 'labels', 'api'),
    summary: 'Service whose OPSCTL_…_URL the command receives (default tracker)',
  },
  port: portFlag,
  'allow-host': allowHostFlag,
} as const satisfies Flags;

const isCutShort = (file: string, failure: unknown): AppError =>
  new AppError(
    'config',
    `cannot write cassette ${file}: ${writeFailureReason(failure)}; it ends before the last exchange`,
    { code: 'CASSETTE_UNWRITABLE', tryThis: ['free disk space and record it again'] },
  );
export const recordCommand = defineCommand({
  path: ['mock', 'record'],
  noDryRun: 'opsctl mock record --help',
  summary: 'Record requests to a service and its responses',
  about:
    'Listens on 127.0.0.1, forwards every request to the service, and appends the request and response to a cassette. Redacts tokens, codes and passwords before it writes them. Other content is kept, so review a cassette before you commit it.',
  args: [command],
  flags: {
    upstream: {
      effects: ['sends'],
      field: str(2048, { min: 1 }),
      summary: 'Base URL of the service: https, or http on this machine',
      value: 'url',
      required: true,
    },
    out: {
      effects: ['writes'],
      field: str(4096, { min: 1 }),
      summary: 'Cassette file; recordings are appended to an existing cassette',
      value: 'file',
      required: true,
      complete: 'file',
    },
    ...serviceFlags,
  },
  examples: [
    {
      line: 'opsctl mock record --upstream https://tracker.example.com --out nightly.cassette -- ./nightly-sync.sh',
      says: 'Record the requests of a script',
    },
  ],
  run: async (context, values) => {
    const [{ openRecorder, upstreamFrom }, { serveThrough }] = await Promise.all([
      import('../../mock-server/cassette/cassette.ts'),
      import('./serve.ts'),
    ]);
    const upstream = upstreamFrom(values.upstream);
    const { host } = context;
    const path = resolve(host.cwd, values.out);
    const recorder = await openRecorder(host, upstream, path);
    return serveThrough(context, values, recorder.handle, {
      what: `recording ${redactedUrl(upstream)}`,
      close: async () => {
        recorder.close();
        const [count, failure] = [recorder.count(), recorder.failure()];
        context.log.info(`${countText(count, 'exchange')} recorded in ${values.out}`);
        if (failure !== undefined) throw isCutShort(values.out, failure);
        return undefined;
      },
    });
  },
});

export const replayCommand = defineCommand({
  path: ['mock', 'replay'],
  noDryRun: 'opsctl mock replay --help',
  summary: 'Replay responses from a cassette',
  about:
    'Equal requests get their responses in the recorded order, then the last response again. Responds with 404 to a request that is not in the cassette; with --strict, the command then exits with code 20.',
  args: [cassette, command],
  flags: {
    ...serviceFlags,
    strict: { field: bool(), summary: 'Exit with code 20 after a request that is not in the cassette' },
  },
  examples: [
    {
      line: 'opsctl mock replay nightly.cassette --strict -- ./nightly-sync.sh',
      says: 'Test without the service',
    },
  ],
  run: async (context, values) => {
    const [{ readCassette }, { makePlayer }, { serveThrough }] = await Promise.all([
      import('../../mock-server/cassette/cassette.ts'),
      import('../../mock-server/cassette/cassette.ts'),
      import('./serve.ts'),
    ]);
    const player = makePlayer(
      await readCassette(context.host.files, resolve(context.host.cwd, values.file), values.file),
    );
    return serveThrough(context, values, player.handle, {
      what: `replaying ${values.file}`,
      close: async () => {
        for (const request of player.unknown)
          context.log.warn(`the cassette has no ${request} request with this query and body`);
        if (player.countUnused() > 0)
          context.log.info(`${player.countUnused()} recorded responses were not requested`);
        return values.strict === true && player.unknown.length > 0 ? 'no' : undefined;
      },
    });
  },
});

const columns = ['exchange', 'method', 'path', 'where', 'recorded', 'received'];
export const compareCommand = defineCommand({
  path: ['mock', 'compare'],
  noDryRun: 'opsctl mock compare --help',
  summary: 'Compare the responses of a service with a cassette',
  about:
    'Sends the recorded requests in order to a new embedded server, or with --url to another server, and compares status, media type and body. Identifiers and times may differ. Exits with code 20 if anything else differs. With --url, the requests change that service; it receives the tokens of OPSCTL_TRACKER_TOKEN and OPSCTL_LABELS_TOKEN.',
  args: [cassette],
  examples: [
    {
      line: 'opsctl mock compare nightly.cassette',
      says: 'Compare the embedded server with the recording',
    },
  ],
  flags: {
    url: {
      effects: ['sends'],
      field: str(2048, { min: 1 }),
      summary: 'Base URL of the service to compare (default: a new embedded server)',
      value: 'url',
    },
    seed: { field: oneOf('demo', 'empty'), summary: 'Initial data of the embedded server (default empty)' },
  },
  run: async (context, values) => {
    return compareCassette(context, values, columns);
  },
});

type Given = {
  readonly file: string;
  readonly url?: string | undefined;
  readonly seed?: 'demo' | 'empty' | undefined;
};
const tokenHeaders = (tracker: string | undefined, labels: string | undefined): Record<string, string> => ({
  ...(tracker === undefined ? {} : { 'tracker-token': tracker }),
  ...(labels === undefined ? {} : { authorization: `Bearer ${labels}` }),
});
/** The server to compare with, and how to end it. */
const otherFor = async ({ host, log }: Context, { url, seed = 'empty' }: Given) => {
  const { OPSCTL_TRACKER_TOKEN, OPSCTL_LABELS_TOKEN } = host.env;
  if (url !== undefined)
    return {
      url: upstreamFrom(url, '--url'),
      headers: tokenHeaders(OPSCTL_TRACKER_TOKEN, OPSCTL_LABELS_TOKEN),
      close: async () => {},
    };
  const { ready, close } = await start(host, {
    directory: undefined,
    options: { ...defaultOptions, ratePerMinute: undefined },
    seed,
    port: 0,
    tls: false,
    isPrivate: true,
    warn: log.warn,
  });
  return { url: ready.url, headers: tokenHeaders(ready.tracker.token, ready.labels.token), close };
};
/** The differences as rows; the exit code is decided when all were seen. */
const compareCassette = async (
  context: Context,
  values: Given,
  columns: readonly string[],
): Promise<Result> => {
  const cassette = await readCassette(
    context.host.files,
    resolve(context.host.cwd, values.file),
    values.file,
  );
  const other = await otherFor(context, values);
  let count = 0;
  const rows = async function* (): AsyncGenerator<Row> {
    try {
      for await (const row of compareWith(context.host, cassette, other)) {
        count += 1;
        yield row;
      }
    } finally {
      await other.close();
    }
    context.log.info(
      `${countText(count, 'difference')} in ${countText(cassette.exchanges.length, 'exchange')}`,
    );
  };
  return { kind: 'rows', rows: rows(), view: { columns }, exit: () => (count === 0 ? 'done' : 'no') };
};
