import { resolve } from 'node:path';
import { type Minor, versionRows, versionTable } from '../../api-specs/etcd/versions.ts';
import { defineCommand } from '../../cli/command.ts';
import { bool, oneOf, req, str } from '../../core/field.ts';
import type { Argument, Flag } from '../../core/flag.ts';
import { problem } from '../../core/problem.ts';
import { rawResult, recordResult, rowsResult } from '../../core/result.ts';
import { minorRows } from '../../kv/upgrade/version-rows.ts';
import { givenVersions, versionsFlag } from './flags.ts';

export const fileArgument = {
  name: 'file',
  effects: ['reads'],
  field: req(str(undefined, { min: 1 })),
  summary: 'Server configuration file (YAML)',
  complete: 'file',
} as const satisfies Argument;
export const toFlag = {
  field: oneOf(...versionRows.map(({ minor }) => minor)),
  summary: 'Target version (default 3.3)',
  value: 'minor',
} as const satisfies Flag;

export const configMigrate = defineCommand({
  path: ['kv', 'config', 'migrate'],
  noDryRun: 'without --out and --in-place the new text is only printed',
  summary: 'Migrate a server configuration file to another version',
  args: [fileArgument],
  flags: {
    to: toFlag,
    out: {
      effects: ['writes'],
      field: str(undefined, { min: 1 }),
      summary: 'File to write (default: standard output)',
      value: 'file',
      complete: 'file',
    },
    'keep-old-names': {
      field: bool(),
      summary: 'Keep option names that the previous version also accepts, while old members still run',
    },
    'in-place': {
      effects: ['writes'],
      field: bool(),
      summary: 'Replace the file in place; the previous content is kept in FILE.before-VERSION',
    },
  },
  examples: [
    {
      line: 'opsctl kv config migrate member.yaml --to 3.3 --out member-3.3.yaml',
      says: 'Quote the retention value and set the mode to periodic',
    },
  ],
  check: (values) =>
    values.out !== undefined && values['in-place'] === true
      ? [problem('--in-place', 'exclusive', 'cannot be combined with --out')]
      : [],
  run: async (context, values) => {
    const { host } = context;
    const [{ readServerFile }, { migrateConfig }] = await Promise.all([
      import('../../kv/upgrade/configuration/configuration.ts'),
      import('../../kv/upgrade/configuration/migrate.ts'),
    ]);
    const to = (values.to ?? '3.3') as Minor;
    const { text: before } = await readServerFile(host, resolve(host.cwd, values.file), values.file);
    const { text, changes } = await migrateConfig(
      before,
      to,
      values['keep-old-names'] === true ? 'roll' : 'after',
    );
    for (const change of changes) context.log.info(change);
    if (changes.length === 0) context.log.info(`nothing to change for ${to}`);
    if (values.out === undefined && values['in-place'] !== true) return rawResult(text);
    const path = resolve(host.cwd, values.out ?? values.file);
    const mode = (await host.files.info(resolve(host.cwd, values.file)))?.mode;
    if (values['in-place'] === true) await host.files.replace(`${path}.before-${to}`, before, mode);
    await host.files.replace(path, text, mode);
    return recordResult({ file: path, changes }, { message: `${path} written` });
  },
});

export const configLint = defineCommand({
  path: ['kv', 'config', 'lint'],
  summary: 'Check a server configuration file against a version',
  about: 'Exits with code 20 if the server would not start with the file.',
  args: [fileArgument],
  flags: {
    to: toFlag,
    command: {
      effects: [],
      field: str(),
      summary: 'Server command line, to check its flags as well',
      value: 'line',
    },
  },
  examples: [
    {
      line: 'opsctl kv config lint member.yaml --to 3.3',
      says: 'Find an unquoted auto-compaction-retention, with which 3.3 does not start',
    },
  ],
  run: async (context, values) => {
    const { host } = context;
    const [{ lintFile, lintFlags }, { readServerFile }, { wordsOf }] = await Promise.all([
      import('../../kv/upgrade/configuration/configuration.ts'),
      import('../../kv/upgrade/configuration/configuration.ts'),
      import('../../kv/upgrade/cluster/command-line.ts'),
    ]);
    const to = (values.to ?? '3.3') as Minor;
    const { file } = await readServerFile(host, resolve(host.cwd, values.file), values.file);
    const found = [...lintFile(file, to), ...lintFlags(wordsOf(values.command ?? '') ?? [], to)];
    const rows = found.map(({ level, key, message, hint, isFixed }) => ({
      level,
      key,
      message,
      hint,
      is_fixed_by_migrate: isFixed ?? false,
    }));
    const isBad = rows.some(({ level }) => level === 'fail');
    return {
      ...rowsResult(rows, { columns: ['level', 'key', 'message', 'hint'], name: 'key' }),
      exit: () => (isBad ? 'no' : 'done'),
    } as ReturnType<typeof rowsResult>;
  },
});

const minorArgument = {
  name: 'minor',
  effects: [],
  optional: true,
  field: str(16, { pattern: '^\\d+\\.\\d+$' }),
  summary: 'Show every rule of this minor version, with its reason and source',
} as const satisfies Argument;
export const versions = defineCommand({
  path: ['kv', 'versions'],
  summary: 'List supported versions, minimum patch levels and known issues',
  about:
    'Shows the version data that kv check uses, with its date. `arrive_at` is the first patch release of a minor version without known issues. Below `leave_from`, opsctl refuses an upgrade to the next minor version.',
  args: [minorArgument],
  flags: {
    ...versionsFlag,
    'as-file': { effects: [], field: bool(), summary: 'Print the data as a file for --versions-file' },
  },
  examples: [
    { line: 'opsctl kv versions', says: 'List one row per minor version' },
    { line: 'opsctl kv versions 3.5', says: 'Show every rule of 3.5 with its reason and source' },
  ],
  check: (values) =>
    values.minor !== undefined && values['as-file'] === true
      ? [problem('--as-file', 'exclusive', 'cannot be combined with a minor version')]
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
    throw new AppError('not-found', `unknown minor version: ${values.minor}`, {
      code: 'UNKNOWN_VERSION',
      tryThis: [`one of ${rows.map(({ minor }) => minor).join(', ')}`],
    });
  },
});
