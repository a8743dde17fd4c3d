import { createHash } from 'node:crypto';
import type { Environment } from '../service-set.ts';
import type { Call, Handler } from './batch.ts';
import { labels } from './label-handlers.ts';
import { DEMO_COAUTHOR, OWNER } from './access.ts';
import { permissions } from './permission-handlers.ts';
import type { Json } from './proto-json.ts';
import { type LabelState, labelState } from './draft.ts';

/** IDs of the demo are the same at every start, so that examples can use them. */
const steady = (env: Environment): Environment => {
  let count = 0;
  const random = (bytes: number): Uint8Array => {
    count += 1;
    return createHash('sha512').update(`labels demo ${count}`).digest().subarray(0, bytes);
  };
  return Object.create(env, { random: { value: random } }) as Environment;
};

type Maker = { readonly state: LabelState; readonly env: Environment };
type LabelJson = {
  readonly id: string;
  readonly fields: readonly { id: string; selectionOptions?: { choices: readonly { id: string }[] } }[];
};

const run = (
  maker: Maker,
  handler: Handler,
  params: Record<string, string>,
  body: Json,
  person = OWNER,
): LabelJson => {
  const call: Call = { ...maker, caller: { person, isAdmin: true }, params, query: {}, body, asAdmin: false };
  return handler(call) as unknown as LabelJson;
};
const create = (
  maker: Maker,
  labelType: string,
  title: string,
  description: string,
  fields: readonly Json[] = [],
  person = OWNER,
): LabelJson =>
  run(maker, labels.create, {}, { labelType, properties: { title, description }, fields }, person);
const act = (
  maker: Maker,
  action: 'publish' | 'disable' | 'delta',
  label: LabelJson,
  body: Json = {},
): void => {
  run(maker, labels[action], { name: `labels/${label.id}` }, body);
};

const choice = (displayName: string, id: string, color?: Json): Json => ({
  id,
  properties: { displayName, ...(color ? { badgeConfig: { color } } : {}) },
});
const text = (displayName: string, required = false): Json => ({
  properties: { displayName, required },
  textOptions: {},
});

/** Every kind of field, with badges, several values, a disabled choice and a disabled field. */
const contractFields: readonly Json[] = [
  {
    properties: { displayName: 'Status', required: true },
    selectionOptions: {
      choices: [
        choice('In review', 'in_review', { red: 0.95, green: 0.6, blue: 0.1 }),
        choice('Signed', 'signed', { red: 0.2, green: 0.65, blue: 0.3 }),
        choice('Faxed', 'faxed'),
      ],
    },
  },
  {
    properties: { displayName: 'Regions' },
    selectionOptions: {
      listOptions: { maxEntries: 3 },
      choices: [choice('Americas', 'amer'), choice('Europe', 'emea')],
    },
  },
  { properties: { displayName: 'Due' }, dateOptions: { dateFormatType: 'SHORT_DATE' } },
  { properties: { displayName: 'Value' }, integerOptions: {} },
  { properties: { displayName: 'Owners' }, userOptions: { listOptions: { maxEntries: 5 } } },
  text('Counterparty'),
  text('Fax number'),
];

const contract = (maker: Maker): LabelJson => {
  const label = create(maker, 'ADMIN', 'Contract', 'State and parties of a contract', contractFields);
  act(maker, 'publish', label);
  const fieldId = label.fields[0]?.id ?? '';
  const fax = label.fields[6]?.id ?? '';
  act(maker, 'delta', label, {
    requests: [
      {
        disableSelectionChoice: {
          fieldId,
          id: 'faxed',
          disabledPolicy: { hideInSearch: true },
          updateMask: '*',
        },
      },
      { disableField: { id: fax, disabledPolicy: { showInApply: true }, updateMask: '*' } },
    ],
  });
  act(maker, 'publish', label);
  run(maker, labels.updateLabelCopyMode, { name: `labels/${label.id}` }, { copyMode: 'COPY_APPLIABLE' });
  run(
    maker,
    labels.updateLabelEnabledAppSettings,
    { name: `labels/${label.id}` },
    { enabledAppSettings: { enabledApps: [{ app: 'FILES' }, { app: 'MAIL' }] } },
  );
  const parent = `labels/${label.id}`;
  run(maker, permissions.create, { parent }, { audience: 'audiences/default', role: 'APPLIER' });
  run(maker, permissions.create, { parent }, { email: 'legal-team@example.com', role: 'ORGANIZER' });
  run(maker, permissions.create, { parent }, { email: 'colleague@example.com', role: 'EDITOR' });
  return label;
};

