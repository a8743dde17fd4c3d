import { childPath, pathPart } from '../core/file-name.ts';
import { join } from 'node:path';
import { AppError, reworded, usageError } from '../core/problem.ts';
import type { Context } from '../cli/command.ts';

/** What was saved in the editor, and the file that holds it until the text has arrived. */
export type Edited = { readonly text: string; readonly path: string; drop(): Promise<void> };

const editorOf = (env: Context['host']['env']): string => env.VISUAL || env.EDITOR || 'vi';
/** Editors end the last line; a text of the service has no such end. */
export const withoutLastEnd = (text: string): string => text.replace(/\r?\n$/, '');

/** As git does it: the shell reads the words of EDITOR, so that quotes and blanks in a path mean what they say. */
const editorCall = ({ host }: Context, editor: string, path: string): [string, string[]] => {
  if (host.platform !== 'win32') return ['sh', ['-c', `${editor} "$@"`, editor, path]];
  const [command = 'vi', ...args] = editor.split(' ').filter(Boolean);
  return [command, [...args, path]];
};

/** Hands a text to $VISUAL or $EDITOR. Throws when the editor failed: nothing is sent then. */
export const editText = async (context: Context, text: string): Promise<Edited> => {
  const { files, processes, random } = context.host;
  const directory = childPath(
    files.temporaryDirectory(),
    pathPart(`opsctl-${Buffer.from(random(6)).toString('hex')}`),
  );
  const path = join(directory, 'text.md');
  const drop = () => files.remove(directory);
  await files.makeDirectory(directory, 0o700);
  try {
    await files.replace(path, text === '' || text.endsWith('\n') ? text : `${text}\n`, 0o600);
    const command = editorOf(context.host.env);
    const { code, startError } = await processes.run(...editorCall(context, command, path), {
      stdio: 'inherit',
    });
    if (code !== 0)
      throw new AppError(
        'usage',
        `the editor ${command} ${startError ?? `ended with ${code}`}; nothing was sent`,
        {
          tryThis: ['set EDITOR to an editor that is installed'],
        },
      );
    return { text: withoutLastEnd((await files.read(path)) ?? ''), path, drop };
  } catch (error) {
    await drop();
    throw error;
  }
};

/** Before anything is asked of the service: is there somebody who can edit? */
export const mustBeAtTerminal = (context: Context): void => {
  const { VISUAL, EDITOR } = context.host.env;
  // An editor that somebody named may be a script, which needs no terminal.
  if (!context.isInteractive && !VISUAL && !EDITOR)
    throw usageError(
      '--edit needs a terminal, or EDITOR',
      [],
      ['give the text with its flag, or --body @file'],
    );
};

/** What was written is not lost with a request that failed; a dry run, which ends with a throw too, needs nothing kept. */
export const keptText = async (thrown: unknown, { path, drop }: Edited, flag: string): Promise<unknown> => {
  if (!(thrown instanceof AppError)) {
    await drop();
    return thrown;
  }
  const tryThis = [...(thrown.detail.tryThis ?? []), `your text is kept; send it with ${flag} ${path}`];
  return reworded(thrown, { ...thrown.detail, tryThis, cause: thrown });
};
