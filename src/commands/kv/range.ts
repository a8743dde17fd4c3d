import type { Argument, Flag, ValuesOf } from '../../cli/command.ts';
import { bool, req, str } from '../../core/field.ts';
import { problem, type Problem } from '../../core/problem.ts';
import { prefixEnd } from '../../kv/client/prefix-end.ts';

export const anyKey = {
  name: 'key-name',
  effects: [],
  field: req(str()),
  summary: 'The key',
} as const satisfies Argument;

export const rangeArgument = {
  name: 'range-end',
  effects: [],
  field: str(undefined, { min: 1 }),
  summary: 'Up to this key, without it',
  optional: true,
} as const satisfies Argument;

export const prefixFlag = {
  effects: [],
  field: bool(),
  summary: 'Every key that begins like this',
} as const satisfies Flag;

type RangeValues = ValuesOf<{ prefix: typeof prefixFlag }, [typeof anyKey, typeof rangeArgument]>;

type Range = { readonly key: string; readonly end: string | Uint8Array | undefined };

/** Every key begins like the empty one; the store has no empty key and calls the first a zero byte. */
export const rangeOf = (values: RangeValues): Range =>
  values.prefix === true
    ? { key: values['key-name'] === '' ? '\0' : values['key-name'], end: prefixEnd(values['key-name']) }
    : { key: values['key-name'], end: values['range-end'] };

export const rangeProblems = (values: RangeValues): Problem[] => {
  if (values.prefix === true && values['range-end'] !== undefined)
    return [problem('<range-end>', 'exclusive', 'cannot be given together with --prefix')];
  return values['key-name'] === '' && values.prefix !== true
    ? [problem('<key-name>', 'required', 'must not be empty', '"" --prefix means every key')]
    : [];
};
