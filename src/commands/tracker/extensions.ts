import { call, type ProgramCall, trustCall } from '../../core/program-call.ts';
import { basename, dirname, join, resolve } from 'node:path';
import { trackerInfo } from '../../api-specs/tracker/info.ts';
import type { Context, EngineContext, Prompts, RunCommand, Runtime } from '../../api/context.ts';
import { inputFrom, type Argument, type Values } from '../../core/flag.ts';
import { childPath, pathPart } from '../../core/file-name.ts';
import { countText } from '../../core/format.ts';
import type { Finished, Host } from '../../platform/host.ts';
import type { Operation } from '../../core/operation.ts';
import { AppError, invalidArguments, problem, reword, usageError } from '../../core/problem.ts';
import { nothing, type Result } from '../../core/result.ts';
import { shellWord } from '../../core/shell.ts';
import { resolveParams, trackerNames } from '../../tracker/names/name-resolution.ts';
import { type Command, extend, isReading } from '../../cli/command.ts';
import { externalUrl } from '../../core/external-url.ts';
import { bare, bool, str } from '../../core/field.ts';
import type { Flag } from '../../core/flag.ts';

const hasAppUrl = (command: Command): boolean => {
  const returns = command.operation?.operation.returns;
  const record = returns && bare(returns);
  return record?.type === 'object' && record.fields.app_url !== undefined;
};
const webFlag = {
  effects: ['runs'],
  field: bool(),
  summary: "Open the record's page in the browser",
} as const satisfies Flag;
/**
 * Opens the page of a record in the browser. The embedded server of one command stops with the command, so it waits until
 * the person has seen the page.
 */
export const openPage = async (context: Context, given: unknown): Promise<void> => {
  const url = typeof given === 'string' ? externalUrl(given) : undefined;
  if (url === undefined)
    return context.log.warn(
      `no browser was started: app_url must be an http or https URL, the service returned ${JSON.stringify(given)}`,
    );
  const { isPassing } = await context.target('tracker');
  if (isPassing === true && !context.isInteractive)
    return context.log.warn(
      'no browser was started: the page is on the embedded mock server, which stops with this command; run `opsctl mock start` first',
    );
  context.log.info(url);
  if (!(await context.host.openBrowser(url)))
    context.log.warn('no browser could be started; open the URL above in a browser');
  if (isPassing === true) await untilSeen(context);
};
/** The page has been shown, so Ctrl-C here is the usual way to stop a server and not a canceled command. */
const untilSeen = async ({ host }: Context): Promise<void> => {
  try {
    await host.terminal.prompts.text('Press Enter to stop the embedded mock server');
  } catch (error) {
    if (!(error instanceof AppError && error.category === 'interrupted')) throw error;
  }
};
/** `--web` for every command that returns one record with a web page. */
export const withWeb = (command: Command): Command => {
  if (!hasAppUrl(command)) return command;
  return extend(command, {
    get flags() {
      return { ...command.flags, web: webFlag };
    },
    run: async (context, values) => {
      const result = await command.run(context, values);
      const given = result.kind === 'record' ? (result.data as { app_url?: unknown }).app_url : undefined;
      if (values.web !== true || typeof given !== 'string') return result;
      await openPage(context, given);
      return result;
    },
  });
};

/** The long texts that are better written in an editor than in a flag. */
const LONG = ['description', 'text', 'content'] as const;
/**
 * A command whose row has a long text; `read` is the row that returns the current record, if there is one.
 */
export type Editable = {
  readonly command: { readonly args?: readonly Argument[]; readonly run: RunCommand };
  readonly row: Operation;
  readonly name: (typeof LONG)[number];
  readonly read: Operation | undefined;
};
const givenText = async (
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
    : (await (await import('../../api/input.ts')).textFile(context, path, flag)).replace(/\r?\n$/, '');
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
const openEditor = async (
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
      throw await keptText(context, error, saved, (path) => `send it with --${name}-file ${path}`);
    });
  await saved.drop();
  return result;
};

