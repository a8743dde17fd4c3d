import { join } from 'node:path';
import { bool } from '../../kernel/field.ts';
import { AppError, usageError } from '../../kernel/problem.ts';
import type { Command, Context } from '../command.ts';
import { extend } from '../extend.ts';

/** The long texts that are better written in an editor than in a flag. */
const LONG = ['description', 'text', 'content'] as const;

const editorOf = (env: Context['host']['env']): string => env.VISUAL || env.EDITOR || 'vi';

/** Hands a text to $VISUAL or $EDITOR and gives back what was saved. Throws when the editor failed: nothing is sent then. */
const editText = async (context: Context, text: string): Promise<string> => {
  const { files, processes, random } = context.host;
  if (!context.isInteractive) throw usageError('--edit needs a terminal', [], ['give the text with its flag, or --body @file']);
  const folder = join(files.temporaryFolder(), `opsctl-${Buffer.from(random(6)).toString('hex')}`);
  const path = join(folder, 'text.md');
  await files.makeFolder(folder, 0o700);
  try {
    await files.replace(path, text, 0o600);
    const [command = 'vi', ...args] = editorOf(context.host.env).split(' ').filter(Boolean);
    const { code, startError } = await processes.run(command, [...args, path], { stdio: 'inherit' });
    if (code !== 0)
      throw new AppError('usage', `the editor ${command} ${startError ?? `ended with ${code}`}; nothing was sent`, {
        tryThis: ['set EDITOR to an editor that is installed'],
      });
    return ((await files.read(path)) ?? '').replace(/\n$/, '');
  } finally {
    await files.remove(folder);
  }
};

/** `--edit` on creates and updates that have a long text. */
export const withEditor = (command: Command): Command => {
  const row = command.operation?.operation;
  const name = row?.body && LONG.find((field) => row.body?.[field] !== undefined);
  if (row === undefined || name === undefined || row.method === 'GET') return command;
  return extend(command, {
    get flags() {
      return { ...command.flags, edit: { field: bool(), summary: `Write the ${name} in $EDITOR` } };
    },
    run: async (context, values) => {
      const { edit, ...others } = values;
      if (edit !== true) return command.run(context, others);
      return command.run(context, { ...others, [name]: await editText(context, String(values[name] ?? '')) });
    },
  });
};
