import type { Value } from '../../core/field.ts';
import type { externalLinks } from '../../api-specs/tracker/external-links.ts';
import type { groups } from '../../api-specs/tracker/groups.ts';
import type { group } from '../../api-specs/tracker/workspace-records.ts';
import type { Handlers } from '../table-service.ts';
import { epicStateType } from './epic-state.ts';
import { appUrl, found, given, newUuid, now, unique, uuidList } from './records.ts';
import { groupsAreEntitled } from './rules/features.ts';
import { membersExist, workflowsExist } from './rules/references.ts';
import type { Tracker } from './state.ts';
import type { StoredEpic, StoredGroup, StoredStory } from './row.ts';
import { groupOfStory, storiesJson } from './story-view.ts';

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
  list: ({ state }) => [...state.groups.values()].map((one) => groupRecord(state, one)),
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
  get: ({ state, params }) => groupRecord(state, found(state.groups, params['group-public-id'])),
  update: ({ state, params, body }) => {
    const one = found(state.groups, params['group-public-id']);
    groupsAreEntitled(state);
    membersExist(state, 'member_ids', body.member_ids);
    workflowsExist(state, 'workflow_ids', body.workflow_ids);
    workflowsExist(state, 'default_workflow_id', body.default_workflow_id);
    const changed: StoredGroup = {
      ...one,
      ...given(body, 'color', 'color_key', 'default_workflow_id', 'description', 'mention_name', 'name'),
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
    const { id } = found(state.groups, params['group-public-id']);
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
