import { parseJsonRows } from '../core/json.ts';

/** Turns of the microtask queue after which a row counts as pending: longer than any chain of generators. */
const PATIENCE = 50;
const LARGEST = 500;

const isAsync = (rows: Iterable<unknown> | AsyncIterable<unknown>): rows is AsyncIterable<unknown> =>
  Symbol.asyncIterator in rows;

const arrivesAtOnce = async (next: Promise<unknown>): Promise<boolean> => {
  let isHere = false;
  const note = (): void => {
    isHere = true;
  };
  next.then(note, note);
  for (let turn = 0; turn < PATIENCE && !isHere; turn++) await Promise.resolve();
  return isHere;
};

/** Groups rows that come without waiting (a page), so that each group is written in one piece and no row waits for the next page. */
export async function* inBatches(
  rows: Iterable<unknown> | AsyncIterable<unknown>,
): AsyncGenerator<unknown[]> {
  const iterator = isAsync(rows) ? rows[Symbol.asyncIterator]() : rows[Symbol.iterator]();
  let burst: unknown[] = [];
  let isDone = false;
  let failure: { readonly error: unknown } | undefined;
  try {
    for (;;) {
      const next = Promise.resolve(iterator.next());
      if (burst.length > 0 && (burst.length >= LARGEST || !(await arrivesAtOnce(next)))) {
        yield burst;
        burst = [];
      }
      const step = await next.catch((error: unknown) => {
        failure = { error };
      });
      if (step === undefined || step.done) break;
      burst.push(step.value);
    }
    isDone = true;
    // Rows that arrived before a failure are shown.
    if (burst.length > 0) yield burst;
    if (failure !== undefined) throw failure.error;
  } finally {
    // The reader has gone: the source must stop asking for pages.
    if (!isDone) await iterator.return?.();
  }
}

export type Rows = {
  readonly rows: Iterable<unknown> | AsyncIterable<unknown>;
  readonly inBatches?: true;
  readonly encoded?: true;
};

/** The rows of a result in the pieces in which they are written; rows of a result that is `encoded` are JSON texts. */
export const batchesOf = ({ rows, inBatches: isGrouped }: Rows): AsyncIterable<unknown[]> =>
  isGrouped ? (rows as AsyncIterable<unknown[]>) : inBatches(rows);

/** The same as values. */
export async function* valuesOf(source: Rows): AsyncGenerator<unknown[]> {
  for await (const batch of batchesOf(source))
    yield source.encoded ? parseJsonRows(batch as Uint8Array[]) : batch;
}

/** A table decides its layout from its first rows; rows that follow within this time belong to them. */
const FIRST_MS = 200;
/** Joins the batches that arrive within the first moment into one, so that a table knows more of its rows before it chooses widths. */
export async function* joinFirstBatches(
  batches: AsyncIterable<unknown[]>,
  sleep: (ms: number) => Promise<unknown>,
): AsyncGenerator<unknown[]> {
  const iterator = batches[Symbol.asyncIterator]();
  const late = sleep(FIRST_MS).then(() => undefined);
  const held: unknown[] = [];
  let next = iterator.next();
  let isDone = false;
  try {
    for (;;) {
      const step = await (held.length === 0 ? next : Promise.race([next.catch(() => undefined), late]));
      if (step === undefined || step.done || held.length >= LARGEST) break;
      held.push(...step.value);
      next = iterator.next();
    }
    if (held.length > 0) yield held;
    for (let step = await next; !step.done; step = await iterator.next()) yield step.value;
    isDone = true;
  } finally {
    if (!isDone) await iterator.return?.();
  }
}
