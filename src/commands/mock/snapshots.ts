import { str } from '../../core/field.ts';
import { nothing, recordResult, rowsResult } from '../../core/result.ts';
import { defineCommand, type Argument, type Command } from '../../cli/command.ts';

const columns = ['name', 'saved_at', 'bytes'];
const nameArgument = {
  name: 'name',
  field: str(100, { min: 1, pattern: '^[A-Za-z0-9_.-]+$' }),
  summary: 'Name of the snapshot: letters, digits, dot, dash and underscore',
} as const satisfies Argument;

const save = defineCommand({
  path: ['mock', 'snapshot', 'save'],
  noDryRun: 'opsctl mock snapshot list',
  summary: 'Save the state of all services under a name',
  about: 'A snapshot of the same name is replaced. The clock and the faults are not part of it.',
  args: [nameArgument],
  examples: [
    { line: 'opsctl mock snapshot save before', says: 'Save the state before a test' },
    { line: 'opsctl mock snapshot restore before', says: 'Go back to it after the test' },
  ],
  run: async (context, values) => {
    const { steer } = await import('./remote.ts');
    const made = await steer(context, (ask) => ask('PUT', `snapshots/${values.name}`));
    return recordResult(made, { columns, message: `snapshot ${values.name} saved` });
  },
});

const restore = defineCommand({
  path: ['mock', 'snapshot', 'restore'],
  noDryRun: 'opsctl mock snapshot list',
  summary: 'Put all services back to a saved state',
  args: [nameArgument],
  examples: [{ line: 'opsctl mock snapshot restore before', says: 'Put everything back' }],
  run: async (context, values) => {
    const { steer } = await import('./remote.ts');
    await steer(context, (ask) => ask('POST', `snapshots/${values.name}/restore`));
    return nothing(`snapshot ${values.name} restored`);
  },
});

const list = defineCommand({
  path: ['mock', 'snapshot', 'list'],
  summary: 'List the saved states',
  run: async (context) => {
    const { steer } = await import('./remote.ts');
    return rowsResult(await steer(context, (ask) => ask('GET', 'snapshots')), { columns, name: 'name' });
  },
});

const remove = defineCommand({
  path: ['mock', 'snapshot', 'delete'],
  noDryRun: 'opsctl mock snapshot list',
  summary: 'Delete a saved state',
  args: [nameArgument],
  examples: [{ line: 'opsctl mock snapshot delete before', says: 'It is no longer needed' }],
  run: async (context, values) => {
    const { steer } = await import('./remote.ts');
    await steer(context, (ask) => ask('DELETE', `snapshots/${values.name}`));
    return nothing(`snapshot ${values.name} deleted`);
  },
});

/** `opsctl mock snapshot …` */
export const snapshotCommands: readonly Command[] = [save, restore, list, remove];
