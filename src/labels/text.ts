import type { Change, ChangeKind } from './change.ts';

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
