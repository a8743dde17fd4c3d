import { type Call, answer, store } from './call.ts';
import { denied, invalid } from './errors.ts';
import type { Draft } from './draft.ts';
import { objectOf, textOf } from './draft.ts';
import { refuseWrongLabelTexts } from './edits.ts';
import { addField } from './field-edits.ts';
import { CUSTOMER } from './people.ts';
import type { Json } from './proto-json.ts';
import { type LabelRecord, type LockRecord, type Revision, newId, publishedOf } from './state.ts';

/** A draft under edit: the content it starts from is not touched. */
export const draftOf = (
  call: Call,
  label: LabelRecord,
  content: Revision,
  locks: readonly LockRecord[],
): Draft => ({
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
    throw denied('NOT_ADMIN', 'Only an administrator can create labels of type ADMIN.');
};

/** spec/labels#schemas LabelEnabledAppSettingsEnabledApp: FILES, MAIL. */
export const appsFrom = (settings: Json, path: string): string[] => {
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

/** spec/labels#limits "standard labels per organisation": an option; labels of a provider do not count. */
const refuseTooManyLabels = ({ state, env }: Call): void => {
  const most = env.options.labelsAtMost;
  if (most === undefined) return;
  const count = state.labels.filter(({ labelType }) => labelType !== 'PROVIDER_APP').length;
  if (count >= most)
    throw invalid('', `An organisation has at most ${most} labels; this one has ${count}.`, 'LIMIT_EXCEEDED');
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

export const createLabel = (call: Call): Json => {
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
