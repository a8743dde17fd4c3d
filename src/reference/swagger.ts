import { type Field, bare } from '../core/field.ts';
import { type Operation, type Service, operations } from '../core/operation.ts';
import { type Components, type Dialect, type JsonSchema, objectSchema, schemaOf } from '../core/schema.ts';
import { describe, openPath, operationId, tagsOf } from './openapi.ts';

const DIALECT: Dialect = { version: '2.0', refPrefix: '#/definitions/' };

const simple = (name: string, where: string, field: Field, components: Components): JsonSchema => {
  const inner = bare(field);
  return {
    name,
    in: where,
    ...(field.required || where === 'path' ? { required: true } : {}),
    ...(inner.type === 'array' ? { collectionFormat: 'multi' } : {}),
    ...schemaOf(field, components, DIALECT),
  };
};

const parameters = (operation: Operation, components: Components): JsonSchema[] => {
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
    { name: 'body', in: 'body', required: true, schema: objectSchema(operation.body, components, DIALECT) },
  ];
};

const refusedResponses = ({ refusals }: Service, definitions: Components): JsonSchema =>
  Object.fromEntries(
    Object.entries(refusals?.meanings ?? {}).map(([status, description]) => [
      status,
      { description, ...(refusals ? { schema: schemaOf(refusals.body, definitions, DIALECT) } : {}) },
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
      parameters: parameters(operation, definitions),
      responses: {
        [operation.ok]: {
          description: operation.ok === 204 ? 'Done' : 'The response',
          ...(operation.returns ? { schema: schemaOf(operation.returns, definitions, DIALECT) } : {}),
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