/**
 * No method creates locks, so the demo contains some (spec/labels#limits): on a label, a field, a choice, and
 * one lock that is being removed.
 */
const lock = (
  { state, env }: Maker,
  label: LabelJson,
  part: { fieldId?: string; choiceId?: string },
  isDeleting = false,
): void => {
  const seq = env.store.next('labels.lockSeq');
  const now = env.now();
  state.locks.put(`${label.id}/lock${seq}`, {
    id: `lock${seq}`,
    seq,
    label: label.id,
    ...part,
    creator: DEMO_COAUTHOR,
    createTime: now,
    ...(isDeleting ? { deleteTime: now } : {}),
    state: isDeleting ? 'DELETING' : 'ACTIVE',
  });
};

/** A provider's own label: read only, and no caller can make one. */
const providerLabel = (maker: Maker): LabelJson => {
  const label = create(maker, 'SHARED', 'File origin', 'Kept by the file store itself', [text('Source')]);
  act(maker, 'publish', label);
  const record = maker.state.labels.get(label.id);
  if (record) maker.state.labels.put(label.id, { ...record, labelType: 'PROVIDER_APP' });
  return label;
};

const sensitivity = (maker: Maker): void => {
  const levels = { choices: [choice('Public', 'public'), choice('Internal', 'internal')] };
  create(maker, 'SHARED', 'Sensitivity', 'Who may see it', [
    { properties: { displayName: 'Level', required: true }, selectionOptions: levels },
  ]);
};

/** Published, with a newer draft. */
const projectPhase = (maker: Maker): void => {
  const fields = [text('Phase'), text('Notes')];
  const phase = create(maker, 'SHARED', 'Project phase', 'Where a project stands', fields);
  act(maker, 'publish', phase);
  const properties = { description: 'The current status of a project' };
  act(maker, 'delta', phase, { requests: [{ updateLabel: { properties, updateMask: 'description' } }] });
};

/** Disabled labels: one has a policy and another has a newer draft. */
const disabledLabels = (maker: Maker): void => {
  const years = { properties: { displayName: 'Years' }, integerOptions: {} };
  const retention = create(maker, 'ADMIN', 'Retention', 'How long it is kept', [years]);
  act(maker, 'publish', retention);
  act(maker, 'disable', retention, { disabledPolicy: { showInApply: true }, updateMask: '*' });
  const archive = create(maker, 'SHARED', 'Archive', 'Old shelf marks', [text('Shelf')]);
  act(maker, 'publish', archive);
  act(maker, 'delta', archive, { requests: [{ createField: { field: text('Room') } }] });
  act(maker, 'disable', archive);
};

/** Labels in every state, with every kind of field, permissions and locks. Call inside a transaction. */
export const seedLabels = (real: Environment): void => {
  const env = steady(real);
  const maker: Maker = { state: labelState(real), env };
  const first = contract(maker);
  lock(maker, first, { fieldId: first.fields[0]?.id, choiceId: 'signed' });
  lock(maker, first, { fieldId: first.fields[2]?.id });
  // The lock of a field holds its choices as well.
  lock(maker, first, { fieldId: first.fields[1]?.id });
  sensitivity(maker);
  projectPhase(maker);
  disabledLabels(maker);

  const department = create(maker, 'ADMIN', 'Department', 'Set by policy', [text('Cost centre')]);
  act(maker, 'publish', department);
  lock(maker, department, {});

  const records = create(
    maker,
    'SHARED',
    'Records class',
    'Kept by a colleague',
    [text('Class')],
    DEMO_COAUTHOR,
  );
  run(maker, labels.publish, { name: `labels/${records.id}` }, {}, DEMO_COAUTHOR);
  run(
    maker,
    permissions.create,
    { parent: `labels/${records.id}` },
    { audience: 'audiences/default', role: 'READER' },
    DEMO_COAUTHOR,
  );
  // Locks are on a label that cannot be changed anyway. The caller's own labels can go through every state,
  // except for the two locked ones.
  const origin = providerLabel(maker);
  lock(maker, origin, { fieldId: origin.fields[0]?.id }, true);
};
