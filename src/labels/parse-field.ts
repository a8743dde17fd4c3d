import { problem } from '../core/problem.ts';
import { isHex } from './color.ts';
import {
  type Badge,
  type ChoiceDef,
  type FieldDef,
  type FieldKind,
  badgeWith,
  fieldKinds,
} from './definition.ts';
import { badgeMembers, choiceMembers, fieldMembers } from './format.ts';
import {
  type Plain,
  type Reader,
  at,
  disabledIn,
  entriesIn,
  flagIn,
  isPlain,
  neededText,
  present,
  refuseUnknown,
  textIn,
  textOrNone,
} from './read-values.ts';

const badgeIn = (value: Plain, path: string, reader: Reader): Badge | null | undefined => {
  const given = value.badge;
  if (given === undefined || given === null) return given;
  const where = at(path, 'badge');
  const badge = typeof given === 'string' ? { color: given } : given;
  if (!isPlain(badge)) {
    reader.problems.push(problem(where, 'type', 'must be a colour such as #1a2b3c or {color, priority}'));
    return undefined;
  }
  refuseUnknown(badge, badgeMembers, where, reader);
  const color = textIn(badge, 'color', where, reader)?.toLowerCase();
  const priority = textIn(badge, 'priority', where, reader);
  if (color !== undefined && !isHex(color))
    reader.problems.push(
      problem(at(where, 'color'), 'format', `must be a colour such as #1a2b3c; got ${color}`),
    );
  if (priority !== undefined && !/^-?\d+$/.test(priority))
    reader.problems.push(problem(at(where, 'priority'), 'format', 'must be a whole number'));
  return badgeWith(color, priority) ?? null;
};

const identityIn = (value: Plain, path: string, reader: Reader) => ({
  key: textIn(value, 'key', path, reader),
  id: textIn(value, 'id', path, reader),
  was: textIn(value, 'was', path, reader),
});

const choiceIn = (value: Plain, path: string, reader: Reader): ChoiceDef => {
  refuseUnknown(value, choiceMembers, path, reader);
  const identity = identityIn(value, path, reader);
  if (identity.id !== undefined && !/^[A-Za-z0-9_]+$/.test(identity.id))
    reader.problems.push(
      problem(
        at(path, 'id'),
        'format',
        `must consist of letters, digits and _; got ${identity.id}`,
        'or leave it out',
      ),
    );
  return present({
    ...identity,
    name: neededText(value, 'name', path, reader),
    description: textOrNone(value, 'description', path, reader),
    badge: badgeIn(value, path, reader),
    disabled: disabledIn(value, path, reader),
  });
};

const kindIn = (value: Plain, path: string, reader: Reader): FieldKind => {
  const text = textIn(value, 'type', path, reader) ?? (value.choices === undefined ? undefined : 'selection');
  const kind = fieldKinds.find((known) => known === text);
  if (kind === undefined)
    reader.problems.push(
      problem(at(path, 'type'), 'enum', `must be one of ${fieldKinds.join(', ')}; got ${text ?? 'nothing'}`),
    );
  else
    for (const [key, { only }] of Object.entries(fieldMembers))
      if (value[key] !== undefined && only !== undefined && !only.includes(kind))
        reader.problems.push(
          problem(at(path, key), 'rule', `belongs to ${only.join(' and ')} fields, this is a ${kind} field`),
        );
  return kind ?? 'text';
};

const entriesLimit = (value: Plain, path: string, { problems }: Reader): number | null | undefined => {
  const given = value.maxEntries;
  if (given === undefined || given === null) return given;
  if (typeof given === 'number' && Number.isInteger(given) && given >= 0) return given;
  problems.push(problem(at(path, 'maxEntries'), 'type', 'must be a whole number'));
  return undefined;
};

const dateFormats: Readonly<Record<string, string>> = {
  short: 'SHORT_DATE',
  long: 'LONG_DATE',
  SHORT_DATE: 'SHORT_DATE',
  LONG_DATE: 'LONG_DATE',
};
const dateFormatIn = (value: Plain, path: string, reader: Reader): string | undefined => {
  const text = textIn(value, 'dateFormat', path, reader);
  if (text !== undefined && dateFormats[text] === undefined)
    reader.problems.push(problem(at(path, 'dateFormat'), 'enum', 'must be SHORT_DATE or LONG_DATE'));
  return text === undefined ? undefined : dateFormats[text];
};

export const fieldIn = (value: Plain, path: string, reader: Reader): FieldDef => {
  refuseUnknown(value, fieldMembers, path, reader);
  return present({
    ...identityIn(value, path, reader),
    name: neededText(value, 'name', path, reader),
    type: kindIn(value, path, reader),
    required: flagIn(value, 'required', path, reader),
    maxEntries: entriesLimit(value, path, reader),
    dateFormat: dateFormatIn(value, path, reader),
    choices: entriesIn(value, 'choices', path, reader)?.map((choice, i) =>
      choiceIn(choice, `${at(path, 'choices')}[${i}]`, reader),
    ),
    disabled: disabledIn(value, path, reader),
  });
};
