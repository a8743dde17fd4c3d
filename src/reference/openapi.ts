import { type Field, type Fields, bare } from '../core/field.ts';
import { type Operation, type Service, operations } from '../core/operation.ts';
import { template } from '../core/path.ts';
import { type Components, type Dialect, type JsonSchema, objectSchema, schemaOf } from '../core/schema.ts';
import { exampleOf } from './example.ts';
import { errorResponses } from './error-responses.ts';

const DIALECT: Dialect = { version: '3.1', refPrefix: '#/components/schemas/' };

/** `/{name=labels/*}:publish` as OpenAPI can say it: one `{}` a segment. Also the names of the parameters it made. */
export const openPath = (path: string): { path: string; names: ReadonlyMap<string, readonly string[]> } => {
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

export const operationId = (resource: string, verb: string): string =>
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
export const describe = ({ summary, deprecated, extension }: Operation): string =>
  [
    `${summary}.`,
    ...(deprecated ? [`Deprecated: use ${deprecated}.`] : deprecated === '' ? ['Deprecated.'] : []),
    ...(extension
      ? ['This operation is an extension: the specification of the service does not have it.']
      : []),
  ].join(' ');

export const tagsOf = ({ table }: Service): JsonSchema[] =>
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
  // `$` and `.` may stand in the name of a parameter, not in that of a component.
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
