import { join } from 'node:path';
import { bool, str } from '../../kernel/field.ts';
import { AppError, problem, usageError } from '../../kernel/problem.ts';
import type { Command, Context, Flag, Values } from '../command.ts';
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

/** The long text from one place: its flag, a file or the editor, which starts with what the others gave. */
const longText = async (context: Context, values: Values, name: string): Promise<string | undefined> => {
  const [given, path] = [values[name] as string | undefined, values[`${name}-file`] as string | undefined];
  const flag = `--${name}-file`;
  if (given !== undefined && path !== undefined)
    throw usageError('wrong usage', [problem(flag, 'exclusive', `cannot be given together with --${name}`)]);
  const text = path === undefined ? given : (await (await import('./text-file.ts')).textFile(context, path, flag)).replace(/\r?\n$/, '');
  return values.edit === true ? editText(context, text ?? '') : text;
};

/** `--edit` and `--description-file` on creates and updates that have a long text. */
export const withEditor = (command: Command): Command => {
  const row = command.operation?.operation;
  const name = row?.body && LONG.find((field) => row.body?.[field] !== undefined);
  if (row === undefined || name === undefined || row.method === 'GET') return command;
  const fromFile = `${name}-file`;
  return extend(command, {
    get flags() {
      const file: Flag = {
        field: str(undefined, { min: 1 }),
        summary: `Read the ${name} from a file; - is standard input`,
        value: 'file|-',
        complete: 'file',
      };
      return { ...command.flags, [fromFile]: file, edit: { field: bool(), summary: `Write the ${name} in $EDITOR` } };
    },
    run: async (context, values) => {
      const { edit: _edit, [fromFile]: _path, [name]: _given, ...others } = values;
      const text = await longText(context, values, name);
      return command.run(context, text === undefined ? others : { ...others, [name]: text });
    },
  });
};
