import { resolve } from 'node:path';
import { AppError } from '../../core/problem.ts';
import { whyUnwritable } from '../../core/write-failure.ts';
import { str } from '../../core/field.ts';
import { defineCommand } from '../../cli/command.ts';
import { command, serviceFlags } from './cassette-arguments.ts';

const isCutShort = (file: string, failure: unknown): AppError =>
  new AppError(
    'config',
    `the cassette ${file} cannot be written: ${whyUnwritable(failure)}; it ends before the last exchange`,
    { code: 'CASSETTE_UNWRITABLE', tryThis: ['make room, and record it again'] },
  );

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
      effects: ['sends'],
      field: str(2048, { min: 1 }),
      summary: 'Base URL of the service: https, or http on this machine',
      value: 'url',
      required: true,
    },
    out: {
      effects: ['writes'],
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
    const [{ openRecorder, upstreamFrom }, { serveThrough }] = await Promise.all([
      import('../../mock-server/cassette/recorder.ts'),
      import('./serve-through.ts'),
    ]);
    const upstream = upstreamFrom(values.upstream);
    const { host } = context;
    const path = resolve(host.cwd, values.out);
    const recorder = await openRecorder(host, upstream, path);
    return serveThrough(context, values, recorder.handle, {
      what: `recording ${upstream}`,
      close: async () => {
        recorder.close();
        const [count, failure] = [recorder.count(), recorder.failure()];
        context.log.info(`${count} ${count === 1 ? 'exchange' : 'exchanges'} recorded in ${values.out}`);
        if (failure !== undefined) throw isCutShort(values.out, failure);
        return undefined;
      },
    });
  },
});
