import { rank, roleOf } from './access.ts';
import {
  type Call,
  type Handler,
  addressed,
  answer,
  refuseLockedLabel,
  store,
  viewerOf,
  writable,
} from './call.ts';
import { labelPolicyFrom } from './policy.ts';
import { appsFrom, createLabel, draftOf } from './create.ts';
import { textOf } from './draft.ts';
import { applyEdits } from './edits.ts';
import { denied, invalid } from './errors.ts';
import {
  type Action,
  illegal,
  revisionIsLatest,
  mustBeDisabledFirst,
  refuse,
  standingOf,
} from './lifecycle.ts';
import { pageOf } from './page.ts';
import { CUSTOMER } from './people.ts';
import type { Json } from './proto-json.ts';
import { labelJson, locksFor } from './render.ts';
import * as revise from './revise.ts';
import { type LabelRecord, latestId, latestOf, permissionsOf, publishedOf, revisionOf } from './state.ts';

const requiredRevision = (call: Call): unknown =>
  (call.body.writeControl as Json | undefined)?.requiredRevisionId ??
  call.query['writeControl.requiredRevisionId'];

/** What every arrow of the table passes: the pin, the table, the locks. */
const step = (call: Call, action: Action): LabelRecord => {
  const label = writable(call);
  const standing = standingOf(label, publishedOf(call.state, label));
  refuse(
    revisionIsLatest(requiredRevision(call), latestId(label), label.id),
    illegal(action, standing, label.id),
  );
  if (action !== 'delta') refuseLockedLabel(call, label, action === 'disable' || action === 'delete');
  return label;
};
const maker = (call: Call): revise.Maker => ({ caller: call.caller.person, now: call.env.now() });

/** spec/labels#parameters "customer": customers/<id>; other customers' labels are nobody's business. */
export const refuseOtherCustomer = (customer: unknown): void => {
  if (customer === undefined || customer === '') return;
  if (!/^customers\/[^/]+$/.test(String(customer)))
    throw invalid('customer', `must be customers/<id>, got "${customer}"`);
  if (customer !== CUSTOMER && customer !== 'customers/my_customer')
    throw denied('OTHER_CUSTOMER', `The caller does not belong to ${customer}.`);
};

const list: Handler = (call) => {
  const { query, state, caller } = call;
  refuseOtherCustomer(query.customer);
  const role = query.minimumRole === 'LABEL_ROLE_UNSPECIFIED' ? 'READER' : String(query.minimumRole);
  const wanted = state.labels.filter(
    (label) =>
      (!query.publishedOnly || label.published !== undefined) &&
      (call.asAdmin || roleOf(state, label, caller, false) >= rank(role)),
  );
  const { pageSize, pageToken, ...about } = query;
  const page = pageOf(wanted, query, 50, ['labels', about, caller.person]);
  const viewer = viewerOf(call);
  const labels = page.items.map((label) => {
    const revision = query.publishedOnly ? publishedOf(state, label) : latestOf(state, label);
    if (revision === undefined) throw new Error(`label ${label.id} lost its revision`);
    // spec/labels#parameters publishedOnly: names with the published revision; current revisions have names without one.
    return labelJson(
      viewer,
      label,
      revision,
      query.view,
      query.publishedOnly ? `labels/${label.id}@${revision.id}` : undefined,
    );
  });
  return { labels, ...(page.nextPageToken === undefined ? {} : { nextPageToken: page.nextPageToken }) };
};

const get: Handler = (call) => {
  const { label, revision, name } = addressed(call, call.params.name ?? '');
  return labelJson(viewerOf(call), label, revision, call.query.view, name);
};

/** spec/labels#lifecycle-5: the label and all that hangs on it. */
const remove: Handler = (call) => {
  const label = step(call, 'delete');
  const { state, env } = call;
  refuse(
    mustBeDisabledFirst(
      env.options.labelDeletePolicy,
      standingOf(label, publishedOf(state, label)),
      label.id,
    ),
  );
  for (const id of [
    ...label.past,
    ...label.drafts,
    ...(label.published === undefined ? [] : [label.published]),
  ])
    state.revisions.delete(`${label.id}@${id}`);
  for (const permission of permissionsOf(state, label.id))
    state.permissions.delete(`${label.id}/${permission.id}`);
  state.labels.delete(label.id);
  return {};
};

const delta: Handler = (call) => {
  const label = step(call, 'delta');
  const requests = (call.body.requests ?? []) as readonly Json[];
  if (requests.length === 0) throw invalid('requests', 'at least one request is required', 'REQUIRED');
  const draft = draftOf(call, label, latestOf(call.state, label), locksFor(call.state, label.id));
  const responses = applyEdits(draft, requests);
  const revised = revise.draftAfter(label, draft.revision, maker(call));
  store(
    call,
    label,
    { ...revised.label, deletedFields: draft.deletedFields, deletedChoices: draft.deletedChoices },
    revised.revisions,
  );
  return { responses, updatedLabel: answer(call, label.id, call.body.view) };
};

const publish: Handler = (call) => {
  const label = step(call, 'publish');
  const revised = revise.published(label, latestOf(call.state, label), maker(call));
  store(call, label, revised.label, revised.revisions);
  return answer(call, label.id, 'LABEL_VIEW_FULL');
};

const openDraft = (call: Call, label: LabelRecord) => {
  const id = label.drafts[label.drafts.length - 1];
  return id === undefined ? undefined : revisionOf(call.state, label, id);
};
const currentOf = (call: Call, label: LabelRecord) => {
  const current = publishedOf(call.state, label);
  if (current === undefined) throw new Error(`label ${label.id} has no published revision`);
  return current;
};

const disable: Handler = (call) => {
  const label = step(call, 'disable');
  const current = currentOf(call, label);
  const policy = labelPolicyFrom(call.body, current.policy);
  const revised = revise.disabled(label, current, openDraft(call, label), policy, maker(call));
  store(call, label, revised.label, revised.revisions);
  return answer(call, label.id, 'LABEL_VIEW_FULL');
};

const enable: Handler = (call) => {
  const label = step(call, 'enable');
  const revised = revise.enabled(label, currentOf(call, label), openDraft(call, label), maker(call));
  store(call, label, revised.label, revised.revisions);
  return answer(call, label.id, 'LABEL_VIEW_FULL');
};

/** spec/labels#lifecycle: copy mode and enabled apps are not revisioned and hold at once. */
const updateLabelCopyMode: Handler = (call) => {
  const label = writable(call);
  const copyMode = textOf(call.body, 'copyMode');
  if (copyMode === '' || copyMode === 'COPY_MODE_UNSPECIFIED')
    throw invalid('copyMode', 'is required: DO_NOT_COPY, ALWAYS_COPY or COPY_APPLIABLE', 'REQUIRED');
  refuseLockedLabel(call, label, false);
  call.state.labels.put(label.id, { ...label, copyMode });
  return answer(call, label.id, call.body.view);
};

const updateLabelEnabledAppSettings: Handler = (call) => {
  const label = writable(call);
  if (call.body.enabledAppSettings === undefined)
    throw invalid('enabledAppSettings', 'is required', 'REQUIRED');
  const enabledApps = appsFrom(call.body.enabledAppSettings as Json, 'enabledAppSettings');
  refuseLockedLabel(call, label, false);
  call.state.labels.put(label.id, { ...label, enabledApps });
  return answer(call, label.id, call.body.view);
};

export const labels = {
  create: createLabel,
  list,
  get,
  delete: remove,
  delta,
  publish,
  disable,
  enable,
  updateLabelCopyMode,
  updateLabelEnabledAppSettings,
};
