import { type Field, type ObjectField, bare } from '../../core/field.ts';
import { invalid } from './errors.ts';
import { type Json, camel } from './proto-json.ts';

/** Paths that an edit writes, relative to its implied root; `names` are those of the root's own members. */
export type Mask = { readonly paths: ReadonlySet<string>; has(name: string): boolean };

const membersOf = (field: Field): ObjectField['fields'] => {
  const inner = bare(field);
  return inner.type === 'object' ? inner.fields : {};
};

/** A path names a member of the row, on any level; members that only the service sets cannot be written. */
const isKnown = (root: Field, path: string): boolean => {
  let field: Field = root;
  for (const name of path.split('.')) {
    const member: Field | undefined = membersOf(field)[name];
    if (member === undefined || member.outputOnly) return false;
    field = member;
  }
  return true;
};

const writable = (root: Field): string[] =>
  Object.entries(membersOf(root)).flatMap(([name, field]) => (field.outputOnly ? [] : [name]));

const maskOf = (paths: ReadonlySet<string>): Mask => ({
  paths,
  // A member is written when it is named, or something inside it is.
  has: (name) => [...paths].some((path) => path === name || path.startsWith(`${name}.`)),
});

/**
 * Which members an edit writes (spec/labels#parameters-7: relative to the implied root, at least one, `*` = every field).
 * The names are those of the row, nested ones included. A mask that is missing is refused, as the real service does.
 */
export const maskFrom = (mask: unknown, root: Field, path: string): Mask => {
  const names = String(mask ?? '')
    .split(',')
    .map(camel)
    .filter((name) => name !== '');
  if (names.length === 0) throw invalid(path, 'must name at least one field', 'EMPTY_FIELD_MASK');
  if (names.includes('*')) {
    if (names.length > 1) throw invalid(path, '* stands alone');
    return maskOf(new Set(writable(root)));
  }
  for (const name of names) {
    if (!isKnown(root, name))
      throw invalid(path, `"${name}" is not one of ${writable(root).join(', ')}`, 'UNKNOWN_FIELD_IN_MASK');
  }
  return maskOf(new Set(names));
};

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null;

const written = (before: unknown, given: unknown, [name = '', ...rest]: readonly string[]): unknown => {
  const [old, fresh] = [isObject(before) ? before : {}, isObject(given) ? given[name] : undefined];
  const value = rest.length === 0 ? fresh : written(old[name], fresh, rest);
  const { [name]: _, ...others } = old;
  return value === undefined ? others : { ...others, [name]: value };
};

/** The member as it is after the edit: whole, or with only the parts inside it that the mask names. */
export const valueAfter = (mask: Mask, name: string, before: unknown, given: Json): unknown => {
  if (mask.paths.has(name)) return given[name];
  return [...mask.paths]
    .filter((path) => path.startsWith(`${name}.`))
    .reduce((now, path) => written(now, given[name], path.split('.').slice(1)), before);
};
