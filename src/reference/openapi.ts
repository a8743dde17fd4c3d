import { bare, type Field, type Fields, type StringField } from '../core/field.ts';
import { formatExamples } from '../core/format.ts';
import {
  type OperationError,
  type Operation,
  operations,
  type Service,
  type ServiceInfo,
  template,
} from '../core/operation.ts';
import { type Components, type Dialect, type JsonSchema, objectSchema, schemaOf } from '../core/shape.ts';

const text = (name: string, { format, enum: values, max, pattern }: StringField): string | undefined => {
  if (values?.[0] !== undefined) return values[0];
  if (format !== undefined && formatExamples[format] !== undefined) return formatExamples[format];
  return pattern === undefined ? name.slice(0, max) : undefined;
};
const exampleValue = (name: string, field: Field): unknown => {
  const plain = bare(field);
  switch (plain.type) {
    case 'string':
      return text(name, plain);
    case 'integer':
    case 'number':
      return Math.max(1, plain.min ?? 1);
    case 'boolean':
      return true;
    case 'array':
      return [exampleValue(name.replace(/_?ids?$|s$/, ''), plain.items)].filter((one) => one !== undefined);
    case 'object':
      return exampleOf(plain.fields);
    default:
      return undefined;
  }
};
/** A body that fits: the required fields, or the first one where none is required. */
export const exampleOf = (fields: Fields): Record<string, unknown> => {
  const required = Object.entries(fields).filter(([, field]) => field.required);
  const shown = required.length > 0 ? required : Object.entries(fields).slice(0, 1);
  const made = shown.map(([name, field]) => [name, field.default ?? exampleValue(name, field)] as const);
  return Object.fromEntries(made.filter(([, value]) => value !== undefined));
};

const retryAfter = {
  'Retry-After': {
    description: 'Seconds after which the next request may succeed; not every deployment sends it',
    schema: { type: 'integer' },
  },
};
/** The named errors that an operation can return, by status. */
const namedOf = (
  { namedErrors = {} }: ServiceInfo,
  { errors = [] }: Operation,
): Map<number, OperationError[]> => {
  const found = new Map<number, OperationError[]>();
  for (const name of errors) {
    const error = namedErrors[name];
    if (error !== undefined) found.set(error.status, [...(found.get(error.status) ?? []), error]);
  }
  return found;
};
/** One response per error status: the common body, or one of the named bodies of that status. */
const errorResponses = (
  service: ServiceInfo,
  operation: Operation,
  schemaOf: (field: Field) => JsonSchema,
): JsonSchema => {
  const body = service.refusals?.body;
  const meanings: Readonly<Record<number, string>> = service.refusals?.meanings ?? {};
  const named = namedOf(service, operation);
  const statuses = [...new Set([...Object.keys(meanings).map(Number), ...named.keys()])].sort(
    (a, b) => a - b,
  );
  return Object.fromEntries(
    statuses.map((status) => {
      const own = named.get(status) ?? [];
      const bodies = [
        ...(meanings[status] === undefined || body === undefined ? [] : [body]),
        ...own.map((e) => e.body),
      ];
      const schemas = bodies.map(schemaOf);
      const schema = schemas.length === 1 ? schemas[0] : { anyOf: schemas };
      const description = [meanings[status], ...own.map((e) => e.meaning)].filter(Boolean).join('; ');
      return [
        status,
        {
          description,
          ...(status === 429 ? { headers: retryAfter } : {}),
          ...(schemas.length === 0 ? {} : { content: { 'application/json': { schema } } }),
        },
      ];
    }),
  );
};

const DIALECT: Dialect = { version: '3.1', refPrefix: '#/components/schemas/' };
/**
 * Converts `/{name=labels/*}:publish` to an OpenAPI path: one `{}` per segment. Also returns the names of the
 * created parameters.
 */
const openPath = (path: string): { path: string; names: ReadonlyMap<string, readonly string[]> } => {
  const { segments, verb } = template(path);
  const names = new Map<string, string[]>();
  const parts = segments.flatMap((segment) => {
    if ('literal' in segment) return [segment.literal];
    if (segment.pattern.length === 1) {
      names.set(segment.param, [segment.param]);
      return [`{${segment.param}}`];
    }
    return segment.pattern.map((part, i) => {
      if (part !== '*') return part;
      const name = `${(segment.pattern[i - 1] ?? segment.param).replace(/s$/, '')}Id`;
      names.set(segment.param, [...(names.get(segment.param) ?? []), name]);
      return `{${name}}`;
    });
  });
  return { path: `/${parts.join('/')}${verb === '' ? '' : `:${verb}`}`, names };
};
const operationId = (resource: string, verb: string): string =>
  `${resource.replace(/[-\s](.)/g, (_, c: string) => c.toUpperCase())}.${verb}`;
