import {
  type ChoiceDef,
  type FieldDef,
  type LabelDef,
  type LiveChoice,
  type LiveField,
  type LiveLabel,
  type PermissionDef,
  isSamePrincipal,
  principalName,
} from './definition.ts';
import { contentDigest, fieldDigest } from './lock-entries.ts';
import { isSameEntries, match } from './match.ts';
import type { DeploymentRecord } from './lock-file.ts';

/** Which part of the service's label, and which member of it. */
type DriftPlace = {
  readonly fieldId?: string;
  readonly choiceId?: string;
  readonly member?: string;
};
/** One change by another user since the label was applied (or exported). */
export type Drift = {
  /** `required of field Status`, `field Note (added)`. */
  readonly what: string;
  readonly was?: unknown;
  readonly is?: unknown;
  /** The file would undo it. */
  readonly isLost: boolean;
  readonly at: DriftPlace;
};

/** Members of a label that apply to all revisions: a change of them makes no revision. */
const UNREVISIONED: ReadonlySet<string | undefined> = new Set([
  'state',
  'copyMode',
  'enabledApps',
  'permissions',
]);
/** Whether the change made a revision, which has an author. */
export const makesRevision = ({ at }: Drift): boolean =>
  at.fieldId !== undefined || !UNREVISIONED.has(at.member);

/** A part at that time; `live` is undefined if only its name and ID are known. */
type BasePart<L> = { readonly id: string; readonly name: string; readonly live: L | undefined };
type Label = Pick<LiveLabel, 'title' | 'description'>;
/** What the definition was compared with last. */
export type Base = {
  readonly revision: string;
  readonly label: Label | undefined;
  readonly fields: readonly BasePart<LiveField>[];
  /** Values that are not revisioned; undefined if they were not recorded. */
  readonly record?: DeploymentRecord;
};

export const baseFromRevision = (live: LiveLabel, record?: DeploymentRecord): Base => ({
  revision: live.revisionId,
  label: live,
  fields: live.fields.map((field) => ({ id: field.id, name: field.name, live: field })),
  ...(record === undefined ? {} : { record }),
});

/** The service no longer has the revision: parts that have the recorded digest are as they were, the others are unknown. */
export const baseFromRecord = (record: DeploymentRecord, live: LiveLabel): Base => ({
  revision: record.revision,
  label: contentDigest(live) === record.digest ? live : undefined,
  fields: Object.values(record.fields).map(({ id, name, digest }) => {
    const now = live.fields.find((field) => field.id === id);
    return { id, name, live: now && fieldDigest(now) === digest ? now : undefined };
  }),
  record,
});

const text = (value: unknown): string => JSON.stringify(value === false ? null : (value ?? null));
const isSame = (member: string, a: unknown, b: unknown): boolean =>
  member === 'maxEntries'
    ? isSameEntries((a ?? null) as number | null, (b ?? undefined) as number | undefined)
    : text(a) === text(b);

type Part = { readonly id?: string; readonly was?: string; readonly name: string };
type LivePart = { readonly id: string; readonly name: string; readonly disabled?: unknown };
type Kind<W extends Part, L extends LivePart> = {
  readonly word: (name: string) => string;
  readonly members: readonly (keyof W & keyof L & string)[];
  readonly at: (id: string) => DriftPlace;
  readonly orderAt: DriftPlace;
  readonly inner?: (wanted: W, base: L | undefined, live: L) => Drift[];
};

/** The value that a file shows for a member: an entry without `disabled` shows an enabled part. */
const shownMember = <W extends Part>(wanted: W, member: keyof W & string): unknown =>
  wanted[member] ?? (member === 'disabled' && wanted[member] === undefined ? false : wanted[member]);
const memberDrift = <W extends Part, L extends LivePart>(
  kind: Kind<W, L>,
  wanted: W,
  base: BasePart<L>,
  live: L,
): Drift[] =>
  kind.members.flatMap((member): Drift[] => {
    const said = shownMember(wanted, member);
    const was = base.live?.[member] ?? (member === 'name' ? base.name : undefined);
    const isKnown = base.live !== undefined || member === 'name';
    if (said === undefined || (isKnown && isSame(member, was, live[member]))) return [];
    const isLost = !isSame(member, said, live[member]);
    // Without the revision, a change of this key cannot be detected: only values that the file would change
    // count.
    if (!isKnown && !isLost) return [];
    return [
      {
        what: `${member} of ${kind.word(live.name)}`,
        ...(isKnown ? { was: was ?? null } : {}),
        is: live[member] ?? null,
        isLost,
        at: { ...kind.at(live.id), member },
      },
    ];
  });

