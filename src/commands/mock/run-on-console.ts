import type { Operation } from '../../core/operation.ts';
import { type Result, nothing, recordResult, rowsResult } from '../../core/result.ts';
import type { Context, Values } from '../../cli/command.ts';
import { columnsOf } from '../../cli/derived/columns.ts';
import { inputFrom } from '../../core/input.ts';

/** Asks where the row says so, calls the console of the server and shows what it answered. */
export const runOnConsole = async (
  context: Context,
  operation: Operation,
  name: string,
  { url: given, ...input }: Values,
): Promise<Result> => {
  if (operation.cli?.confirm && !context.isDryRun)
    await context.confirm(
      operation.cli.confirm.replace(/\{(\w+)\}/g, (_, word: string) => String(input[word])),
    );
  const { callConsole } = await import('./oauth.ts');
  const answer = await callConsole(
    context,
    operation,
    inputFrom(operation, input),
    typeof given === 'string' ? given : undefined,
  );
  const message = `${name}: done`;
  if (answer === undefined) return nothing(message);
  const view = { columns: columnsOf(operation) };
  if (Array.isArray(answer)) return rowsResult(answer, view);
  return recordResult(answer, operation.method === 'GET' ? view : { ...view, message });
};
