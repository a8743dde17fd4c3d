import type { Operation } from '../core/operation.ts';
import { invalidArguments, problem } from '../core/problem.ts';
import { nothing, type Result } from '../core/result.ts';
import { trackerInfo } from '../api-specs/tracker/info.ts';
import type { Command, Context, Values } from '../cli/command.ts';
import { resolveParams } from './names/naming.ts';
import { trackerNaming } from './names/tracker-naming.ts';
import { inputFrom } from '../core/input.ts';

/** The long texts that are better written in an editor than in a flag. */
export const LONG = ['description', 'text', 'content'] as const;

/** A command whose row has a long text; `read` is the row that shows the record as it is, if there is one. */
export type Editable = {
  readonly command: Command;
  readonly row: Operation;
  readonly name: (typeof LONG)[number];
  readonly read: Operation | undefined;
};

export const givenText = async (
  context: Context,
  values: Values,
  name: string,
): Promise<string | undefined> => {
  const [given, path] = [values[name] as string | undefined, values[`${name}-file`] as string | undefined];
  const flag = `--${name}-file`;
  if (given !== undefined && path !== undefined)
    throw invalidArguments([problem(flag, 'exclusive', `cannot be given together with --${name}`)]);
  return path === undefined
    ? given
    : (await (await import('../api/text-file.ts')).textFile(context, path, flag)).replace(/\r?\n$/, '');
};

/** What stands there now: an editor that opens empty would wipe it out when it is closed. */
const currentText = async (context: Context, { read, name }: Editable, values: Values): Promise<string> => {
  if (read === undefined) return '';
  const { params } = await resolveParams(trackerNaming, context, read, inputFrom(read, values), true);
  const record = (await context.call(trackerInfo, read, { params }, { evenInDryRun: true })) as Record<
    string,
    unknown
  >;
  return typeof record[name] === 'string' ? record[name] : '';
};

export const edited = async (
  context: Context,
  one: Editable,
  values: Values,
  given: string | undefined,
  others: Values,
): Promise<Result> => {
  const { editText, keptText, mustBeAtTerminal, withoutLastEnd } = await import('./edited-text.ts');
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
    return nothing(`the ${name} was left as it was; nothing was sent`);
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
