import { invalid } from './errors.ts';
import { type Json, camel } from './proto-json.ts';

/**
 * Which members an edit writes (spec/labels#parameters: relative to the implied root, at least one, `*` = every field).
 * Without a mask the members that were given are meant.
 */
export const maskFrom = (
  mask: unknown,
  given: Json,
  known: readonly string[],
  path: string,
): ReadonlySet<string> => {
  if (mask === undefined) return new Set(known.filter((name) => given[name] !== undefined));
  const names = String(mask)
    .split(',')
    .map(camel)
    .filter((name) => name !== '');
  if (names.length === 0) throw invalid(path, 'must name at least one field', 'EMPTY_FIELD_MASK');
  if (names.includes('*')) {
    if (names.length > 1) throw invalid(path, '* stands alone');
    return new Set(known);
  }
  for (const name of names) {
    if (!known.includes(name))
      throw invalid(path, `"${name}" is not one of ${known.join(', ')}`, 'UNKNOWN_FIELD_IN_MASK');
  }
  return new Set(names);
};
