import type { Field } from '../core/field.ts';
import type { NamedError, Operation, ServiceInfo } from '../core/operation.ts';
import type { JsonSchema } from '../core/schema.ts';

const retryAfter = {
  'Retry-After': {
    description: 'Seconds after which the next request may succeed; not every deployment sends it',
    schema: { type: 'integer' },
  },
};

/** The named errors that an operation can answer, by status. */
const namedOf = (
  { namedErrors = {} }: ServiceInfo,
  { errors = [] }: Operation,
): Map<number, NamedError[]> => {
  const found = new Map<number, NamedError[]>();
  for (const name of errors) {
    const error = namedErrors[name];
    if (error !== undefined) found.set(error.status, [...(found.get(error.status) ?? []), error]);
  }
  return found;
};

/** A response for each status of a refusal: the common body, or one of the named bodies of that status. */
export const errorResponses = (
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