/** The text that the editor saved. A file keeps it until the text has arrived; `keep` returns the path where it stays. */
export type Edited = { readonly text: string; keep(): Promise<string>; drop(): Promise<void> };
type Editor = { readonly command: string; readonly variable: 'VISUAL' | 'EDITOR' };
const editorOf = ({ VISUAL, EDITOR }: EngineContext['host']['env']): Editor | undefined => {
  if (VISUAL) return { command: VISUAL, variable: 'VISUAL' };
  return EDITOR ? { command: EDITOR, variable: 'EDITOR' } : undefined;
};
const standardEditor: Editor = { command: 'vi', variable: 'EDITOR' };
/** Editors end the last line; a text of the service has no such end. */
const withoutLastEnd = (text: string): string => text.replace(/\r?\n$/, '');
/** Like git: the shell parses the variable, so that quotes and spaces in a path have their usual meaning. */
const editorCall = ({ host }: Runtime, editor: string | undefined, path: string): ProgramCall => {
  if (editor === undefined) return call`vi ${path}`;
  if (host.platform !== 'win32') return trustCall(['/bin/sh', '-c', `${editor} "$@"`, editor, path]);
  const [command = '', ...args] = editor.split(' ').filter(Boolean);
  return trustCall([command, ...args, path]);
};
const keptDirectory = ({ settings }: Runtime): string => join(settings.directories.state, 'kept-texts');
/** Moves an edited text to the state directory. If that accepts no file, the text stays where it is. */
const keepEdited = async (context: Runtime, from: string): Promise<string> => {
  const { files } = context.host;
  const directory = keptDirectory(context);
  const to = childPath(directory, pathPart(`${basename(dirname(from))}.md`));
  try {
    const { makePrivateDirectory } = await import('../../auth/credential-store/guarded-file.ts');
    await makePrivateDirectory(context.host, directory);
    await files.replace(to, (await files.read(from)) ?? '', 0o600);
  } catch {
    return from;
  }
  await files.remove(dirname(from));
  return to;
};
/** The terminal that would have shown the path of a kept text may have been closed, so the next editor names it. */
const warnOfKept = async (context: EngineContext): Promise<void> => {
  const directory = keptDirectory(context);
  const names = await context.host.files.list(directory).catch(() => []);
  if (names.length > 0)
    context.log.warn(
      `${directory} contains ${countText(names.length, 'edited text')} that opsctl did not send; delete the files that you no longer need`,
    );
};
/** Two seconds in total. */
const [lateSaveEveryMs, lateSaveTimes] = [100, 20];
/**
 * A terminal that closes ends the shell around an editor at once, while the editor itself may still save the text. Without
 * this wait, opsctl would remove the directory first, and the text would be lost.
 */
const awaitLateSave = async ({ files, sleep }: Host, path: string): Promise<void> => {
  const change = async (): Promise<string | undefined> => (await files.info(path))?.change;
  const before = await change();
  for (let times = 0; times < lateSaveTimes; times += 1) {
    await sleep(lateSaveEveryMs);
    if ((await change()) === before) continue;
    // The editor may write the file in several steps.
    await sleep(lateSaveEveryMs);
    return;
  }
};
/** The first words of a command that together are the path of a file: `/opt/my editor --wait` without quotes. */
const unquotedPath = async ({ files, cwd }: Host, command: string): Promise<string | undefined> => {
  const words = command.split(' ');
  for (let count = words.length; count > 1; count -= 1) {
    const path = words.slice(0, count).join(' ');
    const info = path.includes('/') ? await files.info(resolve(cwd, path)).catch(() => undefined) : undefined;
    if (info?.kind === 'file' || info?.kind === 'link') return path;
  }
  return undefined;
};
/** What a shell returns for a program that it cannot start. */
const notStarted: readonly (number | null)[] = [126, 127];
const editorHint = async (host: Host, { command, variable }: Editor, ended: Finished): Promise<string> => {
  if (ended.startError === undefined && !notStarted.includes(ended.code))
    return 'save the text and close the editor without an error; vi fails after :cq';
  const path = await unquotedPath(host, command);
  if (path === undefined) return `set ${variable} to an editor that is installed`;
  const quoted = `"${path.replaceAll(/["$`\\]/g, '\\$&')}"${command.slice(path.length)}`;
  return `quote the path, because the shell splits ${variable} at spaces: ${variable}=${shellWord(quoted)}`;
};
/** The error of an editor that failed, or that a signal ended together with this program. */
const editorError = async (context: EngineContext, editor: Editor, ended: Finished): Promise<AppError> => {
  const { aborted, reason } = context.signal;
  if (aborted && reason instanceof AppError) return reason;
  const why = ended.startError ?? `exited with code ${ended.code}`;
  return new AppError('usage', `the editor ${editor.command} ${why}; no request was sent`, {
    tryThis: [await editorHint(context.host, editor, ended)],
  });
};
/** Opens a text in $VISUAL or $EDITOR. Throws if the editor failed, so that no request is sent. */
export const editText = async (context: EngineContext, text: string): Promise<Edited> => {
  const { files, processes, random } = context.host;
  await warnOfKept(context);
  const directory = childPath(
    files.temporaryDirectory(),
    pathPart(`opsctl-${Buffer.from(random(6)).toString('hex')}`),
  );
  const path = join(directory, 'text.md');
  const drop = () => files.remove(directory);
  const keep = () => keepEdited(context, path);
  await files.makeDirectory(directory, 0o700);
  let edited = text;
  try {
    await files.replace(path, text === '' || text.endsWith('\n') ? text : `${text}\n`, 0o600);
    const editor = editorOf(context.host.env);
    const ended = await processes.run(...editorCall(context, editor?.command, path), { stdio: 'inherit' });
    if (context.signal.aborted) await awaitLateSave(context.host, path);
    edited = (await files.read(path)) ?? '';
    if (ended.code !== 0 || context.signal.aborted)
      throw await editorError(context, editor ?? standardEditor, ended);
    return { text: withoutLastEnd(edited), keep, drop };
  } catch (error) {
    if (withoutLastEnd(edited) !== withoutLastEnd(text))
      throw await keptText(context, error, { keep, drop }, (kept) => `it is in ${kept}`);
    await drop();
    throw error;
  }
};
/** Checks before the first request whether an editor can be opened. */
export const mustBeAtTerminal = (context: EngineContext & Prompts): void => {
  // An explicitly set editor may be a script, which needs no terminal.
  if (!context.isInteractive && editorOf(context.host.env) === undefined)
    throw usageError(
      '--edit needs a terminal, or EDITOR',
      [],
      ['give the text with its flag, or --body @file'],
    );
};
/**
 * Keeps the text of a failed or stopped request. A dry run, which also ends with a throw, does not need to keep it.
 * `howTo` tells the user what to do with the file.
 */