/** A part that others added: the file's value for it, or the part itself if the file does not contain it. */
const addedDrift = <W extends Part, L extends LivePart>(
  kind: Kind<W, L>,
  wanted: W | undefined,
  live: L,
): Drift[] => {
  if (wanted === undefined)
    return live.disabled
      ? []
      : [{ what: `${kind.word(live.name)} (added)`, is: live.name, isLost: true, at: kind.at(live.id) }];
  // That a part is still enabled is what an apply leaves behind when it ends before its second delta.
  return kind.members
    .filter((member) => member !== 'disabled')
    .filter((member) => wanted[member] !== undefined && !isSame(member, wanted[member], live[member]))
    .map((member) => ({
      what: `${member} of ${kind.word(live.name)}`,
      is: live[member] ?? null,
      isLost: true,
      at: { ...kind.at(live.id), member },
    }));
};

/** The file removes a part that others changed in the meantime. */
const droppedDrift = <W extends Part, L extends LivePart>(
  kind: Kind<W, L>,
  base: BasePart<L>,
  live: L,
): Drift[] => {
  const isUntouched =
    base.live !== undefined && kind.members.every((m) => isSame(m, base.live?.[m], live[m]));
  return live.disabled || isUntouched
    ? []
    : [{ what: `${kind.word(live.name)} (changed)`, is: live.name, isLost: true, at: kind.at(live.id) }];
};

const partsDrift = <W extends Part, L extends LivePart>(
  kind: Kind<W, L>,
  wanted: readonly W[],
  base: readonly BasePart<L>[],
  live: readonly L[],
): Drift[] => {
  const { pairs } = match(wanted, live, '');
  const found = live.flatMap((now) => {
    const then = base.find(({ id }) => id === now.id);
    const said = pairs.find((pair) => pair.live === now)?.wanted;
    if (then === undefined) return addedDrift(kind, said, now);
    if (said === undefined) return droppedDrift(kind, then, now);
    return [...memberDrift(kind, said, then, now), ...(kind.inner?.(said, then.live, now) ?? [])];
  });
  const gone = base.flatMap(({ id, name }): Drift[] => {
    if (live.some((now) => now.id === id)) return [];
    const isSaid = pairs.some(
      (pair) => pair.live === undefined && (pair.wanted.id === id || pair.wanted.name === name),
    );
    return isSaid ? [{ what: `${kind.word(name)} (gone)`, was: name, isLost: true, at: kind.at(id) }] : [];
  });
  const ids = (all: readonly { readonly id: string }[]): string[] => all.map(({ id }) => id);
  const common = new Set(
    ids(base).filter((id) => live.some((now) => now.id === id) && pairs.some((pair) => pair.live?.id === id)),
  );
  const order = (all: readonly string[]): string => all.filter((id) => common.has(id)).join();
  const now = order(ids(live));
  const isMoved = now !== order(ids(base));
  const isUndone = isMoved && now !== order(pairs.flatMap((pair) => (pair.live ? [pair.live.id] : [])));
  return [
    ...found,
    ...gone,
    ...(isUndone
      ? [{ what: `the order of the ${kind.word('').trim()}s`, isLost: true, at: kind.orderAt }]
      : []),
  ];
};

const choiceKind = (field: LiveField): Kind<ChoiceDef, LiveChoice> => ({
  word: (name) => (name === '' ? 'choice' : `choice ${name} of field ${field.name}`),
  members: ['name', 'description', 'badge', 'disabled'],
  at: (id) => ({ fieldId: field.id, choiceId: id }),
  orderAt: { fieldId: field.id, member: 'order' },
});
const fieldKind: Kind<FieldDef, LiveField> = {
  word: (name) => `field ${name}`,
  members: ['name', 'required', 'maxEntries', 'dateFormat', 'disabled'],
  at: (id) => ({ fieldId: id }),
  orderAt: { member: 'order' },
  inner: (wanted, base, live) => {
    if (wanted.choices === undefined) return [];
    const then =
      base?.choices.map((choice) => ({ id: choice.id, name: choice.name, live: choice })) ??
      live.choices.map((choice) => ({ id: choice.id, name: choice.name, live: undefined }));
    return partsDrift(choiceKind(live), wanted.choices, then, live.choices);
  },
};

