import { type Command, defineCommand } from '../../cli/command.ts';
import type { Host } from '../../platform/host.ts';
import {
  clockAdvance,
  clockReset,
  clockSet,
  clockShow,
  labelsToken,
  requestsCommand,
  webhookCommands,
} from './clock.ts';
import { compareCommand, recordCommand, replayCommand } from './record.ts';
import { faultsAdd, faultsClear, faultsList, faultsLoad, featuresSet, featuresShow } from './faults.ts';
import { commands as kv } from './kv.ts';
import { commands as oauth, serverUrl, urlFlag } from './oauth.ts';
import { envCommand, runCommand, serveCommand, startCommand, statusCommand, stopCommand } from './serve.ts';
import type { Context } from '../../api/context.ts';
import { bool, oneOf, str } from '../../core/field.ts';
import type { Argument } from '../../core/flag.ts';
import { nothing, rawResult, recordResult, rowsResult } from '../../core/result.ts';
import { seedOf } from '../../mock-server/service-set.ts';

const snapshotColumns = ['name', 'saved_at', 'bytes'];
const nameArgument = {
  name: 'name',
  field: str(100, { min: 1, pattern: '^[A-Za-z0-9_.-]+$' }),
  summary: 'Name of the snapshot: letters, digits, dot, dash and underscore',
} as const satisfies Argument;
const save = defineCommand({
  path: ['mock', 'snapshot', 'save'],
  noDryRun: 'opsctl mock snapshot list',
  summary: 'Save the state of all services as a snapshot',
  about: 'Replaces a snapshot with the same name. The clock and the faults are not included.',
  args: [nameArgument],
  examples: [
    { line: 'opsctl mock snapshot save before', says: 'Save the state before a test' },
    { line: 'opsctl mock snapshot restore before', says: 'Restore the state after the test' },
  ],
  run: async (context, values) => {
    const { withMockServer } = await import('./embedded.ts');
    const made = await withMockServer(context, (ask) => ask('PUT', `snapshots/${values.name}`));
    return recordResult(made, { columns: snapshotColumns, message: `snapshot ${values.name} saved` });
  },
});
const restore = defineCommand({
  path: ['mock', 'snapshot', 'restore'],
  noDryRun: 'opsctl mock snapshot list',
  summary: 'Restore all services from a snapshot',
  args: [nameArgument],
  examples: [{ line: 'opsctl mock snapshot restore before', says: 'Restore the saved state' }],
  run: async (context, values) => {
    const { withMockServer } = await import('./embedded.ts');
    await withMockServer(context, (ask) => ask('POST', `snapshots/${values.name}/restore`));
    return nothing(`snapshot ${values.name} restored`);
  },
});
const list = defineCommand({
  path: ['mock', 'snapshot', 'list'],
  summary: 'List the snapshots',
  run: async (context) => {
    const { withMockServer } = await import('./embedded.ts');
    return rowsResult(await withMockServer(context, (ask) => ask('GET', 'snapshots')), {
      columns: snapshotColumns,
      name: 'name',
    });
  },
});
const remove = defineCommand({
  path: ['mock', 'snapshot', 'delete'],
  noDryRun: 'opsctl mock snapshot list',
  summary: 'Delete a snapshot',
  args: [nameArgument],
  examples: [
    { line: 'opsctl mock snapshot delete before', says: 'Delete a snapshot that is no longer needed' },
  ],
  run: async (context, values) => {
    const { withMockServer } = await import('./embedded.ts');
    await withMockServer(context, (ask) => ask('DELETE', `snapshots/${values.name}`));
    return nothing(`snapshot ${values.name} deleted`);
  },
});
/** `opsctl mock snapshot …` */
export const snapshotCommands: readonly Command[] = [save, restore, list, remove];

