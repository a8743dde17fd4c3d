import { createHash } from 'node:crypto';
import type { LiveChoice, LiveField, LiveLabel } from './definition.ts';

/** Twelve hexadecimal digits tell the versions of one part apart, which is all that a lock file needs. */
export const digestOf = (value: unknown): string =>
  createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 12);

const choiceContent = ({ name, description, badge, disabled }: LiveChoice) => [
  name,
  description ?? null,
  badge?.color ?? null,
  badge?.priority ?? null,
  disabled ?? null,
];

/** Ids are left out: the same definition has other ids elsewhere. */
export const fieldDigest = (field: LiveField): string =>
  digestOf([
    field.name,
    field.type,
    field.required,
    field.maxEntries ?? null,
    field.dateFormat ?? null,
    field.disabled ?? null,
    field.choices.map(choiceContent),
  ]);

/** Everything that a revision of a label holds. */
export const contentDigest = (live: LiveLabel): string =>
  digestOf([live.title, live.description ?? null, live.fields.map(fieldDigest)]);

const sortedParts = <T extends { readonly name: string }>(parts: readonly T[]): T[] =>
  parts.toSorted((a, b) => (a.name < b.name ? -1 : 1));

/** The same without the order of the parts: what a delta leads to can be known beforehand but for that. */
export const unorderedDigest = (live: LiveLabel): string =>
  digestOf([
    live.title,
    live.description ?? null,
    sortedParts(live.fields).map((field) => fieldDigest({ ...field, choices: sortedParts(field.choices) })),
  ]);
