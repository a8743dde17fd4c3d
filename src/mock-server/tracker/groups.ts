import type { groups, projects } from '../../api-specs/tracker/groups.ts';
import type { project } from '../../api-specs/tracker/planning-records.ts';
import type { group, member } from '../../api-specs/tracker/records.ts';
import type {
  epicWorkflow,
  externalLinks,
  members,
  repositories,
} from '../../api-specs/tracker/workspace.ts';
import type { Value } from '../../core/field.ts';
import type { Handlers } from '../table-service.ts';
import { epicStateType } from './epic-view.ts';
import type { StoredEpic, StoredGroup, StoredMember, StoredProject, StoredStory } from './row.ts';
import { membersExist, workflowsExist } from './rules/stories.ts';
import { groupsAreEntitled, projectHasNoStories } from './rules/stories.ts';
import {
  appUrl,
  findRecord,
  pickGiven,
  instant,
  newId,
  newUuid,
  now,
  ownerId,
  type Tracker,
  unique,
  uuidList,
} from './state.ts';
import { groupOfStory, projectOfStory, storiesJson } from './story-parts.ts';

const groupsOfEpic = (epic: StoredEpic): readonly string[] => epic.group_ids;
/** spec/tracker#records Group, with counts of its stories and started epics. */
const groupRecord = (state: Tracker, one: StoredGroup): Value<typeof group> => {
  const { display_icon_id: iconId, icon_at: iconAt, ...rest } = one;
  const { total, stories } = state.counters.of('group', one.id);
  const epics = [...state.epics.index('group', groupsOfEpic).get(one.id)];
  const icon =
    iconId === null
      ? null
      : {
          id: iconId,
          url: appUrl(state, 'icon', iconId),
          entity_type: 'icon',
          created_at: iconAt ?? '',
          updated_at: iconAt ?? '',
        };
  return {
    ...rest,
    app_url: appUrl(state, 'team', one.id),
    display_icon: icon,
    num_epics_started: epics.filter((epic) => epicStateType(state, epic.epic_state_id) === 'started').length,
    num_stories: total,
    num_stories_backlog: stories.backlog,
    num_stories_started: stories.started,
  };
};
/** The first pages are read as far as they go; for a deep one the whole list is kept until a story changes. */
const pageOf = (state: Tracker, id: string, offset: number, limit: number): StoredStory[] => {
  const inGroup = (): Iterable<StoredStory> => state.stories.index('group', groupOfStory).get(id);
  if (offset > 2000)
    return state.cache
      .value(`group ${id}`, state.stories.version, () => [...inGroup()])
      .slice(offset, offset + limit);
  const page: StoredStory[] = [];
  let at = 0;
  for (const story of inGroup()) {
    if (page.length >= limit) break;
    if (at >= offset) page.push(story);
    at += 1;
  }
  return page;
};
export const groupHandlers: Handlers<{ groups: typeof groups }, Tracker>['groups'] = {
  list: ({ state, query }) => {
    // Not a field of the documents (choices-22), so the type of the query does not contain it.
    const { archived }: { readonly archived?: boolean } = query ?? {};
    return [...state.groups.values()]
      .filter((one) => archived === undefined || one.archived === archived)
      .map((one) => groupRecord(state, one));
  },
  create: ({ state, body }) => {
    groupsAreEntitled(state);
    membersExist(state, 'member_ids', body.member_ids);
    workflowsExist(state, 'workflow_ids', body.workflow_ids);
    const one: StoredGroup = {
      id: newUuid(state),
      name: body.name,
      mention_name: body.mention_name,
      description: body.description ?? '',
      archived: false,
      color: body.color ?? null,
      color_key: body.color_key ?? null,
      default_workflow_id: null,
      display_icon_id: body.display_icon_id?.toLowerCase() ?? null,
      icon_at: body.display_icon_id === undefined ? null : now(state),
      entity_type: 'group',
      member_ids: uuidList(body.member_ids),
      workflow_ids: unique(body.workflow_ids ?? []),
    };
    state.groups.put(one.id, one);
    return groupRecord(state, one);
  },
  get: ({ state, params }) => groupRecord(state, findRecord(state.groups, params['group-public-id'])),
  update: ({ state, params, body }) => {
    const one = findRecord(state.groups, params['group-public-id']);
    groupsAreEntitled(state);
    membersExist(state, 'member_ids', body.member_ids);
    workflowsExist(state, 'workflow_ids', body.workflow_ids);
    workflowsExist(state, 'default_workflow_id', body.default_workflow_id);
    const changed: StoredGroup = {
      ...one,
      ...pickGiven(body, 'color', 'color_key', 'default_workflow_id', 'description', 'mention_name', 'name'),
      // spec/tracker#groups: "archived bool or null"; null unsets it.
      ...(body.archived === undefined ? {} : { archived: body.archived ?? false }),
      ...(body.display_icon_id === undefined
        ? {}
        : { display_icon_id: body.display_icon_id?.toLowerCase() ?? null, icon_at: now(state) }),
      ...(body.member_ids === undefined ? {} : { member_ids: uuidList(body.member_ids) }),
      ...(body.workflow_ids === undefined ? {} : { workflow_ids: unique(body.workflow_ids) }),
    };
    state.groups.put(one.id, changed);
    return groupRecord(state, changed);
  },
  // spec/tracker#groups-2.
  stories: ({ state, params, query }) => {
    const { id } = findRecord(state.groups, params['group-public-id']);
    const { limit = 1000, offset = 0 } = query;
    return storiesJson(state, `group ${id} ${limit} ${offset}`, () => pageOf(state, id, offset, limit), true);
  },
};
const linksOfStory = (story: StoredStory): readonly string[] => story.external_links;
export const externalLinkHandlers: Handlers<
  { 'external-links': typeof externalLinks },
  Tracker
