import { int } from '../../core/field.ts';
import type { Operation } from '../../core/operation.ts';
import { recordResult } from '../../core/result.ts';
import { tracker } from '../../api-specs/tracker/index.ts';
import type { Command, Values } from '../../cli/command.ts';
import { extend } from './extend.ts';
import { resolveParams } from '../../tracker/names/naming.ts';
import { trackerNaming } from '../../tracker/names/tracker-naming.ts';
import { columnsOf } from '../../cli/derived/columns.ts';
import { commandFrom } from '../../cli/derived/command.ts';
import { inputFrom, limitOf } from '../../core/input.ts';
import { type Ask, byOffset, byPage, limited } from '../../tracker/pages.ts';

const epics = commandFrom({
  service: tracker,
  resource: 'epics',
  verb: 'paginated',
  operation: tracker.table.epics.page,
  naming: trackerNaming,
});
const epicsPaginated: Command = extend(epics, {
  summary: 'List epics page by page, the first at once',
  about: 'All pages are read one after the other. With --page only that page is shown, with its total.',
  get flags() {
    return { ...epics.flags, limit: { field: int({ min: 1 }), summary: 'Epics at most', value: 'number' } };
  },
  run: async (context, values: Values) => {
    const { query = {} } = inputFrom(tracker.table.epics.page, values);
    const ask: Ask = (q) => context.call(tracker, tracker.table.epics.page, { query: q });
    if (query.page !== undefined || context.isDryRun)
      return recordResult(await ask(query), { columns: ['total', 'next'] });
    return {
      kind: 'rows',
      rows: limited(context, byPage(ask, query), limitOf(values)),
      view: { columns: columnsOf(tracker.table.epics.list) },
    };
  },
});

const stories = commandFrom({
  service: tracker,
  resource: 'groups',
  verb: 'stories',
  operation: tracker.table.groups.stories,
  naming: trackerNaming,
});
const PAGE = 1000;
const groupStories: Command = extend(stories, {
  about: 'All stories are read, 1,000 at a time. --limit or --offset ask for one part only.',
  run: async (context, values: Values) => {
    const operation: Operation = tracker.table.groups.stories;
    const input = await resolveParams(trackerNaming, context, operation, inputFrom(operation, values));
    const isPart = values.limit !== undefined || values.offset !== undefined || context.isDryRun;
    const ask: Ask = (query) => context.call(tracker, operation, { ...input, query });
    const rows = isPart
      ? ((await context.call(tracker, operation, input)) as unknown[])
      : byOffset(ask, PAGE, `GET ${operation.path}`);
    return { kind: 'rows', rows, view: { columns: columnsOf(operation) } };
  },
});

export const paginatedCommands: readonly Command[] = [epicsPaginated, groupStories];