const countRecords = (status: { records: Record<string, number> }): string => {
  const total = Object.values(status.records).reduce((sum, count) => sum + count, 0);
  return `${total} records`;
};
/** Loads the records of a seed into the running server, or into the saved state. Returns their number. */
const fill = async (context: Context, text: string): Promise<string> => {
  const { withMockServer } = await import('./embedded.ts');
  const seed = seedOf(text);
  if (seed.kind !== 'file')
    return withMockServer(context, async (ask) =>
      countRecords(await ask('POST', 'reset', { kind: seed.kind })),
    );
  const { readSeed } = await import('./launch.ts');
  const { text: saved } = await readSeed(context, seed.path, '<seed>');
  return withMockServer(context, async (ask) => countRecords(await ask('PUT', 'state', saved)));
};

const discard = async ({ host, settings, signal }: Context): Promise<string> => {
  const [{ mockDirectory }, { claimDirectory }, { discardState }] = await Promise.all([
    import('./embedded.ts'),
    import('../../mock-server/instance-lock.ts'),
    import('../../mock-server/journal.ts'),
  ]);
  const directory = mockDirectory(settings);
  const owner = await claimDirectory(host, directory, { what: 'mock reset', waitMs: 10_000, signal });
  if (owner.kind === 'owned') await discardState(host.files, directory).finally(() => owner.release());
  return owner.kind === 'owned'
    ? 'discarded the saved state'
    : `a server is running at ${owner.live.url}; reset it without --discard`;
};
export const resetCommand = defineCommand({
  path: ['mock', 'reset'],
  noDryRun: 'opsctl mock status shows what the server holds',
  summary: 'Reset the mock server to its initial data',
  about:
    'Resets the running server, or the saved state if no server is running. Does not change the clock or the faults.',
  flags: {
    seed: { field: oneOf('demo', 'empty'), summary: 'Initial data (default demo)' },
    discard: {
      field: bool(),
      summary: 'Delete the saved files without reading them, for a corrupted state',
    },
  },
  run: async (context, values) => {
    await context.confirm('Discard the saved state of the mock server?');
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
      effects: ['reads'],
      field: str(4096, { min: 1 }),
      summary: 'Seed: demo, empty, or a file that `opsctl mock state` wrote',
      complete: 'file',
    },
  ],
  examples: [
    { line: 'opsctl mock state > before.json', says: 'Save the state to a file' },
    { line: 'opsctl mock seed before.json', says: 'Restore the state from a file' },
  ],
  run: async (context, values) => nothing(`seeded: ${await fill(context, values.seed)}`),
});

export const stateCommand = defineCommand({
  path: ['mock', 'state'],
  summary: 'Print the state of the mock server for `mock seed`',
  run: async (context) => {
    const { withMockServer } = await import('./embedded.ts');
    const state = await withMockServer(context, (ask) => ask('GET', 'state'));
    return rawResult(`${JSON.stringify(state)}\n`);
  },
});

/** Commands for a running server accept its URL only as `--url` or OPSCTL_MOCK_URL. */
const withUrl = (command: Command): Command => ({
  ...command,
  flags: { ...command.flags, url: urlFlag },
  run: async (context, values) => {
    const { url, ...others } = values;
    if (typeof url !== 'string') return command.run(context, values);
    const env = { ...context.host.env, OPSCTL_MOCK_URL: serverUrl(url) };
    // A host may inherit its parts from another one, and a spread would lose them.
    const host: Host = Object.create(context.host, { env: { value: env, enumerable: true } });
    return command.run({ ...context, host }, others as typeof values);
  },
});
/** `opsctl mock …` */
export const commands: readonly Command[] = [
  serveCommand,
  startCommand,
  envCommand,
  runCommand,
  stopCommand,
  recordCommand,
  replayCommand,
  compareCommand,
  ...[statusCommand, resetCommand, seedCommand, stateCommand, requestsCommand].map(withUrl),
  ...[...snapshotCommands, ...webhookCommands].map(withUrl),
  ...[clockShow, clockSet, clockAdvance, clockReset].map(withUrl),
  ...[faultsList, faultsAdd, faultsClear, faultsLoad, featuresShow, featuresSet, labelsToken].map(withUrl),
  ...kv,
  ...oauth,
];
