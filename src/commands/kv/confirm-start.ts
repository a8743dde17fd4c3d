import type { Context } from '../../cli/command.ts';
import { AppError, usageError } from '../../core/problem.ts';
import { columnsOf, wrap } from '../../core/wrap.ts';
import type { RunValues } from './run-flags.ts';
import { refuseWrongWindow } from './window.ts';

/** Typed, not clicked: the name of the cluster. With --yes nobody is asked. */
const typedName = async (context: Context, cluster: string, question: string): Promise<boolean> => {
  if (context.isConfirmed) return true;
  if (!context.isInteractive) return false;
  const asked = wrap(question, columnsOf(context.host.terminal.stderr) - 2, '  ');
  return (
    (await context.host.terminal.prompts.text(`${asked}\n  Type ${cluster} to go on:`)).trim() === cluster
  );
};

export const confirmStart = async (
  context: Context,
  cluster: string,
  question: string,
  values: RunValues = {},
): Promise<void> => {
  await refuseWrongWindow(context, values);
  if (!context.isConfirmed && !context.isInteractive)
    throw usageError(`${question} Nobody can be asked here.`, [], ['add --yes to go on without a question']);
  if (!(await typedName(context, cluster, question)))
    throw new AppError('unsafe', 'not confirmed; nothing was changed', { code: 'NOT_CONFIRMED' });
};