export const keptText = async (
  { signal }: EngineContext,
  thrown: unknown,
  { keep, drop }: Pick<Edited, 'keep' | 'drop'>,
  howTo: (path: string) => string,
): Promise<unknown> => {
  const error = !(thrown instanceof AppError) && signal.aborted ? signal.reason : thrown;
  if (!(error instanceof AppError)) {
    await drop();
    return thrown;
  }
  const tryThis = [...(error.detail.tryThis ?? []), `your text is kept; ${howTo(await keep())}`];
  return reword(error, { ...error.detail, tryThis, cause: error });
};

/** `--edit` and `--description-file` on creates and updates that have a long text. */
export const withEditor = (command: Command, siblings: Iterable<Operation>): Command => {
  const row = command.operation?.operation;
  const name = row?.body && LONG.find((field) => row.body?.[field] !== undefined);
  if (row === undefined || name === undefined || row.method === 'GET') return command;
  const read =
    row.method === 'PUT'
      ? [...siblings].find(({ method, path }) => method === 'GET' && path === row.path)
      : undefined;
  const fromFile = `${name}-file`;
  return extend(command, {
    get flags() {
      const file = {
        effects: ['reads'],
        field: str(undefined, { min: 1 }),
        summary: `Read the ${name} from a file; - reads standard input`,
        value: 'file|-',
        complete: 'file',
      } as const satisfies Flag;
      return {
        ...command.flags,
        [fromFile]: file,
        edit: { effects: ['runs'] as const, field: bool(), summary: `Write the ${name} in $EDITOR` },
      };
    },
    run: async (context, values) => {
      const { edit, [fromFile]: _path, [name]: _given, ...others } = values;
      const text = await givenText(context, values, name);
      if (edit === true) return openEditor(context, { command, row, name, read }, values, text, others);
      return command.run(context, text === undefined ? others : { ...others, [name]: text });
    },
  });
};

/** Rows that a hand-written command covers better, as `resource verb`. */
export const byHand: ReadonlySet<string> = new Set([
  'epics page',
  'files download',
  'files upload',
  'groups stories',
  'search run',
]);

/** Records what the command replaces, so that `opsctl undo` can revert it. */
export const withUndo = (command: Command): Command => {
  if (isReading(command)) return command;
  return extend(command, {
    run: async (context, values) => {
      const { withWriteRecord } = await import('../../tracker/bulk/journal.ts');
      return command.run(withWriteRecord(context, command.path.join(' ')), values);
    },
  });
};
