import { type Field, type Fields, type StringField, bare } from './field.ts';
import { formats } from './format.ts';

/** The required form of a stored or received value. Additional fields are allowed. */
type Word = 'text' | 'number' | 'flag' | 'list' | 'record';
export type Shape =
  | Word
  | `${Word}?`
  /** A list whose every item has this shape. */
  | readonly [Shape]
  /** A field whose name ends with `?` may be absent. */
  | { readonly [field: string]: Shape };
export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const words: Readonly<Record<Word, readonly [string, (value: unknown) => boolean]>> = {
  text: ['text', (value) => typeof value === 'string'],
  number: ['a number', (value) => typeof value === 'number'],
  flag: ['true or false', (value) => typeof value === 'boolean'],
  list: ['a list', Array.isArray],
  record: ['an object', isRecord],
};
const wordMisfit = (value: unknown, given: Word | `${Word}?`, path: string): string | undefined => {
  const isOptional = given.endsWith('?');
  const [name, fits] = words[given.replace('?', '') as Word];
  if (value === undefined) return isOptional ? undefined : `\`${path}\` is missing`;
  return fits(value) ? undefined : `\`${path}\` must be ${name}`;
};
/** The first part of a value that is not as its readers need it, in words. Pure. */
export const misfit = (value: unknown, shape: Shape, path = ''): string | undefined => {
  if (typeof shape === 'string') return wordMisfit(value, shape, path);
  const isList = Array.isArray(shape);
  if (path !== '') {
    const wrong = wordMisfit(value, isList ? 'list' : 'record', path);
    if (wrong !== undefined) return wrong;
  } else if (isList ? !Array.isArray(value) : !isRecord(value))
    return `it does not hold ${isList ? 'a list' : 'an object'}`;
  const parts: [string, unknown, Shape][] = isList
    ? (value as unknown[]).map((item, i) => [`${path}[${i}]`, item, shape[0] as Shape])
    : Object.entries(shape).flatMap(([name, part]) => {
        const field = name.replace('?', '');
        const item = (value as Record<string, unknown>)[field];
        return item === undefined && field !== name
          ? []
          : [[path === '' ? field : `${path}.${field}`, item, part]];
      });
  for (const [at, item, part] of parts) {
    const wrong = misfit(item, part, at);
    if (wrong !== undefined) return wrong;
  }
  return undefined;
};
type Part = readonly [name: string, field: Field];
const partsOf = new WeakMap<object, readonly Part[]>();
/** Returns the members of an object that are lists or objects themselves. */
const structuredParts = (fields: Fields): readonly Part[] => {
  const known = partsOf.get(fields);
  if (known !== undefined) return known;
  const parts = Object.entries(fields).filter(([, field]) => ['array', 'object'].includes(bare(field).type));
  partsOf.set(fields, parts);
  return parts;
};
/**
 * Returns the first list or object of a response that has another type than its row describes, in words. Members that are
 * null or absent fit: services leave them out. Pure.
 */
export const structureFault = (value: unknown, given: Field, path = ''): string | undefined => {
  const field = bare(given);
  const where = path === '' ? 'the response' : `\`${path}\``;
  if (field.type === 'array') {
    if (!Array.isArray(value)) return `${where} is not a list`;
    return firstFault(value, (item, i) => structureFault(item, field.items, `${path}[${i}]`));
  }
  if (field.type === 'object') {
    // PHP services write an object without members as an empty list.
    if (Array.isArray(value) && value.length === 0 && path !== '') return undefined;
    if (!isRecord(value)) return `${where} is not an object`;
    return firstFault(structuredParts(field.fields), ([name, part]) =>
      value[name] === undefined || value[name] === null
        ? undefined
        : structureFault(value[name], part, path === '' ? name : `${path}.${name}`),
    );
  }
  return undefined;
};
const firstFault = <T>(
  items: readonly T[],
  faultOf: (item: T, i: number) => string | undefined,
): string | undefined => {
  for (const [i, item] of items.entries()) {
    const fault = faultOf(item, i);
    if (fault !== undefined) return fault;
  }
  return undefined;
};
/** Selects the shape of a line by the value of its field `name`. Unknown lines must be objects. */
export const shapeBy =
  (name: string, shapes: Readonly<Record<string, Shape>>) =>
  (line: unknown): Shape => {
    const kind = isRecord(line) ? String(line[name]) : '';
    return (Object.hasOwn(shapes, kind) ? shapes[kind] : undefined) ?? {};
  };
/**
 * Returns the value of a JSON text, or undefined if it is not valid JSON or has another shape. For files that
 * are recreated when they are damaged.
 */
export const fittingJson = <T>(text: string | undefined, shape: Shape): T | undefined => {
  try {
    const value: unknown = JSON.parse(text ?? '');
    return misfit(value, shape) === undefined ? (value as T) : undefined;
  } catch {
    return undefined;
  }
};

/** Words that settings, flags and the sign-in itself share. */

/** Sign-in methods without a person. */
export const machineMethodNames = ['service-account', 'client-credentials', 'token-exchange'] as const;
export type MachineMethodName = (typeof machineMethodNames)[number];
/** How a client proves itself: in the body as the document has it, by HTTP Basic, or by a signature (RFC 7523 2.2). */
export const clientAuthentications = ['body', 'basic', 'private_key_jwt'] as const;
export type ClientAuthentication = (typeof clientAuthentications)[number];

