import type { EngineContext, Target } from '../api/context.ts';
import { errorFrom, jsonOf, refuseNoSuccess } from '../api/response.ts';
import type { Operation } from '../core/operation.ts';
import { brokenPage, pageWatch, watchRows } from '../core/limits.ts';
import { AppError } from '../core/problem.ts';
import type { HttpReply } from '../platform/host.ts';

type Body = { readonly feature_tag?: unknown; readonly entitlement_tag?: unknown };
const text = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined;
/**
 * spec/tracker#errors-2: a disabled feature, a feature outside the plan, or a missing right of the token's
 * owner.
 */
const forbidden = ({ detail }: AppError, { isMock }: Target): string[] => {
  const { feature_tag: feature, entitlement_tag: entitlement } = (detail.data ?? {}) as Body;
  const mock = isMock ? ['`opsctl mock features show` lists the switches of the embedded server'] : [];
  if (text(feature) !== undefined)
    return [
      ...mock,
      `the feature ${text(feature)} is off in this workspace; an admin can switch it on in its settings`,
    ];
  if (text(entitlement) !== undefined)
    return [...mock, `the plan of this workspace does not include ${text(entitlement)}; ask an admin of it`];
  return [
    '`opsctl tracker members me` shows whose token this is; ask an admin of the workspace for the right',
  ];
};
const adviseUnauthorized = ({ origin, isMock }: Target): string[] =>
  isMock
    ? ['`opsctl mock status` shows the token of the running server']
    : [
        'make a new token in the account settings of the workspace, then OPSCTL_TRACKER_TOKEN=… or `opsctl config set tracker.token --stdin`',
        `\`opsctl config list --show-origin\` shows the origin of token and URL (URL: ${origin})`,
      ];
const LISTED: ReadonlySet<string> = new Set(
  'categories custom-fields entity-templates epics files linked-files groups iterations labels members milestones objectives projects repositories stories'.split(
    ' ',
  ),
);
/** A list is never missing: the address is wrong. Of a record, the list shows what there is. */
const notFound = (operation: Operation | undefined, { message }: AppError, { origin }: Target): string[] => {
  if (operation === undefined) return [];
  if (operation.params === undefined)
    return [`check the base URL (${origin}); the path before /labels is the setting tracker.base_path`];
  const [, resource = ''] = operation.path.split('/');
  const digits = /\/(\d+)(?::|$)/.exec(message)?.[1];
  return LISTED.has(resource) && operation.path.split('/').length === 3
    ? [
        `opsctl tracker ${resource} list`,
        ...(digits === undefined || resource === 'stories'
          ? []
          : [`${digits} is an id; a name of digits is written name:${digits}`]),
      ]
    : [];
};
/** spec/tracker#errors-1: what the person who meets the refusal can do about it. */
export const explainedRefusal = (error: unknown, target: Target, operation?: Operation): unknown => {
  if (!(error instanceof AppError) || (error.detail.tryThis ?? []).length > 0) return error;
  const status = error.detail.httpStatus;
  const tryThis =
    status === 401
      ? adviseUnauthorized(target)
      : status === 403
        ? forbidden(error, target)
        : status === 404
          ? notFound(operation, error, target)
          : status === 409
            ? ['another user changed it in the meantime: check the new version, then repeat the change']
            : [];
  if (tryThis.length === 0) return error;
  return new AppError(error.category, error.message, {
    ...error.detail,
    tryThis,
    ...(error.cause === undefined ? {} : { cause: error.cause }),
  });
};

/** What a request outside the tables gave: JSON, or the error that it means. */
export const jsonReply = async (context: EngineContext, reply: HttpReply, what: string): Promise<unknown> => {
  const read = { status: reply.status, headers: reply.headers, text: await reply.text() };
  if (reply.status >= 400) throw explainedRefusal(errorFrom(read, what), await context.target('tracker'));
  refuseNoSuccess(read, what);
  return jsonOf(read, what);
};

