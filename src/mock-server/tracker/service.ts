import { timingSafeEqual } from 'node:crypto';
import { tracker } from '../../api-specs/tracker/index.ts';
import { bool, type Fields, oneOf, uuid } from '../../core/field.ts';
import { problem, problemText } from '../../core/problem.ts';
import { readMultipart, HttpError, json } from '../body.ts';
import { makeRate, rateClock } from '../faults.ts';
import type { Environment, MockReply, MockRequest, MockService } from '../service-set.ts';
import { Store } from '../store.ts';
import { tableService } from '../table-service.ts';
import { trackerHandlers, webhookControl } from './handlers.ts';
import { page, PAGES } from './pages.ts';
import { seedTracker } from './seed.ts';
import { type Tracker, trackerState } from './state.ts';

/**
 * spec/tracker#choices-22: fields that the vendor's description lists, its client libraries send, and the documents do
 * not have. The type of a category has one value, and a workspace belongs to one organization.
 */
const alsoAccepted = {
  'POST /categories': { type: oneOf('milestone') },
  'GET /groups': { archived: bool() },
  'GET /members': { 'org-public-id': uuid() },
  'GET /members/{member-public-id}': { 'org-public-id': uuid() },
} as const satisfies Readonly<Record<string, Fields>>;
/** spec/program#choices: `{"message", "errors"?, "tag"?}`; spec/tracker#errors-4 for the shapes that were seen. */
export const refusal = (refused: HttpError): MockReply => {
  const errors = Object.fromEntries(
    refused.problems.map((p) => [p.path === '' ? 'body' : p.path, problemText({ ...p, path: '' })]),
  );
  const { allow, retry_after: retryAfter, ...own } = refused.body;
  const body = { message: refused.message, ...(refused.problems.length > 0 ? { errors } : {}), ...own };
  const headers = {
    ...json,
    ...(Array.isArray(allow) ? { allow: allow.join(', ') } : {}),
    ...(retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) }),
  };
  return { status: refused.status, headers, body: JSON.stringify(body) };
};

/** Workspaces that one server holds; a test that forgets to reuse its token must not fill the memory. */
const MOST = 1000;
export type Workspaces<T> = {
  /** The workspace of a token, made and filled at its first request. */
  of(token: string): T;
  /** A reset of the server clears all of them. */
  clear(kind: 'demo' | 'empty'): void;
};
/**
 * spec/tracker#authentication-7: with --workspace-per-token each token has separate records, in memory only.
 */
export const makeWorkspaces = <T>(
  env: Environment,
  serve: (env: Environment, state: Tracker) => T,
): Workspaces<T> => {
  const known = new Map<string, T>();
  let kind: 'demo' | 'empty' = 'demo';
  const make = (token: string): T => {
    if (known.size >= MOST)
      throw new HttpError(
        403,
        `This server holds ${MOST} workspaces at most; reset it, or use fewer tokens.`,
      );
    const own: Environment = {
      ...env,
      store: new Store(),
      options: { ...env.options, trackerToken: token },
    };
    const state = trackerState(own);
    own.store.transact(() => seedTracker(state, kind));
    const served = serve(own, state);
    known.set(token, served);
    return served;
  };
  return {
    of: (token) => known.get(token) ?? make(token),
    clear: (to) => {
      kind = to;
      known.clear();
    },
  };
};

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const isEqual = (a: string, b: string): boolean => {
  const [left, right] = [bytes(a), bytes(b)];
  return left.length === right.length && timingSafeEqual(left, right);
};
/** spec/tracker#authentication-1: header, or the deprecated query parameter. */
const tokenOf = (request: MockRequest): string | undefined | null => {
  const inQuery = request.query.includes('token=')
    ? new URLSearchParams(request.query).get('token')
    : undefined;
  return request.headers['tracker-token'] || inQuery;
};
const usesQueryToken = (request: MockRequest): boolean =>
  !request.headers['tracker-token'] && Boolean(tokenOf(request));
/** spec/tracker#versions-5: a deprecated request has the response header `Deprecation`, which a test can count. */
const markDeprecated = (request: MockRequest, reply: MockReply): MockReply => {
  const isMilestone = /\/milestones(\/|$)/.test(request.path);
  if (!isMilestone && !usesQueryToken(request)) return reply;
  return { ...reply, headers: { ...reply.headers, deprecation: 'true' } };
};
const withDeprecation = (
  request: MockRequest,
  reply: MockReply | Promise<MockReply>,
): MockReply | Promise<MockReply> =>
  reply instanceof Promise
    ? reply.then((one) => markDeprecated(request, one))
    : markDeprecated(request, reply);
