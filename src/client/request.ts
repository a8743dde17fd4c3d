import { type Fields, bare } from '../kernel/field.ts';
import type { LooseInput, Operation, ServiceInfo } from '../kernel/operation.ts';
import { fill } from '../kernel/path.ts';
import { checkFields } from '../kernel/check.ts';
import { type Problem, usageError } from '../kernel/problem.ts';

/** Where requests go: base URL without the service's path prefix, and the headers that let the caller in. */
export type Destination = { readonly baseUrl: string; readonly headers: Readonly<Record<string, string>> };
/** Exactly what goes over the wire; `--dry-run` prints this value and the transport sends it. */
export type WireRequest = {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
};

/** Every problem of an input, before anything is sent. The same rules run in the service. */
export const inputProblems = (operation: Operation, input: LooseInput): Problem[] => [
  ...checkFields(operation.params ?? {}, input.params ?? {}),
  ...checkFields(operation.query ?? {}, input.query ?? {}),
  ...(operation.body || Object.keys(input.body ?? {}).length > 0 ? checkFields(operation.body ?? {}, input.body ?? {}, '', operation.exclusive) : []),
];

const queryText = (fields: Fields, query: Readonly<Record<string, unknown>> | undefined): string => {
  if (query === undefined) return '';
  const pairs = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined) continue;
    const field = fields[name];
    // A list is a repeated name (facts tracker 5).
    if (Array.isArray(value) && field && bare(field).type === 'array') for (const item of value) pairs.append(name, String(item));
    else pairs.append(name, String(value));
  }
  const text = pairs.toString();
  return text === '' ? '' : `?${text}`;
};

const bodyOf = (operation: Operation, body: Readonly<Record<string, unknown>> | undefined): { text: string; type: string } | undefined => {
  if (operation.body === undefined) return undefined;
  if (operation.encoding === 'form') {
    const pairs = Object.entries(body ?? {}).filter(([, value]) => value !== undefined);
    return {
      text: new URLSearchParams(pairs.map(([name, value]): [string, string] => [name, String(value)])).toString(),
      type: 'application/x-www-form-urlencoded',
    };
  }
  return { text: JSON.stringify(body ?? {}), type: 'application/json' };
};

/** Joins base URL and path; a base URL that already ends with the service's prefix is taken as it is. */
export const joinUrl = (baseUrl: string, prefix: string, path: string): string => {
  const base = baseUrl.replace(/\/+$/, '');
  return `${prefix !== '' && base.endsWith(prefix) ? base : base + prefix}${path}`;
};

/** Throws a usage error that lists every problem of the input. Pure. */
export const checkInput = (operation: Operation, input: LooseInput): void => {
  const problems = inputProblems(operation, input);
  if (problems.length > 0) throw usageError(`${operation.method} ${operation.path} cannot be sent`, problems);
};

/** The request of one row whose input was checked. Pure. */
export const uncheckedRequest = (service: ServiceInfo, operation: Operation, input: LooseInput, to: Destination): WireRequest => {
  const path = fill(operation.path, input.params ?? {}) + queryText(operation.query ?? {}, input.query);
  const body = bodyOf(operation, input.body);
  const headers: Record<string, string> = { accept: 'application/json', ...to.headers };
  // doc2 Authentication 6: requests send Content-Type: application/json.
  headers['content-type'] = body?.type ?? 'application/json';
  return { method: operation.method, url: joinUrl(to.baseUrl, service.basePath, path), headers, ...(body ? { body: body.text } : {}) };
};

/** The request of one row. Throws a usage error that lists every problem of the input. Pure. */
export const requestFrom = (service: ServiceInfo, operation: Operation, input: LooseInput, to: Destination): WireRequest => {
  checkInput(operation, input);
  return uncheckedRequest(service, operation, input, to);
};
