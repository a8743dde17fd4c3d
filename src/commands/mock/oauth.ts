import { oauthConsole } from '../../api-specs/oauth/console.ts';
import { authPaths } from '../../api-specs/oauth/endpoints.ts';
import type { Context } from '../../api/context.ts';
import { dryRun, requestFrom } from '../../api/request.ts';
import { answerFrom } from '../../api/response.ts';
import { unreachable } from '../../api/send.ts';
import { type Command, defineCommand } from '../../cli/command.ts';
import { columnsOf, commandFrom } from '../../cli/derived/command.ts';
import { externalUrl, parseUrl } from '../../core/external-url.ts';
import {
  inputFrom,
  requiredAreGiven,
  type Example,
  type Flag,
  type Flags,
  type Values,
} from '../../core/flag.ts';
import { str } from '../../core/field.ts';
import { type LooseInput, type Operation, operations } from '../../core/operation.ts';
import { AppError, invalidArguments, problem } from '../../core/problem.ts';
import { nothing, recordResult, type Result, rowsResult } from '../../core/result.ts';
import { liveServer } from '../../mock-server/instance-lock.ts';
import { NetworkError } from '../../platform/host.ts';
import { mockDirectory, configuredServer, withMockServer } from './embedded.ts';

export const serverUrl = (text: string): string => {
  if (parseUrl(text) !== undefined && /^https?:/i.test(text)) return text.replace(/\/+$/, '');
  throw invalidArguments([problem('--url', 'format', `must be an http URL; got ${JSON.stringify(text)}`)]);
};
/** The location of a server that the state directory of this user does not know: `--url`. */
const atUrl = async <R>(
  context: Context,
  url: string | undefined,
  work: (url: string) => Promise<R>,
): Promise<R> => (url === undefined ? withMockServer(context, (_, own) => work(own)) : work(serverUrl(url)));
const send = async (
  context: Context,
  operation: Operation,
  input: LooseInput,
  baseUrl: string,
): Promise<unknown> => {
  const request = requestFrom(oauthConsole, operation, input, { baseUrl, headers: {} });
  if (context.isDryRun && operation.method !== 'GET') return dryRun(request);
  context.log.debug(`${request.method} ${request.url}`);
  try {
    const reply = await context.host.network.request({ ...request, signal: context.signal });
    return answerFrom(
      operation,
      { status: reply.status, headers: reply.headers, text: await reply.text() },
      request.url,
    );
  } catch (error) {
    throw error instanceof NetworkError ? unreachable(error, request.url) : error;
  }
};
/** One row of the developer console at the embedded server. The input is checked before a server is started or waited for. */
const callConsole = async (
  context: Context,
  operation: Operation,
  input: LooseInput,
  url: string | undefined,
): Promise<unknown> => {
  requestFrom(oauthConsole, operation, input, { baseUrl: 'http://127.0.0.1', headers: {} });
  return atUrl(context, url, (baseUrl) => send(context, operation, input, baseUrl));
};

/** Opens the developer console as a page. Only a long-running server can show one. */
const consoleCommand = defineCommand({
  path: ['mock', 'oauth', 'console'],
  summary: 'Print and open the URL of the developer console',
  run: async (context) => {
    const url =
      configuredServer(context.host) ?? liveServer(context.host, mockDirectory(context.settings))?.url;
    const page = url === undefined ? undefined : externalUrl(`${url}${authPaths.console}/console`);
    if (page === undefined) {
      throw new AppError('config', 'no mock server is running, so the console is not available', {
        code: 'NOT_RUNNING',
        tryThis: ['opsctl mock serve', 'opsctl mock oauth clients list (works without a running server)'],
      });
    }
    const isOpened = context.isInteractive && (await context.host.openBrowser(page));
    return recordResult({ url: page, opened: isOpened });
  },
});

/** Next commands for a console command, by its words. */
const examples: Readonly<Record<string, readonly Example[]>> = {
  'clients create': [
    {
      line: 'opsctl mock oauth clients create --type desktop --name "My tool" --secret true',
      says: 'Create a desktop client; its secret is shown once',
    },
    {
      line: 'opsctl mock oauth clients create --type mobile-b --name App --bundle-id com.example.app --team-id ABCDE12345',
      says: 'Create a client of mobile platform B',
    },
  ],
  'consent set': [
    {
      line: 'opsctl mock oauth consent set --mode auto --user ada@demo.example',
      says: 'Let scripts sign in without a browser',
    },
  ],
  'settings set': [
    {
      line: 'opsctl mock oauth settings set --access-token-seconds 5',
      says: 'Issue access tokens that expire immediately',
    },
  ],
  'events subscribe': [
    {
      line: 'opsctl mock oauth events subscribe --client ID --receiver http://127.0.0.1:9000/events',
      says: 'Send security events to a receiver',
    },
  ],
};

/** Confirms if the row requires it, calls the console of the server and prints the response. */
const runOnConsole = async (
  context: Context,
  operation: Operation,
  name: string,
  { url: given, ...input }: Values,
): Promise<Result> => {
  if (operation.cli?.confirm)
    await context.confirm(
      operation.cli.confirm.replace(/\{(\w+)\}/g, (_, word: string) => String(input[word])),
    );
  const request = inputFrom(operation, input);
  requiredAreGiven(operation, request, `opsctl mock oauth ${name}`);
  const answer = await callConsole(
    context,
    operation,
    request,
    typeof given === 'string' ? given : undefined,
  );
  const message = `${name}: done`;
  if (answer === undefined) return nothing(message);
  const view = { columns: columnsOf(operation) };
  if (Array.isArray(answer)) return rowsResult(answer, view);
  return recordResult(answer, operation.method === 'GET' ? view : { ...view, message });
};

const kebab = (name: string): string => name.replace(/([a-z0-9])([A-Z])/g, '$1-$2').toLowerCase();
export const urlFlag = {
  effects: ['sends'],
  field: str(),
  summary: 'URL of a running server (default: the server of the state directory)',
  value: 'url',
} as const satisfies Flag;
/** spec/sign-in#client: a command for each row of the console, `opsctl mock oauth clients create` and so on. */
const rows: readonly Command[] = operations(oauthConsole.table).map(
  ({ resource, verb, operation }): Command => {
    const words = [kebab(resource), kebab(verb)];
    const derived = commandFrom({
      service: oauthConsole,
      resource: words[0] ?? '',
      verb: words[1] ?? '',
      operation,
    });
    let flags: Flags | undefined;
    return {
      path: ['mock', 'oauth', ...words],
      summary: operation.summary,
      get args() {
        return derived.args ?? [];
      },
      get flags() {
        flags ??= { ...derived.flags, url: urlFlag };
        return flags;
      },
      examples: examples[words.join(' ')] ?? [],
      operation: { service: oauthConsole, operation },
      run: (context, values) => runOnConsole(context, operation, words.join(' '), values),
    };
  },
);
export const commands: readonly Command[] = [...rows, consoleCommand];
