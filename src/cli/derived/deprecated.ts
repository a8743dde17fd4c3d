import type { LooseInput, Operation } from '../../core/operation.ts';
import type { Context } from '../command.ts';

/** Says once for each deprecated thing that is used what to use instead. */
export const warnOfOld = (context: Context, operation: Operation, input: LooseInput): void => {
  const use = (text: string) => (text === '' ? '' : `; use ${text}`);
  if (operation.deprecated !== undefined)
    context.log.warnOnce(
      operation.path,
      `${operation.method} ${operation.path} is deprecated${use(operation.deprecated)}`,
    );
  for (const [name, field] of Object.entries({ ...operation.query, ...operation.body })) {
    const isGiven = input.query?.[name] !== undefined || input.body?.[name] !== undefined;
    if (field.deprecated !== undefined && isGiven)
      context.log.warnOnce(name, `the field ${name} is deprecated${use(field.deprecated)}`);
  }
};
