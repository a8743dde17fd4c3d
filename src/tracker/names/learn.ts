import type { LooseInput, Operation } from '../../core/operation.ts';
import type { Context } from '../../cli/command.ts';
import { writeNames } from './cache.ts';
import { kinds } from './kinds.ts';

/** Parameters that leave no record out. */
const WHOLE: ReadonlySet<string> = new Set(['slim', 'includes_description']);

/** Whoever lists the labels has their names under TAB afterwards. */
export const learnNames = async (
  context: Context,
  operation: Operation,
  { query = {} }: LooseInput,
  answer: unknown,
): Promise<void> => {
  if (Object.keys(query).some((name) => query[name] !== undefined && !WHOLE.has(name))) return;
  for (const [kind, { list, read }] of Object.entries(kinds)) {
    if (list.path === operation.path && list.method === operation.method)
      await writeNames(context, kind, read(answer));
  }
};
