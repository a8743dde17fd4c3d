import { tracker } from '../../api-specs/tracker/index.ts';
import type { Handlers, Call } from '../table-service.ts';
import { categoryHandlers, labelHandlers } from './labels.ts';
import { labelsOf, objectiveRecord } from './epic-view.ts';
import { customFieldHandlers, entityTemplateHandlers } from './entity-templates.ts';
import {
  documentHandlers,
  fileHandlers,
  linkedFileHandlers,
  moreDocumentHandlers,
  slimDocument,
} from './files.ts';
import { epicCommentHandlers, epicHandlers, healthHandlers } from './epics.ts';
import {
  epicWorkflowHandlers,
  externalLinkHandlers,
  groupHandlers,
  memberHandlers,
  projectHandlers,
  repositoryHandlers,
} from './groups.ts';
import {
  iterationHandlers,
  keyResultHandlers,
  milestoneHandlers,
  objectiveHandlers,
  iterationSlimRecord,
} from './objectives.ts';
import { searchHandlers, type SearchQuery, epicResult, groupsOf, pageOf, storyResult } from './search.ts';
import { type Tracker, findRecord, unique, uuidList, appUrl, newId, now, ownerId } from './state.ts';
import { storyHandlers, createStory, deleteStory, siblingAt, updateStory } from './stories.ts';
import {
  storyCommentHandlers,
  storyLinkHandlers,
  storyTaskHandlers,
  reactionHandlers,
  storySlim,
  subStories,
} from './story-parts.ts';
import { historyOf, storyEvent, deliverAgain, deliverToAll, eventOf } from './events.ts';
import type { moreStories, trackerExtension } from '../../api-specs/tracker/extension.ts';
import type { searchByKind } from '../../api-specs/tracker/search.ts';
import { type Field, type Value, type Values, int, obj, oneOf, req } from '../../core/field.ts';
import type { StoredStory, StoredWebhook, StoredWorkflow } from './row.ts';
import { documentsAreOn } from './rules/stories.ts';
import { termsFrom } from './search-match.ts';
import type { webhooks } from '../../api-specs/tracker/workspace.ts';
import { check } from '../../core/check.ts';
import type { ControlAnswer } from '../service-set.ts';
import type { workflows } from '../../api-specs/tracker/stories.ts';

const workflowRecord = (state: Tracker, workflow: StoredWorkflow): StoredWorkflow => ({
  ...workflow,
  project_ids: state.projects.filter((project) => project.workflow_id === workflow.id).map(({ id }) => id),
  states: workflow.states.map((each) => ({
    ...each,
    num_stories: state.counters.of('state', each.id).total,
    num_story_templates: state.templates.filter(
      (template) => template.story_contents.workflow_state_id === each.id,
    ).length,
  })),
});
const workflowHandlers: Handlers<{ workflows: typeof workflows }, Tracker>['workflows'] = {
  list: ({ state }) => [...state.workflows.values()].map((workflow) => workflowRecord(state, workflow)),
  get: ({ state, params }) =>
    workflowRecord(state, findRecord(state.workflows, params['workflow-public-id'])),
};

type Rows = Pick<typeof moreStories, 'bulkCreate' | 'bulkUpdate' | 'bulkDelete'>;
type Change = Values<(typeof moreStories)['bulkUpdate']['body']>;
type Body = Parameters<typeof updateStory>[2];
const without = <T>(before: readonly T[], gone: readonly T[]): T[] =>
  before.filter((one) => !gone.includes(one));
