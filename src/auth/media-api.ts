import type { Operation } from '../core/operation.ts';
import { media, mediaScopes, mediaTable } from '../api-specs/oauth/endpoints.ts';
import type { Display, EngineContext, Target } from '../api/context.ts';
import { jsonOf, refuseRedirect } from '../api/response.ts';
import { formatRow } from '../core/format.ts';
import { AppError, invalidArguments, problem } from '../core/problem.ts';
import { nothing, rawResult, recordResult, type Result, rowsResult } from '../core/result.ts';
import type { HttpRequest } from '../platform/host.ts';
import { sendWithRetry } from './protocol/send.ts';
import type { HttpResponse } from './protocol/token-client.ts';
import { readSecret } from './read-secret.ts';
import { addScopeLine } from './auth-context.ts';
import { type AccessToken, accessToken, authorizationOf, checkPlace, replaceToken } from './token.ts';

export const pathOf = (given: string): string => {
  const path = given.startsWith('/') ? given : `/${given}`;
  return path.startsWith(`${media.basePath}/`) ? path : media.basePath + path;
};
export const queryOf = (pairs: readonly string[]): URLSearchParams => {
  const query = new URLSearchParams();
  for (const pair of pairs) {
    const at = pair.indexOf('=');
    if (at < 1)
      throw invalidArguments([
        problem('--param', 'format', `must be name=value; got ${JSON.stringify(pair)}`),
      ]);
    // spec/sign-in#data-api: the header is preferred because query strings appear in server logs.
    if (pair.slice(0, at) === 'access_token')
      throw invalidArguments([problem('--param', 'rule', 'must not carry the token; it goes in the header')]);
    query.append(pair.slice(0, at), pair.slice(at + 1));
  }
  return query;
};
/** Scopes of which one opens the path; none when the tables do not know it. */
export const scopesFor = (path: string): readonly string[] => {
  for (const [resource, verbs] of Object.entries(mediaTable)) {
    for (const [verb, row] of Object.entries<Operation>(verbs)) {
      if (row.method === 'GET' && media.basePath + row.path === path)
        return mediaScopes[`${resource}.${verb}`] ?? [];
    }
  }
  return [];
};
export const requestTo = (
  target: Target,
  path: string,
  query: URLSearchParams,
  token: AccessToken,
): HttpRequest => ({
  method: 'GET',
  url: `${target.baseUrl.replace(/\/+$/, '')}${path}${query.size === 0 ? '' : `?${query}`}`,
  headers: { accept: 'application/json', authorization: authorizationOf(token) },
});

const errorText = (read: HttpResponse): string => {
  try {
    const body = JSON.parse(read.text) as {
      error?: { message?: unknown } | string;
      error_description?: unknown;
    };
    const said = typeof body.error === 'object' ? body.error.message : (body.error_description ?? body.error);
    return typeof said === 'string' ? said : 'no reason given';
  } catch {
    return 'no reason given';
  }
};
export const refusal = (read: HttpResponse, path: string, token: AccessToken): AppError => {
  const why = errorText(read);
  const base = { httpStatus: read.status };
  if (read.status === 401)
    return new AppError('auth', `the data API refuses the access token (${token.origin}): ${why}`, {
      ...base,
      code: 'TOKEN_REFUSED',
      tryThis: ['opsctl auth status', 'opsctl login'],
    });
  const isScope =
    read.status === 403 &&
    /insufficient[_ ]?(scope|permission|authentication scope)/i.test(
      `${read.headers['www-authenticate'] ?? ''} ${read.text}`,
    );
  if (isScope) {
    const wanted = /scope="([^"]+)"/.exec(read.headers['www-authenticate'] ?? '')?.[1]?.split(' ') ?? [
      ...scopesFor(path),
    ];
    const named = wanted.length > 0 ? ` ${wanted.join(' or ')}` : '';
    return new AppError('auth', `the access token lacks the scope${named}`, {
      ...base,
      code: 'MISSING_SCOPE',
      tryThis: [addScopeLine(wanted.slice(0, 1), token.account?.name)],
      data: { missing: wanted },
    });
  }
  if (read.status === 404) return new AppError('not-found', `the data API has no ${path}: ${why}`, base);
  if (read.status === 429)
    return new AppError('rate-limit', `the data API: ${why}`, { ...base, retryable: true });
  if (read.status >= 500)
    return new AppError('network', `the data API fails: ${why}`, { ...base, retryable: true });
  return new AppError('refused', `the data API refuses ${path}: ${why}`, base);
};

/** `id` and the parts requested with `part`, one level deep. */
const columnsOf = (items: readonly unknown[]): string[] => {
  const [first] = items;
  if (typeof first !== 'object' || first === null) return [];
  const inside = (key: string, value: unknown): string[] =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.keys(value).map((name) => `${key}.${name}`)
      : [key];
  return Object.entries(first)
    .filter(([key]) => key !== 'kind' && key !== 'etag')
    .flatMap(([key, value]) => inside(key, value))
    .slice(0, 6);
};
/** The response unchanged; its items in formats that consist of rows. */
export const toResult = (context: EngineContext & Display, read: HttpResponse, path: string): Result => {
  const what = `GET ${path}`;
  refuseRedirect(read, what);
  if (read.text === '') return nothing(`${what}: ${read.status}, without a body`);
  const type = read.headers['content-type'] ?? '';
  // A page is a sign-in page's, never the data API's: jsonOf refuses it.
  if (!/\b(json|html)\b/.test(type)) return rawResult(read.text);
  const data = jsonOf(read, what);
  const items = (data as { items?: unknown } | null)?.items;
  if (!formatRow(context.format).isByRow || !Array.isArray(items)) return recordResult(data);
  return rowsResult(items, { columns: columnsOf(items), name: 'id' });
};

type MediaValues = {
  readonly path: string;
  readonly param?: readonly string[] | undefined;
  readonly account?: string | undefined;
  readonly 'token-stdin'?: boolean | undefined;
};
const tokenFor = async (context: EngineContext, values: MediaValues, path: string): Promise<AccessToken> => {
  if (values['token-stdin'] !== true)
    return accessToken(context, { account: values.account, scopes: scopesFor(path) });
  const token = await readSecret(context.host, 'token-stdin');
  context.log.hide(token);
  return { token, origin: 'standard input' };
};
export const runMedia = async (context: EngineContext & Display, values: MediaValues): Promise<Result> => {
  const [bare = '', inline = ''] = pathOf(values.path).split('?');
  const query = new URLSearchParams([...new URLSearchParams(inline), ...queryOf(values.param ?? [])]);
  // A wrong URL is reported before a missing sign-in.
  context.settings.get('api.url');
  const token = await tokenFor(context, values, bare);
  const target = await context.target('api');
  checkPlace(target, token);
  const ask = async (given: AccessToken): Promise<HttpResponse> =>
    sendWithRetry(context, 'data API', requestTo(target, bare, query, given), given.prover);
  if (context.isDryRun) {
    const { dryRun } = await import('../api/request.ts');
    const shown = dryRun(requestTo(target, bare, query, token) as Parameters<typeof dryRun>[0]);
    return recordResult(shown, { text: shown.curl });
  }
  let read = await ask(token);
  // One refresh and one more try: a token that was revoked early looks good from here.
  const next =
    read.status === 401 && (token.account ?? token.server) !== undefined
      ? await replaceToken(context, target, token.token, token.account?.name)
      : undefined;
  if (next !== undefined) read = await ask(next);
  if (read.status >= 400) throw refusal(read, bare, token);
  return toResult(context, read, bare);
};