const parameters = (
  operation: Operation,
  names: ReadonlyMap<string, readonly string[]>,
  components: Components,
): JsonSchema[] => {
  const inPath = Object.entries(operation.params ?? {}).flatMap(([name, field]) => {
    const made = names.get(name) ?? [name];
    const isWhole = made.length === 1 && made[0] === name;
    return made.map((n) => ({
      name: n,
      in: 'path',
      required: true,
      schema: isWhole ? schemaOf(field, components, DIALECT) : { type: 'string' },
    }));
  });
  const inQuery = Object.entries(operation.query ?? {}).map(([name, field]: [string, Field]) => ({
    name,
    in: 'query',
    ...(field.required ? { required: true } : {}),
    ...(field.deprecated === undefined ? {} : { deprecated: true }),
    ...(bare(field).type === 'array' ? { explode: true } : {}),
    schema: schemaOf(field, components, DIALECT),
  }));
  return [...inPath, ...inQuery];
};
const mediaType: Readonly<Record<string, string>> = {
  json: 'application/json',
  form: 'application/x-www-form-urlencoded',
  multipart: 'multipart/form-data',
};
const requestBody = (operation: Operation, fields: Fields, components: Components): JsonSchema => ({
  required: Object.values(fields).some((field) => field.required),
  content: {
    [mediaType[operation.encoding ?? 'json'] ?? 'application/json']: {
      schema: objectSchema(fields, components, DIALECT),
      ...((operation.encoding ?? 'json') === 'json' ? { example: exampleOf(fields) } : {}),
    },
  },
});
const responses = (service: Service, operation: Operation, components: Components): JsonSchema => {
  const content = operation.returns && {
    'application/json': { schema: schemaOf(operation.returns, components, DIALECT) },
  };
  return {
    [operation.ok]: {
      description: operation.ok === 204 ? 'Done' : 'The response',
      ...(content ? { content } : {}),
    },
    ...errorResponses(service, operation, (field) => schemaOf(field, components, DIALECT)),
  };
};
const sharedParameters = (
  fields: Fields,
  componentOf: (name: string) => string,
  components: Components,
): JsonSchema =>
  Object.fromEntries(
    Object.entries(fields).map(([name, field]) => [
      componentOf(name),
      { name, in: 'query', schema: schemaOf(field, components, DIALECT) },
    ]),
  );
/** What an operation does, and whether it is deprecated or an extension. */
const describe = ({ summary, deprecated, extension }: Operation): string =>
  [
    `${summary}.`,
    ...(deprecated ? [`Deprecated: use ${deprecated}.`] : deprecated === '' ? ['Deprecated.'] : []),
    ...(extension
      ? ['This operation is an extension: the specification of the service does not have it.']
      : []),
  ].join(' ');
const tagsOf = ({ table }: Service): JsonSchema[] =>
  Object.keys(table).map((name) => ({ name, description: `Operations on ${name.replaceAll('-', ' ')}` }));
