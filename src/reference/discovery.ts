import { type Field, type Fields, bare } from '../core/field.ts';
import { type Operation, type Service, operations, template } from '../core/operation.ts';
import type { JsonSchema } from '../core/shape.ts';
import { fullScope, scopeRow } from '../api-specs/oauth/endpoints.ts';

type Schemas = Map<string, JsonSchema>;

/** Our words for formats in those of discovery documents; a format that they do not know is a plain string. */
const formatOf: Readonly<Record<string, string>> = {
  int64: 'int64',
  byte: 'byte',
  datetime: 'google-datetime',
  date: 'google-date',
  fieldmask: 'google-fieldmask',
};
const bounds = ({ min, max }: { readonly min?: number; readonly max?: number }): JsonSchema => ({
  // Discovery documents write numbers as text.
  ...(min === undefined ? {} : { minimum: String(min) }),
  ...(max === undefined ? {} : { maximum: String(max) }),
});

const typeSchema = (field: Field, schemas: Schemas): JsonSchema => {
  switch (field.type) {
    case 'string': {
      const format = formatOf[field.format ?? ''];
      return {
        type: 'string',
        ...(field.enum ? { enum: [...field.enum] } : {}),
        ...(format === undefined ? {} : { format }),
        ...(field.pattern === undefined ? {} : { pattern: field.pattern }),
      };
    }
    case 'integer':
      return { type: 'integer', format: 'int32', ...bounds(field) };
    case 'number':
      return { type: 'number', format: field.format ?? 'double', ...bounds(field) };
    case 'boolean':
    case 'any':
      return { type: field.type };
    case 'array':
      return { type: 'array', items: schema(field.items, schemas) };
    case 'map':
      return { type: 'object', additionalProperties: schema(field.values, schemas) };
    case 'object':
      return field.name === undefined
        ? { type: 'object', properties: properties(field.fields, schemas) }
        : nameSchema(field.name, field, schemas);
    case 'ref':
      return nameSchema(field.name, bare(field), schemas);
    default:
      return { type: 'string' };
  }
};
const schema = (field: Field, schemas: Schemas): JsonSchema => ({
  ...typeSchema(field, schemas),
  ...(field.summary ? { description: field.summary } : {}),
  ...(field.default === undefined ? {} : { default: String(field.default) }),
  ...(field.outputOnly || field.readOnly ? { readOnly: true } : {}),
  ...(field.deprecated === undefined ? {} : { deprecated: true }),
});
const properties = (fields: Fields, schemas: Schemas): JsonSchema =>
  Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, schema(field, schemas)]));
const nameSchema = (name: string, field: Field, schemas: Schemas): JsonSchema => {
  if (!schemas.has(name)) {
    schemas.set(name, {});
    schemas.set(name, {
      id: name,
      type: 'object',
      properties: field.type === 'object' ? properties(field.fields, schemas) : {},
    });
  }
  return { $ref: name };
};

/** `/{name=labels/*}:publish` → `v2beta/{+name}:publish` and the pattern that a name must match. */
const placePath = (service: Service, operation: Operation) => {
  const { segments, verb } = template(operation.path);
  const path =
    segments.map((s) => ('literal' in s ? s.literal : `{+${s.param}}`)).join('/') +
    (verb === '' ? '' : `:${verb}`);
  const patterns = Object.fromEntries(
    segments.flatMap((s) =>
      'param' in s ? [[s.param, `^${s.pattern.map((p) => (p === '*' ? '[^/]+' : p)).join('/')}$`]] : [],
    ),
  );
  const flat = segments
    .flatMap((s) =>
      'literal' in s
        ? [s.literal]
        : s.pattern.map((p, i) => (p === '*' ? `{${s.pattern[i - 1] ?? s.param}Id}` : p)),
    )
    .join('/');
  const base = service.basePath.slice(1);
  return { path: `${base}/${path}`, flatPath: `${base}/${flat}${verb === '' ? '' : `:${verb}`}`, patterns };
};

const parameters = (fields: Fields, schemas: Schemas): JsonSchema =>
  Object.fromEntries(
    Object.entries(fields).map(([name, field]) => [name, { ...schema(field, schemas), location: 'query' }]),
  );

const method = (service: Service, id: string, operation: Operation, schemas: Schemas): JsonSchema => {
  const { path, flatPath, patterns } = placePath(service, operation);
  const inPath = Object.fromEntries(
    Object.entries(operation.params ?? {}).map(([name, field]) => [
      name,
      { ...schema(field, schemas), location: 'path', required: true, pattern: patterns[name] },
    ]),
  );
  const request =
    operation.body &&
    nameSchema(
      operation.bodyName ??
        `${id
          .split('.')
          .map((w) => w[0]?.toUpperCase() + w.slice(1))
          .join('')}Request`,
      { type: 'object', fields: operation.body },
      schemas,
    );
  return {
    id,
    path,
    flatPath,
    httpMethod: operation.method,
    description: operation.summary,
    parameters: { ...inPath, ...parameters(operation.query ?? {}, schemas) },
    parameterOrder: Object.keys(operation.params ?? {}),
    ...(request ? { request } : {}),
    response: operation.returns ? schema(operation.returns, schemas) : {},
    ...(service.scopes ? { scopes: service.scopes(operation.method).map(fullScope) } : {}),
  };
};

type Node = { methods?: Record<string, JsonSchema>; resources?: Record<string, Node> };
const nodeAt = (root: Node, path: readonly string[]): Node => {
  let at = root;
  for (const word of path) {
    at.resources ??= {};
    at = at.resources[word] ??= {};
  }
  return at;
};

/** OAuth scopes of a service and what they allow. */
const auth = ({ scopes }: Service): JsonSchema => {
  if (scopes === undefined) return {};
  const rows = scopes('GET').map((name) => [
    fullScope(name),
    { description: scopeRow(fullScope(name))?.consent ?? name },
  ]);
  return { auth: { oauth2: { scopes: Object.fromEntries(rows) } } };
};

/** spec/labels#versions: a discovery document describes the REST interface. */
export const discovery = (service: Service, origin: string): JsonSchema => {
  const schemas: Schemas = new Map();
  const root: Node = {};
  for (const { resource, verb, operation } of operations(service.table)) {
    const words = (operation.id ?? `${resource}.${verb}`).split('.');
    const at = nodeAt(root, words.slice(0, -1));
    at.methods ??= {};
    at.methods[words.at(-1) ?? verb] = method(
      service,
      [service.name, ...words].join('.'),
      operation,
      schemas,
    );
  }
  return {
    kind: 'discovery#restDescription',
    discoveryVersion: 'v1',
    id: `${service.name}:${service.version}`,
    name: service.name,
    version: service.version,
    title: service.title,
    description: service.title,
    protocol: 'rest',
    rootUrl: `${origin}/`,
    servicePath: '',
    basePath: '',
    baseUrl: `${origin}/`,
    batchPath: 'batch',
    parameters: parameters(service.everywhere ?? {}, schemas),
    ...auth(service),
    resources: root.resources ?? {},
    schemas: Object.fromEntries(schemas),
  };
};
