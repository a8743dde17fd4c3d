import { CUSTOMER, rank, roleOf } from './access.ts';
import {
  readAddress,
  answer,
  type Call,
  type Handler,
  refuseLockedLabel,
  store,
  viewerOf,
  writable,
} from './batch.ts';
import { labelPolicyFrom } from './choice-edits.ts';
import {
  type Action,
  constraints,
  type Draft,
  illegal,
  mustBeDisabledFirst,
  objectOf,
  refuse,
  revisionIsLatest,
  labelStatus,
  textOf,
  type FieldRecord,
  type LabelRecord,
  latestId,
  latestOf,
  type LockRecord,
  newId,
  permissionsOf,
  type Policy,
  publishedOf,
  type Revision,
  revisionOf,
} from './draft.ts';
import { addField, applyEdits, refuseWrongLabelTexts } from './edits.ts';
import { makeDeniedError, invalid, type Json } from './proto-json.ts';
import { pageOf } from './permission-handlers.ts';
import { labelJson, locksFor } from './render.ts';

/** A draft under edit: the content it starts from is not touched. */
const draftOf = (call: Call, label: LabelRecord, content: Revision, locks: readonly LockRecord[]): Draft => ({
  label: label.id,
  revision: structuredClone(content),
  published: publishedOf(call.state, label),
  locks,
  caller: call.caller.person,
  now: call.env.now(),
  deletedFields: label.deletedFields,
  deletedChoices: { ...label.deletedChoices },
  fieldId: () => newId(call.env, 10),
  choiceId: () => newId(call.env, 10),
});
/** spec/labels#schemas Label.labelType: SHARED or ADMIN; the provider's own labels are not made here. */
const refuseWrongType = (call: Call, type: string): void => {
  if (type === '' || type === 'LABEL_TYPE_UNSPECIFIED')
    throw invalid('labelType', 'is required: SHARED or ADMIN', 'REQUIRED');
  if (type === 'PROVIDER_APP') throw invalid('labelType', 'labels of a provider app cannot be created');
  // spec/labels#schemas UserCapabilities.canCreateAdminLabels
  if (type === 'ADMIN' && !call.caller.isAdmin)
    throw makeDeniedError('NOT_ADMIN', 'Only an administrator can create labels of type ADMIN.');
};
/** spec/labels#schemas LabelEnabledAppSettingsEnabledApp: FILES, MAIL. */
const appsFrom = (settings: Json, path: string): string[] => {
  const apps = ((settings.enabledApps ?? []) as readonly Json[]).map((entry, i) => {
    const app = textOf(entry, 'app');
    if (app === '' || app === 'APP_UNSPECIFIED')
      throw invalid(`${path}.enabledApps[${i}].app`, 'is required: FILES or MAIL', 'REQUIRED');
    return app;
  });
  return [...new Set(apps)];
};
const refuseWrongLink = (uri: string): void => {
  if (uri !== '' && !/^https?:\/\/[^\s]+$/.test(uri))
    throw invalid('learnMoreUri', 'must be a URL that starts with http:// or https://');
};
/** spec/labels#limits "standard labels per organization": an option; labels of a provider do not count. */
const refuseTooManyLabels = ({ state, env }: Call): void => {
  const most = env.options.labelsAtMost;
  if (most === undefined) return;
  const count = state.labels.filter(({ labelType }) => labelType !== 'PROVIDER_APP').length;
  if (count >= most)
    throw invalid('', `An organization has at most ${most} labels; this one has ${count}.`, 'LIMIT_EXCEEDED');
};
/** The first revision before its fields are added. */
const withoutFields = (properties: Json, now: number, person: string): Revision => {
  const description = textOf(properties, 'description');
  return {
    id: '1',
    title: textOf(properties, 'title'),
    ...(description === '' ? {} : { description }),
    fields: [],
    state: 'UNPUBLISHED_DRAFT',
    revisionCreateTime: now,
    revisionCreator: person,
  };
};
const createLabel = (call: Call): Json => {
  const { body, env, caller } = call;
  const type = textOf(body, 'labelType');
  refuseWrongType(call, type);
  if (body.properties === undefined) throw invalid('properties', 'is required', 'REQUIRED');
  const properties = objectOf(body, 'properties');
  refuseWrongLabelTexts(properties, 'properties');
  const learnMoreUri = textOf(body, 'learnMoreUri');
  refuseWrongLink(learnMoreUri);
  refuseTooManyLabels(call);
  const now = env.now();
  const seq = env.store.next('labels.seq');
  const label: LabelRecord = {
    id: newId(env, 24),
    seq,
    customer: CUSTOMER,
    labelType: type,
    ...(learnMoreUri === '' ? {} : { learnMoreUri }),
    createTime: now,
    creator: caller.person,
    copyMode: 'DO_NOT_COPY',
    enabledApps: appsFrom(objectOf(body, 'enabledAppSettings'), 'enabledAppSettings'),
    counter: 1,
    drafts: ['1'],
    past: [],
    deletedFields: 0,
    deletedChoices: {},
  };
  const draft = draftOf(call, label, withoutFields(properties, now, caller.person), []);
  for (const [i, field] of ((body.fields ?? []) as readonly Json[]).entries())
    addField(draft, field, `fields[${i}]`);
  store(call, undefined, label, [draft.revision]);
  return answer(call, label.id, 'LABEL_VIEW_FULL');
};

