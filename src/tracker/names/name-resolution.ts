import { isUuid } from '../../core/format.ts';
import { fieldReferences, paramKind } from '../../api-specs/tracker/info.ts';
import { isRecord } from '../../core/shape.ts';
import type { Display, EngineContext } from '../../api/context.ts';
import { bare, bool, type Field, type Fields, list, orNull, str } from '../../core/field.ts';
import {
  type Flag,
  flagName,
  type Flags,
  type Values,
  assertUnsetAlone,
  argumentName,
} from '../../core/flag.ts';
import type { LooseInput, Operation } from '../../core/operation.ts';
import type { View } from '../../core/result.ts';
import { AppError, type Problem, problem, usageError } from '../../core/problem.ts';

/** Which fields take inputs that the service makes records of, and who finds a name. */
type Resolving = {
  readonly inputs: Readonly<Record<string, { readonly kind: string }>>;
  readonly resolve: (context: EngineContext, kind: string, text: string, path: string) => Promise<unknown>;
};
/** The flag that lets a name make a record: `--create-labels`. */
const createFlag = (field: string): string => `create-${flagName(field)}`;
const inputsOf = ({ inputs }: Resolving, fields: Fields): string[] =>
  Object.keys(fields).filter((name) => inputs[name] !== undefined);
const createFlags = (naming: Resolving, fields: Fields): Record<string, Flag> =>
  Object.fromEntries(
    inputsOf(naming, fields).map((name) => [
      createFlag(name),
      {
        field: bool(),
        summary: `Make ${name} that do not exist yet; without it an unknown name is an error`,
      },
    ]),
  );
const namesOf = (inputs: unknown): string[] =>
  Array.isArray(inputs)
    ? inputs.flatMap((one) => (isRecord(one) && typeof one.name === 'string' ? [one.name] : []))
    : [];
/** The error for a name that does not exist. */
const newName = async (
  { resolve }: Resolving,
  context: EngineContext,
  kind: string,
  name: string,
): Promise<Problem | undefined> => {
  try {
    await resolve(context, kind, `name:${name}`, `--${kind}`);
    return undefined;
  } catch (error) {
    if (!(error instanceof AppError) || error.detail.code !== 'NO_SUCH_NAME') throw error;
    const close = error.detail.problems?.[0]?.hint;
    return problem(`--${kind}`, 'rule', `${kind} not found: ${JSON.stringify(name)}`, close);
  }
};
/**
 * The service creates unknown names, so a mistyped name would create a record. This needs an explicit flag.
 */
const withoutNewNames = async (
  naming: Resolving,
  context: EngineContext,
  fields: Fields,
  values: Values,
): Promise<Values> => {
  const out: Record<string, unknown> = { ...values };
  for (const field of inputsOf(naming, fields)) {
    const kind = naming.inputs[field]?.kind ?? field;
    const mayCreate = out[createFlag(field)] === true;
    delete out[createFlag(field)];
    const problems: Problem[] = [];
    for (const name of mayCreate ? [] : namesOf(out[flagName(field)])) {
      const found = await newName(naming, context, kind, name);
      if (found !== undefined) problems.push(found);
    }
    if (problems.length > 0)
      throw usageError(`the ${kind} does not exist, and the service would create it`, problems, [
        `add --${createFlag(field)} to create it`,
      ]);
  }
  return out;
};

