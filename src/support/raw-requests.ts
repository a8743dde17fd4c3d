import type { EngineContext, RequestProver, ServiceName } from '../api/context.ts';
import { namesOtherType, textFile } from '../api/input.ts';
import { openAnswer } from '../api/list-rows.ts';
import { errorFrom, jsonOf, refuseRedirect, type WireReply } from '../api/response.ts';
import { rawCheck, withOutcome } from '../api/send.ts';
import { isJsonText, jsonFault } from '../core/json-scan.ts';
import { headerProblem } from '../core/operation.ts';
import { pageWatch } from '../core/limits.ts';
import { AppError, invalidArguments, problem } from '../core/problem.ts';
import { nothing, rawResult, recordResult, type Result } from '../core/result.ts';
import { isRecord } from '../core/shape.ts';
import type { HttpReply } from '../platform/host.ts';

type Json = Readonly<Record<string, unknown>>;
/** The rows of one page: the page itself when it is a list, the list in it, or the lists of its groups (`/search`). */
export const rowsOfPage = (page: unknown, path: string): readonly unknown[] => {
  if (Array.isArray(page)) return page;
  const values = Object.values(isRecord(page) ? page : {});
  const lists = values.filter((value) => Array.isArray(value));
  if (lists.length === 1) return lists[0] as unknown[];
  const groups = values.filter(isRecord);
  if (lists.length === 0 && groups.length > 0 && groups.every(({ data }) => Array.isArray(data)))
    return groups.flatMap(({ data }) => data as unknown[]);
  throw new AppError('usage', `${path} is not a list; omit --paginate`, { code: 'NO_LIST' });
};
/** RFC 8288: `Link: <https://…?page=2>; rel="next"`. */
const readLink = (header: string | undefined): string | undefined =>
  /<([^>]+)>\s*;[^,]*\brel="?next\b/.exec(header ?? '')?.[1];
const withQuery = (path: string, changes: Readonly<Record<string, string>>): string => {
  const [before = '', query = ''] = path.split('?');
  const params = new URLSearchParams(query);
  for (const [name, value] of Object.entries(changes)) params.set(name, value);
  return `${before}?${params}`;
};
/** spec/tracker#search, spec/tracker#epics, spec/labels#parameters: a path, a number of a page, or a token of one. */
const readNextMarks = (page: Json, path: string): string[] => {
  if (typeof page.next === 'string' && page.next !== '') return [page.next];
  if (typeof page.next === 'number') return [withQuery(path, { page: String(page.next) })];
  if (typeof page.nextPageToken === 'string' && page.nextPageToken !== '')
    return [withQuery(path, { pageToken: page.nextPageToken })];
  return [];
};
/** spec/tracker#groups: with limit and offset a page that is full may have one behind it. */
const byOffset = (page: readonly unknown[], path: string): string[] => {
  const params = new URLSearchParams(path.split('?')[1] ?? '');
  const limit = Number(params.get('limit') ?? 0);
  return limit > 0 && page.length >= limit
    ? [withQuery(path, { offset: String(Number(params.get('offset') ?? 0) + limit) })]
    : [];
};
/** The locations of the following pages. Each group of a search has its own. */
export const nextPages = (
  page: unknown,
  path: string,
  headers: Readonly<Record<string, string>>,
): readonly string[] => {
  const link = readLink(headers.link);
  if (link !== undefined) return [link];
  if (Array.isArray(page)) return byOffset(page, path);
  if (!isRecord(page)) return [];
  const own = readNextMarks(page, path);
  return own.length > 0
    ? own
    : Object.values(page)
        .filter(isRecord)
        .flatMap((group) => readNextMarks(group, path));
};
export type OnePage = { readonly page: unknown; readonly headers: Readonly<Record<string, string>> };
/** All pages, each once: a service that goes round in a circle would never end. */
export async function* fetchPages(
  first: string,
  ask: (path: string) => Promise<OnePage>,
): AsyncGenerator<readonly unknown[]> {
  const watch = pageWatch(`GET ${first}`);
  watch.refuseAgain(first);
  const open = [first];
  for (let path = open.shift(); path !== undefined; path = open.shift()) {
    const { page, headers } = await ask(path);
    const rows = rowsOfPage(page, path);
    const next = nextPages(page, path, headers);
    if (Array.isArray(page) && readLink(headers.link) === undefined) watch.refuseSameBeginning(page);
    watch.refuseForEver(rows.length);
    yield rows;
    for (const one of next) watch.refuseAgain(one);
    open.push(...next);
  }
}

