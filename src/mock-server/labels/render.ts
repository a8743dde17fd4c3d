import type { Environment } from '../service-set.ts';
import { type Caller, rank, roleOf } from './access.ts';
import {
  constraints,
  illegal,
  isLockTarget,
  lockAgainst,
  mustBeDisabledFirst,
  labelStatus,
  type Badge,
  type ChoiceRecord,
  type Color,
  type FieldRecord,
  type LabelRecord,
  type LabelState,
  type LockRecord,
  type PermissionRecord,
  type Policy,
  publishedOf,
  type Revision,
  type Stamps,
} from './draft.ts';

export type Json = { readonly [key: string]: unknown };
/** What a drawing of a label needs besides the record. */
type Sight = {
  readonly label: string;
  readonly published: Revision | undefined;
  readonly locks: readonly LockRecord[];
  readonly canEdit: boolean;
  readonly canApply: boolean;
};
const time = (ms: number | undefined): string | undefined =>
  ms === undefined ? undefined : new Date(ms).toISOString();
const person = (id: string | undefined): Json | undefined => (id === undefined ? undefined : { person: id });
/** Members without a value are left out (spec/labels#errors). */
const compact = (json: Json): Json =>
  Object.fromEntries(Object.entries(json).filter(([, value]) => value !== undefined));
const stampsJson = (stamps: Stamps): Json => ({
  createTime: time(stamps.createTime),
  creator: person(stamps.creator),
  updateTime: time(stamps.updateTime),
  updater: person(stamps.updater),
  publisher: person(stamps.publisher),
  disableTime: time(stamps.disableTime),
  disabler: person(stamps.disabler),
});
/** An empty policy counts as no policy: a plain disable stores none. */
const policyJson = (policy: Policy | undefined): Policy | undefined =>
  policy?.hideInSearch || policy?.showInApply ? policy : undefined;
const lifecycleJson = (state: string, policy: Policy | undefined, hasUnpublishedChanges: boolean): Json =>
  compact({
    state,
    disabledPolicy: policyJson(policy),
    hasUnpublishedChanges: hasUnpublishedChanges || undefined,
  });
type Shown = { readonly state: string; readonly policy?: Policy };
const hints = ({ state, policy }: Shown): Json => ({
  disabled: state === 'DISABLED',
  hiddenInSearch: state === 'DISABLED' && policy?.hideInSearch === true,
  shownInApply: state === 'PUBLISHED' || (state === 'DISABLED' && policy?.showInApply === true),
});
/** spec/labels#schemas schemaCapabilities: the right, the state, and no lock in the way: exactly what the rules enforce. */
const partCapabilities = (
  sight: Sight,
  state: string,
  part: { fieldId: string; choiceId?: string },
): Json => {
  const mayTouch = sight.canEdit && lockAgainst(sight.locks, part, false) === undefined;
  const mayTake = sight.canEdit && lockAgainst(sight.locks, part, true) === undefined;
  return {
    canUpdate: mayTouch,
    canDelete: mayTake && state !== 'PUBLISHED',
    canDisable: mayTake && state === 'PUBLISHED',
    canEnable: mayTouch && state === 'DISABLED',
  };
};
/** What a user sees of a part, without who touched it when. */
const essence = (record: FieldRecord | ChoiceRecord): string =>
  JSON.stringify(record, (key, value: unknown) =>
    /^(create|update|publish|disable)Time$|^(creator|updater|publisher|disabler)$/.test(key)
      ? undefined
      : value,
  );
const differs = (now: FieldRecord | ChoiceRecord, before: FieldRecord | ChoiceRecord | undefined): boolean =>
  before !== undefined && essence(now) !== essence(before);
/** spec/labels#schemas BadgeConfig: shown in the nearest color that is supported. */
const palette: readonly Color[] = [
  { red: 0.8, green: 0.2, blue: 0.2 },
  { red: 0.95, green: 0.6, blue: 0.1 },
  { red: 0.98, green: 0.85, blue: 0.2 },
  { red: 0.2, green: 0.65, blue: 0.3 },
  { red: 0.2, green: 0.4, blue: 0.85 },
  { red: 0.55, green: 0.3, blue: 0.75 },
  { red: 0.45, green: 0.45, blue: 0.45 },
];
const distance = (a: Color, b: Color): number =>
  ((a.red ?? 0) - (b.red ?? 0)) ** 2 +
  ((a.green ?? 0) - (b.green ?? 0)) ** 2 +
  ((a.blue ?? 0) - (b.blue ?? 0)) ** 2;
