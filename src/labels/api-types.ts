/** The parts of the service's JSON that the commands read. Any member may be absent (spec/labels#errors). */
export type PolicyJson = { hideInSearch?: boolean; showInApply?: boolean };
export type LifecycleJson = { state?: string; hasUnpublishedChanges?: boolean; disabledPolicy?: PolicyJson };
export type ColorJson = { red?: number; green?: number; blue?: number; alpha?: number };
export type ChoiceJson = {
  id?: string;
  properties?: {
    displayName?: string;
    description?: string;
    badgeConfig?: { color?: ColorJson; priorityOverride?: string | number };
  };
  lifecycle?: LifecycleJson;
};
export type ListOptionsJson = { maxEntries?: number };
export type FieldJson = {
  id?: string;
  properties?: { displayName?: string; required?: boolean };
  lifecycle?: LifecycleJson;
  textOptions?: object;
  integerOptions?: object;
  dateOptions?: { dateFormatType?: string };
  selectionOptions?: { listOptions?: ListOptionsJson; choices?: ChoiceJson[] };
  userOptions?: { listOptions?: ListOptionsJson };
};
export type CapabilitiesJson = {
  canUpdate?: boolean;
  canDelete?: boolean;
  canDisable?: boolean;
  canEnable?: boolean;
};
export type LabelJson = {
  name?: string;
  id?: string;
  revisionId?: string;
  labelType?: string;
  properties?: { title?: string; description?: string };
  learnMoreUri?: string;
  createTime?: string;
  lifecycle?: LifecycleJson;
  fields?: FieldJson[];
  appliedLabelPolicy?: { copyMode?: string };
  enabledAppSettings?: { enabledApps?: { app?: string }[] };
  schemaCapabilities?: CapabilitiesJson;
};
export type LockJson = {
  name?: string;
  fieldId?: string;
  choiceId?: string;
  state?: string;
  creator?: { person?: string };
  createTime?: string;
};
export type PermissionJson = {
  name?: string;
  role?: string;
  email?: string;
  person?: string;
  group?: string;
  audience?: string;
};
export type LimitsJson = {
  maxTitleLength?: number;
  maxDescriptionLength?: number;
  maxFields?: number;
  fieldLimits?: {
    maxDisplayNameLength?: number;
    maxDescriptionLength?: number;
    selectionLimits?: {
      maxChoices?: number;
      maxDisplayNameLength?: number;
      maxIdLength?: number;
      listLimits?: ListOptionsJson;
    };
    userLimits?: { listLimits?: ListOptionsJson };
  };
};
export type UserCapabilitiesJson = { canCreateAdminLabels?: boolean; canCreateSharedLabels?: boolean };
/** One of the twelve kinds of edits (spec/labels#edits). */
export type EditJson = { readonly [kind: string]: { readonly [member: string]: unknown } };
