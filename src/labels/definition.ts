import {
  copyModes,
  type FieldKind,
  fieldKinds,
  labelRoles,
  ownLabelTypes,
  principalMembers,
} from '../api-specs/labels/wire.ts';
import type { ColorJson, EditJson, PermissionJson } from './api-types.ts';
import { type Problem, problem, usageError } from '../core/problem.ts';
import { nearest, showHidden } from '../core/text.ts';

const SHOWN = 60;
const quoteText = (text = ''): string => {
  const letters = [...text];
  return text === ''
    ? 'none'
    : JSON.stringify(letters.length > SHOWN ? `${letters.slice(0, SHOWN).join('')}…` : text);
};
/** Both texts, so that the prompt shows the old value and the new one. */
export const descriptionText = (before: string | undefined, after: string | undefined): string =>
  `description ${quoteText(before)} becomes ${quoteText(after)}`;
type ChangeKind =
  | 'added'
  | 'renamed'
  | 'changed'
  | 'moved'
  | 'disabled'
  | 'enabled'
  | 'deleted'
  | 'published';
/** What an edit touches, for the check against locks: ids of parts that exist; {} is the whole label. */
export type EditTarget = { readonly fieldId?: string; readonly choiceId?: string };
/** One line of a plan. */
export type Change = {
  readonly kind: ChangeKind;
  /** `field Status`, `choice Signed of field Status`, `label Contract`. */
  readonly what: string;
  readonly detail?: string;
  readonly part: EditTarget;
  /** Also refused when something inside the part is locked. */
  readonly takesAway?: true;
};
/** Lines of a plan with the edits that bring them about, in the order in which they are sent. */
export type Step = { readonly changes: readonly Change[]; readonly edit: EditJson };
/** The steps for all parts of one kind, and the objections to them. */
export type Steps = {
  readonly steps: readonly Step[];
  readonly problems: readonly Problem[];
  readonly notes: readonly string[];
  /** Parts that can be disabled only after they were published. */
  readonly deferred: readonly string[];
};
export const policyJson = (policy: Policy) => ({
  disabledPolicy: { hideInSearch: policy.hideInSearch, showInApply: policy.showInApply },
  updateMask: '*',
});
export const isSamePolicy = (a: Policy, b: Policy): boolean =>
  a.hideInSearch === b.hideInSearch && a.showInApply === b.showInApply;

const marks: Readonly<Record<ChangeKind, string>> = {
  added: '+',
  renamed: '~',
  changed: '~',
  moved: '>',
  disabled: '-',
  enabled: '+',
  deleted: 'x',
  published: '*',
};
/** `  ~ field Status renamed: from State` */
const changeLine = ({ kind, what, detail }: Change): string =>
  `  ${marks[kind]} ${what} ${kind}${detail === undefined ? '' : `: ${detail}`}`;
export const changesText = (changes: readonly Change[]): string =>
  changes.length === 0 ? '  no changes' : changes.map(changeLine).join('\n');
/** A change as data for scripts. */
export const changeRow = ({ kind, what, detail, part }: Change) => ({
  kind,
  what,
  ...(detail === undefined ? {} : { detail }),
  ...(part.fieldId === undefined ? {} : { field_id: part.fieldId }),
  ...(part.choiceId === undefined ? {} : { choice_id: part.choiceId }),
});

/**
 * A label definition as users write it: one file per label, without values that the service computes. One
 * rule for all keys: a missing key leaves the value unchanged; `null`, `[]` or `false` clears it.
 */
export type { FieldKind };
export { fieldKinds };
export type Policy = { readonly hideInSearch: boolean; readonly showInApply: boolean };
export type Badge = { readonly color?: string; readonly priority?: string };
/**
 * A badge without color and priority (0 means unset) has no effect, so it counts as missing, whatever its
 * source is.
 */
