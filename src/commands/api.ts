import { type Command, defineCommand } from '../cli/command.ts';
import { bool, list, oneOf, req, str } from '../core/field.ts';
import type { Argument, Flags } from '../core/flag.ts';
import { invalidArguments, problem } from '../core/problem.ts';
import { accountFlag } from './auth/account.ts';

const flags = {
  param: { field: list(str()), repeat: true, summary: 'Query parameter', value: 'name=value' },
  'raw-field': {
    field: list(str()),
    short: 'f',
    repeat: true,
    summary: 'String field of the body (for GET: of the query); supports name[key] and name[]',
    value: 'name=value',
  },
  field: {
    effects: ['reads'],
    field: list(str()),
    short: 'F',
    repeat: true,
    summary: 'Typed field: true, false, null and numbers keep their type; @file reads a file',
    value: 'name=value',
  },
  header: {
    field: list(str()),
    repeat: true,
    summary: 'A request header, as `name: value` or `name=value`',
    value: 'name: value',
  },
  body: {
    effects: ['reads'],
    field: str(),
    summary: 'Body: text, @file, or - for standard input; JSON unless --header names another content-type',
    value: 'json|@file|-',
  },
  paginate: { field: bool(), summary: 'Read all pages of a GET request and print their rows as one list' },
} as const satisfies Flags;
const args = [
  {
    name: 'service',
    field: req(oneOf('tracker', 'labels', 'api')),
    summary: 'Service: tracker, labels or api (the data API)',
  },
  { name: 'method', field: req(oneOf('GET', 'POST', 'PUT', 'PATCH', 'DELETE')), summary: 'HTTP method' },
  { name: 'path', field: req(str()), summary: 'Path, for example /labels' },
] as const satisfies readonly Argument[];
const api = defineCommand({
  path: ['api'],
  summary: 'Send an authenticated request to any service',
  about:
    'The path is relative to the base URL of the service. You can omit the prefix (/api/v3, /v2beta). Prints the response body unchanged, or in the format that -o selects.',
  args,
  flags,
  examples: [
    { line: 'opsctl api tracker GET /labels', says: 'Print all labels as the service returns them' },
    { line: 'opsctl api tracker POST /labels --body \'{"name":"bug"}\'', says: 'Create a label' },
    {
      line: 'opsctl api tracker POST /labels -f name=urgent -f description=now',
      says: 'Create a label from fields: -f sends strings, -F also numbers, booleans and null',
    },
    { line: 'opsctl api labels GET /labels --paginate', says: 'Read every page of a list' },
  ],
  run: async (context, values) => {
    const { service } = values;
    if (values.paginate && values.method !== 'GET')
      throw invalidArguments([problem('--paginate', 'rule', `is for GET; the method is ${values.method}`)]);
    const [{ requestOf }, { withBearer }, { answerOf, pagesOf }] = await Promise.all([
      import('../support/raw-requests.ts'),
      import('../support/raw-requests.ts'),
      import('../support/raw-requests.ts'),
    ]);
    const asked = await requestOf(context, service, values);
    if (asked.method === 'DELETE') await context.confirm(`${asked.method} ${asked.path}?`);
    const request = await withBearer(context, service, asked);
    return values.paginate && !context.isDryRun
      ? pagesOf(context, service, request)
      : answerOf(context, service, request);
  },
});
export const commands: readonly Command[] = [api];

const mediaFlags = {
  param: { effects: [], field: list(str()), repeat: true, value: 'name=value', summary: 'Query parameter' },
  account: accountFlag,
  'token-stdin': {
    effects: ['reads', 'sends'],
    field: bool(),
    summary: 'Read the access token from standard input',
  },
} as const satisfies Flags;
const mediaArgs = [
  { name: 'path', effects: [], field: req(str()), summary: 'Path, for example /media/v3/channels' },
] as const satisfies readonly Argument[];
const get = defineCommand({
  path: ['media', 'get'],
  summary: 'Read from the data API with an access token',
  about:
    'Refreshes the token if it has expired, and again if the service rejects it. If a scope is missing, the error names the scope and the command that requests it.',
  args: mediaArgs,
  flags: mediaFlags,
  examples: [
    {
      line: 'opsctl media get /media/v3/channels --param part=id --param mine=true',
      says: 'List the channels of the signed-in user',
    },
  ],
  run: async (context, values) => (await import('../auth/media-api.ts')).runMedia(context, values),
});
export const mediaCommands: readonly Command[] = [get];
