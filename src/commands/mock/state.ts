import { resolve } from 'node:path';
import { bool, oneOf, str } from '../../core/field.ts';
import { nothing, rawResult, recordResult } from '../../core/result.ts';
import { defineCommand, type Context } from '../../cli/command.ts';
import { seedOf, seedText } from './server-flags.ts';

const counted = (status: { records: Record<string, number> }): string => {
  const total = Object.values(status.records).reduce((sum, count) => sum + count, 0);
  return `${total} records`;
};

const fill = async (context: Context, text: string): Promise<string> => {
  const { steer } = await import('./remote.ts');
  const seed = seedOf(text);
  if (seed.kind !== 'file')
    return steer(context, async (ask) => counted(await ask('POST', 'reset', { kind: seed.kind })));
  const path = resolve(context.host.cwd, seed.path);
  const saved = seedText(await context.host.files.read(path), path, '<seed>');
  return steer(context, async (ask) => counted(await ask('PUT', 'state', saved)));
};

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

export const seedCommand = defineCommand({
  path: ['mock', 'seed'],
  noDryRun: 'opsctl mock status shows what the server holds',
  summary: 'Replace the data of the mock server',
  args: [
    {
      name: 'seed',
      field: str(4096, { min: 1 }),
      summary: 'demo, empty, or a file that `opsctl mock state` wrote',
      complete: 'file',
    },
  ],
  examples: [
    { line: 'opsctl mock state > before.json', says: 'Keep everything in a file' },
    { line: 'opsctl mock seed before.json', says: 'Go back to it' },
  ],
  run: async (context, values) => nothing(`seeded: ${await fill(context, values.seed)}`),
});

export const stateCommand = defineCommand({
  path: ['mock', 'state'],
  summary: 'Print the whole state of the mock server, for `mock seed`',
  run: async (context) => {
    const { steer } = await import('./remote.ts');
    const state = await steer(context, (ask) => ask('GET', 'state'));
    return rawResult(`${JSON.stringify(state)}\n`);
  },
});

export const statusCommand = defineCommand({
  path: ['mock', 'status'],
  summary: 'Where the mock server is and what it holds',
  run: async (context) => {
    const { isServed, steer } = await import('./remote.ts');
    const served = isServed(context);
    const { url, pid, ...rest } = await steer(context, (ask) => ask('GET', 'status'));
    return recordResult({ running: served, url: served ? url : null, pid: served ? pid : null, ...rest });
  },
});

export const stopCommand = defineCommand({
  path: ['mock', 'stop'],
  noDryRun: 'opsctl mock status shows whether a server runs',
  summary: 'End the running mock server',
  run: async (context) => {
    const { isServed, steer } = await import('./remote.ts');
    if (!isServed(context)) return nothing('no mock server is running');
    return nothing(
      await steer(context, async (ask, url) =>
        ask('POST', 'shutdown').then(() => `the mock server at ${url} ends`),
      ),
    );
  },
});
