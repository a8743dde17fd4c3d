import { builtin } from './builtin.ts';

/**
 * Reading a long list makes garbage only. V8 answers that with a young generation of 3 × 16 MB, which saves no time here and
 * is a third of the memory of the process. It looks at this factor whenever it would grow (a factor of 1: it stays as it is).
 * Each new isolate resets the factor, so a thread that is started later calls this again.
 */
export const keepHeapSmall = (): void => {
  builtin.v8.setFlagsFromString('--semi-space-growth-factor=1');
  restoreAtEnd();
};

let willRestore = false;
/** bin/load.js keeps compiled code at the end of a run, and V8 takes it back only under the flags that it had then. */
const restoreAtEnd = (): void => {
  if (willRestore) return;
  willRestore = true;
  process.prependOnceListener('exit', () => {
    for (const flag of ['--semi-space-growth-factor=2', '--no-expose-gc'])
      builtin.v8.setFlagsFromString(flag);
  });
};

/** Bytes of an answer between two collections of what is young, and how many of those make a collection of everything. */
const COLLECT_BYTES = 2 * 1024 * 1024;
const YOUNG_ONES = 16;

/** Without an argument everything is collected: Node 20 takes `{ type: 'major' }` for what is young alone. */
type Collect = (what?: { readonly type: 'minor' }) => void;
let collect: Collect | undefined;

const collector = (): Collect => {
  builtin.v8.setFlagsFromString('--expose-gc');
  collect ??= builtin.vm.runInNewContext('gc') as Collect;
  return collect;
};

/**
 * Told of the size of each piece of an answer. V8 does not count the pieces themselves as young memory, and short texts of JSON
 * stand in a table that only a whole collection clears, for which V8 sees no reason in a small heap: a million names were 50 MB.
 * A young collection takes less than 1 ms, a whole one 10 to 20 ms.
 */
export const heapKeeper = (): ((bytes: number) => void) => {
  let left = COLLECT_BYTES;
  let count = 0;
  keepHeapSmall();
  return (bytes) => {
    left -= bytes;
    if (left > 0) return;
    left = COLLECT_BYTES;
    count += 1;
    if (count % YOUNG_ONES === 0) collector()();
    else collector()({ type: 'minor' });
  };
};
