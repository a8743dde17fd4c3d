import { resolve } from 'node:path';
import { str } from '../../core/field.ts';
import { defineCommand } from '../../cli/command.ts';
import { command, serviceFlags } from './cassette-arguments.ts';

export const recordCommand = defineCommand({
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