export const badgeWith = (color: string | undefined, priority: string | undefined): Badge | undefined => {
  const badge = { ...(color ? { color } : {}), ...(priority && priority !== '0' ? { priority } : {}) };
  return Object.keys(badge).length === 0 ? undefined : badge;
};
/** The identity of a part of a file across renames and deployments. */
type Identity = {
  /** A stable name of the file's own. */
  readonly key?: string;
  /** The id in one deployment, as `labels export` writes it. */
  readonly id?: string;
  /** The previous name: for a rename without a key or an ID. */
  readonly was?: string;
};
export type ChoiceDef = Identity & {
  readonly name: string;
  readonly description?: string | null;
  readonly badge?: Badge | null;
  readonly disabled?: Policy | false;
};
export type FieldDef = Identity & {
  readonly name: string;
  readonly type: FieldKind;
  readonly required?: boolean;
  /** A number: several values, at most this many; 0 is as many as the service allows. `null`: one value. */
  readonly maxEntries?: number | null;
  readonly dateFormat?: string;
  readonly choices?: readonly ChoiceDef[];
  readonly disabled?: Policy | false;
  /** True: `apply`, `publish` and `retire` refuse to disable or delete it. The lock file remembers it. */
  readonly protect?: boolean;
};
export const definedStates = ['draft', 'published', 'disabled'] as const;
export type DefinedState = (typeof definedStates)[number];
export type PermissionDef = {
  readonly role: string;
  readonly email?: string;
  readonly person?: string;
  readonly group?: string;
  readonly audience?: string;
};
export type LabelDef = Identity & {
  /** Read from files of earlier versions: the revision that the file was written from. */
  readonly revision?: string;
  readonly title: string;
  readonly type?: string;
  readonly description?: string | null;
  readonly learnMoreUri?: string;
  readonly state?: DefinedState;
  /** How a disabled label is shown; only with `state: disabled`. */
  readonly disabledPolicy?: Policy;
  readonly copyMode?: string;
  readonly enabledApps?: readonly string[];
  readonly permissions?: readonly PermissionDef[];
  readonly fields?: readonly FieldDef[];
  readonly protect?: boolean;
};
/** States of a part in the service. Only a draft may change its type or be deleted immediately. */
export type LiveState = 'UNPUBLISHED_DRAFT' | 'PUBLISHED' | 'DISABLED';
type LivePart = { readonly id: string; readonly name: string; readonly state: LiveState };
export type LiveChoice = LivePart & {
  readonly description?: string;
  readonly badge?: Badge;
  readonly disabled?: Policy;
};
export type LiveField = LivePart & {
  readonly type: FieldKind;
  readonly required: boolean;
  readonly maxEntries?: number;
  readonly dateFormat?: string;
  readonly choices: readonly LiveChoice[];
  readonly disabled?: Policy;
  /** maxEntries of the published revision, when this one is a newer draft: it may go back down to that. */
  readonly publishedEntries?: number;
};
/** The caller's permissions on a label, as reported by the service. */
type Rights = {
  readonly canUpdate: boolean;
  readonly canDisable: boolean;
  readonly canEnable: boolean;
};
/** A complete revision of a label, in the terms of the definition. */
export type LiveLabel = {
  readonly id: string;
  readonly title: string;
  readonly description?: string;
  readonly type: string;
  readonly learnMoreUri?: string;
  readonly copyMode: string;
  readonly enabledApps: readonly string[];
  readonly fields: readonly LiveField[];
  readonly revisionId: string;
  readonly state: LiveState;
  readonly disabledPolicy?: Policy;
  readonly hasUnpublishedChanges: boolean;
  readonly createTime: string;
  readonly rights: Rights;
};

