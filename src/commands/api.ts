import { list, oneOf, req, str } from '../core/field.ts';
import { errorFrom, jsonOf, refuseRedirect } from '../api-client/response.ts';
import { type AppError, invalidArguments, problem } from '../core/problem.ts';
import { rawResult, recordResult, rowsResult, nothing } from '../core/result.ts';
import {
  defineCommand,
  type Argument,
  type Command,
  type Context,
  type Flags,
  type ServiceName,
  type ValuesOf,
} from '../cli/command.ts';

const flags = {
  param: { field: list(str()), repeat: true, summary: 'A query parameter', value: 'name=value' },
  header: {
    field: list(str()),
    repeat: true,
    summary: 'A request header, as `name: value` or `name=value`',
    value: 'name: value',
  },
  body: {
    field: str(),
    summary: 'The body as JSON: text, @file or - for standard input',
    value: 'json|@file|-',
  },
} as const satisfies Flags;
const args = [
  {
    name: 'service',
    field: req(oneOf('tracker', 'labels', 'api')),
    summary: 'tracker, labels or api (the data API)',
  },
  { name: 'method', field: req(oneOf('GET', 'POST', 'PUT', 'PATCH', 'DELETE')), summary: 'HTTP method' },
  { name: 'path', field: req(str()), summary: 'Path, for example /labels' },
] as const satisfies readonly Argument[];
type Given = ValuesOf<typeof flags, typeof args>;

const pairs = (texts: readonly string[], flag: string): [string, string][] =>
  texts.map((text) => {
    const at = text.search(flag === 'header' ? /[:=]/ : /=/);
    if (at < 1)
      throw invalidArguments([
        problem(`--${flag}`, 'format', `must be name=value; got ${JSON.stringify(text)}`),
      ]);
    return [text.slice(0, at), flag === 'header' ? text.slice(at + 1).trim() : text.slice(at + 1)];
  });

const isBody = (text: string): boolean => {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
};

const requestOf = (values: Given) => {
  const query = new URLSearchParams(pairs(values.param ?? [], 'param')).toString();
  const path = `${String(values.path).startsWith('/') ? '' : '/'}${values.path}`;
  // A body in a file or on standard input was read before, and is a value by now.
  const given: unknown = values.body;
  const body: string | undefined = typeof given === 'object' ? JSON.stringify(given) : values.body;
  if (body !== undefined && !isBody(body))
    throw invalidArguments([problem('--body', 'format', 'must be JSON')]);
  const headers = Object.fromEntries(pairs(values.header ?? [], 'header'));
  return {
    method: values.method,
    path: query === '' ? path : `${path}${path.includes('?') ? '&' : '?'}${query}`,
    headers: { accept: 'application/json', 'content-type': 'application/json', ...headers },
    ...(body === undefined ? {} : { body }),
  };
};

/** A missing scope of the label service is told as its own commands do: which one, and the line that fixes it. */
const labelsRefusal = async (
  error: AppError,
  { method, path, body = '' }: ReturnType<typeof requestOf>,
): Promise<AppError> => {
  const { explainedRefusal } = await import('./labels/access.ts');
  return explainedRefusal(error, {
    method,
    isAdmin: /[?&]useAdminAccess=true/.test(path) || /"useAdminAccess"\s*:\s*true/.test(body),
  });
};

const explained = async (
  context: Context,
  service: ServiceName,
  error: AppError,
  request: ReturnType<typeof requestOf>,
): Promise<unknown> => {
  if (service === 'labels') return labelsRefusal(error, request);
  if (service !== 'tracker') return error;
  return (await import('./tracker/refusal.ts')).explainedRefusal(error, await context.target('tracker'));
};

/** A whole address, pasted from an answer or a log: good when it is below the base URL, for the token goes with it. */
const pathOf = async (context: Context, service: ServiceName, given: string): Promise<string> => {
  if (!/^https?:\/\//i.test(given)) return given;
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

const api = defineCommand({
  path: ['api'],
  summary: 'Send any request to a service, with its token',
  about:
    'The path is below the base URL of the service; the prefix (/api/v3, /v2beta) may be left out. The answer is printed as it came, or by -o.',
  args,
  flags,
  examples: [
    { line: 'opsctl api tracker GET /labels', says: 'All labels, raw' },
    { line: 'opsctl api tracker POST /labels --body \'{"name":"bug"}\'', says: 'Create a label' },
  ],
  run: async (context, values) => {
    const { service } = values;
    const request = requestOf({ ...values, path: await pathOf(context, service, values.path) });
    if (request.method === 'DELETE' && !context.isDryRun) {
      await context.confirm(`${request.method} ${request.path}?`);
    }
    // The data API has no token of its own: the account of `opsctl login` lets the request in.
    const isOwnHeader = Object.keys(request.headers).some((name) => name.toLowerCase() === 'authorization');
    const bearer =
      values.service === 'api' && !isOwnHeader
        ? await (await import('./auth/bearer.ts')).bearerHeader(context)
        : {};
    const reply = await context.send(service, { ...request, headers: { ...request.headers, ...bearer } });
    const bytes = await reply.bytes();
    const text = new TextDecoder().decode(bytes);
    const what = `${request.method} ${request.path}`;
    const read = { status: reply.status, headers: reply.headers, text };
    if (reply.status >= 400) {
      const error = errorFrom(read, what);
      throw await explained(context, service, error, request);
    }
    refuseRedirect(read, what);
    if (text === '') return nothing(`${what}: ${reply.status}`);
    if (!/\bjson\b/.test(reply.headers['content-type'] ?? '')) return rawResult(bytes);
    const data = jsonOf(read, what);
    return Array.isArray(data) ? rowsResult(data) : recordResult(data);
  },
});

export const commands: readonly Command[] = [api];
