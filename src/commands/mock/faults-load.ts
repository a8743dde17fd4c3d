import { resolve } from 'node:path';
import { messageOf } from '../../core/error-message.ts';
import { str } from '../../core/field.ts';
import { invalidArguments, problem } from '../../core/problem.ts';
import { rowsResult } from '../../core/result.ts';
import { defineCommand, type Context } from '../../cli/command.ts';
import { faultColumns } from './fault-columns.ts';

const profileIn = async ({ host }: Context, path: string): Promise<unknown> => {
  const text = await host.files.read(resolve(host.cwd, path));
  if (text === undefined)
    throw invalidArguments([problem('<file>', 'rule', `names ${path}, which does not exist`)]);
  const { parse } = await import('../../output/yaml-package.ts');
  try {
    return parse(text);
  } catch (error) {
    throw invalidArguments([problem('<file>', 'format', `must be YAML or JSON: ${messageOf(error)}`)]);
  }
};

export const faultsLoad = defineCommand({
  path: ['mock', 'faults', 'load'],
  noDryRun: 'opsctl mock faults list',
  summary: 'Replace all faults by those of a file',
  about:
    'The file is a list in YAML or JSON; each entry has the fields that `mock faults list -o json` prints: method, path, status, body, headers, ' +
    'content_type, delay_ms, delay_max_ms, bytes_per_second, cut, when, skip, percent, count. The first entry that matches a request is used.',
  args: [
    {
      name: 'file',
      effects: ['reads'],
      field: str(4096, { min: 1 }),
      summary: 'The profile',
      complete: 'file',
    },
  ],
  examples: [{ line: 'opsctl mock faults load faults.yaml', says: 'The faults of a file, and no others' }],
  run: async (context, values) => {
    const profile = await profileIn(context, values.file);
    const { steer } = await import('./remote.ts');
    const faults: unknown[] = await steer(context, (ask) => ask('PUT', 'faults', profile));
    return rowsResult(faults, { columns: faultColumns, message: `${faults.length} faults set` });
  },
});
