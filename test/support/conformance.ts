import { check } from '../../src/core/check.ts';
import { type Field, bare } from '../../src/core/field.ts';
import type { Service } from '../../src/core/operation.ts';
import { problemText } from '../../src/core/problem.ts';
import { routerFor } from '../../src/mock-server/table-service.ts';

/** Returns the keys of records that are missing from a response although their row lists them. */
const missing = (outer: Field, value: unknown, path: string): string[] => {
  const field = bare(outer);
  if (value === null || value === undefined) return [];
  if (field.type === 'array')
    return (value as unknown[]).flatMap((one, i) => missing(field.items, one, `${path}[${i}]`));
  if (field.type !== 'object') return [];
  const record = value as Record<string, unknown>;
  return Object.entries(field.fields).flatMap(([key, inner]) => {
    const at = path === '' ? key : `${path}.${key}`;
    if (record[key] === undefined) return field.complete && !inner.optional ? [`${at} is missing`] : [];
    return missing(inner, record[key], at);
  });
};

/** Checks a response against its row and returns the problems: status, unknown and missing keys, types, limits. */
export const conformance = (service: Service) => {
  const route = routerFor(service.table);
  return (
    method: string,
    path: string,
    answer: { readonly status: number; readonly text: string; readonly body: unknown },
  ): string[] => {
    if (answer.status >= 300 || !path.startsWith(`${service.basePath}/`)) return [];
    const match = route(method, path.slice(service.basePath.length));
    if (match.kind !== 'operation') return [`${answer.status} for a path without a row`];
    const { ok, returns } = match.named.operation;
    if (answer.status !== ok) return [`status ${answer.status}, the row says ${ok}`];
    if (returns === undefined) return answer.body === undefined ? [] : ['a body, the row has none'];
    return [...check(returns, answer.body).map(problemText), ...missing(returns, answer.body, '')];
  };
};
