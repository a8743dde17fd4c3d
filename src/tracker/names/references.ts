/**
 * The kind of record that a field refers to, and its short flag. `label` of `labels` creates inputs, not IDs.
 */
export type Reference = { readonly kind: string; readonly alias?: string };
/** Fields of bodies and queries, by name. */
export const fieldReferences: Readonly<Record<string, Reference>> = {
  author_id: { kind: 'member', alias: 'author' },
  default_workflow_id: { kind: 'workflow' },
  epic_id: { kind: 'epic', alias: 'epic' },
  epic_ids: { kind: 'epic' },
  epic_state_id: { kind: 'epic-state', alias: 'epic-state' },
  follower_ids_add: { kind: 'member' },
  follower_ids_remove: { kind: 'member' },
  follower_ids: { kind: 'member', alias: 'follower' },
  group_id: { kind: 'group', alias: 'group' },
  group_ids: { kind: 'group', alias: 'group' },
  iteration_id: { kind: 'iteration', alias: 'iteration' },
  iteration_ids: { kind: 'iteration' },
  label_ids: { kind: 'label', alias: 'label' },
  member_ids: { kind: 'member', alias: 'member' },
  milestone_id: { kind: 'objective', alias: 'milestone' },
  objective_ids: { kind: 'objective', alias: 'objective' },
  owner_id: { kind: 'member' },
  owner_ids_add: { kind: 'member' },
  owner_ids_remove: { kind: 'member' },
  owner_ids: { kind: 'member', alias: 'owner' },
  project_id: { kind: 'project', alias: 'project' },
  project_ids: { kind: 'project' },
  requested_by_id: { kind: 'member', alias: 'requested-by' },
  uploader_id: { kind: 'member', alias: 'uploader' },
  workflow_ids: { kind: 'workflow' },
  workflow_state_id: { kind: 'workflow-state', alias: 'workflow-state' },
};
/** Path parameters: `{label-public-id}` is a label. */
export const paramKind = (param: string): string | undefined => {
  const word = param.replace(/-public-id$/, '');
  const kind = { milestone: 'objective', repo: 'repository' }[word] ?? word;
  return [
    'category',
    'custom-field',
    'entity-template',
    'epic',
    'group',
    'iteration',
    'label',
    'member',
    'objective',
    'project',
    'repository',
  ].includes(kind)
    ? kind
    : undefined;
};
