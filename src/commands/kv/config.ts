import { resolve } from 'node:path';
import type { Minor } from '../../api-specs/etcd/versions.ts';
import { defineCommand } from '../../cli/command.ts';
import { bool, str } from '../../core/field.ts';
import { problem } from '../../core/problem.ts';
import { rawResult, recordResult } from '../../core/result.ts';
import { fileArgument, toFlag } from './config-arguments.ts';

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
      import('../../kv/upgrade/configuration/server-file.ts'),
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
