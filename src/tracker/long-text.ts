import { type ProgramCall, trustCall } from '../core/program-call.ts';
import { join } from 'node:path';
import { trackerInfo } from '../api-specs/tracker/info.ts';
import type { Context, EngineContext, Prompts, RunCommand, Runtime } from '../api/context.ts';
import { inputFrom, type Argument, type Values } from '../core/flag.ts';
import { childPath, pathPart } from '../core/file-name.ts';
import type { Operation } from '../core/operation.ts';
import { AppError, invalidArguments, problem, reword, usageError } from '../core/problem.ts';
import { nothing, type Result } from '../core/result.ts';
import { resolveParams, trackerNames } from './names/name-resolution.ts';

/** The long texts that are better written in an editor than in a flag. */
export const LONG = ['description', 'text', 'content'] as const;
/**
 * A command whose row has a long text; `read` is the row that returns the current record, if there is one.
 */
export type Editable = {
  readonly command: { readonly args?: readonly Argument[]; readonly run: RunCommand };
  readonly row: Operation;
  readonly name: (typeof LONG)[number];
  readonly read: Operation | undefined;
};
export const givenText = async (
  context: EngineContext,
  values: Values,
  name: string,
): Promise<string | undefined> => {
  const [given, path] = [values[name] as string | undefined, values[`${name}-file`] as string | undefined];
  const flag = `--${name}-file`;
  if (given !== undefined && path !== undefined)
    throw invalidArguments([problem(flag, 'exclusive', `cannot be given together with --${name}`)]);
  return path === undefined
    ? given
    : (await (await import('../api/input.ts')).textFile(context, path, flag)).replace(/\r?\n$/, '');
};
/** The current text. An editor that starts empty would delete it on exit. */
const currentText = async (
  context: EngineContext,
  { read, name }: Editable,
  values: Values,
): Promise<string> => {
  if (read === undefined) return '';
  const { params } = await resolveParams(trackerNames, context, read, inputFrom(read, values), true);
  const record = (await context.lookups.call(trackerInfo, read, { params })) as Record<string, unknown>;
  return typeof record[name] === 'string' ? record[name] : '';
};
export const openEditor = async (
  context: Context,
  one: Editable,
  values: Values,
  given: string | undefined,
  others: Values,
): Promise<Result> => {
  const { command, row, name } = one;
  mustBeAtTerminal(context);
  const start = given ?? (await currentText(context, one, values));
  const saved = await editText(context, start);
  const isSame = saved.text === withoutLastEnd(start);
  const known = new Set([...(command.args ?? []).map((arg) => arg.name), 'web']);
  if (
    isSame &&
    given === undefined &&
    row.method === 'PUT' &&
    Object.keys(others).every((key) => known.has(key))
  ) {
    await saved.drop();
    return nothing(`the ${name} was not edited; no request was sent`);
  }
  const text = isSame ? given : saved.text;
  const result = await command
    .run(context, text === undefined ? others : { ...others, [name]: text })
    .catch(async (error) => {
      throw await keptText(error, saved, `--${name}-file`);
    });
  await saved.drop();
  return result;
};

/** The text that the editor saved, and the file that keeps it until the text has arrived. */
export type Edited = { readonly text: string; readonly path: string; drop(): Promise<void> };
const editorOf = (env: EngineContext['host']['env']): string => env.VISUAL || env.EDITOR || 'vi';
/** Editors end the last line; a text of the service has no such end. */
const withoutLastEnd = (text: string): string => text.replace(/\r?\n$/, '');
/** Like git: the shell parses EDITOR, so that quotes and spaces in a path have their usual meaning. */
const editorCall = ({ host }: Runtime, editor: string, path: string): ProgramCall => {
  if (host.platform !== 'win32') return trustCall(['sh', '-c', `${editor} "$@"`, editor, path]);
  const [command = 'vi', ...args] = editor.split(' ').filter(Boolean);
  return trustCall([command, ...args, path]);
};
/** Opens a text in $VISUAL or $EDITOR. Throws if the editor failed, so that no request is sent. */
export const editText = async (context: EngineContext, text: string): Promise<Edited> => {
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
        `the editor ${command} ${startError ?? `exited with code ${code}`}; no request was sent`,
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
/** Checks before the first request whether an editor can be opened. */
export const mustBeAtTerminal = (context: EngineContext & Prompts): void => {
  const { VISUAL, EDITOR } = context.host.env;
  // An explicitly set editor may be a script, which needs no terminal.
  if (!context.isInteractive && !VISUAL && !EDITOR)
    throw usageError(
      '--edit needs a terminal, or EDITOR',
      [],
      ['give the text with its flag, or --body @file'],
    );
};
/** Keeps the text of a failed request. A dry run, which also ends with a throw, does not need to keep it. */
const keptText = async (thrown: unknown, { path, drop }: Edited, flag: string): Promise<unknown> => {
  if (!(thrown instanceof AppError)) {
    await drop();
    return thrown;
  }
  const tryThis = [...(thrown.detail.tryThis ?? []), `your text is kept; send it with ${flag} ${path}`];
  return reword(thrown, { ...thrown.detail, tryThis, cause: thrown });
};
