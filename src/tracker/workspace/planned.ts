import type { Context } from '../../cli/command.ts';
import type { Workspace } from './kinds.ts';
import { withMemberIds } from './members.ts';
import { type Plan, type PlanOptions, planWorkspace } from './plan.ts';
import { readCurrent } from './read.ts';
import { readWorkspace } from './read-file.ts';

/** Reads the file and the workspace as it is, and plans from both. */
export const planned = async (
  context: Context,
  file: string,
  options: PlanOptions,
): Promise<{ plan: Plan; workspace: Workspace }> => {
  const workspace = await withMemberIds(context, await readWorkspace(context, file));
  const { current, lookup } = await readCurrent(context, Object.keys(workspace));
  return { plan: planWorkspace(workspace, current, lookup, options), workspace };
};
