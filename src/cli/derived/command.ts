import type { Context } from '../../api/context.ts';
import {
  argumentName,
  flagsOf,
  inputFrom,
  limitOf,
  requiredAreGiven,
  secretFlag,
  somethingChanges,
  type Argument,
  type Flag,
  flagName,
  type Values,
} from '../../core/flag.ts';
import { check } from '../../core/check.ts';
import {
  bare,
  type Field,
  type Fields,
  int,
  type ObjectField,
  refuseLongSecret,
  req,
  str,
} from '../../core/field.ts';
import { formatRow } from '../../core/format.ts';
import { jsonRow } from '../../core/json.ts';
import { limits } from '../../core/limits.ts';
import {
  isSearch,
  type LooseInput,
  type Operation,
  operations,
  type Service,
  type ServiceInfo,
} from '../../core/operation.ts';
import { AppError, invalidArguments } from '../../core/problem.ts';
import { nothing, recordResult, type Result, rowsResult, type View } from '../../core/result.ts';
import {
  addNameFlags,
  type NameResolution,
  resolveParams,
  resolveValues,
} from '../../tracker/names/name-resolution.ts';
import type { Command } from '../command.ts';

/** One row of a table, and the words of the command that is made from it. */
export type Row = {
  readonly service: ServiceInfo;
  readonly resource: string;
  readonly verb: string;
  readonly operation: Operation;
  readonly naming?: NameResolution;
};
const hasOwnLimit = (operation: Operation): boolean =>
  operation.query?.limit !== undefined || operation.body?.limit !== undefined;
const isList = ({ method, returns }: Operation): boolean =>
  method === 'GET' && returns !== undefined && bare(returns).type === 'array';

const scalar = (field: Field): boolean =>
  !['object', 'array', 'map', 'any', 'ref', 'file'].includes(field.type);
/** The record that an operation returns, or that each row of its list is. */
const recordOf = ({ returns }: Operation): ObjectField | undefined => {
  const whole = returns && bare(returns);
  const row = whole?.type === 'array' ? bare(whole.items) : whole;
  return row?.type === 'object' ? row : undefined;
};
/** The field that `-o name` prints, in lists and for single records: the unique name, if the record has one. */
export const uniqueNameOf = (operation: Operation): string | undefined => recordOf(operation)?.uniqueName;
/** Columns of a table view: the row's own, else the first scalars of the record. */
export const columnsOf = (operation: Operation): readonly string[] | undefined => {
  if (operation.cli?.columns) return operation.cli.columns;
  const row = recordOf(operation);
  if (row === undefined) return undefined;
  return Object.entries(row.fields)
    .filter(([, field]) => scalar(bare(field)))
    .map(([name]) => name)
    .slice(0, 5);
};

const done = {
  create: 'created',
  update: 'changed',
  delete: 'deleted',
  enable: 'enabled',
  disable: 'disabled',
} as Readonly<Record<string, string>>;
const singular = (resource: string): string => resource.replace(/ies$/, 'y').replace(/s$/, '');
/** The ID of the record, next to the name that was typed for it. */
const shownId = (id: unknown, sent: unknown): string => {
  if (id === undefined) return '';
  return sent === undefined || String(sent) === String(id) ? ` ${id}` : ` ${JSON.stringify(id)} (${sent})`;
};
const messageOf = (
  resource: string,
  verb: string,
  answer: unknown,
  values: Values,
  sent?: unknown,
): string => {
  const id =
    (answer as { id?: unknown } | undefined)?.id ??
    values[singular(resource)] ??
    Object.values(values).find((v) => typeof v === 'number');
  const what = id === undefined && /able$/.test(verb) ? resource : singular(resource);
  return `${what}${shownId(id, sent)} ${done[verb] ?? `${verb}: done`}`;
};
/** Converts the service's response into a result: rows, a record, or only a message. */
const resultOf = (
  { resource, verb, operation }: Row,
  answer: unknown,
  values: Values,
  view: View,
  input: LooseInput,
): Result => {
  if (answer === undefined) {
    const [sent] = Object.values(input.params ?? {}).slice(-1);
    return nothing(messageOf(resource, verb, answer, values, sent));
  }
  if (Array.isArray(answer)) return rowsResult(answer, view);
  if (operation.method === 'GET') return recordResult(answer, view);
  return recordResult(answer, { ...view, message: messageOf(resource, verb, answer, values) });
};

