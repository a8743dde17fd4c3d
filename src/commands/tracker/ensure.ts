import type { LooseInput, Operation } from '../../core/operation.ts';
import { AppError } from '../../core/problem.ts';
import { recordResult } from '../../core/result.ts';
import { tracker } from '../../api-specs/tracker/index.ts';
import type { Command, Context } from '../../cli/command.ts';
import { columnsOf } from '../../table-commands/columns.ts';
import { commandFrom } from '../../table-commands/command.ts';
import { inputFrom } from '../../table-commands/input.ts';
import { requiredAreGiven } from '../../table-commands/row-checks.ts';
import { resolveValues } from '../../names/naming.ts';
import { trackerNaming } from '../../names/tracker-naming.ts';
import { oneAtATime } from './serialize.ts';

type Row = Readonly<Record<string, unknown>> & { readonly id: number | string };
type Kind = {
  readonly verbs: Verbs;
  readonly singular: string;
  readonly view: { readonly columns: readonly string[] | undefined };
  /** The command as it was called. */
  readonly words: string;
};
type Verbs = { readonly list: Operation; readonly create: Operation; readonly update: Operation };

/** Resources whose records are known by name or external_id, so that "make it if it is not there" has a meaning. */
const RESOURCES = [
  'categories',
  'epics',
  'groups',
  'iterations',
  'labels',
  'objectives',
  'projects',
] as const;

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

/** Lists of ids and of inputs by name are sets: neither their order nor what else a record shows of them is a difference. */
const comparable = (value: unknown): string => {
  const nameOf = (one: unknown): unknown =>
    typeof one === 'object' && one !== null && 'name' in one ? one.name : one;
  return JSON.stringify(Array.isArray(value) ? value.map(nameOf).sort() : value);
};

/** Only what an update may say and what differs. */
const changes = (
  update: Operation,
  row: Row,
  body: Readonly<Record<string, unknown>>,
): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(body).filter(
      ([name, value]) => update.body?.[name] !== undefined && comparable(row[name]) !== comparable(value),
    ),
  );

const bodyOf = async (
  context: Context,
  { verbs, words }: Kind,
  values: Readonly<Record<string, unknown>>,
): Promise<LooseInput> => {
  const { create } = verbs;
  const input = inputFrom(create, await resolveValues(trackerNaming, context, create.body ?? {}, values));
  requiredAreGiven(create, input, words);
  return input;
};

const find = async (context: Context, { list }: Verbs, input: LooseInput): Promise<Row | undefined> => {
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
const createOnce = (
  context: Context,
  verbs: Verbs,
  input: LooseInput,
): Promise<{ row: Row; isNew: boolean }> =>
  context.isDryRun
    ? createOrFind(context, verbs, input)
    : oneAtATime(context, verbs.create.path, () => createOrFind(context, verbs, input));

const ensure =
  (kind: Kind): Command['run'] =>
  async (context, values) => {
    const { verbs, singular, view } = kind;
    const input = await bodyOf(context, kind, values);
    const found = await find(context, verbs, input);
    if (found) return recordResult(found, { ...view, message: `${singular} ${found.id} was there` });
    const { row, isNew } = await createOnce(context, verbs, input);
    return recordResult(row, {
      ...view,
      message: `${singular} ${row.id} ${isNew ? 'created' : 'was there'}`,
    });
  };

const upsert =
  (kind: Kind): Command['run'] =>
  async (context, values) => {
    const { verbs, singular, view } = kind;
    const input = await bodyOf(context, kind, values);
    const before = await find(context, verbs, input);
    const { row, isNew } = before ? { row: before, isNew: false } : await createOnce(context, verbs, input);
    const body = isNew ? {} : changes(verbs.update, row, input.body ?? {});
    if (Object.keys(body).length === 0)
      return recordResult(row, {
        ...view,
        message: `${singular} ${row.id} ${isNew ? 'created' : 'is as asked'}`,
      });
    const [param = ''] = Object.keys(verbs.update.params ?? {});
    const after = await context.call(tracker, verbs.update, { params: { [param]: row.id }, body });
    await trackerNaming.forget(context);
    return recordResult(after, {
      ...view,
      message: `${singular} ${row.id} changed: ${Object.keys(body).join(', ')}`,
    });
  };

type Resource = (typeof RESOURCES)[number];
const verbsOf = (resource: Resource): Verbs => tracker.table[resource] as Verbs;
const singularOf = (resource: Resource): string => resource.replace(/ies$/, 'y').replace(/s$/, '');

const kindOf = (resource: Resource, verb: string): Kind => {
  const verbs = verbsOf(resource);
  return {
    verbs,
    singular: singularOf(resource),
    view: { columns: columnsOf(verbs.create) },
    words: `opsctl tracker ${resource} ${verb}`,
  };
};

const commandsOf = (resource: Resource): Command[] => {
  const { create } = verbsOf(resource);
  const base = commandFrom({
    service: tracker,
    resource,
    verb: 'create',
    operation: create,
    naming: trackerNaming,
  });
  const shape = (verb: string, summary: string, about: string, run: Command['run']): Command => ({
    path: ['tracker', resource, verb],
    summary,
    about,
    get flags() {
      return base.flags;
    },
    operation: { service: tracker, operation: create },
    run,
  });
  const singular = singularOf(resource);
  const a = /^[aeio]/.test(singular) ? `an ${singular}` : `a ${singular}`;
  return [
    shape(
      'ensure',
      `Create ${a} unless it is there`,
      'It is there when one has the same external_id or, without one, the same name. An existing one is not changed.',
      ensure(kindOf(resource, 'ensure')),
    ),
    shape(
      'upsert',
      `Create ${a}, or change it to what is given`,
      'Found by external_id or, without one, by name. Only fields that differ are sent.',
      upsert(kindOf(resource, 'upsert')),
    ),
  ];
};

export const ensureCommands: readonly Command[] = RESOURCES.flatMap(commandsOf);
