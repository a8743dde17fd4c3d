import { bool, str } from '../../core/field.ts';
import { problem } from '../../core/problem.ts';
import { rawResult, rowsResult } from '../../core/result.ts';
import { leastOf, versionTable, type VersionTable } from '../../api-specs/etcd/version-rules.ts';
import { minorOf, rowOf } from '../../api-specs/etcd/versions.ts';
import { defineCommand, type Argument, type Context, type Flags } from '../../cli/command.ts';

export const versionsFlag = {
  'versions-file': {
    field: str(4096, { min: 1 }),
    summary: 'File with newer data of single versions (OPSCTL_KV_VERSIONS_FILE); see kv versions --as-file',
    value: 'file',
    complete: 'file',
  },
} as const satisfies Flags;

/** The file that the flag or the setting names; undefined: what is built in. */
export const givenVersions = async (
  { host, settings }: Context,
  flag: string | undefined,
): Promise<VersionTable | undefined> => {
  const setting = settings.get('kv.versions_file');
  const path = flag ?? setting?.value;
  if (path === undefined) return undefined;
  const { readVersions } = await import('../../kv-upgrade/version-file.ts');
  return readVersions(host, path, flag === undefined ? (setting?.origin ?? '') : '--versions-file');
};

const minorArgument = {
  name: 'minor',
  optional: true,
  field: str(16, { pattern: '^\\d+\\.\\d+$' }),
  summary: 'Show every rule of this minor, with its reason and its source',
} as const satisfies Argument;

const minorRows = (table: VersionTable) =>
  table.minors.map(({ minor, latest, is_ended = false, ended_on = null }) => {
    const rules = table.rules.filter(({ from }) => minorOf(from) === minor);
    const refused = rules.filter(({ on, level }) => on === 'arrive' && level === 'fail');
    return {
      minor,
      is_supported: rowOf(minor) !== undefined,
      latest,
      refused: refused.map(({ from, through }) => (from === through ? from : `${from}-${through}`)),
      arrive_at: leastOf(table, minor, 'arrive', 'warn'),
      leave_from: leastOf(table, minor, 'leave', 'fail'),
      leave_from_recommended: leastOf(table, minor, 'leave', 'warn'),
      is_ended,
      ended_on,
      data_of: table.data_of,
      rules,
    };
  });

export const versions = defineCommand({
  path: ['kv', 'versions'],
  summary: 'Print what is known of each version of the store: what to refuse, leave and arrive at',
  about:
    'The data that kv check goes by, with the day it is of. `arrive_at` is the first patch of a minor with nothing against it; below `leave_from` an upgrade to the next minor is refused.',
  args: [minorArgument],
  flags: {
    ...versionsFlag,
    'as-file': { field: bool(), summary: 'Print it all as a file for --versions-file' },
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
