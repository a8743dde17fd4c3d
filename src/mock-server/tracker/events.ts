import { JSON_TYPE } from '../body.ts';
import { createHmac, hash } from 'node:crypto';
import type { historyEvent } from '../../api-specs/tracker/extension.ts';
import type { Value } from '../../core/field.ts';
import { messageOf } from '../../core/problem.ts';
import type {
  Delivery,
  StoredEpic,
  StoredEpicComment,
  StoredHistory,
  StoredStory,
  StoredStoryComment,
  StoredTask,
  StoredWebhook,
} from './row.ts';
import { appUrl, newUuid, ownerId, timestamp, type Tracker } from './state.ts';

export type Verb = 'create' | 'update' | 'delete';
type Plain = Readonly<Record<string, unknown>>;
type Reference = {
  readonly id: number | string;
  readonly entity_type: string;
  readonly name: string;
  readonly app_url?: string;
};
export type Action = {
  readonly id: number;
  readonly entity_type: string;
  readonly action: Verb;
  readonly name?: string;
  readonly app_url: string;
} & Plain;
/** Set by the service with every write; an event does not speak of them. */
const SILENT = new Set(['updated_at', 'position', 'entity_type']);
/** spec/tracker#webhooks: `{field: {old, new}}`, and `{adds, removes}` for lists. */
const changesBetween = (before: Plain, after: Plain): Record<string, Plain> => {
  const changes: Record<string, Plain> = {};
  for (const key of Object.keys(after)) {
    const [was, is] = [before[key], after[key]];
    if (SILENT.has(key) || JSON.stringify(was) === JSON.stringify(is)) continue;
    if (!Array.isArray(is) || !Array.isArray(was)) changes[key] = { old: was, new: is };
    else {
      const [had, has] = [
        new Set(was.map((one) => JSON.stringify(one))),
        new Set(is.map((one) => JSON.stringify(one))),
      ];
      const adds = is.filter((one) => !had.has(JSON.stringify(one)));
      const removes = was.filter((one) => !has.has(JSON.stringify(one)));
      changes[key] = { ...(adds.length > 0 ? { adds } : {}), ...(removes.length > 0 ? { removes } : {}) };
    }
  }
  return changes;
};
const referTo: Readonly<Record<string, (state: Tracker, id: never) => Reference | undefined>> = {
  epic_id: (state, id) => nameReferences(state, 'epic', state.epics.get(id)),
  iteration_id: (state, id) => nameReferences(state, 'iteration', state.iterations.get(id)),
  project_id: (state, id) => nameReferences(state, 'project', state.projects.get(id)),
  label_ids: (state, id) => nameReferences(state, 'label', state.labels.get(id)),
  group_id: (state, id) => nameReferences(state, 'group', state.groups.get(id)),
  group_ids: (state, id) => nameReferences(state, 'group', state.groups.get(id)),
  objective_ids: (state, id) => nameReferences(state, 'objective', state.objectives.get(id)),
  workflow_state_id: (state, id) => {
    for (const { states } of state.workflows.values()) {
      const found = states.find((each) => each.id === id);
      if (found) return { id, entity_type: 'workflow-state', name: found.name };
    }
    return undefined;
  },
};
const nameReferences = (
  state: Tracker,
  kind: string,
  record: { id: number | string; name: string } | undefined,
): Reference | undefined =>
  record && { id: record.id, entity_type: kind, name: record.name, app_url: appUrl(state, kind, record.id) };
/** spec/tracker#webhooks: "references resolve ids in changes". */
const referencesOf = (state: Tracker, changes: Readonly<Record<string, Plain>>): Reference[] => {
  const seen = new Map<string, Reference>();
  for (const [field, change] of Object.entries(changes)) {
    for (const id of [
      change.old,
      change.new,
      ...((change.adds as unknown[]) ?? []),
      ...((change.removes as unknown[]) ?? []),
    ]) {
      const found = id === null || id === undefined ? undefined : referTo[field]?.(state, id as never);
      if (found) seen.set(`${found.entity_type} ${found.id}`, found);
    }
  }
  return [...seen.values()];
};
/** A record as the change that made it. */
const asNew = (record: Plain): Record<string, Plain> =>
  Object.fromEntries(
    Object.entries(record).map(([key, value]) => [
      key,
      Array.isArray(value) ? { adds: value } : { new: value },
    ]),
  );

