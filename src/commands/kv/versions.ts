import { versionTable } from '../../api-specs/etcd/version-rules.ts';
import { defineCommand, type Argument } from '../../cli/command.ts';
import { bool, str } from '../../core/field.ts';
import { problem } from '../../core/problem.ts';
import { rawResult, rowsResult } from '../../core/result.ts';
import { minorRows } from '../../kv/upgrade/version-rows.ts';
import { versionsFlag, givenVersions } from './versions-flag.ts';

const minorArgument = {
  name: 'minor',
  effects: [],
  optional: true,
  field: str(16, { pattern: '^\\d+\\.\\d+$' }),
  summary: 'Show every rule of this minor, with its reason and its source',
} as const satisfies Argument;

export const versions = defineCommand({
  path: ['kv', 'versions'],
  summary: 'Print what is known of each version of the store: what to refuse, leave and arrive at',
  about:
    'The data that kv check goes by, with the day it is of. `arrive_at` is the first patch of a minor with nothing against it; below `leave_from` an upgrade to the next minor is refused.',
  args: [minorArgument],
  flags: {
    ...versionsFlag,
    'as-file': { effects: [], field: bool(), summary: 'Print it all as a file for --versions-file' },
  },
  examples: [
    { line: 'opsctl kv versions', says: 'one row for each minor' },
    { line: 'opsctl kv versions 3.5', says: 'every rule of 3.5 with its reason and its source' },
  ],
  check: (values) =>
    values.minor !== undefined && values['as-file'] === true
      ? [problem('--as-file', 'exclusive', 'cannot be given together with a minor')]
      : [],
  run: async (context, values) => {
    const table = (await givenVersions(context, values['versions-file'])) ?? versionTable;
    if (values['as-file'] === true) return rawResult(`${JSON.stringify(table, undefined, 2)}\n`);
    const rows = minorRows(table);
    if (values.minor === undefined)
      return rowsResult(rows, {
        columns: ['minor', 'latest', 'refused', 'arrive_at', 'leave_from', 'is_ended', 'data_of'],
        name: 'minor',
      });
    const row = rows.find(({ minor }) => minor === values.minor);
    if (row !== undefined)
      return rowsResult(row.rules, {
        columns: ['from', 'through', 'on', 'level', 'reason', 'instead', 'source'],
        name: 'from',
      });
    const { AppError } = await import('../../core/problem.ts');
    throw new AppError('not-found', `nothing is known of ${values.minor}`, {
      code: 'UNKNOWN_VERSION',
      tryThis: [`one of ${rows.map(({ minor }) => minor).join(', ')}`],
    });
  },
});
