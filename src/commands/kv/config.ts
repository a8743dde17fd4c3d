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
  summary: "The server's configuration file (YAML)",
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
  summary: "Rewrite a server's configuration file for another version; comments are kept",
  args: [fileArgument],
  flags: {
    to: toFlag,
    out: {
      effects: ['writes'],
      field: str(undefined, { min: 1 }),
      summary: 'Write it to this file (default: standard output)',
      value: 'file',
      complete: 'file',
    },
    'keep-old-names': {
      field: bool(),
      summary: 'Keep names that the version before knows too, while its members still run',
    },
    'in-place': {
      effects: ['writes'],
      field: bool(),
      summary: 'Replace the file; the old text goes to FILE.before-VERSION',
    },
  },
  examples: [
    {
      line: 'opsctl kv config migrate member.yaml --to 3.3 --out member-3.3.yaml',
      says: 'retention as a quoted string, mode periodic',
    },
  ],
  check: (values) =>
    values.out !== undefined && values['in-place'] === true
      ? [problem('--in-place', 'exclusive', 'cannot be given together with --out')]
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
  summary: "Say what a version would make of a server's configuration file",
  about: 'Exit code 20 when the server would not start with it.',
  args: [fileArgument],
  flags: {
    to: toFlag,
    command: {
      effects: [],
      field: str(),
      summary: "The server's command line, to check its flags too",
      value: 'line',
    },
  },
  examples: [
    {
      line: 'opsctl kv config lint member.yaml --to 3.3',
      says: 'auto-compaction-retention: 1 is a number: 3.3 would not start',
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
