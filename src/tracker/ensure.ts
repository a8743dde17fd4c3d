import type { LooseInput, Operation } from '../core/operation.ts';
import { recordResult } from '../core/result.ts';
import { tracker } from '../api-specs/tracker/index.ts';
import type { Command, Context } from '../cli/command.ts';
import { resolveValues } from './names/naming.ts';
import { trackerNaming } from './names/tracker-naming.ts';
import { inputFrom } from '../core/input.ts';
import { requiredAreGiven } from '../core/row-checks.ts';
import { type Row, type Verbs, createOnce, find } from './find-or-create.ts';

export type Kind = {
  readonly verbs: Verbs;
  readonly singular: string;
  readonly view: { readonly columns: readonly string[] | undefined };
  /** The command as it was called. */
  readonly words: string;
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

export const ensure =
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

export const upsert =
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
