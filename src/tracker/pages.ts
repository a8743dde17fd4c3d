import type { Context } from '../cli/command.ts';
import { brokenPage, pageWatch } from '../core/next-page.ts';

export type Ask = (query: Readonly<Record<string, unknown>>) => Promise<unknown>;
type EpicPage = { readonly data: readonly unknown[]; readonly next?: number | null };

/** spec/tracker#epics: page by page until `next` is null. */
export async function* byPage(ask: Ask, query: Readonly<Record<string, unknown>>): AsyncIterable<unknown> {
  const watch = pageWatch('GET /epics/paginated');
  for (let page: number | null = 1; page !== null; ) {
    const answer = (await ask({ page_size: 250, ...query, page })) as EpicPage;
    if (!Array.isArray(answer.data))
      throw brokenPage('GET /epics/paginated', 'the answer has no list of data');
    watch.refuseForEver(answer.data.length);
    yield* answer.data;
    const next: number | null = answer.next ?? null;
    if (next !== null && !(next > page))
      throw brokenPage('GET /epics/paginated', `after page ${page} the service names page ${next}`);
    page = next;
  }
}

/** spec/tracker#groups: by offset until a page is not full. */
export async function* byOffset(ask: Ask, pageSize: number, what: string): AsyncIterable<unknown> {
  const watch = pageWatch(what);
  for (let offset = 0; ; offset += pageSize) {
    const rows = (await ask({ limit: pageSize, offset })) as readonly unknown[];
    watch.refuseSameBeginning(rows);
    watch.refuseForEver(rows.length);
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

export const limited = (
  context: Context,
  rows: AsyncIterable<unknown>,
  most: number | undefined,
): AsyncIterable<unknown> =>
  first(rows, most, () => context.log.warn(`only the first ${most} are shown; leave --limit out for all`));
