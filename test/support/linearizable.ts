/**
 * Whether a history of one register is linearizable: each operation may be given one moment between its call and its return, so
 * that every read sees the write before it (Wing and Gong, with Lowe's memory of what was tried).
 */
export type RegisterCall = {
  readonly kind: 'write' | 'read';
  /** What was written, or what was read; undefined is the register before its first write. */
  readonly value: string | undefined;
  readonly called: number;
  /** Infinity: it is not known whether a write took effect, or when. Such a read says nothing and is left out by the caller. */
  readonly returned: number;
};

/** Undefined when it is linearizable; else the calls of which no order explains the answers. */
export const withoutOrder = (calls: readonly RegisterCall[]): readonly RegisterCall[] | undefined => {
  const all = calls.toSorted((a, b) => a.called - b.called);
  const tried = new Set<string>();
  const isDone = all.map(() => false);
  const search = (value: string | undefined): boolean => {
    const left = all.flatMap((call, i) => (isDone[i] ? [] : [{ call, i }]));
    // A write without an answer need not have taken effect.
    if (left.every(({ call }) => call.returned === Number.POSITIVE_INFINITY)) return true;
    const key = `${left.map(({ i }) => i).join(' ')}|${value}`;
    if (tried.has(key)) return false;
    tried.add(key);
    const firstReturn = Math.min(...left.map(({ call }) => call.returned));
    return left.some(({ call, i }) => {
      // Whoever was called after another had returned comes after it.
      if (call.called > firstReturn) return false;
      if (call.kind === 'read' && call.value !== value) return false;
      isDone[i] = true;
      const isOrdered = search(call.kind === 'write' ? call.value : value);
      isDone[i] = false;
      return isOrdered;
    });
  };
  return search(undefined) ? undefined : all;
};

/** Key → calls; the keys whose history is not linearizable, with that history. */
export const brokenRegisters = (
  history: ReadonlyMap<string, readonly RegisterCall[]>,
): readonly (readonly [string, readonly RegisterCall[]])[] =>
  [...history].flatMap(([key, calls]) => {
    const found = withoutOrder(calls);
    return found === undefined ? [] : [[key, found] as const];
  });