const membersAfter = (
  before: readonly string[],
  add: readonly string[] | undefined,
  remove: readonly string[] | undefined,
): string[] => without(unique([...before, ...uuidList(add)]), uuidList(remove));
const labelsAfter = (state: Tracker, story: StoredStory, change: Change): Body['labels'] => {
  const gone = new Set((change.labels_remove ?? []).map(({ name }) => name));
  const names = labelsOf(state, story.label_ids).map(({ name }) => ({ name }));
  return [...names, ...(change.labels_add ?? [])].filter(({ name }) => !gone.has(name));
};
const isSameValue = (
  a: { readonly field_id: string },
  b: { readonly field_id: string; readonly value_id?: string },
): boolean => a.field_id === b.field_id.toLowerCase();
const valuesAfter = (story: StoredStory, change: Change): Body['custom_fields'] => {
  const replaced = [...(change.custom_fields_add ?? []), ...(change.custom_fields_remove ?? [])];
  const kept = story.custom_fields.filter((one) => !replaced.some((other) => isSameValue(one, other)));
  return [...kept, ...(change.custom_fields_add ?? [])];
};
/** The effect of the change on one story: added and removed items depend on its current values. */
const bodyFor = (state: Tracker, story: StoredStory, change: Change): Body => {
  const {
    story_ids: _ids,
    move_to: _move,
    follower_ids_add: followersIn,
    follower_ids_remove: followersOut,
    owner_ids_add: ownersIn,
    owner_ids_remove: ownersOut,
    labels_add: labelsIn,
    labels_remove: labelsOut,
    custom_fields_add: valuesIn,
    custom_fields_remove: valuesOut,
    ...same
  } = change;
  return {
    ...same,
    ...(followersIn || followersOut
      ? { follower_ids: membersAfter(story.follower_ids, followersIn, followersOut) }
      : {}),
    ...(ownersIn || ownersOut ? { owner_ids: membersAfter(story.owner_ids, ownersIn, ownersOut) } : {}),
    ...(labelsIn || labelsOut ? { labels: labelsAfter(state, story, change) } : {}),
    ...(valuesIn || valuesOut ? { custom_fields: valuesAfter(story, change) } : {}),
  };
};
/** spec/tracker#stories-5: within one transaction, so that a story that is refused undoes the others. */
const bulkHandlers: Handlers<{ stories: Rows }, Tracker>['stories'] = {
  bulkCreate: ({ state, body }) => {
    const made = body.stories.map((one) => createStory(state, one));
    for (const story of made) storyEvent(state, 'create', story);
    return made.map(({ id }) => storySlim(state, findRecord(state.stories, id), false));
  },
  bulkUpdate: ({ state, body }) => {
    const ids = unique(body.story_ids);
    const move = siblingAt(state, ids, body.move_to);
    // If several records move behind the same neighbor, the last one comes first.
    const isBehind = 'after_id' in move || body.after_id !== undefined;
    for (const id of isBehind ? [...ids].reverse() : ids) {
      const story = findRecord(state.stories, id);
      updateStory(state, id, { ...bodyFor(state, story, body), ...move });
    }
    return ids.map((id) => storySlim(state, findRecord(state.stories, id), false));
  },
  bulkDelete: ({ state, body }) => {
    for (const id of unique(body.story_ids)) deleteStory(state, id);
    return undefined;
  },
};

const isSlim = ({ query }: SearchQuery): boolean => query.detail === 'slim';
const objectives = (path: string) => (call: SearchQuery) => {
  const { milestones } = groupsOf(call);
  return pageOf(
    call,
    termsFrom(call.query.query),
    milestones,
    (one) => objectiveRecord(call.state, one),
    path,
  );
};
/** spec/tracker#search-5: the groups of the search over all kinds, one at a time. */
const findHandlers = {
  stories: (call: SearchQuery) =>
    pageOf(
      call,
      termsFrom(call.query.query),
      groupsOf(call).stories,
      (one) => storyResult(call.state, one, isSlim(call)),
      '/search/stories',
    ),
  epics: (call: SearchQuery) =>
    pageOf(
      call,
      termsFrom(call.query.query),
      groupsOf(call).epics,
      (one) => epicResult(call.state, one, isSlim(call)),
      '/search/epics',
    ),
  iterations: (call: SearchQuery) =>
    pageOf(
      call,
      termsFrom(call.query.query),
      groupsOf(call).iterations,
      (one) => iterationSlimRecord(call.state, one),
      '/search/iterations',
    ),
  objectives: objectives('/search/objectives'),
  milestones: objectives('/search/milestones'),
};
/** Documents have no whole-number ids to page by: `next` is how many were given before. */
const documentsByTitle = ({ state, query }: Call<Tracker, (typeof searchByKind)['documents']['find']>) => {
  documentsAreOn(state);
  const words = query.title.toLowerCase().split(/\s+/).filter(Boolean);
  const all = state.documents.filter(
    ({ title }) =>
      query.archived !== true && words.every((word) => (title ?? '').toLowerCase().includes(word)),
  );
  const from = Number(/^\d{1,6}$/.exec(query.next ?? '')?.[0] ?? 0);
  const size = query.page_size ?? 25;
  const to = from + size;
  const pairs = new URLSearchParams({ title: query.title, page_size: String(size), next: String(to) });
  return {
    data: all.slice(from, to).map(({ id, title }) => slimDocument(state, id, title)),
    next: to < all.length ? `/api/v3/search/documents?${pairs}` : null,
    total: all.length,
  };
};

/** Handlers of the routes that the document does not have. */
const extensionHandlers: Handlers<typeof trackerExtension, Tracker> = {
  documents: { ...moreDocumentHandlers, find: documentsByTitle },
  epics: { find: findHandlers.epics },
  iterations: { find: findHandlers.iterations },
  milestones: { find: findHandlers.milestones },
  objectives: { find: findHandlers.objectives },
  stories: {
    ...bulkHandlers,
    find: findHandlers.stories,
    history: ({ state, params }) => historyOf(state, findRecord(state.stories, params['story-public-id'])),
    subTasks: ({ state, params }) =>
      subStories(state, findRecord(state.stories, params['story-public-id']).id).map((one) =>
        storySlim(state, one, false),
      ),
  },
  'story-comments': reactionHandlers,
};

