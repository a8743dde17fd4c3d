import type { Operation } from '../../core/operation.ts';
import { type Result, recordResult, rowsResult } from '../../core/result.ts';
import { labelsService } from '../../api-specs/labels/index.ts';
import type { Context, Values } from '../../cli/command.ts';
import type { LabelJson } from '../../labels/api-types.ts';
import { columnsOf } from '../../cli/derived/columns.ts';
import { inputFrom, limitOf } from '../../core/input.ts';
import { MOST_LEARNED } from '../../cli/derived/listed.ts';

async function* limited(rows: AsyncIterable<unknown>, limit: number | undefined): AsyncGenerator<unknown> {
  let count = 0;
  for await (const row of rows) {
    yield row;
    count += 1;
    if (count === limit) return;
  }
}

const narrowing = ['customer', 'minimumRole', 'publishedOnly', 'pageToken', 'fields'];
/** A list of all labels there are for this caller. */
const isOfAll = (operation: Operation, query: Readonly<Record<string, unknown>> = {}): boolean =>
  operation.path === '/labels' &&
  narrowing.every((name) => query[name] === undefined || query[name] === operation.query?.[name]?.default);

/** Every page, unless --limit says less: a list is never cut in silence (spec/labels#clients-1). */
async function* listed(context: Context, operation: Operation, values: Values): AsyncGenerator<unknown> {
  const { allPages } = await import('../../labels/read-labels.ts');
  const input = inputFrom(operation, values);
  let isWhole = isOfAll(operation, input.query);
  const all: LabelJson[] = [];
  for await (const page of allPages<Record<string, unknown> & { nextPageToken?: string }>(
    context,
    operation,
    input,
  )) {
    for (const member of Object.values(page)) {
      if (!Array.isArray(member)) continue;
      isWhole &&= all.length + member.length <= MOST_LEARNED;
      if (isWhole) for (const { properties } of member as LabelJson[]) all.push({ properties });
      yield* member;
    }
  }
  if (isWhole) await (await import('../../labels/titles.ts')).rememberTitles(context, all);
}

export const runList = async (context: Context, operation: Operation, values: Values): Promise<Result> => {
  if (context.isDryRun)
    return recordResult(await context.call(labelsService, operation, inputFrom(operation, values)));
  const rows = limited(listed(context, operation, values), limitOf(values));
  // The first page is fetched before anything is said, so that an error is an error and not half a list.
  const iterator = rows[Symbol.asyncIterator]();
  const first = await iterator.next();
  const all = (async function* () {
    if (first.done) return;
    yield first.value;
    yield* { [Symbol.asyncIterator]: () => iterator };
  })();
  return rowsResult(all, {
    ...(values.fields === undefined ? { columns: columnsOf(operation) } : {}),
    name: 'name',
  });
};
