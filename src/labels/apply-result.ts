import type { Context } from '../cli/command.ts';
import { type Result, recordResult } from '../core/result.ts';
import { type applyPrepared, applyFiles } from './apply.ts';
import { outcomesText } from './outcome.ts';
import { applyPlan } from './plan-file.ts';
import type { Options } from './session.ts';

type Run = Awaited<ReturnType<typeof applyPrepared>>;

/** From a plan that was written down, or from files. */
export const apply = (
  context: Context,
  plan: string | undefined,
  files: readonly string[],
  options: Options,
): Promise<Run> => (plan === undefined ? applyFiles(context, files, options) : applyPlan(context, plan));

export const applyResult = (context: Context, { done, failures }: Run): Result => {
  if (failures[0] && done.length === 0) throw failures[0];
  const text = outcomesText(done, context.isDryRun);
  return recordResult(done, { text, name: 'name' }, failures.length > 0 ? 'partial' : undefined);
};