/** How a service's things are called by name: which fields point at what, and who finds the id. */
export type NameResolution = {
  readonly paramKind: (param: string) => string | undefined;
  readonly fields: Readonly<Record<string, { readonly kind: string; readonly alias?: string }>>;
  /** Lists of inputs that consist of a name: `--label bug` is `labels: [{name: 'bug'}]`. */
  readonly inputs: Readonly<Record<string, { readonly kind: string; readonly alias: string }>>;
  readonly isId: (text: string) => boolean;
  /** `isFresh` asks the service even when the name was read a moment ago. */
  readonly resolve: (
    context: EngineContext,
    kind: string,
    text: string,
    path: string,
    isFresh?: boolean,
  ) => Promise<string | number>;
  /** Takes the names out of a list that was read anyway, for TAB. */
  readonly learn: (
    context: EngineContext,
    operation: Operation,
    input: LooseInput,
    answer: unknown,
  ) => Promise<void>;
  /** After a change: names that were read before may mean other things now. */
  readonly forget: (context: EngineContext) => Promise<void>;
  /** How a person sees the rows or the record of an operation: names in place of ids. */
  readonly view: (
    context: EngineContext & Display,
    operation: Operation,
    columns: readonly string[] | undefined,
  ) => Promise<View>;
};
const textField = (field: Field): Field => {
  const text = bare(field).type === 'array' ? list(str()) : str();
  const kept = {
    ...(field.required ? { required: true as const } : {}),
    ...(field.default === undefined ? {} : { default: field.default }),
  };
  return {
    ...(field.nullable ? orNull(text) : text),
    ...kept,
    ...(field.summary ? { summary: field.summary } : {}),
  };
};
/** The field of the short flag: of `group_id` and `group_ids` the one that is not deprecated. */
const owners = (naming: NameResolution, fields: Fields): Map<string, string> => {
  const found = new Map<string, string>();
  for (const [name, field] of Object.entries(fields)) {
    const alias = naming.inputs[name]?.alias ?? naming.fields[name]?.alias;
    if (alias === undefined || fields[alias] !== undefined) continue;
    const before = found.get(alias);
    if (before === undefined || fields[before]?.deprecated !== undefined || field.deprecated === undefined) {
      if (field.deprecated === undefined || before === undefined) found.set(alias, name);
    }
  }
  return found;
};
/** The short flag of a field: `--owner` for `owner_ids`. */
const aliasFlag = (
  naming: NameResolution,
  alias: string,
  name: string,
  field: Field,
  long: Flag | undefined,
): Flag => {
  const input = naming.inputs[name];
  const { required: _, ...text } = textField(input ? list(str()) : field);
  return {
    effects: [],
    field: text as Field,
    summary: `${field.summary ?? name}, by name or ID (${flagName(name)})`,
    value: input ? 'name' : 'name|id',
    complete: input?.kind ?? naming.fields[name]?.kind ?? alias,
    ...(bare(field).type === 'array' ? { repeat: true } : {}),
    ...(long?.allowsEmpty ? { allowsEmpty: true } : {}),
  };
};
/**
 * Flags with IDs extended to names, and a short flag for each: `--owner @ana` in addition to `--owner-ids`.
 */
export const addNameFlags = (naming: NameResolution, flags: Flags, fields: Fields): Record<string, Flag> => {
  const out: Record<string, Flag> = { ...flags };
  for (const name of Object.keys(fields)) {
    const field = fields[name];
    const reference = naming.fields[name];
    const flag = out[flagName(name)];
    if (!field || !reference || !flag) continue;
    out[flagName(name)] = { ...flag, field: textField(field), value: 'name|id', complete: reference.kind };
  }
  for (const [alias, name] of owners(naming, fields)) {
    const field = fields[name];
    if (field) out[alias] = aliasFlag(naming, alias, name, field, out[flagName(name)]);
  }
  return { ...out, ...createFlags(naming, fields) };
};
const texts = (naming: NameResolution, value: unknown): unknown[] =>
  (Array.isArray(value) ? value : [value]).flatMap((item) => {
    const parts = String(item).split(',');
    // Names may hold commas; ids and mention names never do.
    return parts.length > 1 && parts.every((part) => naming.isId(part.trim()) || part.trim().startsWith('@'))
      ? parts.map((part) => part.trim())
      : [item];
  });
