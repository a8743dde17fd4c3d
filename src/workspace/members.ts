import type { Context } from '../cli/command.ts';
import { trackerNaming } from '../names/tracker-naming.ts';
import type { Row, Workspace } from './kinds.ts';

/** Members of a team may stand in the file as people call them, so that one file fits several workspaces. */
const idsOf = async (context: Context, names: readonly unknown[], path: string): Promise<unknown[]> => {
  const ids: unknown[] = [];
  for (const [i, name] of names.entries())
    ids.push(await trackerNaming.resolve(context, 'member', String(name), `${path}[${i}]`));
  return ids;
};

export const withMemberIds = async (context: Context, workspace: Workspace): Promise<Workspace> => {
  if (workspace.groups === undefined) return workspace;
  const groups: Row[] = [];
  for (const [i, group] of workspace.groups.entries()) {
    const names = group.member_ids;
    groups.push(
      Array.isArray(names)
        ? { ...group, member_ids: await idsOf(context, names, `groups[${i}].member_ids`) }
        : group,
    );
  }
  return { ...workspace, groups };
};
