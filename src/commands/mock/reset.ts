import { bool, oneOf } from '../../core/field.ts';
import { nothing } from '../../core/result.ts';
import { defineCommand, type Context } from '../../cli/command.ts';
import { fill } from './fill.ts';

const discard = async ({ host, settings, signal }: Context): Promise<string> => {
  const [{ mockDirectory }, { own }, { discardState }] = await Promise.all([
    import('./embedded.ts'),
    import('../../mock-server/instance-lock.ts'),
    import('../../mock-server/journal.ts'),
  ]);
  const directory = mockDirectory(settings);
  const owner = await own(host, directory, { what: 'mock reset', waitMs: 10_000, signal });
  if (owner.kind === 'owned') await discardState(host.files, directory).finally(() => owner.release());
  return owner.kind === 'owned'
    ? 'the kept state was thrown away'
    : `a server runs at ${owner.live.url}; reset it without --discard`;
};

export const resetCommand = defineCommand({
  path: ['mock', 'reset'],
  noDryRun: 'opsctl mock status shows what the server holds',
  summary: 'Put the mock server back to its first data',
  about:
    'Works on the running server, or on the kept state when none runs. The clock and the faults stay as they are.',
  flags: {
    seed: { field: oneOf('demo', 'empty'), summary: 'Records to start with (default demo)' },
    discard: {
      field: bool(),
      summary: 'Delete the kept files without reading them: for a state that is damaged',
    },
  },
  run: async (context, values) => {
    await context.confirm('Throw away everything that the mock server keeps?');
    return nothing(
      values.discard ? await discard(context) : `reset: ${await fill(context, values.seed ?? 'demo')}`,
    );
  },
});
