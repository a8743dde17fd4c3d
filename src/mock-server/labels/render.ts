import type { Environment } from '../service.ts';
import { type Caller, rank, roleOf } from './access.ts';
import { illegal, mustBeDisabledFirst, standingOf } from './lifecycle.ts';
import { isLockTarget, lockAgainst } from './lock-rules.ts';
import {
  type Json,
  type Sight,
  compact,
  fieldJson,
  hints,
  lifecycleJson,
  person,
  time,
} from './render-parts.ts';
import {
  type LabelRecord,
  type LabelState,
  type LockRecord,
  type PermissionRecord,
  type Revision,
  publishedOf,
} from './state.ts';

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
  const standing = standingOf(label, published);
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

/** `name` is labels/<id> or labels/<id>@<revision>, as it was asked for (spec/labels#schemas Label.name). */
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
