import { timingSafeEqual } from 'node:crypto';
import { problem, problemText } from '../../core/problem.ts';
import { tracker } from '../../api-specs/tracker/index.ts';
import { readMultipart } from '../multipart.ts';
import { makeRate, rateClock } from '../rate.ts';
import { HttpError } from '../http-error.ts';
import type { MockReply, MockRequest, MockService, Environment } from '../service.ts';
import { tableService } from '../table-service.ts';
import { trackerHandlers } from './handlers.ts';
import { seedTracker } from './seed.ts';
import { type Tracker, trackerState } from './state.ts';

const json = { 'content-type': 'application/json; charset=utf-8' };

/** spec/program#choices: `{"message", "errors"?, "tag"?}`; spec/tracker#errors-4 for the shapes that were seen. */
const refusal = (refused: HttpError): MockReply => {
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

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const isEqual = (a: string, b: string): boolean => {
  const [left, right] = [bytes(a), bytes(b)];
  return left.length === right.length && timingSafeEqual(left, right);
};

/** spec/tracker#authentication-1 and spec/tracker#authentication-3: header, or the deprecated query parameter. spec/tracker#errors-4 for the two bodies. */
const tokenIsKnown = (env: Environment, request: MockRequest): string => {
  const inQuery = request.query.includes('token=')
    ? new URLSearchParams(request.query).get('token')
    : undefined;
  const token = request.headers['tracker-token'] || inQuery;
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

/** spec/tracker#every-endpoint: Content-Type is application/json. */
const bodyIsJson = ({ headers, body }: MockRequest): void => {
  const type = (headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase() ?? '';
  if (body.length === 0 || JSON_TYPES.test(type)) return;
  throw new HttpError(400, 'The request body must be JSON.', {
    problems: [problem('content-type', 'format', `must be application/json; got ${type}`)],
  });
};

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

export const makeTracker = (env: Environment): MockService => {
  const { ratePerMinute } = env.options;
  const state = trackerState(env);
  const newRate = () => (ratePerMinute === undefined ? undefined : makeRate(ratePerMinute, rateClock(env)));
  let rate = newRate();
  const answer = tableService<(typeof tracker)['table'], Tracker>({
    service: tracker,
    handlers: trackerHandlers,
    state,
    env,
    admit: (request) => {
      requestUsesTls(env, request);
      requestIsInRate(rate, env, tokenIsKnown(env, request));
    },
    admitBody: bodyIsJson,
    refusal,
    commonQuery: new Set(['token']),
    readMultipart,
  });
  // Says its limit, so that a client need not keep to one that is switched off here.
  const limit = ratePerMinute === undefined ? 'off' : String(ratePerMinute);
  const withLimit = (reply: MockReply): MockReply => {
    // Written into the answer's own headers: copies are felt at 20,000 requests a second.
    if (reply.headers === undefined) return { ...reply, headers: { 'x-ratelimit-limit': limit } };
    (reply.headers as Record<string, string | readonly string[]>)['x-ratelimit-limit'] = limit;
    return reply;
  };
  return {
    name: 'tracker',
    owns: (path) => path.startsWith(`${tracker.basePath}/`) || path === tracker.basePath,
    handle: (request) => {
      const reply = answer(request);
      return reply instanceof Promise ? reply.then(withLimit) : withLimit(reply);
    },
    seed: (kind) => {
      rate = newRate();
      seedTracker(state, kind);
    },
  };
};