>['external-links'] = {
  stories: ({ state, query }) =>
    storiesJson(
      state,
      `link ${query.external_link}`,
      () => state.stories.index('external-link', linksOfStory).get(query.external_link),
      true,
    ),
};

const memberRecord = (state: Tracker, one: StoredMember): Value<typeof member> => ({
  ...one,
  group_ids: state.groups.filter(({ member_ids: ids }) => ids.includes(one.id)).map(({ id }) => id),
});
export const memberHandlers: Handlers<{ members: typeof members }, Tracker>['members'] = {
  // spec/tracker#members: "the authenticated member".
  me: ({ state }) => {
    const { id, role, profile } = findRecord(state.members, ownerId(state));
    const { organization2, workspace2 } = findRecord(state.workspace, 'workspace');
    return {
      id,
      name: profile.name,
      mention_name: profile.mention_name,
      role,
      is_owner: profile.is_owner,
      organization2,
      workspace2,
    };
  },
  // spec/tracker#members: "disabled bool (true: only disabled members; false: only enabled)"; all without it.
  list: ({ state, query }) =>
    state.members
      .filter(({ disabled }) => query.disabled === undefined || disabled === query.disabled)
      .map((one) => memberRecord(state, one)),
  get: ({ state, params }) => memberRecord(state, findRecord(state.members, params['member-public-id'])),
};
export const repositoryHandlers: Handlers<{ repositories: typeof repositories }, Tracker>['repositories'] = {
  list: ({ state }) => [...state.repositories.values()],
  get: ({ state, params }) => findRecord(state.repositories, params['repo-public-id']),
};
export const epicWorkflowHandlers: Handlers<
  { 'epic-workflow': typeof epicWorkflow },
  Tracker
>['epic-workflow'] = {
  get: ({ state }) => findRecord(state.epicWorkflow, 'epic-workflow'),
};

/** spec/tracker#records Project.stats. */
const projectRecord = (state: Tracker, one: StoredProject): Value<typeof project> => {
  const { points, total } = state.counters.of('project', one.id);
  return {
    ...one,
    app_url: appUrl(state, 'project', one.id),
    stats: { num_points: points, num_related_documents: 0, num_stories: total },
  };
};
export const defaultWorkflowId = (state: Tracker): number =>
  state.workspace.get('workspace')?.workspace2.default_workflow_id ?? 0;
export const projectHandlers: Handlers<{ projects: typeof projects }, Tracker>['projects'] = {
  list: ({ state }) => [...state.projects.values()].map((one) => projectRecord(state, one)),
  create: ({ state, body }) => {
    membersExist(state, 'follower_ids', body.follower_ids);
    const at = now(state);
    const one: StoredProject = {
      id: newId(state),
      name: body.name,
      abbreviation: body.abbreviation ?? null,
      description: body.description ?? null,
      archived: false,
      color: body.color ?? null,
      external_id: body.external_id ?? null,
      follower_ids: uuidList(body.follower_ids),
      iteration_length: body.iteration_length ?? 2,
      days_to_thermometer: 14,
      show_thermometer: false,
      start_time: instant(body.start_time) ?? at,
      team_id: body.team_id,
      workflow_id: defaultWorkflowId(state),
      entity_type: 'project',
      created_at: instant(body.created_at) ?? at,
      updated_at: instant(body.updated_at) ?? at,
    };
    state.projects.put(one.id, one);
    return projectRecord(state, one);
  },
  get: ({ state, params }) => projectRecord(state, findRecord(state.projects, params['project-public-id'])),
  update: ({ state, params, body }) => {
    const one = findRecord(state.projects, params['project-public-id']);
    membersExist(state, 'follower_ids', body.follower_ids);
    const changed: StoredProject = {
      ...one,
      ...pickGiven(
        body,
        'abbreviation',
        'archived',
        'color',
        'days_to_thermometer',
        'description',
        'name',
        'show_thermometer',
        'team_id',
      ),
      ...(body.follower_ids === undefined ? {} : { follower_ids: uuidList(body.follower_ids) }),
      updated_at: now(state),
    };
    state.projects.put(one.id, changed);
    return projectRecord(state, changed);
  },
  delete: ({ state, params }) => {
    const { id } = findRecord(state.projects, params['project-public-id']);
    projectHasNoStories(state, id);
    state.projects.delete(id);
    return undefined;
  },
  stories: ({ state, params, query }) => {
    const { id } = findRecord(state.projects, params['project-public-id']);
    return storiesJson(
      state,
      `project ${id}`,
      () => state.stories.index('project', projectOfStory).get(id),
      query.includes_description ?? false,
    );
  },
};