const webhookHandlers: Handlers<{ webhooks: typeof webhooks }, Tracker>['webhooks'] = {
  // spec/tracker#webhooks: 204; spec/program#choices: `Location` carries the id that a 204 cannot.
  create: ({ state, body, headers }) => {
    const at = now(state);
    const hook: StoredWebhook = {
      id: newId(state),
      entity_type: 'integration',
      type: 'generic',
      webhook_url: body.webhook_url,
      disabled: false,
      creator_id: ownerId(state),
      secret: body.secret ?? null,
      created_at: at,
      updated_at: at,
    };
    state.webhooks.put(hook.id, hook);
    headers.location = `${tracker.basePath}/integrations/webhook/${hook.id}`;
    return undefined;
  },
  get: ({ state, params }) => {
    const { secret, ...rest } = findRecord(state.webhooks, params['integration-public-id']);
    return { ...rest, has_secret: secret !== null };
  },
  delete: ({ state, params }) => {
    state.webhooks.delete(findRecord(state.webhooks, params['integration-public-id']).id);
    return undefined;
  },
};

const triggerInput = obj({
  event: req(
    oneOf('story.create', 'story.update', 'story.delete', 'epic.create', 'epic.update', 'epic.delete'),
  ),
  id: int(),
});
const resendInput = obj({ number: req(int({ min: 1 })) });
/** An event of an existing record, or of a synthetic one. The workspace does not change. */
const trigger = (state: Tracker, event: string, id: number | undefined): ControlAnswer => {
  if (state.webhooks.size === 0) return { status: 404, message: 'no webhook is registered' };
  const [kind = 'story', verb = 'update'] = event.split('.') as [
    'story' | 'epic',
    'create' | 'update' | 'delete',
  ];
  const records = kind === 'story' ? state.stories : state.epics;
  const record = id === undefined ? [...records.values()].at(-1) : records.get(id);
  if (id !== undefined && record === undefined) return { status: 404, message: `there is no ${kind} ${id}` };
  const { id: key, name } = record ?? { id: 0, name: `Example ${kind}` };
  const action = {
    id: key,
    entity_type: kind,
    action: verb,
    name,
    ...(kind === 'story' ? { story_type: 'feature' } : {}),
    app_url: appUrl(state, kind, key),
    ...(verb === 'update' ? { changes: { description: { old: '', new: 'Sent by hand' } } } : {}),
  };
  return { value: deliverToAll(state, eventOf(state, key, action, []), event).map(showDelivery) };
};
const showDelivery = <T extends { readonly body: string }>({ body: _body, ...rest }: T): Omit<T, 'body'> =>
  rest;
/** `mock webhooks …`: deliveries to webhooks, redelivery, and test events without a change. */
export const webhookControl =
  (state: Tracker) =>
  (path: string, input: unknown): ControlAnswer | undefined => {
    const checkInput = <F extends Field>(
      field: F,
      work: (given: Value<F>) => ControlAnswer,
    ): ControlAnswer => {
      const problems = check(field, input);
      return problems.length > 0
        ? { status: 400, message: 'the body is not right', problems }
        : work(input as Value<F>);
    };
    switch (path) {
      case 'webhooks':
        return {
          value: [...state.webhooks.values()].map(({ secret, ...hook }) => ({
            ...hook,
            has_secret: secret !== null,
          })),
        };
      case 'webhooks/deliveries':
        return { value: state.sent.list };
      case 'webhooks/trigger':
        return checkInput(triggerInput, ({ event, id }) => trigger(state, event, id));
      case 'webhooks/resend':
        return checkInput(resendInput, ({ number }) => {
          const again = deliverAgain(state, number);
          return again === undefined
            ? { status: 404, message: `delivery ${number} not found, or its webhook was deleted` }
            : { value: showDelivery(again) };
        });
      default:
        return undefined;
    }
  };

/** One handler for each row; the compiler counts them. */
export const trackerHandlers: Handlers<(typeof tracker)['table'], Tracker> = {
  categories: categoryHandlers,
  'custom-fields': customFieldHandlers,
  documents: { ...documentHandlers, ...extensionHandlers.documents },
  'entity-templates': entityTemplateHandlers,
  'epic-workflow': epicWorkflowHandlers,
  epics: { ...epicHandlers, ...extensionHandlers.epics },
  'epic-comments': epicCommentHandlers,
  health: healthHandlers,
  files: fileHandlers,
  'linked-files': linkedFileHandlers,
  'external-links': externalLinkHandlers,
  groups: groupHandlers,
  webhooks: webhookHandlers,
  iterations: { ...iterationHandlers, ...extensionHandlers.iterations },
  'key-results': keyResultHandlers,
  labels: labelHandlers,
  members: memberHandlers,
  projects: projectHandlers,
  repositories: repositoryHandlers,
  objectives: { ...objectiveHandlers, ...extensionHandlers.objectives },
  milestones: { ...milestoneHandlers, ...extensionHandlers.milestones },
  search: searchHandlers,
  stories: { ...storyHandlers, ...extensionHandlers.stories },
  'story-tasks': storyTaskHandlers,
  'story-comments': { ...storyCommentHandlers, ...extensionHandlers['story-comments'] },
  'story-links': storyLinkHandlers,
  workflows: workflowHandlers,
};
