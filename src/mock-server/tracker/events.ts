import { createHmac } from 'node:crypto';
import { appUrl, newUuid, ownerId, timestamp } from './records.ts';
import type { Tracker } from './state.ts';
import type {
  StoredEpic,
  StoredEpicComment,
  StoredStory,
  StoredStoryComment,
  StoredTask,
  StoredWebhook,
} from './row.ts';

type Verb = 'create' | 'update' | 'delete';
type Plain = Readonly<Record<string, unknown>>;
type Reference = {
  readonly id: number | string;
  readonly entity_type: string;
  readonly name: string;
  readonly app_url?: string;
};
type Action = {
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

const referTo: Readonly<Record<string, (state: Tracker, id: any) => Reference | undefined>> = {
  epic_id: (state, id) => named(state, 'epic', state.epics.get(id)),
  iteration_id: (state, id) => named(state, 'iteration', state.iterations.get(id)),
  project_id: (state, id) => named(state, 'project', state.projects.get(id)),
  label_ids: (state, id) => named(state, 'label', state.labels.get(id)),
  group_id: (state, id) => named(state, 'group', state.groups.get(id)),
  group_ids: (state, id) => named(state, 'group', state.groups.get(id)),
  objective_ids: (state, id) => named(state, 'objective', state.objectives.get(id)),
  workflow_state_id: (state, id) => {
    for (const { states } of state.workflows.values()) {
      const found = states.find((each) => each.id === id);
      if (found) return { id, entity_type: 'workflow-state', name: found.name };
    }
    return undefined;
  },
};
const named = (
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
      const found = id === null || id === undefined ? undefined : referTo[field]?.(state, id);
      if (found) seen.set(`${found.entity_type} ${found.id}`, found);
    }
  }
  return [...seen.values()];
};

const send = async ({ env }: Tracker, hook: StoredWebhook, body: string): Promise<boolean> => {
  const headers: Record<string, string> = {
    'content-type': 'application/json; charset=utf-8',
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
    return reply.status >= 200 && reply.status < 300;
  } catch {
    return false;
  }
};

const ATTEMPTS = 5;
const FIRST_WAIT_MS = 250;
/**
 * The same bytes again, each time after twice the wait; given up after the last attempt, when the webhook is gone, or
 * when the server stops and this receiver did not take the last delivery.
 */
const deliver = async (state: Tracker, id: number, body: string): Promise<void> => {
  const { host, stopping } = state.env;
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const hook = state.webhooks.get(id);
    if (hook === undefined || (stopping?.aborted && state.failing.has(id))) return;
    if (await send(state, hook, body)) {
      state.failing.delete(id);
      return;
    }
    state.failing.add(id);
    if (attempt < ATTEMPTS - 1) await host.sleep(FIRST_WAIT_MS * 2 ** attempt, stopping).catch(() => {});
  }
};

const emit = (
  state: Tracker,
  primaryId: number,
  actions: readonly Action[],
  references: readonly Reference[],
): void => {
  const owner = state.members.get(ownerId(state));
  const event = {
    id: newUuid(state),
    changed_at: timestamp(state.env.now()),
    version: 'v1',
    primary_id: primaryId,
    member_id: ownerId(state),
    ...(owner ? { actor_name: owner.profile.name } : {}),
    actions,
    references,
  };
  for (const { id } of state.webhooks.values()) {
    const body = JSON.stringify({ ...event, webhook_id: id });
    const before = state.deliveries.get(id) ?? Promise.resolve();
    const sent = before.then(() => deliver(state, id, body));
    state.deliveries.set(id, sent);
    state.env.later(() => sent);
  }
};

const hasListeners = (state: Tracker): boolean => state.webhooks.size > 0;

/** An update without a change is not told. */
const tell = (
  state: Tracker,
  primaryId: number,
  action: Action,
  before: Plain | undefined,
  after: Plain,
): void => {
  if (action.action === 'update') {
    const changes = changesBetween(before ?? {}, after);
    if (Object.keys(changes).length > 0)
      emit(state, primaryId, [{ ...action, changes }], referencesOf(state, changes));
  } else emit(state, primaryId, [action], referencesOf(state, asNew(after)));
};
const asNew = (record: Plain): Record<string, Plain> =>
  Object.fromEntries(
    Object.entries(record).map(([key, value]) => [
      key,
      Array.isArray(value) ? { adds: value } : { new: value },
    ]),
  );

/** spec/tracker#webhooks: "fired when stories or epics are created, updated or deleted, incl. comments and tasks". */
export const epicEvent = (state: Tracker, action: Verb, epic: StoredEpic, before?: StoredEpic): void => {
  if (!hasListeners(state)) return;
  tell(
    state,
    epic.id,
    { id: epic.id, entity_type: 'epic', action, name: epic.name, app_url: appUrl(state, 'epic', epic.id) },
    before,
    epic,
  );
};
export const storyEvent = (state: Tracker, action: Verb, story: StoredStory, before?: StoredStory): void => {
  if (!hasListeners(state)) return;
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
  );
};
export const epicCommentEvent = (
  state: Tracker,
  action: Verb,
  comment: StoredEpicComment,
  before?: StoredEpicComment,
): void => {
  if (!hasListeners(state)) return;
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
  if (!hasListeners(state)) return;
  const url = `${appUrl(state, 'story', comment.story_id)}#activity-${comment.id}`;
  tell(
    state,
    comment.story_id,
    { id: comment.id, entity_type: 'story-comment', action, text: comment.text, app_url: url },
    before,
    comment,
  );
};
export const taskEvent = (state: Tracker, action: Verb, one: StoredTask, before?: StoredTask): void => {
  if (!hasListeners(state)) return;
  const url = appUrl(state, 'story', one.story_id);
  tell(
    state,
    one.story_id,
    { id: one.id, entity_type: 'story-task', action, description: one.description, app_url: url },
    before,
    one,
  );
};