/** Deliveries that are remembered. */
const KEPT = 1000;
type Outcome = { readonly isTaken: boolean; readonly answer: string };
const send = async ({ env }: Tracker, hook: StoredWebhook, body: string): Promise<Outcome> => {
  const headers: Record<string, string> = {
    'content-type': JSON_TYPE,
    'user-agent': 'opsctl-mock',
  };
  // spec/tracker#webhooks: lower-case hexadecimal HMAC-SHA-256 of the exact bytes; absent without a secret.
  if (hook.secret !== null)
    headers['payload-signature'] = createHmac('sha256', hook.secret).update(body).digest('hex');
  try {
    const reply = await env.host.network.request({
      method: 'POST',
      url: hook.webhook_url,
      headers,
      body,
      timeoutMs: 5000,
      connectTimeoutMs: 2000,
    });
    await reply.bytes();
    const isTaken = reply.status >= 200 && reply.status < 300;
    return { isTaken, answer: String(reply.status) };
  } catch (error) {
    return { isTaken: false, answer: messageOf(error) };
  }
};
const ATTEMPTS = 5;
const FIRST_WAIT_MS = 250;
/**
 * The same bytes again, each time after twice the wait; given up after the last attempt, when the webhook is gone, or
 * when the server stops and this receiver did not take the last delivery.
 */
const deliver = async (state: Tracker, delivery: Delivery): Promise<void> => {
  const { host, stopping } = state.env;
  const id = delivery.webhook_id;
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const hook = state.webhooks.get(id);
    if (hook === undefined || (stopping?.aborted && state.failing.has(id))) break;
    const { isTaken, answer } = await send(state, hook, delivery.body);
    delivery.attempts += 1;
    delivery.answer = answer;
    if (isTaken) {
      delivery.status = 'delivered';
      state.failing.delete(id);
      return;
    }
    state.failing.add(id);
    if (attempt < ATTEMPTS - 1) await host.sleep(FIRST_WAIT_MS * 2 ** attempt, stopping).catch(() => {});
  }
  delivery.status = 'failed';
};
/** Puts a delivery behind those of the same webhook, so that events arrive in order. */
const enqueue = (
  state: Tracker,
  hook: StoredWebhook,
  made: Pick<Delivery, 'event' | 'body' | 'resend_of'>,
): Delivery => {
  state.sent.count += 1;
  const delivery: Delivery = {
    number: state.sent.count,
    webhook_id: hook.id,
    url: hook.webhook_url,
    at: timestamp(state.env.now()),
    status: 'pending',
    attempts: 0,
    ...made,
  };
  state.sent.list.push(delivery);
  if (state.sent.list.length > KEPT) state.sent.list.shift();
  const before = state.deliveries.get(hook.id) ?? Promise.resolve();
  const sent = before.then(() => deliver(state, delivery));
  state.deliveries.set(hook.id, sent);
  state.env.later(() => sent);
  return delivery;
};
/** spec/tracker#webhooks-2: every webhook gets the event, signed with its own secret. */
export const deliverToAll = (state: Tracker, event: object, name: string): Delivery[] =>
  [...state.webhooks.values()].map((hook) =>
    enqueue(state, hook, { event: name, body: JSON.stringify({ ...event, webhook_id: hook.id }) }),
  );
/**
 * Returns the same bytes for a redelivery that a receiver requests; undefined if they are no longer stored.
 */
export const deliverAgain = (state: Tracker, number: number): Delivery | undefined => {
  const delivery = state.sent.list.find((one) => one.number === number);
  const hook = delivery && state.webhooks.get(delivery.webhook_id);
  return hook && delivery
    ? enqueue(state, hook, { event: delivery.event, body: delivery.body, resend_of: number })
    : undefined;
};

type Event = Value<typeof historyEvent>;
/** Events of one story that are kept; the creation comes on top of them. */
const STORY_HISTORY_KEPT = 200;
const storyOf = ({ story_id: id }: StoredHistory): number => id;
const eventsOf = ({ storyHistory }: Tracker, id: number): StoredHistory[] => [
  ...storyHistory.index('story', storyOf).get(id),
];
const noteInHistory = (state: Tracker, storyId: number, event: Event): void => {
  const before = eventsOf(state, storyId);
  for (const { id } of before.slice(0, Math.max(0, before.length - STORY_HISTORY_KEPT + 1)))
    state.storyHistory.delete(id);
  state.storyHistory.put(event.id, { ...event, story_id: storyId });
};
export const forgetHistory = (state: Tracker, storyId: number): void => {
  for (const { id } of eventsOf(state, storyId)) state.storyHistory.delete(id);
};
/** A stable ID: the creation of a story is stored only once. */
const creationId = (storyId: number): string => {
  const hex = hash('sha256', `creation of story ${storyId}`);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
};
/** The original name of the story: the old name in its first change of name, otherwise its current name. */
const firstName = (story: StoredStory, events: readonly StoredHistory[]): string => {
  for (const { actions } of events)
    for (const action of actions as { entity_type?: string; changes?: { name?: { old?: unknown } } }[])
      if (action.entity_type === 'story' && typeof action.changes?.name?.old === 'string')
        return action.changes.name.old;
  return story.name;
};
/** spec/tracker#stories-4: oldest first, the creation before all others. */
export const historyOf = (state: Tracker, story: StoredStory): Event[] => {
  const events = eventsOf(state, story.id);
  const creator = state.members.get(story.requested_by_id);
  const creation: Event = {
    id: creationId(story.id),
    changed_at: story.created_at,
    version: 'v1',
    primary_id: story.id,
    member_id: story.requested_by_id,
    ...(creator ? { actor_name: creator.profile.name } : {}),
    actions: [
      {
        id: story.id,
        entity_type: 'story',
        action: 'create',
        name: firstName(story, events),
        story_type: story.story_type,
        app_url: appUrl(state, 'story', story.id),
      },
    ],
    references: [],
  };
  return [creation, ...events.map(({ story_id: _story, ...event }) => event)];
};