type Random = { random(bytes: number): Uint8Array };
/** From 0 to below 1, in steps of 1/256: enough to spread retries. */
export const randomShare = (host: Random): number => (host.random(1)[0] ?? 0) / 256;

export type JsonSchema = { [key: string]: unknown };
/** Collects named objects so that they are written once and referred to. */
export type Components = Map<string, JsonSchema>;
/** `3.1` for OpenAPI (null is a type), `2.0` for Swagger (`x-nullable`). */
export type Dialect = { readonly version: '3.1' | '2.0'; readonly refPrefix: string };

const nullable = (schema: JsonSchema, dialect: Dialect): JsonSchema => {
  // Swagger 2.0 ignores the siblings of a $ref.
  if (dialect.version === '2.0')
    return '$ref' in schema ? { allOf: [schema], 'x-nullable': true } : { ...schema, 'x-nullable': true };
  return '$ref' in schema
    ? { anyOf: [schema, { type: 'null' }] }
    : {
        ...schema,
        type: [schema.type, 'null'],
        ...(schema.enum ? { enum: [...(schema.enum as unknown[]), null] } : {}),
      };
};

const bounds = (field: { min?: number; max?: number }, low: string, high: string): JsonSchema => ({
  ...(field.min === undefined ? {} : { [low]: field.min }),
  ...(field.max === undefined ? {} : { [high]: field.max }),
});

/** JSON Schema keywords for the rules of a field. `color` has no keyword and becomes a pattern. */
const formatOf = (format: StringField['format']): JsonSchema => {
  if (format === undefined || format === 'color' || format === 'duration') return {};
  return { format: format === 'datetime' ? 'date-time' : format === 'url' ? 'uri' : format };
};

const stringSchema = (field: StringField): JsonSchema => {
  const pattern = field.format === 'color' ? '^#[a-fA-F0-9]{6}$' : field.pattern;
  return {
    type: 'string',
    ...bounds(field, 'minLength', 'maxLength'),
    ...(field.enum ? { enum: [...field.enum] } : {}),
    ...formatOf(field.format),
    ...(pattern ? { pattern } : {}),
  };
};

const plain = (field: Field, components: Components, dialect: Dialect): JsonSchema => {
  switch (field.type) {
    case 'string':
      return stringSchema(field);
    case 'integer':
    case 'number':
      return {
        type: field.type,
        ...(field.type === 'integer'
          ? { format: field.format ?? 'int64' }
          : field.format
            ? { format: field.format }
            : {}),
        ...bounds(field, 'minimum', 'maximum'),
      };
    case 'boolean':
      return { type: 'boolean' };
    case 'array':
      return {
        type: 'array',
        items: schemaOf(field.items, components, dialect),
        ...bounds(field, 'minItems', 'maxItems'),
      };
    case 'map':
      return { type: 'object', additionalProperties: schemaOf(field.values, components, dialect) };
    case 'file':
      return dialect.version === '2.0' ? { type: 'file' } : { type: 'string', format: 'binary' };
    case 'object':
      return field.name === undefined
        ? objectSchema(field.fields, components, dialect, field.complete)
        : nameSchema(field.name, field, components, dialect);
    case 'ref':
      return nameSchema(field.name, bare(field), components, dialect);
    default:
      return {};
  }
};

const nameSchema = (name: string, field: Field, components: Components, dialect: Dialect): JsonSchema => {
  if (!components.has(name)) {
    components.set(name, {});
    const inner =
      field.type === 'object'
        ? objectSchema(field.fields, components, dialect, field.complete)
        : plain(field, components, dialect);
    components.set(name, inner);
  }
  return { $ref: `${dialect.refPrefix}${name}` };
};

/** A JSON Schema of an object with these fields; unknown keys are not allowed. */
export const objectSchema = (
  fields: Fields,
  components: Components,
  dialect: Dialect,
  complete = false,
): JsonSchema => {
  const required = Object.entries(fields).flatMap(([name, field]) =>
    (complete ? !field.optional : field.required) ? [name] : [],
  );
  return {
    type: 'object',
    properties: Object.fromEntries(
      Object.entries(fields).map(([name, field]) => [name, schemaOf(field, components, dialect)]),
    ),
    ...(required.length > 0 ? { required } : {}),
    additionalProperties: false,
  };
};

/** A JSON Schema of one field, with its limits, default and deprecation. */
export const schemaOf = (field: Field, components: Components, dialect: Dialect): JsonSchema => {
  const base = plain(field, components, dialect);
  const about =
    field.summary ?? (field.type === 'string' && field.format ? formats[field.format].says : undefined);
  const extra: JsonSchema = {
    ...(about === undefined ? {} : { description: about }),
    ...(field.default === undefined ? {} : { default: field.default }),
    ...(field.deprecated === undefined
      ? {}
      : dialect.version === '2.0'
        ? { 'x-deprecated': true }
        : { deprecated: true }),
  };
  const withNull = field.nullable ? nullable(base, dialect) : base;
  return '$ref' in withNull ? withNull : { ...withNull, ...extra };
};
