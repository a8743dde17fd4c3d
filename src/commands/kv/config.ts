import {
  leastOf,
  type Minor,
  minorOf,
  rowOf,
  versionRows,
  type VersionTable,
  versionTable,
} from '../../api-specs/etcd/versions.ts';
import type { Context } from '../../api/context.ts';
import { textFile } from '../../api/input.ts';
import { defineCommand } from '../../cli/command.ts';
import { bool, oneOf, req, str } from '../../core/field.ts';
import type { Argument, Flag } from '../../core/flag.ts';
import { AppError, problem } from '../../core/problem.ts';
import { rawResult, recordResult, rowsResult } from '../../core/result.ts';
import { wordsOf } from '../../core/shell.ts';
import { type ConfigFinding, finding, sourceFormats } from '../../kv/upgrade/configuration/access.ts';
import type { Source, SourceFormat } from '../../kv/upgrade/configuration/sources.ts';
import { givenVersions, versionsFlag } from './flags.ts';
import { basename, resolve } from 'node:path';

/** The known facts of each minor, as one row. */
export const minorRows = (table: VersionTable) =>
  table.minors.map(({ minor, latest, is_ended = false, ended_on = null }) => {
    const rules = table.rules.filter(({ from }) => minorOf(from) === minor);
    const refused = rules.filter(
      ({ on, level, only_with }) => on === 'arrive' && level === 'fail' && only_with === undefined,
    );
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

const fileArgument = {
  name: 'file',
  effects: ['reads'],
  field: req(str(undefined, { min: 1 })),
  summary:
    'Configuration file, environment file, unit, manifest, compose file or command line (-: standard input)',
  complete: 'file',
} as const satisfies Argument;
const toFlag = {
  field: oneOf(...versionRows.map(({ minor }) => minor)),
  summary: 'Target version (default 3.3)',
  value: 'minor',
} as const satisfies Flag;

const formatFlag = {
  field: oneOf(...sourceFormats),
  summary: 'Format of the file (default: opsctl identifies it)',
  value: 'format',
} as const satisfies Flag;

const shownName = (named: string): string => (named === '-' ? 'standard input' : named);
const readNamed = async (host: Context['host'], named: string, path: string): Promise<string> => {
  const text = named === '-' ? await textFile({ host }, named, 'FILE') : await host.files.read(path);
  if (text !== undefined) return text;
  throw new AppError('not-found', `file not found: ${named}`, { code: 'NO_FILE' });
};
/** The file with every file that it refers to, and the servers that it starts. `-` is standard input. */
const readStarts = async (
  { host }: Context,
  named: string,
  format: SourceFormat | undefined,
): Promise<{
  readonly path: string;
  readonly text: string;
  readonly source: Source;
  /** Reads another text instead of the file. Empty if no program can read it. */
  readonly readAgain: (text: string) => Promise<Source['starts']>;
}> => {
  // Files that standard input refers to are relative to the working directory.
  const path = resolve(host.cwd, shownName(named));
  const text = await readNamed(host, named, path);
  const { readSource } = await import('../../kv/upgrade/configuration/sources.ts');
  const reader = {
    read: (other: string) => host.files.read(other),
    list: async (directory: string) =>
      (await host.files.info(directory)) === undefined ? [] : host.files.list(directory),
  };
  const source = await readSource(text, path, reader, format);
  const readAgain = async (now: string) => {
    const changed = {
      ...reader,
      read: async (other: string) => (other === path ? now : await reader.read(other)),
    };
    try {
      const found = await readSource(now, path, changed, format);
      return found.format === source.format ? found.starts : [];
    } catch (error) {
      if (error instanceof AppError) return [];
      throw error;
    }
  };
  return { path, text, source, readAgain };
};
const migrateFile = async (context: Context, values: MigrateValues, to: Minor): Promise<MigratedFile> => {
  const { path, text: before, source, readAgain } = await readStarts(context, values.file, values.format);
  const when = values['keep-old-names'] === true ? 'roll' : 'after';
  if (source.format === 'config') {
    const { migrateConfig } = await import('../../kv/upgrade/configuration/migrate.ts');
    return {
      before,
      path,
      ...(await migrateConfig(before, to, when, shownName(values.file))),
      elsewhere: [],
    };
  }
  const { migrateSource } = await import('../../kv/upgrade/configuration/migrate-source.ts');
  return { before, path, ...(await migrateSource(before, path, source.starts, { to, when, readAgain })) };
};
type MigrateValues = {
  readonly file: string;
  readonly format?: SourceFormat | undefined;
  readonly 'keep-old-names'?: boolean | undefined;
};
type MigratedFile = {
  readonly before: string;
  readonly path: string;
  readonly text: string;
  readonly changes: readonly string[];
  readonly elsewhere: readonly string[];
};

export const configMigrate = defineCommand({
  path: ['kv', 'config', 'migrate'],
  noDryRun: 'without --out and --in-place the new text is only printed',
  summary: 'Rewrite the configuration of a server for another version',
  about:
    'The file may be a configuration file, an environment file, a systemd unit, a pod manifest, a compose file or a command line. opsctl keeps the comments and changes only this file: it lists settings that other files contain.',
  args: [fileArgument],
  flags: {
    to: toFlag,
    format: formatFlag,
    out: {
      effects: ['writes'],
      field: str(undefined, { min: 1 }),
      summary: 'Write the result to this file (default: standard output)',
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
    {
      line: 'opsctl kv config migrate /etc/kubernetes/manifests/etcd.yaml --to 3.6',
      says: 'Replace old flag names in a static pod manifest',
    },
  ],
  check: (values) =>
    values['in-place'] !== true
      ? []
      : values.out !== undefined
        ? [problem('--in-place', 'exclusive', 'cannot be combined with --out')]
        : values.file === '-'
          ? [problem('--in-place', 'rule', 'requires a file; standard input cannot be replaced')]
          : [],
  run: async (context, values) => {
    const { host } = context;
    const to = (values.to ?? '3.3') as Minor;
    const { before, path: given, text, changes, elsewhere } = await migrateFile(context, values, to);
    for (const change of changes) context.log.info(change);
    for (const place of elsewhere) context.log.warn(`${place}; change it there for ${to}`);
    if (changes.length + elsewhere.length === 0) context.log.info(`no changes needed for ${to}`);
    if (values.out === undefined && values['in-place'] !== true) return rawResult(text);
    const path = resolve(host.cwd, values.out ?? values.file);
    const mode = (await host.files.info(given))?.mode;
    if (values['in-place'] === true) await host.files.replace(`${path}.before-${to}`, before, mode);
    await host.files.replace(path, text, mode);
    return recordResult({ file: path, changes }, { message: `${path} written` });
  },
});

/** A script or another program starts the server with flags that the line does not contain. */
const findUnreadCommand = ([program = '', ...words]: readonly string[]): ConfigFinding[] =>
  program === '' || basename(program) === 'etcd' || words.some((word) => word.startsWith('-'))
    ? []
    : [
        finding(
          'warn',
          '--command',
          'contains no flag of the server, so opsctl did not check its flags',
          'give the command line that starts the server, such as etcd --name n1',
        ),
      ];

export const configLint = defineCommand({
  path: ['kv', 'config', 'lint'],
  summary: 'Check the configuration of a server for a version',
  about:
    'The file may be a configuration file, an environment file, a systemd unit (with its drop-ins and environment files), a pod manifest, a compose file or a command line. Exits with code 20 if the server would not start with it.',
  args: [fileArgument],
  flags: {
    to: toFlag,
    format: formatFlag,
    command: {
      effects: [],
      field: str(undefined, { min: 1 }),
      summary: 'Server command line, to check its flags as well',
      value: 'line',
    },
  },
  examples: [
    {
      line: 'opsctl kv config lint member.yaml --to 3.3',
      says: 'Find an unquoted auto-compaction-retention, with which 3.3 does not start',
    },
    {
      line: 'opsctl kv config lint /etc/systemd/system/etcd.service --to 3.5',
      says: 'Check the flags of a systemd unit',
    },
  ],
  check: ({ command = '' }) =>
    wordsOf(command) === undefined
      ? [problem('--command', 'format', `must be a command line with closed quotes, got ${command}`)]
      : [],
  run: async (context, values) => {
    const [{ upgradeNotes }, { lintStarts }, { lintFlags }] = await Promise.all([
      import('../../kv/upgrade/present/plan-text.ts'),
      import('../../kv/upgrade/configuration/migrate.ts'),
      import('../../kv/upgrade/configuration/configuration.ts'),
    ]);
    const to = (values.to ?? '3.3') as Minor;
    const { path, source } = await readStarts(context, values.file, values.format);
    const displayPath = (file: string): string => (file === path ? shownName(values.file) : file);
    const words = wordsOf(values.command ?? '') ?? [];
    const command = [...lintFlags(words, to), ...findUnreadCommand(words)].map((one) => ({
      ...one,
      server: '',
      origin: undefined,
    }));
    const found = [...lintStarts(source.starts, to), ...command];
    for (const note of upgradeNotes(to)) context.log.info(`note for ${to}: ${note}`);
    const rows = found.map(({ level, key, message, hint, isFixed, server, origin }) => ({
      level,
      place:
        origin === undefined
          ? server === ''
            ? ''
            : `${shownName(values.file)} (${server})`
          : `${displayPath(origin.path)}:${origin.line}`,
      key,
      message,
      hint,
      is_fixed_by_migrate: isFixed ?? false,
    }));
    const isBad = rows.some(({ level }) => level === 'fail');
    return {
      ...rowsResult(rows, { columns: ['level', 'place', 'key', 'message', 'hint'], name: 'key' }),
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
    throw new AppError('not-found', `unknown minor version: ${values.minor}`, {
      code: 'UNKNOWN_VERSION',
      tryThis: [`one of ${rows.map(({ minor }) => minor).join(', ')}`],
    });
  },
});
