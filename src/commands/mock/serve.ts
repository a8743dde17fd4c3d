import { formatRow } from '../../core/output-format.ts';
import { bool } from '../../core/field.ts';
import { defineCommand, type Context } from '../../cli/command.ts';
import type { Launched } from './launch.ts';
import { portFlag } from './port-flag.ts';
import { serverFlags } from './server-flags.ts';
import { untilAborted } from './until-aborted.ts';

/** The ready line, then nothing more until the end; being stopped is how a server ends, so that is success. */
const serve = async function* (context: Context, server: Launched): AsyncGenerator<string> {
  try {
    const { banner } = await import('./banner.ts');
    const { ready } = server;
    yield formatRow(context.format).isJson ? `${JSON.stringify(ready)}\n` : banner(ready, server.directory);
    await Promise.race([untilAborted(context.signal), server.mock.shutdownAsked]);
  } finally {
    await server.close();
  }
};

export const serveCommand = defineCommand({
  path: ['mock', 'serve'],
  noDryRun: 'opsctl mock serve --help',
  summary: 'Run the embedded services until stopped',
  about:
    'Tracker, label service, authorization server and data API over real HTTP on 127.0.0.1 and ::1. Commands without a configured URL find a running ' +
    'server by themselves. With -o json the first line on stdout says where everything is, once connections are accepted. SIGTERM and Ctrl-C end it cleanly.',
  flags: {
    port: portFlag,
    ephemeral: { field: bool(), summary: 'Keep nothing; no other command finds this server by itself' },
    ...serverFlags,
  },
  examples: [
    { line: 'opsctl mock serve --port 8080', says: 'Serve with the kept state' },
    {
      line: 'opsctl mock serve --ephemeral --seed empty -o json',
      says: 'For a test suite: read the first line, then go',
    },
  ],
  run: async (context, values) => {
    const { launch } = await import('./launch.ts');
    const server = await launch(context, values, 'mock serve', values.ephemeral === true);
    return { kind: 'raw', chunks: serve(context, server) };
  },
});