/** `ana,ben` is two names when no single thing is called so. */
const oneOrMore = async (
  naming: NameResolution,
  context: EngineContext,
  kind: string,
  text: string,
  path: string,
): Promise<unknown[]> => {
  const find = (name: string) => naming.resolve(context, kind, name, path);
  try {
    return [await find(text)];
  } catch (error) {
    const parts = text.split(',').map((part) => part.trim());
    if (
      parts.length < 2 ||
      parts.includes('') ||
      !(error instanceof AppError) ||
      error.detail.code !== 'NO_SUCH_NAME'
    )
      throw error;
    const found: unknown[] = [];
    for (const part of parts) found.push(await find(part));
    return found;
  }
};
const ids = async (
  naming: NameResolution,
  context: EngineContext,
  kind: string,
  value: unknown,
  path: string,
): Promise<unknown> => {
  if (value === null || value === undefined) return value;
  if (!Array.isArray(value)) return naming.resolve(context, kind, String(value), path);
  const found: unknown[] = [];
  for (const text of texts(naming, value))
    found.push(...(await oneOrMore(naming, context, kind, String(text), path)));
  return found;
};
/** Rejects two flags for a field with a single value. Lists are joined. */
const assertOneFlag = (naming: NameResolution, fields: Fields, values: Values): void => {
  const problems = [...owners(naming, fields)].flatMap(([alias, name]) => {
    const [short, long] = [values[alias], values[flagName(name)]];
    const isTwice =
      short !== undefined && long !== undefined && !(Array.isArray(short) && Array.isArray(long));
    return isTwice ? [problem(`--${alias}`, 'exclusive', `cannot be combined with --${flagName(name)}`)] : [];
  });
  if (problems.length > 0) throw usageError('two flags set the same field; no request was sent', problems);
};
/** Values with names converted to IDs and short flags merged into their fields. */
export const resolveValues = async (
  naming: NameResolution,
  context: EngineContext,
  fields: Fields,
  values: Values,
): Promise<Values> => {
  assertOneFlag(naming, fields, values);
  assertUnsetAlone(fields, values);
  const out: Record<string, unknown> = { ...values };
  for (const name of Object.keys(fields)) {
    const kind = naming.fields[name]?.kind;
    const given = out[flagName(name)];
    if (kind !== undefined && given !== undefined)
      out[flagName(name)] = await ids(naming, context, kind, given, `--${flagName(name)}`);
  }
  for (const [alias, name] of owners(naming, fields)) {
    const given = out[alias];
    if (given === undefined) continue;
    delete out[alias];
    const kind = naming.fields[name]?.kind;
    const input = naming.inputs[name];
    const found = input
      ? (given as string[]).map((text) => ({ name: text }))
      : await ids(naming, context, kind ?? alias, given, `--${alias}`);
    const before = out[flagName(name)];
    out[flagName(name)] = Array.isArray(before) && Array.isArray(found) ? [...before, ...found] : found;
  }
  return withoutNewNames(naming, context, fields, out);
};
/** Path parameters given by name become ids. */
export const resolveParams = async (
  naming: NameResolution,
  context: EngineContext,
  operation: Operation,
  input: LooseInput,
  isFresh = false,
): Promise<LooseInput> => {
  const params: Record<string, unknown> = { ...input.params };
  for (const name of Object.keys(operation.params ?? {})) {
    const kind = naming.paramKind(name);
    if (kind !== undefined && params[name] !== undefined)
      params[name] = await naming.resolve(
        context,
        kind,
        String(params[name]),
        `<${argumentName(name)}>`,
        isFresh,
      );
  }
  return { ...input, params };
};

/** Text that is an id already. A name of digits only is written `name:123`. */
export const isId = (text: string): boolean => /^(0|[1-9]\d*)$/.test(text) || isUuid(text);
/** Names of the tracker's things; what looks them up is loaded when a name is given. */
export const trackerNames: NameResolution = {
  paramKind,
  fields: fieldReferences,
  inputs: { labels: { kind: 'label', alias: 'label' }, categories: { kind: 'category', alias: 'category' } },
  isId,
  resolve: async (context, kind, text, path, isFresh = false) => {
    if (isId(text)) return isUuid(text) ? text : Number(text);
    const { resolveName } = await import('./resolve.ts');
    return resolveName(context, kind, text, path, isFresh);
  },
  learn: async (context, operation, input, answer) => {
    const { learnNames } = await import('./resolve.ts');
    await learnNames(context, operation, input, answer);
  },
  forget: async (context) => {
    const { forgetNames } = await import('./resolve.ts');
    await forgetNames(context);
  },
  view: async (context, operation, columns) =>
    (await import('../screens.ts')).trackerView(context, operation, columns),
};