/** One operation below its path. */
const operationObject = (
  service: Service,
  { resource, verb, operation }: ReturnType<typeof operations>[number],
  parametersOf: readonly unknown[],
  components: Components,
): JsonSchema => ({
  operationId: operationId(resource, verb),
  summary: operation.summary,
  description: describe(operation),
  tags: [resource],
  'x-cites': operation.cites,
  ...(operation.extension ? { 'x-extension': true } : {}),
  ...(operation.deprecated === undefined ? {} : { deprecated: true }),
  parameters: parametersOf,
  ...(operation.body ? { requestBody: requestBody(operation, operation.body, components) } : {}),
  responses: responses(service, operation, components),
});
/** The OpenAPI 3.1 document of one service. */
export const openApi = (service: Service, origin: string): JsonSchema => {
  const components: Components = new Map();
  const paths: Record<string, Record<string, unknown>> = {};
  const shared = Object.keys(service.everywhere ?? {});
  // `$` and `.` are allowed in the name of a parameter, but not in the name of a component.
  const componentOf = (name: string): string => name.replace(/[^A-Za-z0-9_-]/g, '');
  const everywhere = shared.map((name) => ({ $ref: `#/components/parameters/${componentOf(name)}` }));
  for (const row of operations(service.table)) {
    const { path, names } = openPath(row.operation.path);
    const all = [...parameters(row.operation, names, components), ...everywhere];
    paths[path] ??= {};
    paths[path][row.operation.method.toLowerCase()] = operationObject(service, row, all, components);
  }
  const { name, prefix } = service.tokenHeader;
  const scheme = prefix === '' ? { type: 'apiKey', in: 'header', name } : { type: 'http', scheme: 'bearer' };
  return {
    openapi: '3.1.0',
    info: {
      title: service.title,
      version: service.version,
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: `${origin}${service.basePath}` }],
    security: [{ token: [] }],
    tags: tagsOf(service),
    paths,
    components: {
      securitySchemes: { token: scheme },
      ...(shared.length === 0
        ? {}
        : { parameters: sharedParameters(service.everywhere ?? {}, componentOf, components) }),
      schemas: Object.fromEntries(components),
    },
  };
};

const SWAGGER_DIALECT: Dialect = { version: '2.0', refPrefix: '#/definitions/' };
const simple = (name: string, where: string, field: Field, components: Components): JsonSchema => {
  const inner = bare(field);
  return {
    name,
    in: where,
    ...(field.required || where === 'path' ? { required: true } : {}),
    ...(inner.type === 'array' ? { collectionFormat: 'multi' } : {}),
    ...schemaOf(field, components, SWAGGER_DIALECT),
  };
};
const swaggerParameters = (operation: Operation, components: Components): JsonSchema[] => {
  const found = [
    ...Object.entries(operation.params ?? {}).map(([name, field]) => simple(name, 'path', field, components)),
    ...Object.entries(operation.query ?? {}).map(([name, field]) => simple(name, 'query', field, components)),
  ];
  if (operation.body === undefined) return found;
  if (operation.encoding === 'multipart')
    return [
      ...found,
      ...Object.entries(operation.body).map(([name, field]) => simple(name, 'formData', field, components)),
    ];
  return [
    ...found,
    {
      name: 'body',
      in: 'body',
      required: true,
      schema: objectSchema(operation.body, components, SWAGGER_DIALECT),
    },
  ];
};
const refusedResponses = ({ refusals }: Service, definitions: Components): JsonSchema =>
  Object.fromEntries(
    Object.entries(refusals?.meanings ?? {}).map(([status, description]) => [
      status,
      { description, ...(refusals ? { schema: schemaOf(refusals.body, definitions, SWAGGER_DIALECT) } : {}) },
    ]),
  );
/** spec/tracker#versions-2: machine-readable descriptions in Swagger and OpenAPI forms. This is Swagger 2.0. */
export const swagger = (service: Service, host: string): JsonSchema => {
  const definitions: Components = new Map();
  const paths: Record<string, Record<string, unknown>> = {};
  for (const { resource, verb, operation } of operations(service.table)) {
    const { path } = openPath(operation.path);
    paths[path] ??= {};
    paths[path][operation.method.toLowerCase()] = {
      operationId: operationId(resource, verb),
      summary: operation.summary,
      description: describe(operation),
      tags: [resource],
      ...(operation.deprecated === undefined ? {} : { deprecated: true }),
      ...(operation.encoding === 'multipart' ? { consumes: ['multipart/form-data'] } : {}),
      parameters: swaggerParameters(operation, definitions),
      responses: {
        [operation.ok]: {
          description: operation.ok === 204 ? 'Done' : 'The response',
          ...(operation.returns ? { schema: schemaOf(operation.returns, definitions, SWAGGER_DIALECT) } : {}),
        },
        ...refusedResponses(service, definitions),
      },
    };
  }
  return {
    swagger: '2.0',
    info: { title: service.title, version: service.version, license: { name: 'MIT' } },
    tags: tagsOf(service),
    host,
    basePath: service.basePath,
    consumes: ['application/json'],
    produces: ['application/json'],
    securityDefinitions: { token: { type: 'apiKey', in: 'header', name: service.tokenHeader.name } },
    security: [{ token: [] }],
    paths,
    definitions: Object.fromEntries(definitions),
  };
};
