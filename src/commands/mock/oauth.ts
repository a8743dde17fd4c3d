import { invalidArguments, problem } from '../../core/problem.ts';
import { answerFrom } from '../../api/response.ts';
import { dryRun } from '../../api/dry-run.ts';
import { requestFrom } from '../../api/request.ts';
import { unreachable } from '../../api/send.ts';
import { NetworkError } from '../../platform/host.ts';
import type { LooseInput, Operation } from '../../core/operation.ts';
import { oauthConsole } from '../../api-specs/oauth/console.ts';
import type { Context } from '../../cli/command.ts';
import { steer } from './remote.ts';

const serverUrl = (text: string): string => {
  if (URL.canParse(text) && /^https?:/i.test(text)) return text.replace(/\/+$/, '');
  throw invalidArguments([problem('--url', 'format', `must be an http URL; got ${JSON.stringify(text)}`)]);
};

/** Where a server runs that this user's state directory does not know of: `--url`. */
const atUrl = async <R>(
  context: Context,
  url: string | undefined,
  work: (url: string) => Promise<R>,
): Promise<R> => (url === undefined ? steer(context, (_, own) => work(own)) : work(serverUrl(url)));

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
export const callConsole = async (
  context: Context,
  operation: Operation,
  input: LooseInput,
  url: string | undefined,
): Promise<unknown> => {
  requestFrom(oauthConsole, operation, input, { baseUrl: 'http://127.0.0.1', headers: {} });
  return atUrl(context, url, (baseUrl) => send(context, operation, input, baseUrl));
};
