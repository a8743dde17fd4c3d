import { oneOf, str } from '../../core/field.ts';
import { defineCommand } from '../../cli/command.ts';
import { cassette } from './cassette-arguments.ts';

const columns = ['exchange', 'method', 'path', 'where', 'recorded', 'received'];

export const compareCommand = defineCommand({
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
      effects: ['sends'],
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
