import type { Value } from '../../core/field.ts';
import type { project } from '../../api-specs/tracker/planning-records.ts';
import type { projects } from '../../api-specs/tracker/projects.ts';
import type { Handlers } from '../table-service.ts';
import { appUrl, found, given, instant, newId, now, uuidList } from './records.ts';
import { projectHasNoStories } from './rules/projects.ts';
import { membersExist } from './rules/references.ts';
import type { Tracker } from './state.ts';
import type { StoredProject } from './row.ts';
import { projectOfStory, storiesJson } from './story-view.ts';

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
  get: ({ state, params }) => projectRecord(state, found(state.projects, params['project-public-id'])),
  update: ({ state, params, body }) => {
    const one = found(state.projects, params['project-public-id']);
    membersExist(state, 'follower_ids', body.follower_ids);
    const changed: StoredProject = {
      ...one,
      ...given(
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
    const { id } = found(state.projects, params['project-public-id']);
    projectHasNoStories(state, id);
    state.projects.delete(id);
    return undefined;
  },
  stories: ({ state, params, query }) => {
    const { id } = found(state.projects, params['project-public-id']);
    return storiesJson(
      state,
      `project ${id}`,
      () => state.stories.index('project', projectOfStory).get(id),
      query.includes_description ?? false,
    );
  },
};