/** One key of a definition file: its description for the reader, the JSON Schema and the documentation. */
type Member = {
  readonly summary: string;
  readonly schema: Readonly<Record<string, unknown>>;
  readonly required?: true;
  /** Kinds of fields that it belongs to: anywhere else it would be dropped in silence. */
  readonly only?: readonly string[];
};
export type Members = Readonly<Record<string, Member>>;
/** YAML reads `name: 2024` as a number. A name is always text. */
const text = { type: ['string', 'number', 'boolean'] };
const noneOrText = { type: ['string', 'number', 'boolean', 'null'] };
const identity: Members = {
  key: { summary: 'A stable name that never changes, for renames across deployments', schema: text },
  id: { summary: 'Id in the deployment that the file was exported from', schema: text },
  was: { summary: 'The name until now: renames without a key or an id', schema: text },
};
const policy = {
  type: 'object',
  properties: { hideInSearch: { type: 'boolean' }, showInApply: { type: 'boolean' } },
  additionalProperties: false,
};
const disabled: Member = {
  summary: 'true, false, or how the disabled part is shown',
  schema: { anyOf: [{ type: 'boolean' }, policy] },
};
export const badgeMembers: Members = {
  color: {
    summary: 'Color such as #1a2b3c',
    schema: { type: 'string', pattern: '^#([0-9a-fA-F]{6}|[0-9a-fA-F]{8})$' },
  },
  priority: { summary: 'Order of badges; lower shows first', schema: { type: ['integer', 'string'] } },
};
export const policyMembers: Members = {
  hideInSearch: { summary: 'Hide in search', schema: { type: 'boolean' } },
  showInApply: { summary: 'Show greyed out in the apply menu', schema: { type: 'boolean' } },
};
export const choiceMembers: Members = {
  name: { summary: 'Name shown to users', schema: text, required: true },
  ...identity,
  description: { summary: 'Help text; null clears it', schema: noneOrText },
  badge: { summary: 'Color, or color and priority; null clears it', schema: { $ref: '#/$defs/badge' } },
  disabled,
};
const protect: Member = {
  summary: 'true: apply, publish and retire refuse to disable or delete it',
  schema: { type: 'boolean' },
};
export const fieldMembers: Members = {
  name: { summary: 'Name shown to users', schema: text, required: true },
  ...identity,
  type: { summary: 'Kind of the field; frozen once it is published', schema: { enum: fieldKinds } },
  required: { summary: 'Mark as mandatory', schema: { type: 'boolean' } },
  maxEntries: {
    summary: 'Several values, at most this many (0: as many as allowed); null is one value',
    schema: { type: ['integer', 'null'], minimum: 0 },
    only: ['selection', 'user'],
  },
  dateFormat: {
    summary: 'How dates are shown',
    schema: { enum: ['LONG_DATE', 'SHORT_DATE', 'long', 'short'] },
    only: ['date'],
  },
  choices: {
    summary: 'All choices in display order; [] clears the list',
    schema: { type: ['array', 'null'], items: { anyOf: [{ $ref: '#/$defs/choice' }, text] } },
    only: ['selection'],
  },
  disabled,
  protect,
};
export const permissionMembers: Members = {
  role: { summary: 'The role', schema: { enum: labelRoles }, required: true },
  email: { summary: 'Address of a person or group', schema: { type: 'string' } },
  person: { summary: 'people/<id>', schema: { type: 'string' } },
  group: { summary: 'groups/<id>', schema: { type: 'string' } },
  audience: { summary: 'audiences/<id>', schema: { type: 'string' } },
};
export const labelMembers: Members = {
  ...identity,
  revision: { summary: 'Written by earlier versions; replaced by labels.lock.yaml', schema: text },
  title: { summary: 'Title of the label', schema: text, required: true },
  type: { summary: 'Who may make it; fixed at creation (default SHARED)', schema: { enum: ownLabelTypes } },
  description: { summary: 'Description; null clears it', schema: noneOrText },
  learnMoreUri: { summary: 'Help link; fixed at creation', schema: { type: 'string' } },
  state: { summary: 'State of the label', schema: { enum: definedStates } },
  protect,
  disabledPolicy: { summary: 'How the disabled label is shown', schema: policy },
  copyMode: { summary: 'What happens to values when an item is copied', schema: { enum: copyModes } },
  enabledApps: {
    summary: 'Apps in which the label may be used; [] clears the list',
    schema: { type: ['array', 'null'], items: { type: 'string' } },
  },
  permissions: {
    summary: 'All permissions of the label; [] clears the list',
    schema: { type: ['array', 'null'], items: { $ref: '#/$defs/permission' } },
  },
  fields: {
    summary: 'All fields in display order; [] clears the list',
    schema: { type: ['array', 'null'], items: { $ref: '#/$defs/field' } },
  },
};

const byte = (part: number | undefined): string =>
  Math.round(Math.min(1, Math.max(0, part ?? 0)) * 255)
    .toString(16)
    .padStart(2, '0');
/** `{red, green, blue}` between 0 and 1 as #rrggbb; #rrggbbaa when it is not opaque. Colors are compared in this form. */
export const hexFrom = ({ red, green, blue, alpha }: ColorJson): string =>
  `#${byte(red)}${byte(green)}${byte(blue)}${alpha === undefined || alpha === 1 ? '' : byte(alpha)}`;
