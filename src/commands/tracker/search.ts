import { bool, int, list, oneOf, req, str } from '../../core/field.ts';
import { AppError } from '../../core/problem.ts';
import { requestFrom } from '../../api-client/request.ts';
import { tracker } from '../../api-specs/tracker/index.ts';
import {
  defineCommand,
  type Argument,
  type Command,
  type Context,
  type Flags,
  type ValuesOf,
} from '../../cli/command.ts';
import { brokenPage, jsonReply } from './json-reply.ts';

const flags = {
  type: {
    field: list(oneOf('story', 'epic', 'iteration', 'milestone', 'objective')),
    repeat: true,
    summary: 'Kinds to search (default all)',
    value: 'kind',
  },
  limit: { field: int({ min: 1 }), summary: 'Records at most (default 25)', value: 'number' },
  all: { field: bool(), summary: 'Every record that the service gives' },
  detail: {
    field: oneOf('full', 'slim'),
    summary: 'slim leaves descriptions and nested records out',
    value: 'full|slim',
  },
} as const satisfies Flags;
const args = [
  { name: 'query', field: req(str(undefined, { min: 1 })), summary: 'What to find' },
] as const satisfies readonly Argument[];
type Given = ValuesOf<typeof flags, typeof args>;

type Group = {
  readonly data: readonly Record<string, unknown>[];
  readonly next?: string | null;
  readonly total?: number;
};
type Answer = Readonly<Record<string, Group | undefined>>;

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
  const seen = new Set<string>();
  for (let page: Group | undefined = first; page !== undefined; ) {
    if (!Array.isArray(page.data)) throw brokenPage('GET /search', `the group ${name} has no list of data`);
    yield page;
    const next: string | null | undefined = page.next;
    if (typeof next !== 'string') return;
    if (seen.has(next)) throw brokenPage('GET /search', `the service gave the page ${next} twice`);
    seen.add(next);
    page = (await nextPage(context, next))[name];
  }
}

/** Groups are paged one after the other, each through its own `next`. */
async function* found(context: Context, first: Answer, most: number): AsyncIterable<unknown> {
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

const run: Command['run'] = async (context, values: Given) => {
  const most = values.all ? Number.POSITIVE_INFINITY : (values.limit ?? 25);
  const types = values.type ?? [];
  const query = {
    query: values.query,
    page_size: Math.min(250, most),
    detail: values.detail ?? 'full',
    ...(types.length > 0 ? { entity_types: types } : {}),
  };
  requestFrom(tracker, tracker.table.search.run, { query }, { baseUrl: '', headers: {} });
  const first = (await context.call(tracker, tracker.table.search.run, { query })) as Answer | undefined;
  if (first === undefined) throw new AppError('network', 'the search gave an empty answer');
  return {
    kind: 'rows',
    rows: found(context, first, most),
    view: { columns: ['id', 'entity_type', 'name', 'app_url'] },
  };
};

export const searchCommand = defineCommand({
  path: ['tracker', 'search'],
  summary: 'Search stories, epics, iterations and objectives',
  about:
    'Operators: id: epic: label: project: state: owner: requester: type: estimate: team: iteration: objective: created: updated: completed: moved: due: is: has: — ' +
    'joined by and; ! in front turns one round; "quoted words" stay together; ranges like created:2026-01-01..2026-02-01.',
  args,
  flags,
  examples: [
    {
      line: "opsctl tracker search 'is:started owner:ana' --type story --all -o ndjson",
      says: 'All started stories of @ana',
    },
  ],
  operation: { service: tracker, operation: tracker.table.search.run },
  run,
});
