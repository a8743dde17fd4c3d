import { type Command, defineCommand } from '../cli/command.ts';
import { bool, list, oneOf, req, str } from '../core/field.ts';
import type { Argument, Flags } from '../core/flag.ts';
import { invalidArguments, problem } from '../core/problem.ts';
import { accountFlag } from './auth/account.ts';

const flags = {
  param: { field: list(str()), repeat: true, summary: 'A query parameter', value: 'name=value' },
  'raw-field': {
    field: list(str()),
    short: 'f',
    repeat: true,
    summary: 'A text of the body (of the query of a GET); name[key] and name[] reach inside',
    value: 'name=value',
  },
  field: {
    effects: ['reads'],
    field: list(str()),
    short: 'F',
    repeat: true,
    summary: 'The same, where true, false, null and numbers are such, and @file is the text of a file',
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
    summary: 'The body as JSON: text, @file or - for standard input',
    value: 'json|@file|-',
  },
  paginate: { field: bool(), summary: 'Read all pages of a GET, and print their rows as one list' },
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
    {
      line: 'opsctl api tracker POST /labels -f name=urgent -f description=now',
      says: 'The same from fields: -f is text, -F may be a number, true, false or null',
    },
    { line: 'opsctl api labels GET /labels --paginate', says: 'Every page of a list' },
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
    if (asked.method === 'DELETE' && !context.isDryRun)
      await context.confirm(`${asked.method} ${asked.path}?`);
    const request = await withBearer(context, service, asked);
    return values.paginate && !context.isDryRun
      ? pagesOf(context, service, request)
      : answerOf(context, service, request);
  },
});
export const commands: readonly Command[] = [api];

const mediaFlags = {
  param: { effects: [], field: list(str()), repeat: true, value: 'name=value', summary: 'A query parameter' },
  account: accountFlag,
  'token-stdin': {
    effects: ['reads', 'sends'],
    field: bool(),
    summary: 'Use the access token from standard input',
  },
} as const satisfies Flags;
const mediaArgs = [
  { name: 'path', effects: [], field: req(str()), summary: 'Path, for example /media/v3/channels' },
] as const satisfies readonly Argument[];
const get = defineCommand({
  path: ['media', 'get'],
  summary: 'Read from the data API with the access token in the header',
  about:
    'The token is refreshed when it has expired, and once more when the service refuses it. A missing scope is named together with the line that asks for it.',
  args: mediaArgs,
  flags: mediaFlags,
  examples: [
    {
      line: 'opsctl media get /media/v3/channels --param part=id --param mine=true',
      says: 'Channels of the signed-in user',
    },
  ],
  run: async (context, values) => (await import('../auth/media-api.ts')).runMedia(context, values),
});
export const mediaCommands: readonly Command[] = [get];
