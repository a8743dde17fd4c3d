import { type Field, bare } from '../../core/field.ts';
import { invalid } from './errors.ts';

/** A partial response: which members to keep; `true` keeps all below. */
export type Selection = true | { readonly [name: string]: Selection };

const merge = (a: Selection | undefined, b: Selection): Selection => {
  if (a === undefined) return b;
  if (a === true || b === true) return true;
  const merged: Record<string, Selection> = { ...a };
  for (const [key, value] of Object.entries(b)) merged[key] = merge(merged[key], value);
  return merged;
};

type Cursor = { readonly text: string; at: number };
const bad = (cursor: Cursor): Error =>
  invalid('fields', `Invalid field selection ${cursor.text}`, 'INVALID_FIELD_SELECTION');

const readName = (cursor: Cursor): string => {
  const name = /^[A-Za-z0-9_*-]+/.exec(cursor.text.slice(cursor.at))?.[0];
  if (name === undefined) throw bad(cursor);
  cursor.at += name.length;
  return name;
};

const readPath = (cursor: Cursor): Selection => {
  const name = readName(cursor);
  const mark = cursor.text[cursor.at];
  if (mark === '/' || mark === '.') {
    cursor.at += 1;
    return { [name]: readPath(cursor) };
  }
  if (mark !== '(') return { [name]: true };
  cursor.at += 1;
  const inner = readList(cursor);
  if (cursor.text[cursor.at] !== ')') throw bad(cursor);
  cursor.at += 1;
  return { [name]: inner };
};

const readList = (cursor: Cursor): Selection => {
  let selection = readPath(cursor);
  while (cursor.text[cursor.at] === ',') {
    cursor.at += 1;
    selection = merge(selection, readPath(cursor));
  }
  return selection;
};

/** Reads `labels(id,properties/title),nextPageToken`; throws INVALID_ARGUMENT on a malformed one. */
export const selectionFrom = (text: string): Selection => {
  const cursor = { text: text.replaceAll(' ', ''), at: 0 };
  const selection = readList(cursor);
  if (cursor.at !== cursor.text.length) throw bad(cursor);
  return selection;
};

/** The selected part of a value; lists are passed through member by member. Pure. */
export const select = (value: unknown, selection: Selection): unknown => {
  if (selection === true || typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => select(item, selection));
  const kept: Record<string, unknown> = {};
  for (const [key, member] of Object.entries(value)) {
    const own = merge(selection[key], selection['*'] ?? {});
    if (selection[key] !== undefined || selection['*'] !== undefined) kept[key] = select(member, own);
  }
  return kept;
};

/** Members that the answer cannot have, on any level; a `*` stands for all of them. */
export const unknownNames = (selection: Selection, field: Field): string[] => {
  const inner = bare(field);
  if (selection === true) return [];
  if (inner.type === 'array') return unknownNames(selection, inner.items);
  if (inner.type !== 'object') return Object.keys(selection);
  return Object.entries(selection).flatMap(([name, below]) => {
    const member = inner.fields[name];
    if (name === '*')
      return Object.values(inner.fields).every((each) => unknownNames(below, each).length > 0) ? [name] : [];
    return member === undefined ? [name] : unknownNames(below, member);
  });
};