/** What a member of the label was; the title is known from the record even when the revision is gone. */
const labelThen = (base: Base, member: 'title' | 'description'): { readonly was: unknown } | undefined => {
  if (base.label !== undefined) return { was: base.label[member] ?? null };
  return member === 'title' && base.record !== undefined ? { was: base.record.title } : undefined;
};

const labelDrift = (wanted: LabelDef, base: Base, live: LiveLabel): Drift[] =>
  (['title', 'description'] as const).flatMap((member): Drift[] => {
    const said = wanted[member];
    const then = labelThen(base, member);
    if (said === undefined || (then !== undefined && text(then.was) === text(live[member]))) return [];
    const isLost = (said ?? '') !== (live[member] ?? '');
    if (then === undefined && !isLost) return [];
    return [{ what: `${member} of the label`, ...then, is: live[member] ?? null, isLost, at: { member } }];
  });

const stateWords = { UNPUBLISHED_DRAFT: 'draft', PUBLISHED: 'published', DISABLED: 'disabled' } as const;

/**
 * State, copy mode and apps apply to all revisions immediately. Only the lock file contains their previous
 * values.
 */
const settingsDrift = (wanted: LabelDef, record: DeploymentRecord, live: LiveLabel): Drift[] => {
  const facts = [
    [
      'state',
      record.state,
      live.state,
      wanted.state && Object.entries(stateWords).find(([, w]) => w === wanted.state)?.[0],
    ],
    ['copyMode', record.copyMode, live.copyMode, wanted.copyMode],
    [
      'enabledApps',
      [...record.enabledApps].sort(),
      [...live.enabledApps].sort(),
      wanted.enabledApps && [...wanted.enabledApps].sort(),
    ],
  ] as const;
  return facts.flatMap(([member, was, is, said]): Drift[] =>
    said === undefined || text(was) === text(is)
      ? []
      : [{ what: `${member} of the label`, was, is, isLost: text(said) !== text(is), at: { member } }],
  );
};

const permissionDrift = (
  wanted: LabelDef,
  record: DeploymentRecord,
  live: readonly PermissionDef[] | undefined,
): Drift[] => {
  if (wanted.permissions === undefined || record.permissions === undefined || live === undefined) return [];
  const { permissions } = wanted;
  const roleIn = (all: readonly PermissionDef[], who: PermissionDef): string | undefined =>
    all.find((one) => isSamePrincipal(one, who))?.role;
  const then = Object.entries(record.permissions).map(([who, role]): PermissionDef => {
    const member = /^(people|groups|audiences)\//.exec(who)?.[1];
    return {
      role,
      [member === undefined ? 'email' : member === 'people' ? 'person' : member.slice(0, -1)]: who,
    };
  });
  const everybody = [...then, ...live.filter((one) => roleIn(then, one) === undefined)];
  return everybody.flatMap((who): Drift[] => {
    const [was, is, said] = [roleIn(then, who), roleIn(live, who), roleIn(permissions, who)];
    return was === is
      ? []
      : [
          {
            what: `permission of ${principalName(who)}`,
            was: was ?? null,
            is: is ?? null,
            isLost: said !== is,
            at: { member: 'permissions' },
          },
        ];
  });
};

/**
 * Returns the remote changes between `base` and `live` in keys that the file defines; other keys are ignored.
 * A change that the file also contains is not lost. Pure.
 */
export const driftOf = (
  wanted: LabelDef,
  base: Base,
  live: LiveLabel,
  permissions?: readonly PermissionDef[],
): Drift[] => [
  ...labelDrift(wanted, base, live),
  ...(wanted.fields === undefined ? [] : partsDrift(fieldKind, wanted.fields, base.fields, live.fields)),
  ...(base.record === undefined ? [] : settingsDrift(wanted, base.record, live)),
  ...(base.record === undefined ? [] : permissionDrift(wanted, base.record, permissions)),
];

export const driftText = ({ what, was, is }: Drift): string =>
  was === undefined && is === undefined
    ? what
    : `${what}${was === undefined ? '' : `: was ${JSON.stringify(was)}`}${is === undefined || /\)$/.test(what) ? '' : `${was === undefined ? ':' : ','} is ${JSON.stringify(is)}`}`;
