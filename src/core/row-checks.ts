import type { Fields } from '../core/field.ts';
import type { LooseInput, Operation } from '../core/operation.ts';
import { type Problem, problem, usageError } from '../core/problem.ts';
import { shellLine } from '../core/shell.ts';
import { flagName } from './field-flags.ts';

/** What the row cannot be sent without, in the words of its flags. */
export const requiredAreGiven = (operation: Operation, input: LooseInput, words: string): void => {
  const missing = (fields: Fields | undefined, given: LooseInput['body']): Problem[] =>
    Object.entries(fields ?? {}).flatMap(([name, field]) =>
      field.required && given?.[name] === undefined
        ? [problem(`--${flagName(name)}`, 'required', 'is required')]
        : [],
    );
  const problems = [...missing(operation.query, input.query), ...missing(operation.body, input.body)];
  if (problems.length > 0) throw usageError(`${words}: invalid arguments`, problems, [`${words} --help`]);
};

/** A change of a record names what changes: an empty one is most likely a flag that was forgotten. */
export const somethingChanges = (operation: Operation, input: LooseInput, words: string): void => {
  const names = Object.keys(operation.body ?? {});
  if (operation.method !== 'PUT' || names.length === 0 || Object.keys(input.body ?? {}).length > 0) return;
  const [name = ''] = names.includes('name') ? ['name'] : names;
  const record = shellLine(Object.values(input.params ?? {}).map(String));
  throw usageError(
    `${words}: nothing to change; nothing was sent`,
    [],
    [`${words} ${record} --${flagName(name)} …`, `${words} --help`],
  );
};