/** spec/tracker#authentication-3; spec/tracker#errors-4 for the two bodies. */
const tokenIsKnown = (env: Environment, request: MockRequest): string => {
  const token = tokenOf(request);
  if (token === undefined || token === null || token === '') {
    throw new HttpError(401, 'Sorry, the organization context for this request is missing.', {
      body: { tag: 'organization2_missing' },
    });
  }
  if (token !== env.options.trackerToken && !isEqual(token, env.options.trackerToken)) {
    throw new HttpError(401, 'Unauthorized', { body: { tag: 'unauthorized' } });
  }
  return token;
};
/** What passes for JSON: `curl -d` and fetch name the other two when the user named none. */
const JSON_TYPES = /^$|^application\/json$|\+json$|^text\/plain$|^application\/x-www-form-urlencoded$/;
/** spec/tracker#every-endpoint: Content-Type is application/json; spec/tracker#choices-15: what else is accepted. */
const bodyIsJson =
  (accepted: RegExp) =>
  ({ headers, body }: MockRequest): void => {
    const given = headers['content-type'] ?? '';
    // The usual one, which needs no reading.
    if (given === 'application/json' || body.length === 0) return;
    const type = given.split(';')[0]?.trim().toLowerCase() ?? '';
    if (accepted.test(type)) return;
    throw new HttpError(400, 'The request body must be JSON.', {
      problems: [problem('content-type', 'format', `must be application/json; got ${type || 'none'}`)],
    });
  };
const STRICT_TYPES = /^application\/json$/;
/** spec/tracker#authentication-4: "All requests must use HTTPS", where this server serves it. */
const requestUsesTls = (env: Environment, request: MockRequest): void => {
  if (env.origin().startsWith('https:') && !request.isTls)
    throw new HttpError(403, 'All requests must use HTTPS.');
};
/** spec/tracker#limits: "200 requests per minute; excess requests are not processed and return 429". */
const requestIsInRate = (
  rate: ReturnType<typeof makeRate> | undefined,
  env: Environment,
  token: string,
): void => {
  const over = rate?.take(token);
  if (over === undefined) return;
  const body = env.options.rateRetryAfter ? { retry_after: Math.ceil(over.waitMs / 1000) } : {};
  throw new HttpError(429, `Too many requests: at most ${env.options.ratePerMinute} a minute.`, { body });
};
/** One workspace: its requests over its records. */
const workspace = (env: Environment, state: Tracker, takeOf: () => ReturnType<typeof makeRate> | undefined) =>
  tableService<(typeof tracker)['table'], Tracker>({
    service: tracker,
    handlers: trackerHandlers,
    state,
    env,
    admit: (request) => {
      requestUsesTls(env, request);
      requestIsInRate(takeOf(), env, tokenIsKnown(env, request));
    },
    admitBody: bodyIsJson(env.options.isStrict ? STRICT_TYPES : JSON_TYPES),
    refusal,
    isStrict: env.options.isStrict === true,
    commonQuery: new Set(['token']),
    alsoAccepted,
    // The examples of the service and its first clients send the parameters of a search in this way.
    queryInBody: true,
    readMultipart,
  });
/** No document has this header: a client that was tested against it would come to rely on it. */
const withLimit =
  ({ ratePerMinute }: Environment['options'], limit = ratePerMinute ?? 'off') =>
  (reply: MockReply): MockReply => ({
    ...reply,
    headers: { ...reply.headers, 'x-ratelimit-limit': String(limit) },
  });
export const makeTracker = (env: Environment): MockService => {
  const { ratePerMinute, rateHeaders, workspacePerToken, trackerToken } = env.options;
  const state = trackerState(env);
  const newRate = () => (ratePerMinute === undefined ? undefined : makeRate(ratePerMinute, rateClock(env)));
  let rate = newRate();
  const answer = workspace(env, state, () => rate);
  const others = makeWorkspaces(env, (own, records) => workspace(own, records, () => rate));
  const ofToken = (request: MockRequest): MockReply | Promise<MockReply> => {
    const token = tokenOf(request);
    if (!token || isEqual(token, trackerToken)) return answer(request);
    try {
      return others.of(token)(request);
    } catch (error) {
      if (error instanceof HttpError) return refusal(error);
      throw error;
    }
  };
  const asked = workspacePerToken ? ofToken : answer;
  const limited = withLimit(env.options);
  const api = rateHeaders
    ? async (request: MockRequest): Promise<MockReply> => limited(await asked(request))
    : asked;
  const isPage = (path: string): boolean => path === PAGES || path.startsWith(`${PAGES}/`);
  return {
    name: 'tracker',
    owns: (path) => path.startsWith(`${tracker.basePath}/`) || path === tracker.basePath || isPage(path),
    handle: (request) =>
      isPage(request.path) ? page(state, request) : withDeprecation(request, api(request)),
    seed: (kind) => {
      rate = newRate();
      others.clear(kind);
      seedTracker(state, kind);
    },
    control: webhookControl(state),
  };
};