const badgeHints = (badge: Badge | undefined, position: number): Json => {
  if (badge?.color === undefined) return { badgePriority: '0' };
  const { color } = badge;
  const nearest = palette.reduce((best, next) =>
    distance(next, color) < distance(best, color) ? next : best,
  );
  const colors = {
    backgroundColor: nearest,
    foregroundColor: { red: 1, green: 1, blue: 1 },
    soloColor: nearest,
  };
  const asked = badge.priorityOverride ?? '0';
  return {
    badgeColors: colors,
    darkBadgeColors: { ...colors, soloColor: { red: 1, green: 1, blue: 1 } },
    badgePriority: asked === '0' ? String(position) : asked,
  };
};
const choiceJson =
  (field: FieldRecord, before: FieldRecord | undefined, sight: Sight) =>
  (choice: ChoiceRecord, index: number): Json =>
    compact({
      id: choice.id,
      properties: compact({
        displayName: choice.displayName,
        description: choice.description,
        badgeConfig: choice.badge,
      }),
      lifecycle: lifecycleJson(
        choice.state,
        choice.policy,
        differs(
          choice,
          before?.choices.find((c) => c.id === choice.id),
        ),
      ),
      displayHints: { ...hints(choice), ...badgeHints(choice.badge, index + 1) },
      lockStatus: { locked: isLockTarget(sight.locks, { fieldId: field.id, choiceId: choice.id }) },
      schemaCapabilities: partCapabilities(sight, choice.state, { fieldId: field.id, choiceId: choice.id }),
      appliedCapabilities: {
        canRead: true,
        canSearch: true,
        canSelect: sight.canApply && choice.state === 'PUBLISHED',
      },
      ...stampsJson(choice),
      publishTime: time(choice.publishTime),
    });
const limits = constraints.fieldLimits;
const typeJson = (field: FieldRecord, before: FieldRecord | undefined, sight: Sight): Json => {
  const listOptions = field.maxEntries === undefined ? undefined : { maxEntries: field.maxEntries };
  switch (field.kind) {
    case 'text':
      return { textOptions: { ...limits.textLimits } };
    case 'integer':
      return { integerOptions: { ...limits.integerLimits } };
    case 'date':
      return {
        dateOptions: {
          dateFormatType: field.dateFormatType,
          dateFormat: field.dateFormatType === 'SHORT_DATE' ? 'M/d/yy' : 'MMMM d, y',
          ...limits.dateLimits,
        },
      };
    case 'user':
      return { userOptions: compact({ listOptions }) };
    default:
      return {
        selectionOptions: compact({
          listOptions,
          choices: field.choices.map(choiceJson(field, before, sight)),
        }),
      };
  }
};
const fieldJson =
  (sight: Sight) =>
  (field: FieldRecord): Json => {
    const before = sight.published?.fields.find((f) => f.id === field.id);
    return compact({
      id: field.id,
      queryKey: `labels/${sight.label}.${field.id}`,
      properties: { displayName: field.displayName, required: field.required },
      ...typeJson(field, before, sight),
      lifecycle: lifecycleJson(field.state, field.policy, differs(field, before)),
      displayHints: { ...hints(field), required: field.required },
      lockStatus: { locked: isLockTarget(sight.locks, { fieldId: field.id }) },
      schemaCapabilities: partCapabilities(sight, field.state, { fieldId: field.id }),
      appliedCapabilities: {
        canRead: true,
        canSearch: true,
        canWrite: sight.canApply && field.state === 'PUBLISHED',
      },
      ...stampsJson(field),
    });
  };

