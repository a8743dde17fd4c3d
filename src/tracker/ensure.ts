import { hash } from 'node:crypto';
import { tracker } from '../api-specs/tracker/index.ts';
import type { EngineContext, RunCommand, Runtime } from '../api/context.ts';
import { acquire, type Lock } from '../auth/credential-store/guarded-file.ts';
import { inputFrom, requiredAreGiven } from '../core/flag.ts';
import { childPath, pathPart } from '../core/file-name.ts';
import type { LooseInput, Operation } from '../core/operation.ts';
import { AppError, messageOf } from '../core/problem.ts';
import { recordResult } from '../core/result.ts';
import { resolveValues, trackerNames } from './names/name-resolution.ts';

/**
 * As long as a request may wait for its place in the rate limit. After that, two concurrent requests are
 * better than none.
 */
const WAIT_MS = 90_000;
/** Continues without a lock if none can be created: a read-only home is not a failure. */
const lockOf = async ({ host, settings, signal, log }: Runtime, name: string): Promise<Lock | undefined> => {
  try {
    await host.files.makeDirectory(settings.directories.state, 0o700);
    return await acquire(host, childPath(settings.directories.state, pathPart(`${name}.lock`)), {
      waitMs: WAIT_MS,
      signal,
    });
  } catch (error) {
    signal.throwIfAborted();
    log.debug(`goes on without a lock: ${messageOf(error)}`);
    return undefined;
  }
};
/** Looking and then making is one step for all processes of this user, so that two of them do not both make it. */
const oneAtATime = async <T>(context: EngineContext, what: string, act: () => Promise<T>): Promise<T> => {
  const { baseUrl } = await context.target('tracker');
  const lock = await lockOf(context, `ensure-${hash('sha256', `${baseUrl} ${what}`).slice(0, 16)}`);
  try {
    return await act();
  } finally {
    await lock?.release();
  }
};

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
const find = async (context: EngineContext, { list }: Verbs, input: LooseInput): Promise<Row | undefined> => {
  const rows = (await context.lookups.call(tracker, list, {})) as Row[];
  return matching(rows, input.body ?? {});
};
/** Another process won the race to create the record: the name is in use, so the record exists now. */
const createOrFind = async (
  context: EngineContext,
  verbs: Verbs,
  input: LooseInput,
): Promise<{ row: Row; isNew: boolean }> => {
  const before = await find(context, verbs, input);
  if (before) return { row: before, isNew: false };
  try {
    const row = (await context.call(tracker, verbs.create, input)) as Row;
    await trackerNames.forget(context);
    return { row, isNew: true };
  } catch (error) {
    const isTaken = error instanceof AppError && error.detail.httpStatus === 422;
    const row = isTaken ? await find(context, verbs, input) : undefined;
    if (row === undefined) throw error;
    return { row, isNew: false };
  }
};
/**
 * If two processes miss the same record, only one of them creates it, even if the service allows duplicate
 * names.
 */
const createOnce = (
  context: EngineContext,
  verbs: Verbs,
  input: LooseInput,
): Promise<{ row: Row; isNew: boolean }> =>
  context.isDryRun
    ? createOrFind(context, verbs, input)
    : oneAtATime(context, verbs.create.path, () => createOrFind(context, verbs, input));

export type Kind = {
  readonly verbs: Verbs;
  readonly singular: string;
  readonly view: { readonly columns: readonly string[] | undefined };
  /** The original command line. */
  readonly words: string;
};
/** Lists of ids and of inputs by name are sets: neither their order nor what else a record shows of them is a difference. */
const comparable = (value: unknown): string => {
  const nameOf = (one: unknown): unknown =>
    typeof one === 'object' && one !== null && 'name' in one ? one.name : one;
  return JSON.stringify(Array.isArray(value) ? value.map(nameOf).sort() : value);
};
/** Only the keys that an update accepts and that differ. */
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
  context: EngineContext,
  { verbs, words }: Kind,
  values: Readonly<Record<string, unknown>>,
): Promise<LooseInput> => {
  const { create } = verbs;
  const input = inputFrom(create, await resolveValues(trackerNames, context, create.body ?? {}, values));
  requiredAreGiven(create, input, words);
  return input;
};
export const ensure =
  (kind: Kind): RunCommand =>
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
export const upsert =
  (kind: Kind): RunCommand =>
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
    await trackerNames.forget(context);
    return recordResult(after, {
      ...view,
      message: `${singular} ${row.id} changed: ${Object.keys(body).join(', ')}`,
    });
  };
