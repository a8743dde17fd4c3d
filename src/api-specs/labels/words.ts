/** spec/labels#schemas: the kinds of a field; each has an option member named after it (`textOptions`). */
export const fieldKinds = ['text', 'integer', 'date', 'selection', 'user'] as const;
export type FieldKind = (typeof fieldKinds)[number];
export const optionsOf = (kind: FieldKind) => `${kind}Options` as const;
/** At most one of them is set in a field. */
export const optionMembers = fieldKinds.map(optionsOf);

/** spec/labels#permissions-2, lowest first: each role implies the ones before it. */
export const labelRoles = ['READER', 'APPLIER', 'ORGANIZER', 'EDITOR'] as const;
export type LabelRole = (typeof labelRoles)[number];

/** What happens to the values of a label when an item is copied. */
export const copyModes = ['DO_NOT_COPY', 'ALWAYS_COPY', 'COPY_APPLIABLE'] as const;

/** Types of labels that can be created. */
export const ownLabelTypes = ['SHARED', 'ADMIN'] as const;

/** Whom a permission is for: an address, or a principal. */
export const principalMembers = ['person', 'group', 'audience'] as const;