export type View = 'LABEL_VIEW_BASIC' | 'LABEL_VIEW_FULL';
export type Viewer = {
  readonly state: LabelState;
  readonly env: Environment;
  readonly caller: Caller;
  readonly asAdmin: boolean;
};
const capabilities = (
  viewer: Viewer,
  label: LabelRecord,
  published: Revision | undefined,
  sight: Sight,
): Json => {
  const standing = labelStatus(label, published);
  const mayTouch = sight.canEdit && lockAgainst(sight.locks, {}, false) === undefined;
  const mayTake = sight.canEdit && lockAgainst(sight.locks, {}, true) === undefined;
  return {
    canUpdate: mayTouch,
    canDelete:
      mayTake && mustBeDisabledFirst(viewer.env.options.labelDeletePolicy, standing, label.id) === undefined,
    canDisable: mayTake && illegal('disable', standing, label.id) === undefined,
    canEnable: mayTouch && illegal('enable', standing, label.id) === undefined,
  };
};
/** `name` is labels/<id> or labels/<id>@<revision>, as in the request (spec/labels#schemas Label.name). */
const basic = (label: LabelRecord, revision: Revision, name: string): Json => ({
  name,
  id: label.id,
  revisionId: revision.id,
  labelType: label.labelType,
  properties: compact({ title: revision.title, description: revision.description }),
});
export const locksFor = (state: LabelState, label: string): LockRecord[] => [
  ...state.locks.index('label', (lock) => lock.label).get(label),
];
const full = (viewer: Viewer, label: LabelRecord, revision: Revision): Json => {
  const published = publishedOf(viewer.state, label);
  const role = roleOf(viewer.state, label, viewer.caller, viewer.asAdmin);
  const isEnabled = published !== undefined && published.state === 'PUBLISHED';
  const sight: Sight = {
    label: label.id,
    published,
    locks: locksFor(viewer.state, label.id),
    canEdit: role >= rank('EDITOR'),
    canApply: role >= rank('APPLIER') && isEnabled,
  };
  return {
    fields: revision.fields.map(fieldJson(sight)),
    lifecycle: lifecycleJson(
      revision.state,
      revision.policy,
      published !== undefined && label.drafts.includes(revision.id),
    ),
    createTime: time(label.createTime),
    creator: person(label.creator),
    revisionCreateTime: time(revision.revisionCreateTime),
    revisionCreator: person(revision.revisionCreator),
    publishTime: time(revision.publishTime),
    publisher: person(revision.publisher),
    disableTime: time(revision.disableTime),
    disabler: person(revision.disabler),
    displayHints: { ...hints(revision), priority: String(label.seq) },
    customer: label.customer,
    learnMoreUri: label.learnMoreUri,
    appliedLabelPolicy: { copyMode: label.copyMode },
    enabledAppSettings: { enabledApps: label.enabledApps.map((app) => ({ app })) },
    lockStatus: { locked: isLockTarget(sight.locks, {}) },
    schemaCapabilities: capabilities(viewer, label, published, sight),
    appliedCapabilities: { canRead: true, canApply: sight.canApply, canRemove: role >= rank('APPLIER') },
  };
};
/** A label as JSON. spec/labels#parameters: BASIC has name, id, revisionId, labelType and properties. */
export const labelJson = (
  viewer: Viewer,
  label: LabelRecord,
  revision: Revision,
  view: unknown,
  name = `labels/${label.id}`,
): Json =>
  view === 'LABEL_VIEW_FULL'
    ? compact({ ...basic(label, revision, name), ...full(viewer, label, revision) })
    : basic(label, revision, name);
export const permissionJson = (permission: PermissionRecord, parent: string): Json => {
  const [kind = ''] = permission.principal.split('/');
  const member = kind === 'people' ? 'person' : kind === 'groups' ? 'group' : 'audience';
  return compact({
    name: `${parent}/permissions/${permission.id}`,
    role: permission.role,
    [member]: permission.principal,
    email: permission.email,
  });
};
export const lockJson = (lock: LockRecord, parent: string): Json =>
  compact({
    name: `${parent}/locks/${lock.id}`,
    fieldId: lock.fieldId,
    choiceId: lock.choiceId,
    creator: person(lock.creator),
    createTime: time(lock.createTime),
    deleteTime: time(lock.deleteTime),
    state: lock.state,
    capabilities: { canViewPolicy: true },
  });