/** Who makes a revision, and when. */
type Maker = { readonly caller: string; readonly now: number };
/** The label with references to new revisions, and those revisions. Pure: stores no data. */
type Revised = { readonly label: LabelRecord; readonly revisions: readonly Revision[] };
/** Earlier published revisions that are kept; spec/labels#lifecycle: "may be purged automatically". */
const MAX_PAST = 20;
const makeRevision = (revision: Revision, id: number, { caller, now }: Maker): Revision => ({
  ...structuredClone(revision),
  id: String(id),
  revisionCreateTime: now,
  revisionCreator: caller,
});
/** A draft after the newest one. spec/labels#lifecycle: maxDraftRevisions caps kept drafts, the oldest go. */
const draftAfter = (label: LabelRecord, content: Revision, maker: Maker): Revised => {
  const counter = label.counter + 1;
  const revision = makeRevision(content, counter, maker);
  const drafts = [...label.drafts, revision.id].slice(-constraints.maxDraftRevisions);
  return { label: { ...label, counter, drafts }, revisions: [revision] };
};
const publishPart = <T extends { state: string; publishTime?: number; publisher?: string }>(
  part: T,
  { caller, now }: Maker,
): void => {
  if (part.state !== 'UNPUBLISHED_DRAFT') return;
  part.state = 'PUBLISHED';
  part.publishTime = now;
  part.publisher = caller;
};
const publishFields = (fields: FieldRecord[], maker: Maker): void => {
  for (const field of fields) {
    publishPart(field, maker);
    for (const choice of field.choices) publishPart(choice, maker);
  }
};
const past = (label: LabelRecord): string[] =>
  (label.published === undefined ? [...label.past] : [...label.past, label.published]).slice(-MAX_PAST);