export const isHex = (text: string): boolean => /^#([0-9a-fA-F]{6}|[0-9a-fA-F]{8})$/.test(text);
const partAt = (hex: string, at: number): number =>
  Math.round((Number.parseInt(hex.slice(at, at + 2), 16) / 255) * 1e6) / 1e6;
/** The service's form of #rrggbb. */
export const colorFrom = (hex: string): ColorJson => ({
  red: partAt(hex, 1),
  green: partAt(hex, 3),
  blue: partAt(hex, 5),
  ...(hex.length === 7 ? {} : { alpha: partAt(hex, 7) }),
});

const members = ['email', ...principalMembers] as const;

/** The principal in its most readable form. */
export const principalName = (permission: Partial<PermissionDef>): string =>
  permission.email ?? permission.person ?? permission.group ?? permission.audience ?? '';

/** The domain does not end with a dot, as an address at the end of a sentence does, and has no full stop of another script. */
const EMAIL = /^[^\s\p{C}@<>(),;:"[\]\\]+@[^\s\p{C}@<>(),;:"[\]\\。．｡]+(?<!\.)$/u;
const PRINCIPAL = /^[^\s\p{C}<>(),;"[\]\\]+$/u;
const separatorFix = (text: string): string => {
  if (/[<>]/.test(text)) return 'write only the address, without a name and without < and >';
  const parts = text.split(/[\s,;]+/).filter((part) => part !== '');
  if (parts.length > 1 && parts.every((part) => /[@/]/.test(part)))
    return 'write a separate entry for each principal';
  return 'remove spaces, invisible characters and other signs from the value';
};
/** Several addresses in one value, or an address with a name, would be granted to a principal that does not exist. */
const principalProblem = (
  key: (typeof members)[number],
  value: unknown,
  path: string,
): Problem | undefined => {
  if (typeof value !== 'string' && typeof value !== 'number')
    return problem(path, 'type', `must be text; got ${JSON.stringify(value)}`);
  const text = String(value);
  if ((key === 'email' ? EMAIL : PRINCIPAL).test(text)) return undefined;
  const what = key === 'email' ? 'one email address, such as ada@example.com' : `one ${key}`;
  return problem(path, 'format', `must be ${what}; got ${showHidden(text)}`, separatorFix(text));
};

/** The output of `permissions list` contains `name`; the principal is sufficient. */
const known = ['name', ...Object.keys(permissionMembers)];

const unknownKey = (key: string, path: string): Problem => {
  const close = nearest(key, known);
  return problem(`${path}.${key}`, 'unknown', 'is not a known key', close && `did you mean ${close}?`);
};
export const permissionIn = (value: unknown, path: string, problems: Problem[]): PermissionDef => {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    problems.push(problem(path, 'type', 'must be {role, email | person | group | audience}'));
    return { role: '' };
  }
  const given = value as Record<string, unknown>;
  for (const key of Object.keys(given)) if (!known.includes(key)) problems.push(unknownKey(key, path));
  const role = String(given.role ?? '').toUpperCase();
  if (!labelRoles.some((one) => one === role))
    problems.push(
      problem(
        `${path}.role`,
        'enum',
        `must be one of ${labelRoles.join(', ')}; got ${given.role ?? 'nothing'}`,
      ),
    );
  const set = members.filter((key) => given[key] !== undefined);
  // A listed permission has a name, an email address and a principal; the email address is sufficient. Without the
  // name, the two may be different principals.
  const [who] = set;
  const isPair =
    set.length === 2 && who === 'email' && set[1] !== 'audience' && typeof given.name === 'string';
  const found =
    set.length > 1 ? `; got ${set.map((key) => `${key} ${String(given[key])}`).join(' and ')}` : '';
  if (who === undefined || (set.length > 1 && !isPair))
    problems.push(problem(path, 'required', `needs exactly one of email, person, group, audience${found}`));
  problems.push(...set.flatMap((key) => principalProblem(key, given[key], `${path}.${key}`) ?? []));
  return who === undefined ? { role } : { role, [who]: String(given[who]) };
};

