import { limits } from '../../core/limits.ts';
import { jsonRow } from '../../core/json.ts';
import type { LooseInput } from '../../core/operation.ts';
import type { Result } from '../../core/result.ts';
import type { Context } from '../command.ts';
import type { Row } from './row.ts';
import { sendNamed } from './send-named.ts';

/** A list is never cut in silence. The rest is counted, but not one that has no end. */
async function* cut<T>(context: Context, batches: AsyncIterable<T[]>, most: number): AsyncGenerator<T[]> {
  let count = 0;
  let isWhole = true;
  for await (const batch of batches) {
    if (count < most) yield batch.slice(0, most - count);
    count += batch.length;
    isWhole = count <= most + limits.heldRows;
    if (!isWhole) break;
  }
  if (count > most)
    context.log.warn(`${most} of ${isWhole ? count : `more than ${count}`} shown; leave --limit out for all`);
}

/** Names of longer lists are not offered under TAB. */
export const MOST_LEARNED = 10_000;
async function* learnt(
  batches: AsyncIterable<Uint8Array[]>,
  learn: (rows: readonly unknown[]) => Promise<void>,
): AsyncGenerator<Uint8Array[]> {
  const rows: Uint8Array[] = [];
  let isWhole = true;
  for await (const batch of batches) {
    isWhole &&= rows.length + batch.length <= MOST_LEARNED;
    if (isWhole) rows.push(...batch);
    yield batch;
  }
  if (isWhole) await learn(rows.map(jsonRow));
}

/** The rows of a list, read and handed on while they arrive. */
export const listed = async (
  context: Context,
  row: Row,
  given: LooseInput,
  input: LooseInput,
  most: number | undefined,
): Promise<Result> => {
  const { service, operation, naming } = row;
  const all = await sendNamed(context, row, given, input, (one) => context.rows(service, operation, one));
  // Only where somebody sits who may press TAB: it costs a script some milliseconds.
  const isWatched = context.host.terminal.stderr.isTty && operation.params === undefined;
  const seen =
    isWatched && naming !== undefined
      ? learnt(all, (rows) => naming.learn(context, operation, input, rows))
      : all;
  const rows = most === undefined ? seen : cut(context, seen, most);
  return { kind: 'rows', rows, inBatches: true, encoded: true };
};
