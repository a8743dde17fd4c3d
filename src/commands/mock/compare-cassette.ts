import { resolve } from 'node:path';
import type { Result } from '../../core/result.ts';
import { type Row, compareWith } from '../../mock-server/cassette/compare.ts';
import { readCassette } from '../../mock-server/cassette/cassette.ts';
import { upstreamFrom } from '../../mock-server/cassette/recorder.ts';
import { defaultOptions } from '../../mock-server/defaults.ts';
import type { Context } from '../../cli/command.ts';
import { start } from './start.ts';

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
export const compareCassette = async (
  context: Context,
  values: Given,
  columns: readonly string[],
): Promise<Result> => {
  const cassette = await readCassette(context.host.files, resolve(context.host.cwd, values.file));
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
    context.log.info(`${count} differences in ${cassette.exchanges.length} exchanges`);
  };
  return { kind: 'rows', rows: rows(), view: { columns }, exit: () => (count === 0 ? 'done' : 'no') };
};