export const repeatedPermissions = (
  wanted: readonly PermissionDef[],
  pathOf: (index: number) => string,
): Problem[] => {
  const names = wanted.map((one) => principalName(one).toLowerCase());
  return names.flatMap((name, i) =>
    name !== '' && names.indexOf(name) < i
      ? [
          problem(
            pathOf(i),
            'rule',
            `names ${principalName(wanted[i] ?? {})} a second time`,
            'remove one of the two entries',
          ),
        ]
      : [],
  );
};

/** The list of a file: [{role, email}], or `permissions:` or `labelPermissions:` over such a list. Pure. */
export const permissionsFrom = (
  value: unknown,
): { readonly wanted: readonly PermissionDef[]; readonly problems: readonly Problem[] } => {
  const problems: Problem[] = [];
  const inner = value as { permissions?: unknown; labelPermissions?: unknown } | null;
  if (inner?.permissions !== undefined && inner.labelPermissions !== undefined) {
    const text = 'cannot be combined with permissions';
    return { wanted: [], problems: [problem('labelPermissions', 'rule', text, 'remove one of the two')] };
  }
  const list = Array.isArray(value) ? value : (inner?.permissions ?? inner?.labelPermissions);
  if (!Array.isArray(list))
    return { wanted: [], problems: [problem('', 'type', 'must be a list of permissions')] };
  const wanted = list.map((item, i) => permissionIn(item, `[${i}]`, problems));
  return { wanted, problems: [...problems, ...repeatedPermissions(wanted, (i) => `[${i}]`)] };
};

export type PermissionPlan = {
  readonly added: readonly PermissionDef[];
  readonly changed: readonly { readonly from: string; readonly to: PermissionDef }[];
  readonly removed: readonly PermissionJson[];
};

export const isSamePrincipal = (wanted: Partial<PermissionDef>, live: Partial<PermissionDef>): boolean => {
  const equal = (a: string | undefined, b: string | undefined): boolean =>
    a !== undefined && a.toLowerCase() === b?.toLowerCase();
  return members.some((key) => equal(wanted[key], live[key]));
};

/**
 * An email address and an ID may name the same principal, which only the service shows. Of two entries for one
 * permission, or two permissions for one entry, none is chosen.
 */
const refuseSharedPrincipals = (wanted: readonly PermissionDef[], live: readonly PermissionJson[]): void => {
  const name = ({ role, ...who }: Partial<PermissionDef>): string => `${principalName(who)} ${role}`;
  const refuse = (one: string, others: readonly Partial<PermissionDef>[]): void => {
    if (others.length < 2) return;
    const text = `names the same principal as ${others.length} other permissions: ${others.map(name).join(', ')}`;
    throw usageError('two permissions name the same principal; no changes were made', [
      problem(one, 'rule', text, 'keep one of them'),
    ]);
  };
  for (const l of live)
    refuse(
      name(l),
      wanted.filter((w) => isSamePrincipal(w, l)),
    );
  for (const w of wanted)
    refuse(
      name(w),
      live.filter((l) => isSamePrincipal(w, l)),
    );
};

/** The edits that make the permissions match the file. Pure; throws if an entry fits two permissions. */
export const permissionPlan = (
  wanted: readonly PermissionDef[],
  live: readonly PermissionJson[],
  keep: boolean,
): PermissionPlan => {
  refuseSharedPrincipals(wanted, live);
  return planPermissions(wanted, live, keep);
};
const planPermissions = (
  wanted: readonly PermissionDef[],
  live: readonly PermissionJson[],
  keep: boolean,
): PermissionPlan => ({
  added: wanted.filter((w) => !live.some((l) => isSamePrincipal(w, l))),
  changed: wanted.flatMap((w) => {
    const found = live.find((l) => isSamePrincipal(w, l));
    return found && found.role !== w.role ? [{ from: found.role ?? '', to: w }] : [];
  }),
  removed: keep ? [] : live.filter((l) => !wanted.some((w) => isSamePrincipal(w, l))),
});

export const permissionText = ({ added, changed, removed }: PermissionPlan): string => {
  const lines = [
    ...added.map((p) => `  + ${principalName(p)} ${p.role}`),
    ...changed.map(({ from, to }) => `  ~ ${principalName(to)} ${from} becomes ${to.role}`),
    ...removed.map((p) => `  x ${principalName(p)} ${p.role}`),
  ];
  return lines.length === 0 ? '  no changes' : lines.join('\n');
};