type FieldsJson = Record<string, unknown>;
type Pair = [name: string, value: string];
/** The text of a header can be a token: only a first word before a space is shown. */
const shownPair = (text: string, flag: string): string =>
  flag === 'header'
    ? text.replace(/^(\S*)(\s?).*/s, (_, word, space) => (space === '' ? '…' : `${word} …`))
    : text;
/** Splits `name=value` texts of one flag. */
export const pairsOf = (texts: readonly string[], flag: string, mark = /=/): Pair[] =>
  texts.map((text) => {
    const at = text.search(mark);
    if (at < 1)
      throw invalidArguments([
        problem(`--${flag}`, 'format', `must be name=value; got ${JSON.stringify(shownPair(text, flag))}`),
      ]);
    return [text.slice(0, at), text.slice(at + 1)];
  });
/** As `gh api -F`: true, false, null and numbers are what they look like; everything else is text. */
export const typedValue = (text: string): unknown =>
  /^(true|false|null|-?(0|[1-9]\d{0,14})(\.\d{1,15})?)$/.test(text) ? JSON.parse(text) : text;
/** `stats[owner]` is the key owner in stats, `labels[]` one more entry of labels, `labels[][name]` a record in it. */
const stepsOf = (name: string): string[] => {
  const steps = /^([^[\]]+)((?:\[[^[\]]*\])*)$/.exec(name);
  if (steps === null || /__proto__/.test(name))
    throw invalidArguments([
      problem('--field', 'format', `must be name, name[key] or name[]; got ${JSON.stringify(name)}`),
    ]);
  return [steps[1] ?? '', ...[...(steps[2] ?? '').matchAll(/\[([^[\]]*)\]/g)].map(([, key = '']) => key)];
};
const clash = (name: string): Error =>
  invalidArguments([problem('--field', 'rule', `${name} is given as two kinds of value`)]);
/** The record in a list that takes the next key: the last one, unless it has that key already. */
const recordIn = (entries: unknown[], key: string): unknown => {
  const last = entries.at(-1);
  if (typeof last === 'object' && last !== null && !Object.hasOwn(last, key)) return last;
  const made = key === '' ? [] : {};
  entries.push(made);
  return made;
};
/**
 * Returns the value below a path step and creates it if it is missing; undefined if the step does not match
 * the existing value.
 */
const below = (at: unknown, step: string, next: string): unknown => {
  if (step === '') return Array.isArray(at) ? recordIn(at, next) : undefined;
  if (!isRecord(at)) return undefined;
  at[step] ??= next === '' ? [] : {};
  return at[step];
};
const put = (body: FieldsJson, name: string, value: unknown): void => {
  const steps = stepsOf(name);
  const last = steps.at(-1) as string;
  let at: unknown = body;
  for (const [i, step] of steps.slice(0, -1).entries()) at = below(at, step, steps[i + 1] as string);
  if (last === '' && Array.isArray(at)) at.push(value);
  else if (last !== '' && isRecord(at)) at[last] = value;
  else throw clash(name);
};
/** Builds the body from `name=value` pairs. Pairs are [name, value], with the value as it will be sent. */
export const bodyOf = (pairs: readonly (readonly [string, unknown])[]): FieldsJson => {
  const body: FieldsJson = {};
  for (const [name, value] of pairs) put(body, name, value);
  return body;
};

