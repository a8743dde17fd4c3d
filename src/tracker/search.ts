import type { Context } from '../cli/command.ts';
import { brokenPage, pageWatch } from '../core/next-page.ts';
import { jsonReply } from './json-reply.ts';

type Group = {
  readonly data: readonly Record<string, unknown>[];
  readonly next?: string | null;
  readonly total?: number;
};
export type Answer = Readonly<Record<string, Group | undefined>>;

/** spec/tracker#search: `next` is a path with query from the host's root; it is sent as it is. */
const nextPage = async (context: Context, path: string): Promise<Answer> => {
  const reply = await context.send('tracker', {
    method: 'GET',
    path,
    headers: { accept: 'application/json', 'content-type': 'application/json' },
  });
  return ((await jsonReply(context, reply, 'GET /search')) ?? {}) as Answer;
};

/** The pages of one group, each once, however the service names them. */
async function* pages(context: Context, name: string, first: Group): AsyncIterable<Group> {
  const watch = pageWatch('GET /search');
  for (let page: Group | undefined = first; page !== undefined; ) {
    if (!Array.isArray(page.data)) throw brokenPage('GET /search', `the group ${name} has no list of data`);
    watch.refuseForEver(page.data.length);
    yield page;
    const next: string | null | undefined = page.next;
    if (typeof next !== 'string' || next === '') return;
    watch.refuseAgain(next);
    page = (await nextPage(context, next))[name];
  }
}

/** Groups are paged one after the other, each through its own `next`. */
export async function* found(context: Context, first: Answer, most: number): AsyncIterable<unknown> {
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