/** spec/labels#lifecycle-2: all draft changes. spec/labels#lifecycle: earlier drafts go, earlier published revisions stay. */
const publishRevision = (label: LabelRecord, draft: Revision, maker: Maker): Revised => {
  const counter = label.counter + 1;
  const revision = makeRevision(draft, counter, maker);
  publishFields(revision.fields, maker);
  revision.state = 'PUBLISHED';
  revision.publishTime = maker.now;
  revision.publisher = maker.caller;
  return {
    label: { ...label, counter, published: revision.id, drafts: [], past: past(label) },
    revisions: [revision],
  };
};
type Switch = (revision: Revision) => void;
/** spec/labels#lifecycle: one revision made of the published one and, with open drafts, one more made of the newest of them; older drafts go. */
const switchState = (
  label: LabelRecord,
  current: Revision,
  draft: Revision | undefined,
  maker: Maker,
  change: Switch,
): Revised => {
  const main = makeRevision(current, label.counter + 1, maker);
  change(main);
  if (draft === undefined)
    return {
      label: { ...label, counter: label.counter + 1, published: main.id, drafts: [], past: past(label) },
      revisions: [main],
    };
  const open = makeRevision(draft, label.counter + 2, maker);
  change(open);
  return {
    label: { ...label, counter: label.counter + 2, published: main.id, drafts: [open.id], past: past(label) },
    revisions: [main, open],
  };
};
const disableLabel = (
  label: LabelRecord,
  current: Revision,
  draft: Revision | undefined,
  policy: Policy | undefined,
  maker: Maker,
): Revised =>
  switchState(label, current, draft, maker, (revision) => {
    revision.state = 'DISABLED';
    revision.policy = policy;
    revision.disableTime = maker.now;
    revision.disabler = maker.caller;
  });
const enableLabel = (
  label: LabelRecord,
  current: Revision,
  draft: Revision | undefined,
  maker: Maker,
): Revised =>
  switchState(label, current, draft, maker, (revision) => {
    revision.state = 'PUBLISHED';
    revision.policy = undefined;
    revision.disableTime = undefined;
    revision.disabler = undefined;
  });

const requiredRevision = (call: Call): unknown =>
  (call.body.writeControl as Json | undefined)?.requiredRevisionId ??
  call.query['writeControl.requiredRevisionId'];
/** What every arrow of the table passes: the pin, the table, the locks. */
const step = (call: Call, action: Action): LabelRecord => {
  const label = writable(call);
  const standing = labelStatus(label, publishedOf(call.state, label));
  refuse(
    revisionIsLatest(requiredRevision(call), latestId(label), label.id),
    illegal(action, standing, label.id),
  );
  if (action !== 'delta') refuseLockedLabel(call, label, action === 'disable' || action === 'delete');
  return label;
};
const maker = (call: Call): Maker => ({ caller: call.caller.person, now: call.env.now() });
/** spec/labels#parameters "customer": customers/<id>; labels of other customers are not accessible. */
export const refuseOtherCustomer = (customer: unknown): void => {
  if (customer === undefined || customer === '') return;
  if (!/^customers\/[^/]+$/.test(String(customer)))
    throw invalid('customer', `must be customers/<id>, got "${customer}"`);
  if (customer !== CUSTOMER && customer !== 'customers/my_customer')
    throw makeDeniedError('OTHER_CUSTOMER', `The caller does not belong to ${customer}.`);
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
  const { label, revision, name } = readAddress(call, call.params.name ?? '');
  return labelJson(viewerOf(call), label, revision, call.query.view, name);
};
/** spec/labels#lifecycle-5: the label and all that hangs on it. */
const remove: Handler = (call) => {
  const label = step(call, 'delete');
  const { state, env } = call;
  refuse(
    mustBeDisabledFirst(
      env.options.labelDeletePolicy,
      labelStatus(label, publishedOf(state, label)),
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
  const revised = draftAfter(label, draft.revision, maker(call));
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
  const revised = publishRevision(label, latestOf(call.state, label), maker(call));
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
  const revised = disableLabel(label, current, openDraft(call, label), policy, maker(call));
  store(call, label, revised.label, revised.revisions);
  return answer(call, label.id, 'LABEL_VIEW_FULL');
};
const enable: Handler = (call) => {
  const label = step(call, 'enable');
  const revised = enableLabel(label, currentOf(call, label), openDraft(call, label), maker(call));
  store(call, label, revised.label, revised.revisions);
  return answer(call, label.id, 'LABEL_VIEW_FULL');
};
/** spec/labels#lifecycle: copy mode and enabled apps are not revisioned and take effect immediately. */
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
