import { resolve } from 'node:path';
import type { Minor } from '../../api-specs/etcd/versions.ts';
import { defineCommand } from '../../cli/command.ts';
import { str } from '../../core/field.ts';
import { rowsResult } from '../../core/result.ts';
import { fileArgument, toFlag } from './config-arguments.ts';

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
      import('../../kv/upgrade/configuration/server-file.ts'),
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
