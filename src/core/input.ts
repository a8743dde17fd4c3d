import type { LooseInput, Operation } from '../core/operation.ts';
import type { Values } from '../core/flag.ts';
import { valuesOf } from './field-flags.ts';

/** `label-public-id` → `label`; `name` of `{name=labels/*}` stays. */
export const argumentName = (param: string): string => param.replace(/-public-id$/, '');

const paramValues = (operation: Operation, values: Values): Record<string, unknown> =>
  Object.fromEntries(Object.keys(operation.params ?? {}).map((name) => [name, values[argumentName(name)]]));

/** The input of a row from the values of its derived flags and arguments. */
export const inputFrom = (operation: Operation, values: Values): LooseInput => ({
  params: paramValues(operation, values),
  query: valuesOf(operation.query ?? {}, values, 'query'),
  ...(operation.body ? { body: valuesOf(operation.body, values, 'body') } : {}),
});

/** Rows that --limit asks for; a row's flags are not known to the compiler. */
export const limitOf = ({ limit }: Values): number | undefined =>
  typeof limit === 'number' ? limit : undefined;
