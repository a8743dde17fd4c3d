/** How many reads are under way at a time. */
const parallelReads = 8;

/** `use` for every item, some at a time; the results in the order of the items. The first error ends it. */
export const inParallel = async <T, R>(
  items: readonly T[],
  use: (item: T, i: number) => Promise<R>,
  atMost = parallelReads,
): Promise<R[]> => {
  const results: R[] = new Array(items.length);
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < items.length) {
      const i = next;
      next += 1;
      const item = items[i];
      if (item !== undefined) results[i] = await use(item, i);
    }
  };
  await Promise.all(Array.from({ length: Math.min(atMost, items.length) }, worker));
  return results;
};
