import type { LooseInput, Operation } from '../../kernel/operation.ts';
import { AppError } from '../../kernel/problem.ts';
import { recordResult } from '../../kernel/result.ts';
import { tracker } from '../../services/tracker/index.ts';
import type { Command, Context } from '../command.ts';
import { columnsOf, commandFrom, inputFrom } from '../from-table.ts';
import { resolveValues } from '../naming.ts';
import { trackerNaming } from './naming.ts';

type Row = Readonly<Record<string, unknown>> & { readonly id: number | string };
type Verbs = { readonly list: Operation; readonly create: Operation; readonly update: Operation };

/** Resources whose records are known by name or external_id, so that "make it if it is not there" has a meaning. */
const RESOURCES = ['categories', 'epics', 'groups', 'iterations', 'labels', 'objectives', 'projects'] as const;

/** By external_id when one is given, else by name; more than one match is never guessed about. */
export const matching = (rows: readonly Row[], body: Readonly<Record<string, unknown>>): Row | undefined => {
  const key = body.external_id === undefined ? 'name' : 'external_id';
  const found = rows.filter((row) => row[key] === body[key]);
  if (found.length < 2) return found[0];
  throw new AppError('refused', `${found.length} records have the ${key} ${JSON.stringify(body[key])}: ${found.map(({ id }) => id).join(', ')}`, {
    code: 'AMBIGUOUS',
    tryThis: ['change one of them by its id'],
  });
};

/** Only what an update may say and what differs. Lists and objects are compared as text. */
const changes = (update: Operation, row: Row, body: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(body).filter(([name, value]) => update.body?.[name] !== undefined && JSON.stringify(row[name]) !== JSON.stringify(value)),
  );

const bodyOf = async (context: Context, create: Operation, values: Readonly<Record<string, unknown>>): Promise<LooseInput> =>
  inputFrom(create, await resolveValues(trackerNaming, context, create.body ?? {}, values));

const find = async (context: Context, { list }: Verbs, input: LooseInput): Promise<Row | undefined> => {
  const rows = (await context.call(tracker, list, {}, { evenInDryRun: true })) as Row[];
  return matching(rows, input.body ?? {});
};

/** A create that another process won: the name is taken now, so the record is there now. */
const createOrFind = async (context: Context, verbs: Verbs, input: LooseInput): Promise<{ row: Row; isNew: boolean }> => {
  try {
    return { row: (await context.call(tracker, verbs.create, input)) as Row, isNew: true };
  } catch (error) {
    const isTaken = error instanceof AppError && error.detail.httpStatus === 422;
    const row = isTaken ? await find(context, verbs, input) : undefined;
    if (row === undefined) throw error;
    return { row, isNew: false };
  }
};

type Kind = { readonly verbs: Verbs; readonly singular: string; readonly view: { readonly columns: readonly string[] | undefined } };

const ensure =
  ({ verbs, singular, view }: Kind): Command['run'] =>
  async (context, values) => {
    const input = await bodyOf(context, verbs.create, values);
    const found = await find(context, verbs, input);
    if (found) return recordResult(found, { ...view, message: `${singular} ${found.id} was there` });
    const { row, isNew } = await createOrFind(context, verbs, input);
    return recordResult(row, { ...view, message: `${singular} ${row.id} ${isNew ? 'created' : 'was there'}` });
  };

const upsert =
  ({ verbs, singular, view }: Kind): Command['run'] =>
  async (context, values) => {
    const input = await bodyOf(context, verbs.create, values);
    const before = await find(context, verbs, input);
    const { row, isNew } = before ? { row: before, isNew: false } : await createOrFind(context, verbs, input);
    const body = isNew ? {} : changes(verbs.update, row, input.body ?? {});
    if (Object.keys(body).length === 0) return recordResult(row, { ...view, message: `${singular} ${row.id} ${isNew ? 'created' : 'is as asked'}` });
    const [param = ''] = Object.keys(verbs.update.params ?? {});
    const after = await context.call(tracker, verbs.update, { params: { [param]: row.id }, body });
    return recordResult(after, { ...view, message: `${singular} ${row.id} changed: ${Object.keys(body).join(', ')}` });
  };

const commandsOf = (resource: (typeof RESOURCES)[number]): Command[] => {
  const verbs = tracker.table[resource] as Verbs;
  const base = commandFrom({ service: tracker, resource, verb: 'create', operation: verbs.create, naming: trackerNaming });
  const shape = (verb: string, summary: string, about: string, run: Command['run']): Command => ({
    path: ['tracker', resource, verb],
    summary,
    about,
    get flags() {
      return base.flags;
    },
    operation: { service: tracker, operation: verbs.create },
    run,
  });
  const singular = resource.replace(/ies$/, 'y').replace(/s$/, '');
  const kind = { verbs, singular, view: { columns: columnsOf(verbs.create) } };
  return [
    shape(
      'ensure',
      `Create a ${singular} unless it is there`,
      'It is there when one has the same external_id or, without one, the same name. An existing one is not changed.',
      ensure(kind),
    ),
    shape(
      'upsert',
      `Create a ${singular}, or change it to what is given`,
      'Found by external_id or, without one, by name. Only fields that differ are sent.',
      upsert(kind),
    ),
  ];
};

export const ensureCommands: readonly Command[] = RESOURCES.flatMap(commandsOf);
