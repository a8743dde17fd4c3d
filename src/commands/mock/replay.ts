import { resolve } from 'node:path';
import { bool } from '../../core/field.ts';
import { defineCommand } from '../../cli/command.ts';
import { cassette, command, serviceFlags } from './cassette-arguments.ts';

export const replayCommand = defineCommand({
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
