import type { Context } from '../../cli/command.ts';
import { trackerNaming } from '../names/tracker-naming.ts';
import type { Row, Workspace } from './kinds.ts';

/** Lists of members: they may stand in the file as people call them, so that one file fits several workspaces. */
const members: Readonly<Record<string, string>> = { groups: 'member_ids', epics: 'owner_ids' };

const idsOf = async (context: Context, names: readonly unknown[], path: string): Promise<unknown[]> => {
  const ids: unknown[] = [];
  for (const [i, name] of names.entries())
    ids.push(await trackerNaming.resolve(context, 'member', String(name), `${path}[${i}]`));
  return ids;
};

/** The members of a template's contents: those of the story and those of its tasks. */
const withStoryMembers = async (context: Context, entry: Row, path: string): Promise<Row> => {
  const story = { ...(entry.story as Record<string, unknown>) };
  for (const field of ['owner_ids', 'follower_ids'])
    if (Array.isArray(story[field]))
      story[field] = await idsOf(context, story[field] as unknown[], `${path}.${field}`);
  if (typeof story.state === 'string')
    await trackerNaming.resolve(context, 'workflow-state', `name:${story.state}`, `${path}.state`);
  if (Array.isArray(story.tasks)) {
    const tasks: Row[] = [];
    for (const [i, task] of (story.tasks as Row[]).entries())
      tasks.push(
        Array.isArray(task.owner_ids)
          ? { ...task, owner_ids: await idsOf(context, task.owner_ids, `${path}.tasks[${i}].owner_ids`) }
          : task,
      );
    story.tasks = tasks;
  }
  return { ...entry, story };
};

/** A state that the workflow does not have is found before anything is planned. */
const checkState = async (context: Context, entry: Row, path: string): Promise<void> => {
  if (typeof entry.state === 'string')
    await trackerNaming.resolve(context, 'epic-state', `name:${entry.state}`, path);
};

export const withMemberIds = async (context: Context, workspace: Workspace): Promise<Workspace> => {
  const out: Record<string, readonly Row[] | undefined> = { ...workspace };
  for (const [kind, field] of Object.entries(members)) {
    const entries = workspace[kind];
    if (entries === undefined) continue;
    const known: Row[] = [];
    for (const [i, entry] of entries.entries()) {
      const names = entry[field];
      if (kind === 'epics') await checkState(context, entry, `epics[${i}].state`);
      known.push(
        Array.isArray(names)
          ? { ...entry, [field]: await idsOf(context, names, `${kind}[${i}].${field}`) }
          : entry,
      );
    }
    out[kind] = known;
  }
  const templates: Row[] = [];
  for (const [i, entry] of (workspace.entity_templates ?? []).entries())
    templates.push(await withStoryMembers(context, entry, `entity_templates[${i}].story`));
  return workspace.entity_templates === undefined ? out : { ...out, entity_templates: templates };
};
