import { type Field, bare } from '../core/field.ts';
import type { Argument, Effect, Flag } from '../core/flag.ts';

/** Numbers, moments, durations and members of a closed list: no such value names a file, a program or an address. */
const isHarmless = (field: Field): boolean => {
  const inner = bare(field);
  switch (inner.type) {
    case 'integer':
    case 'number':
      return true;
    case 'array':
      return isHarmless(inner.items);
    case 'string':
      return (
        (inner.enum !== undefined && inner.open !== true) ||
        ['date', 'datetime', 'duration', 'color', 'uuid'].includes(inner.format ?? '')
      );
    default:
      return false;
  }
};

/**
 * Returns the declared effects of a flag or an argument. Undefined: this kind of value needs a declaration
 * that is missing.
 */
export const effectsOf = ({ effects, field }: Flag | Argument): readonly Effect[] | undefined =>
  effects ?? (isHarmless(field) ? [] : undefined);
