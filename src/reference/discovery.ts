import { type Field, type Fields, bare } from '../kernel/field.ts';
import type { Operation, Service, Resource } from '../kernel/operation.ts';
import { template } from '../kernel/path.ts';
import type { JsonSchema } from '../kernel/schema.ts';

type Schemas = Map<string, JsonSchema>;

const typed = (field: Field, schemas: Schemas): JsonSchema => {
  switch (field.type) {
    case 'string':
      return {
        type: 'string',
        ...(field.enum ? { enum: [...field.enum] } : {}),
        ...(field.format === 'int64' || field.format === 'byte' ? { format: field.format } : {}),
      };
    case 'integer':
      return { type: 'integer', format: 'int32' };
    case 'number':
    case 'boolean':
    case 'any':
      return { type: field.type };
    case 'array':
      return { type: 'array', items: schema(field.items, schemas) };
    case 'map':
      return { type: 'object', additionalProperties: schema(field.values, schemas) };
    case 'object':
      return field.name === undefined ? { type: 'object', properties: properties(field.fields, schemas) } : named(field.name, field, schemas);
    case 'ref':
      return named(field.name, bare(field), schemas);
    default:
      return { type: 'string' };
  }
};
const schema = (field: Field, schemas: Schemas): JsonSchema => ({
  ...typed(field, schemas),
  ...(field.summary ? { description: field.summary } : {}),
});
const properties = (fields: Fields, schemas: Schemas): JsonSchema =>
  Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, schema(field, schemas)]));
const named = (name: string, field: Field, schemas: Schemas): JsonSchema => {
  if (!schemas.has(name)) {
    schemas.set(name, {});
    schemas.set(name, { id: name, type: 'object', properties: field.type === 'object' ? properties(field.fields, schemas) : {} });
  }
  return { $ref: name };
};

/** `/{name=labels/*}:publish` → `v2beta/{+name}:publish` and the pattern that a name must match. */
const placed = (service: Service, operation: Operation) => {
  const { segments, verb } = template(operation.path);
  const path = segments.map((s) => ('literal' in s ? s.literal : `{+${s.param}}`)).join('/') + (verb === '' ? '' : `:${verb}`);
  const patterns = Object.fromEntries(
    segments.flatMap((s) => ('param' in s ? [[s.param, `^${s.pattern.map((p) => (p === '*' ? '[^/]+' : p)).join('/')}$`]] : [])),
  );
  const flat = segments
    .flatMap((s) => ('literal' in s ? [s.literal] : s.pattern.map((p, i) => (p === '*' ? `{${s.pattern[i - 1] ?? s.param}Id}` : p))))
    .join('/');
  const base = service.basePath.slice(1);
  return { path: `${base}/${path}`, flatPath: `${base}/${flat}${verb === '' ? '' : `:${verb}`}`, patterns };
};

const method = (service: Service, id: string, operation: Operation, schemas: Schemas): JsonSchema => {
  const { path, flatPath, patterns } = placed(service, operation);
  const inPath = Object.entries(operation.params ?? {}).map(([name]) => [
    name,
    { type: 'string', location: 'path', required: true, pattern: patterns[name] },
  ]);
  const inQuery = Object.entries(operation.query ?? {}).map(([name, field]) => [name, { ...schema(field, schemas), location: 'query' }]);
  const request =
    operation.body &&
    named(
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
    parameters: Object.fromEntries([...inPath, ...inQuery]),
    parameterOrder: Object.keys(operation.params ?? {}),
    ...(request ? { request } : {}),
    response: operation.returns ? schema(operation.returns, schemas) : {},
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

/** doc3 Versioning 1: a discovery document describes the REST interface. Resource keys may have several words. */
export const discovery = (service: Service, origin: string): JsonSchema => {
  const schemas: Schemas = new Map();
  const root: Node = {};
  for (const [resource, verbs] of Object.entries(service.table) as [string, Resource][]) {
    const words = resource.split(/[ .]/);
    const at = nodeAt(root, words);
    at.methods ??= {};
    for (const [verb, operation] of Object.entries(verbs))
      at.methods[verb] = method(service, [service.name, ...words, verb].join('.'), operation, schemas);
  }
  return {
    kind: 'discovery#restDescription',
    discoveryVersion: 'v1',
    id: `${service.name}:${service.version}`,
    name: service.name,
    version: service.version,
    title: service.title,
    protocol: 'rest',
    rootUrl: `${origin}/`,
    servicePath: '',
    baseUrl: `${origin}/`,
    batchPath: 'batch',
    resources: root.resources ?? {},
    schemas: Object.fromEntries(schemas),
  };
};
