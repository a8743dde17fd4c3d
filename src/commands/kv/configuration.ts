import { resolve } from 'node:path';
import { bool, oneOf, req, str } from '../../core/field.ts';
import { AppError, problem } from '../../core/problem.ts';
import { rawResult, recordResult, rowsResult } from '../../core/result.ts';
import { type Minor, versionRows } from '../../api-specs/etcd/versions.ts';
import { defineCommand, type Argument, type Context, type Flag } from '../../cli/command.ts';

const fileArgument = {
  name: 'file',
  field: req(str(undefined, { min: 1 })),
  summary: "The server's configuration file (YAML)",
  complete: 'file',
} as const satisfies Argument;
const toFlag = {
  field: oneOf(...versionRows.map(({ minor }) => minor)),
  summary: 'Target version (default 3.3)',
  value: 'minor',
} as const satisfies Flag;

const read = async (context: Context, path: string): Promise<string> => {
  const text = await context.host.files.read(resolve(context.host.cwd, path));
  if (text === undefined) throw new AppError('not-found', `there is no file ${path}`, { code: 'NO_FILE' });
  return text;
};

type Parsed = { readonly file: Readonly<Record<string, unknown>> } | { readonly broken: string };
const readable = (path: string, parsed: Parsed): Readonly<Record<string, unknown>> => {
  if ('file' in parsed) return parsed.file;
  throw new AppError('no', `${path} cannot be read by any version: ${parsed.broken}`, {
    code: 'CONFIG_BROKEN',
  });
};

export const configLint = defineCommand({
  path: ['kv', 'config', 'lint'],
  summary: "Say what a version would make of a server's configuration file",
  about: 'Exit code 20 when the server would not start with it.',
  args: [fileArgument],
  flags: {
    to: toFlag,
    command: { field: str(), summary: "The server's command line, to check its flags too", value: 'line' },
  },
  examples: [
    {
      line: 'opsctl kv config lint member.yaml --to 3.3',
      says: 'auto-compaction-retention: 1 is a number: 3.3 would not start',
    },
  ],
  run: async (context, values) => {
    const { lintFile, lintFlags, parseConfig } = await import(
      '../../kv-upgrade/configuration/configuration.ts'
    );
    const { wordsOf } = await import('../../kv-upgrade/cluster/command-line.ts');
    const to = (values.to ?? '3.3') as Minor;
    const parsed = await parseConfig(await read(context, values.file));
    const found = [
      ...lintFile(readable(values.file, parsed), to),
      ...lintFlags(wordsOf(values.command ?? '') ?? [], to),
    ];
    const rows = found.map(({ level, key, message, hint, isFixed }) => ({
      level,
      key,
      message,
      hint,
      is_mended_by_migrate: isFixed ?? false,
    }));
    const isBad = rows.some(({ level }) => level === 'fail');
    return {
      ...rowsResult(rows, { columns: ['level', 'key', 'message', 'hint'], name: 'key' }),
      exit: () => (isBad ? 'no' : 'done'),
    } as ReturnType<typeof rowsResult>;
  },
});

export const configMigrate = defineCommand({
  path: ['kv', 'config', 'migrate'],
  noDryRun: 'without --out and --in-place the new text is only printed',
  summary: "Rewrite a server's configuration file for another version; comments are kept",
  args: [fileArgument],
  flags: {
    to: toFlag,
    out: {
      field: str(undefined, { min: 1 }),
      summary: 'Write it to this file (default: standard output)',
      value: 'file',
      complete: 'file',
    },
    'keep-old-names': {
      field: bool(),
      summary: 'Keep names that the version before knows too, while its members still run',
    },
    'in-place': { field: bool(), summary: 'Replace the file; the old text goes to FILE.before-VERSION' },
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
    const [{ parseConfig }, { migrateConfig }] = await Promise.all([
      import('../../kv-upgrade/configuration/configuration.ts'),
      import('../../kv-upgrade/configuration/migrate.ts'),
    ]);
    const to = (values.to ?? '3.3') as Minor;
    const before = await read(context, values.file);
    readable(values.file, await parseConfig(before));
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