/** The parsed flags and arguments of `opsctl api`. */
export type RawRequestInput = {
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
  readonly prover?: RequestProver;
  /** The token of a sign-in, which opsctl can replace if the service rejects it. */
  readonly token?: string;
};
/** --field converts types and reads @files; --raw-field keeps the text unchanged. */
const fieldsOf = async (
  context: EngineContext,
  given: RawRequestInput,
): Promise<(readonly [string, unknown])[]> => {
  const typed: (readonly [string, unknown])[] = [];
  for (const [name, text] of pairsOf(given.field ?? [], 'field'))
    typed.push([
      name,
      text.startsWith('@') ? await textFile(context, text.slice(1), '--field') : typedValue(text),
    ]);
  return [...pairsOf(given['raw-field'] ?? [], 'raw-field'), ...typed];
};
const bodyText = (
  given: RawRequestInput,
  fields: readonly (readonly [string, unknown])[],
): string | undefined => {
  const { body } = given;
  if (fields.length > 0 && body !== undefined)
    throw invalidArguments([
      problem('--body', 'rule', 'cannot be given together with --field or --raw-field'),
    ]);
  if (fields.length > 0) return JSON.stringify(bodyOf(fields));
  // A body in a file or on standard input was read before, and is a value by now.
  const text = typeof body === 'object' ? JSON.stringify(body) : (body as string | undefined);
  if (text !== undefined && !namesOtherType(given.header) && !isJsonText(text)) {
    const { what, line, column } = jsonFault(text);
    throw invalidArguments([
      problem('--body', 'format', `must be JSON: line ${line}, column ${column}: ${what}`),
    ]);
  }
  return text;
};
/**
 * A complete URL, pasted from a response or a log. It must be below the base URL, because the request
 * contains the token.
 */
const pathBelow = async (context: EngineContext, service: ServiceName, given: string): Promise<string> => {
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
  context: EngineContext,
  service: ServiceName,
  given: RawRequestInput,
): Promise<ApiRequest> => {
  const fields = await fieldsOf(context, given);
  const isQuery = given.method === 'GET';
  const asQuery = isQuery ? fields.map(([name, value]): [string, string] => [name, String(value)]) : [];
  const params = new URLSearchParams(pairsOf(given.param ?? [], 'param'));
  for (const [name, value] of asQuery) params.append(name, value);
  const query = params.toString();
  const path = await pathBelow(context, service, given.path);
  const body = bodyText(given, isQuery ? [] : fields);
  const headers = pairsOf(given.header ?? [], 'header', /[:=]/).map(
    ([name, value]): Pair => [name, value.trim()],
  );
  const wrong = headers.flatMap(([name, value]) => headerProblem('--header', name, value) ?? []);
  if (wrong.length > 0) throw invalidArguments(wrong);
  return {
    method: given.method,
    path: query === '' ? path : `${path}${path.includes('?') ? '&' : '?'}${query}`,
    headers: {
      accept: 'application/json',
      'content-type': 'application/json',
      ...Object.fromEntries(headers),
    },
    ...(body === undefined ? {} : { body }),
  };
};

/**
 * Reports a missing scope of the label service like the label commands: the scope, and the command that
 * requests it.
 */
const labelsRefusal = async (error: AppError, { method, path, body = '' }: ApiRequest): Promise<AppError> => {
  const { explainedRefusal } = await import('../labels/api-types.ts');
  return explainedRefusal(error, {
    method,
    isAdmin: /[?&]useAdminAccess=true/.test(path) || /"useAdminAccess"\s*:\s*true/.test(body),
  });
};
const explainRefusal = async (
  context: EngineContext,
  service: ServiceName,
  error: AppError,
  request: ApiRequest,
): Promise<unknown> => {
  if (service === 'labels') return labelsRefusal(error, request);
  if (service !== 'tracker') return error;
  return (await import('../tracker/search.ts')).explainedRefusal(error, await context.target('tracker'));
};
const whatOf = ({ method, path }: ApiRequest): string => `${method} ${path}`;
/** Rejections and redirects are errors for every request. */
const acceptAnswer = async (
  context: EngineContext,
  service: ServiceName,
  request: ApiRequest,
  reply: HttpReply,
): Promise<void> => {
  if (reply.status < 300) return;
  const read = { status: reply.status, headers: reply.headers, text: await reply.text() };
  if (reply.status >= 400)
    throw await explainRefusal(context, service, errorFrom(read, whatOf(request)), request);
  refuseRedirect(read, whatOf(request));
};
const isJsonAnswer = ({ headers }: Pick<HttpReply, 'headers'>): boolean =>
  /\bjson\b/.test(headers['content-type'] ?? '');
