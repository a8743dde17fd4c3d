import { invalidArguments, problem } from '../core/problem.ts';
import type { Context, ServiceName } from '../cli/command.ts';
import { textFile } from '../api/text-file.ts';
import { bodyOf, pairsOf, typedValue } from './fields.ts';

/** What the flags and arguments of `opsctl api` say. */
export type Given = {
  readonly method: string;
  readonly path: string;
  readonly param?: readonly string[];
  readonly header?: readonly string[];
  readonly field?: readonly string[];
  readonly 'raw-field'?: readonly string[];
  readonly body?: unknown;
};
export type ApiRequest = {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
};

const isJson = (text: string): boolean => {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
};

/** --field reads types and @files, --raw-field is text as it stands. */
const fieldsOf = async (context: Context, given: Given): Promise<(readonly [string, unknown])[]> => {
  const typed: (readonly [string, unknown])[] = [];
  for (const [name, text] of pairsOf(given.field ?? [], 'field'))
    typed.push([
      name,
      text.startsWith('@') ? await textFile(context, text.slice(1), '--field') : typedValue(text),
    ]);
  return [...pairsOf(given['raw-field'] ?? [], 'raw-field'), ...typed];
};

const bodyText = (given: Given, fields: readonly (readonly [string, unknown])[]): string | undefined => {
  const { body } = given;
  if (fields.length > 0 && body !== undefined)
    throw invalidArguments([
      problem('--body', 'rule', 'cannot be given together with --field or --raw-field'),
    ]);
  if (fields.length > 0) return JSON.stringify(bodyOf(fields));
  // A body in a file or on standard input was read before, and is a value by now.
  const text = typeof body === 'object' ? JSON.stringify(body) : (body as string | undefined);
  if (text !== undefined && !isJson(text))
    throw invalidArguments([problem('--body', 'format', 'must be JSON')]);
  return text;
};

/** A whole address, pasted from an answer or a log: good when it is below the base URL, for the token goes with it. */
export const pathBelow = async (context: Context, service: ServiceName, given: string): Promise<string> => {
  if (!/^https?:\/\//i.test(given)) return given.startsWith('/') ? given : `/${given}`;
  const { baseUrl } = await context.target(service);
  if (given.startsWith(`${baseUrl}/`)) return given.slice(baseUrl.length);
  throw invalidArguments([
    problem(
      '<path>',
      'format',
      `must be a path, or an address below ${baseUrl}; got ${JSON.stringify(given)}`,
    ),
  ]);
};

/** As `gh api`: fields of a GET are query parameters, else the body. */
export const requestOf = async (
  context: Context,
  service: ServiceName,
  given: Given,
): Promise<ApiRequest> => {
  const fields = await fieldsOf(context, given);
  const isQuery = given.method === 'GET';
  const asQuery = isQuery ? fields.map(([name, value]): [string, string] => [name, String(value)]) : [];
  const params = new URLSearchParams(pairsOf(given.param ?? [], 'param'));
  for (const [name, value] of asQuery) params.append(name, value);
  const query = params.toString();
  const path = await pathBelow(context, service, given.path);
  const body = bodyText(given, isQuery ? [] : fields);
  const headers = pairsOf(given.header ?? [], 'header', /[:=]/).map(([name, value]) => [name, value.trim()]);
  return {
    method: given.method,
    path: query === '' ? path : `${path}${path.includes('?') ? '&' : '?'}${query}`,
    headers: {
      accept: 'application/json',
      'content-type': 'application/json',
      ...(Object.fromEntries(headers) as Record<string, string>),
    },
    ...(body === undefined ? {} : { body }),
  };
};