type Group = {
  readonly data: readonly Record<string, unknown>[];
  readonly next?: string | null;
  readonly total?: number;
};
export type Answer = Readonly<Record<string, Group | undefined>>;
/** spec/tracker#search: `next` is a path with query, relative to the host. It is sent unchanged. */
const nextPage = async (context: EngineContext, path: string): Promise<Answer> => {
  const reply = await context.send('tracker', {
    method: 'GET',
    path,
    headers: { accept: 'application/json', 'content-type': 'application/json' },
  });
  return ((await jsonReply(context, reply, 'GET /search')) ?? {}) as Answer;
};
/** The service returns no more results of a search. */
const MOST_FOUND = 1000;
/** Yields the pages of one group, each once, regardless of their names. */
async function* pages(context: EngineContext, name: string, first: Group): AsyncIterable<Group> {
  const watch = pageWatch('GET /search');
  const rows = watchRows(`GET /search: ${name}`);
  for (let page: Group | undefined = first; page !== undefined; ) {
    if (!Array.isArray(page.data)) throw brokenPage('GET /search', `the group ${name} has no list of data`);
    watch.refuseForEver(page.data.length);
    rows.add(page.data);
    yield page;
    const next: string | null | undefined = page.next;
    if (typeof next !== 'string' || next === '') return rows.end(page.total, MOST_FOUND);
    watch.refuseAgain(next);
    page = (await nextPage(context, next))[name];
  }
}
/** Groups are paged one after the other, each through its own `next`. */
export async function* listFound(
  context: EngineContext,
  first: Answer,
  most: number,
): AsyncIterable<unknown> {
  let left = most;
  let total = 0;
  for (const [name, group] of Object.entries(first)) {
    if (group === undefined) continue;
    total += group.total ?? 0;
    for await (const page of pages(context, name, group)) {
      for (const row of page.data.slice(0, left)) yield row;
      left -= Math.min(left, page.data.length);
      if (left === 0) break;
    }
  }
  const shown = most - left;
  if (shown < total)
    context.log.warn(
      `${shown} of ${total} shown${most === Number.POSITIVE_INFINITY ? '; the service gives 1,000 of each kind at most' : '; --all shows more'}`,
    );
}

export type SearchCall = (query: Readonly<Record<string, unknown>>) => Promise<unknown>;
type EpicPage = {
  readonly data: readonly unknown[];
  readonly next?: number | null;
  readonly total?: number;
};
/** spec/tracker#epics: page by page until `next` is null. */
export async function* byPage(
  ask: SearchCall,
  query: Readonly<Record<string, unknown>>,
): AsyncIterable<unknown> {
  const watch = pageWatch('GET /epics/paginated');
  const rows = watchRows('GET /epics/paginated');
  let total: number | undefined;
  for (let page: number | null = 1; page !== null; ) {
    const answer = (await ask({ page_size: 250, ...query, page })) as EpicPage;
    if (!Array.isArray(answer.data))
      throw brokenPage('GET /epics/paginated', 'the response has no list of data');
    watch.refuseForEver(answer.data.length);
    rows.add(answer.data);
    total = answer.total;
    yield* answer.data;
    const next: number | null = answer.next ?? null;
    if (next !== null && !(next > page))
      throw brokenPage('GET /epics/paginated', `after page ${page} the service names page ${next}`);
    page = next;
  }
  rows.end(total);
}
/** spec/tracker#groups: by offset until a page is not full. */
export async function* byOffset(ask: SearchCall, pageSize: number, what: string): AsyncIterable<unknown> {
  const watch = pageWatch(what);
  const seen = watchRows(what);
  for (let offset = 0; ; offset += pageSize) {
    const rows = (await ask({ limit: pageSize, offset })) as readonly unknown[];
    watch.refuseSameBeginning(rows);
    watch.refuseForEver(rows.length);
    seen.add(rows);
    yield* rows;
    if (rows.length < pageSize) return;
  }
}
async function* first(
  rows: AsyncIterable<unknown>,
  most: number | undefined,
  cut: () => void,
): AsyncIterable<unknown> {
  let count = 0;
  for await (const row of rows) {
    if (count === most) return cut();
    count += 1;
    yield row;
  }
}
export const limitResults = (
  context: EngineContext,
  rows: AsyncIterable<unknown>,
  most: number | undefined,
): AsyncIterable<unknown> =>
  first(rows, most, () => context.log.warn(`only the first ${most} are shown; leave --limit out for all`));
