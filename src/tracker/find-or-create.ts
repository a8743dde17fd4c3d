import type { LooseInput, Operation } from '../core/operation.ts';
import { AppError } from '../core/problem.ts';
import { tracker } from '../api-specs/tracker/index.ts';
import type { Context } from '../cli/command.ts';
import { trackerNaming } from './names/tracker-naming.ts';
import { oneAtATime } from './serialize.ts';

export type Row = Readonly<Record<string, unknown>> & { readonly id: number | string };
export type Verbs = { readonly list: Operation; readonly create: Operation; readonly update: Operation };

/** By external_id when one is given, else by name; more than one match is never guessed about. */
export const matching = (rows: readonly Row[], body: Readonly<Record<string, unknown>>): Row | undefined => {
  const key = body.external_id === undefined ? 'name' : 'external_id';
  const found = rows.filter((row) => row[key] === body[key]);
  if (found.length < 2) return found[0];
  throw new AppError(
    'refused',
    `${found.length} records have the ${key} ${JSON.stringify(body[key])}: ${found.map(({ id }) => id).join(', ')}`,
    {
      code: 'AMBIGUOUS',
      tryThis: ['change one of them by its id'],
    },
  );
};

export const find = async (
  context: Context,
  { list }: Verbs,
  input: LooseInput,
): Promise<Row | undefined> => {
  const rows = (await context.call(tracker, list, {}, { evenInDryRun: true })) as Row[];
  return matching(rows, input.body ?? {});
};

/** A create that somebody elsewhere won: the name is taken now, so the record is there now. */
const createOrFind = async (
  context: Context,
  verbs: Verbs,
  input: LooseInput,
): Promise<{ row: Row; isNew: boolean }> => {
  const before = await find(context, verbs, input);
  if (before) return { row: before, isNew: false };
  try {
    const row = (await context.call(tracker, verbs.create, input)) as Row;
    await trackerNaming.forget(context);
    return { row, isNew: true };
  } catch (error) {
    const isTaken = error instanceof AppError && error.detail.httpStatus === 422;
    const row = isTaken ? await find(context, verbs, input) : undefined;
    if (row === undefined) throw error;
    return { row, isNew: false };
  }
};

/** Of two processes that miss the same record one makes it, also where the service takes a name twice. */
export const createOnce = (
  context: Context,
  verbs: Verbs,
  input: LooseInput,
): Promise<{ row: Row; isNew: boolean }> =>
  context.isDryRun
    ? createOrFind(context, verbs, input)
    : oneAtATime(context, verbs.create.path, () => createOrFind(context, verbs, input));
