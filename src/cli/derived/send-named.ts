import type { LooseInput } from '../../core/operation.ts';
import { AppError } from '../../core/problem.ts';
import type { Context } from '../command.ts';
import { resolveParams } from '../../tracker/names/naming.ts';
import type { Row } from './row.ts';

/**
 * Sends a row whose record may be given by name. A change never trusts a name that was read a while ago (it may be
 * another record's by now); a read that finds nothing asks once more whose name it is.
 */
export const sendNamed = async <T>(
  context: Context,
  { operation, naming }: Row,
  given: LooseInput,
  input: LooseInput,
  ask: (input: LooseInput) => Promise<T>,
): Promise<T> => {
  if (naming === undefined) return ask(input);
  if (operation.method !== 'GET') {
    const answer = await ask(input);
    await naming.forget(context);
    return answer;
  }
  try {
    return await ask(input);
  } catch (error) {
    const wasNamed = Object.entries(given.params ?? {}).some(
      ([name, value]) => String(value) !== String(input.params?.[name]),
    );
    if (!wasNamed || !(error instanceof AppError) || error.category !== 'not-found') throw error;
    return ask(await resolveParams(naming, context, operation, given, true));
  }
};