/** Prints one warning with the replacement for each deprecated item that was used. */
const warnOfOld = (context: Context, operation: Operation, input: LooseInput): void => {
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

/**
 * Sends a row that accepts a name instead of a record ID. A change never trusts a cached name, which may now
 * belong to another record. A read that finds no record resolves the name again.
 */
const sendNamed = async <T>(
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

/** A list is never cut in silence. The rest is counted, but not one that has no end. */
async function* limitRows<T>(
  context: Context,
  batches: AsyncIterable<T[]>,
  most: number,
): AsyncGenerator<T[]> {
  let count = 0;
  let isWhole = true;
  for await (const batch of batches) {
    if (count < most) yield batch.slice(0, most - count);
    count += batch.length;
    isWhole = count <= most + limits.heldRows;
    if (!isWhole) break;
  }
  if (count > most)
    context.log.warn(`${most} of ${isWhole ? count : `more than ${count}`} shown; leave --limit out for all`);
}
/** Names of longer lists are not offered under TAB. */
export const MOST_LEARNED = 10_000;
async function* learnRows(
  batches: AsyncIterable<Uint8Array[]>,
  learn: (rows: readonly unknown[]) => Promise<void>,
): AsyncGenerator<Uint8Array[]> {
  const rows: Uint8Array[] = [];
  let isWhole = true;
  for await (const batch of batches) {
    isWhole &&= rows.length + batch.length <= MOST_LEARNED;
    if (isWhole) for (const row of batch) rows.push(row);
    yield batch;
  }
  if (isWhole) await learn(rows.map(jsonRow));
}
/** The rows of a list, read and handed on while they arrive. */
const listRows = async (
  context: Context,
  row: Row,
  given: LooseInput,
  input: LooseInput,
  most: number | undefined,
): Promise<Result> => {
  const { service, operation, naming } = row;
  const all = await sendNamed(context, row, given, input, (one) => context.rows(service, operation, one));
  // Only for an interactive session, because the completion script takes some milliseconds.
  const isWatched = context.host.terminal.stderr.isTty && operation.params === undefined;
  const seen =
    isWatched && naming !== undefined
      ? learnRows(all, (rows) => naming.learn(context, operation, input, rows))
      : all;
  const rows = most === undefined ? seen : limitRows(context, seen, most);
  return { kind: 'rows', rows, inBatches: true, encoded: true, paged: true };
};

const question = (text: string, values: Values): string =>
  text.replace(/\{([^}]+)\}/g, (_, name: string) =>
    String(values[name] ?? values[argumentName(name)] ?? name),
  );
/** Lists omit the descriptions unless they are requested. A column of that name requests them. */
const withColumns = ({ columns }: Context, operation: Operation, input: LooseInput): LooseInput => {
  const isMissing =
    operation.query?.includes_description !== undefined && input.query?.includes_description === undefined;
  return isMissing && columns?.includes('description')
    ? { ...input, query: { ...input.query, includes_description: true } }
    : input;
};
/** The columns of the row, or the screen of the service where people read. */
const viewOf = async (context: Context, { operation, naming }: Row): Promise<View> => {
  const columns = columnsOf(operation);
  const name = uniqueNameOf(operation);
  const named = name === undefined ? {} : { name, areNamesResolved: true };
  return naming === undefined || !formatRow(context.format).isForPeople
    ? { columns, ...named }
    : { ...(await naming.view(context, operation, columns)), ...named };
};
/** The text of a file with a secret, or what a person types, which no screen shows. */
const readSecretFrom = async ({ host, isInteractive, log }: Context, path: string, flag: string) => {
  const typed =
    path === '-' && host.terminal.stdin.isTty && isInteractive
      ? await host.terminal.prompts.text(`${flag}:`, { secret: true })
      : await (await import('../../api/input.ts')).textFile({ host }, path, flag);
  const text = typed.replace(/\r?\n$/, '');
  refuseLongSecret('usage', flag, text);
  log.hide(text);
  return text;
};
/** Reads the secrets that flags name by their files. */
const withSecrets = async (context: Context, fields: Fields, values: Values): Promise<Values> => {
  const found: Record<string, unknown> = { ...values };
  for (const [name, field] of Object.entries(fields)) {
    const path = field.secret ? values[secretFlag(name)] : undefined;
    if (typeof path !== 'string') continue;
    const flag = `--${secretFlag(name)}`;
    const text = await readSecretFrom(context, path, flag);
    const problems = check(field, text, flag);
    if (problems.length > 0) throw invalidArguments(problems);
    found[flagName(name)] = text;
  }
  return found;
};
const makeRun =
  (row: Row): Command['run'] =>
  async (context, values) => {
    const { resource, verb, operation, naming } = row;
    const fields = { ...operation.query, ...operation.body };
    const whole = await withSecrets(context, fields, values);
    const known = naming ? await resolveValues(naming, context, fields, whole) : whole;
    const given = withColumns(context, operation, inputFrom(operation, known));
    const words = `opsctl ${row.service.name} ${resource} ${operation.cli?.verb ?? verb}`;
    requiredAreGiven(operation, given, words);
    somethingChanges(operation, given, words);
    const input = naming
      ? await resolveParams(naming, context, operation, given, operation.method !== 'GET')
      : given;
    warnOfOld(context, operation, input);
    if (operation.cli?.confirm) await context.confirm(question(operation.cli.confirm, values));
    const view = await viewOf(context, row);
    if (isList(operation) && !hasOwnLimit(operation)) {
      return { ...(await listRows(context, row, given, input, limitOf(values))), view };
    }
    const answer = await sendNamed(context, row, given, input, (one) =>
      context.call(row.service, operation, one),
    );
    return resultOf(row, answer, values, view, input);
  };

const argumentsOf = (params: Fields | undefined, naming: NameResolution | undefined): Argument[] =>
  Object.entries(params ?? {}).map(([name, field]) => {
    const kind = naming?.paramKind(name);
    const about =
      kind === undefined
        ? (field.summary ?? '')
        : `${field.summary ?? argumentName(name)}, by name or ID (a name of digits: name:120)`;
    return {
      name: argumentName(name),
      effects: [],
      field: kind === undefined ? field : req(str()),
      summary: about,
      complete: kind ?? argumentName(name),
    };
  });
const flagsFor = ({ operation, naming }: Row): Record<string, Flag> => {
  const flags = flagsOf([
    { fields: operation.query ?? {}, part: 'query' },
    { fields: operation.body ?? {}, part: isSearch(operation.path) ? 'filter' : 'body' },
  ]);
  if (isList(operation) && !hasOwnLimit(operation))
    flags.limit = { field: int({ min: 1 }), summary: 'Rows at most (default all)', value: 'number' };
  return naming ? addNameFlags(naming, flags, { ...operation.query, ...operation.body }) : flags;
};
/** One command for one row: `tracker labels create`. Flags and arguments are created on first access. */
export const commandFrom = (row: Row): Command => {
  const { service, resource, verb, operation, naming } = row;
  let flags: Record<string, Flag> | undefined;
  return {
    path: [service.name, ...resource.split(' '), operation.cli?.verb ?? verb],
    summary: operation.summary,
    get args() {
      return argumentsOf(operation.params, naming);
    },
    get flags() {
      flags ??= flagsFor(row);
      return flags;
    },
    examples: (operation.cli?.examples ?? []).map((one) =>
      typeof one === 'string' ? { line: one, says: operation.summary } : one,
    ),
    ...(operation.deprecated === undefined ? {} : { deprecated: operation.deprecated }),
    operation: { service, operation },
    run: makeRun(row),
  };
};
/** All commands of a service, in table order; rows marked hidden have a hand-written command. */
export const commandsFrom = (service: Service, naming?: NameResolution): Command[] =>
  operations(service.table)
    .filter(({ operation }) => !operation.cli?.hidden)
    .map(({ resource, verb, operation }) =>
      commandFrom({
        service,
        resource: flagName(resource),
        verb: flagName(verb),
        operation,
        ...(naming ? { naming } : {}),
      }),
    );
