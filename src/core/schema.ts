import { type Field, type Fields, type StringField, bare } from './field.ts';
import { formats } from './format.ts';

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