/** spec/tracker#webhooks-3: what webhooks get and what the history of a story lists. */
export const eventOf = (
  state: Tracker,
  primaryId: number,
  action: Action,
  references: readonly unknown[],
) => {
  const owner = state.members.get(ownerId(state));
  return {
    id: newUuid(state),
    changed_at: timestamp(state.env.now()),
    version: 'v1',
    primary_id: primaryId,
    member_id: ownerId(state),
    ...(owner ? { actor_name: owner.profile.name } : {}),
    actions: [action],
    references: [...references],
  };
};
/**
 * An update without a change creates no event. The creation of a story is not recorded: its history starts
 * with it anyway.
 */
const tell = (
  state: Tracker,
  primaryId: number,
  action: Action,
  before: Plain | undefined,
  after: Plain,
  storyId?: number,
): void => {
  const hasListeners = state.webhooks.size > 0;
  const isNoted = storyId !== undefined && action.entity_type + action.action !== 'storycreate';
  if (!hasListeners && !isNoted) return;
  const isUpdate = action.action === 'update';
  const changes = isUpdate ? changesBetween(before ?? {}, after) : asNew(after);
  if (isUpdate && Object.keys(changes).length === 0) return;
  const told = isUpdate ? { ...action, changes } : action;
  const event = eventOf(state, primaryId, told, referencesOf(state, changes));
  if (isNoted) noteInHistory(state, storyId, event);
  if (hasListeners) deliverToAll(state, event, `${action.entity_type}.${action.action}`);
};
/** spec/tracker#webhooks: "fired when stories or epics are created, updated or deleted, incl. comments and tasks". */
export const epicEvent = (state: Tracker, action: Verb, epic: StoredEpic, before?: StoredEpic): void => {
  tell(
    state,
    epic.id,
    { id: epic.id, entity_type: 'epic', action, name: epic.name, app_url: appUrl(state, 'epic', epic.id) },
    before,
    epic,
  );
};
export const storyEvent = (state: Tracker, action: Verb, story: StoredStory, before?: StoredStory): void => {
  const url = appUrl(state, 'story', story.id);
  tell(
    state,
    story.id,
    {
      id: story.id,
      entity_type: 'story',
      action,
      name: story.name,
      story_type: story.story_type,
      app_url: url,
    },
    before,
    story,
    story.id,
  );
};
export const epicCommentEvent = (
  state: Tracker,
  action: Verb,
  comment: StoredEpicComment,
  before?: StoredEpicComment,
): void => {
  const url = `${appUrl(state, 'epic', comment.epic_id)}#activity-${comment.id}`;
  tell(
    state,
    comment.epic_id,
    { id: comment.id, entity_type: 'epic-comment', action, text: comment.text, app_url: url },
    before,
    comment,
  );
};
export const storyCommentEvent = (
  state: Tracker,
  action: Verb,
  comment: StoredStoryComment,
  before?: StoredStoryComment,
): void => {
  const url = `${appUrl(state, 'story', comment.story_id)}#activity-${comment.id}`;
  tell(
    state,
    comment.story_id,
    { id: comment.id, entity_type: 'story-comment', action, text: comment.text, app_url: url },
    before,
    comment,
    comment.story_id,
  );
};
export const taskEvent = (state: Tracker, action: Verb, one: StoredTask, before?: StoredTask): void => {
  const url = appUrl(state, 'story', one.story_id);
  tell(
    state,
    one.story_id,
    { id: one.id, entity_type: 'story-task', action, description: one.description, app_url: url },
    before,
    one,
    one.story_id,
  );
};