/** Prints the response unchanged: a list row by row while it arrives, a record, or bytes of another type. */
export const answerOf = async (
  context: EngineContext,
  service: ServiceName,
  request: ApiRequest,
): Promise<Result> => {
  const { method, path } = request;
  try {
    return await readAnswer(context, service, request);
  } catch (error) {
    throw await withOutcome(error, { method, url: (await context.target(service)).baseUrl + path }, () =>
      rawCheck(service, method, path),
    );
  }
};
/** The request with a new token; undefined if opsctl has no token. A token of the user's own header or setting stays. */
const withNewToken = async (
  context: EngineContext,
  service: ServiceName,
  request: ApiRequest,
): Promise<ApiRequest | undefined> => {
  if (request.token === undefined || service === 'tracker') return undefined;
  const { authorizationOf, replaceToken } = await import('../auth/token.ts');
  const found = await replaceToken(context, await context.target(service), request.token);
  if (found === undefined) return undefined;
  const { prover: _, ...rest } = request;
  return {
    ...rest,
    token: found.token,
    headers: { ...request.headers, authorization: authorizationOf(found) },
    ...(found.prover === undefined ? {} : { prover: found.prover }),
  };
};
/** One new token and one more try, as in every other command; the request that was sent last comes with its response. */
const sendRenewed = async (
  context: EngineContext,
  service: ServiceName,
  request: ApiRequest,
): Promise<{ readonly reply: HttpReply; readonly sent: ApiRequest }> => {
  const reply = await context.send(service, request);
  if (reply.status !== 401) return { reply, sent: request };
  const again = await withNewToken(context, service, request);
  if (again === undefined) return { reply, sent: request };
  await reply.bytes();
  return { reply: await context.send(service, again), sent: again };
};
const readAnswer = async (
  context: EngineContext,
  service: ServiceName,
  request: ApiRequest,
): Promise<Result> => {
  const { reply } = await sendRenewed(context, service, request);
  await acceptAnswer(context, service, request, reply);
  if (!isJsonAnswer(reply)) {
    const bytes = await reply.bytes();
    return bytes.length === 0 ? nothing(`${whatOf(request)}: ${reply.status}`) : rawResult(bytes);
  }
  const { rows, text = '' } = await openAnswer(reply, whatOf(request));
  if (rows !== undefined) return { kind: 'rows', rows, inBatches: true, encoded: true, paged: true };
  const read: WireReply = { status: reply.status, headers: reply.headers, text };
  if (text === '') return nothing(`${whatOf(request)}: ${reply.status}`);
  return recordResult(jsonOf(read, whatOf(request)));
};
/**
 * Yields the rows of all pages. A page outside the base URL is rejected, because the token would be sent
 * there.
 */
export const pagesOf = (context: EngineContext, service: ServiceName, request: ApiRequest): Result => {
  let last = request;
  const ask = async (path: string) => {
    const one = { ...last, path: await pathBelow(context, service, path) };
    const { reply, sent } = await sendRenewed(context, service, one);
    last = sent;
    await acceptAnswer(context, service, one, reply);
    const read = { status: reply.status, headers: reply.headers, text: await reply.text() };
    return { page: jsonOf(read, whatOf(one)), headers: reply.headers };
  };
  return {
    kind: 'rows',
    inBatches: true,
    paged: true,
    rows: fetchPages(request.path, ask) as AsyncIterable<unknown[]>,
  };
};

const tokenIn = (authorization: string | undefined): string | undefined =>
  /^(?:Bearer|DPoP) (.+)$/.exec(authorization ?? '')?.[1];
/** The label service has a setting for its token; without it, the target has the token of the sign-in. */
const withTokenOfLabels = async (context: EngineContext, asked: ApiRequest): Promise<ApiRequest> => {
  if (context.settings.get('labels.token') !== undefined) return asked;
  const token = tokenIn((await context.target('labels')).headers.authorization);
  return token === undefined ? asked : { ...asked, token };
};
/** The data API has no separate token. The account of `opsctl login` authorizes the request. */
export const withBearer = async (
  context: EngineContext,
  service: ServiceName,
  asked: ApiRequest,
): Promise<ApiRequest> => {
  const isOwnHeader = Object.keys(asked.headers).some((name) => name.toLowerCase() === 'authorization');
  if (service === 'tracker' || isOwnHeader) return asked;
  if (service === 'labels') return withTokenOfLabels(context, asked);
  const { requestAuthorization } = await import('../auth/token.ts');
  const { headers, prover } = await requestAuthorization(context);
  const token = tokenIn(headers.authorization);
  return {
    ...asked,
    headers: { ...asked.headers, ...headers },
    ...(prover === undefined ? {} : { prover }),
    ...(token === undefined ? {} : { token }),
  };
};
