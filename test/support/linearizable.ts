/**
 * Whether a history of one register is linearizable: each operation may be given one moment between its call and its return, so
 * that every read sees the write before it.
 */
export type RegisterCall = {
  readonly kind: 'write' | 'read';
  /** What was written, or what was read; undefined is the register before its first write. */
  readonly value: string | undefined;
  readonly called: number;
  /** Infinity: it is not known whether a write took effect, or when. Such a read says nothing and is left out by the caller. */
  readonly returned: number;
};

/** The time in which the register must hold one value. If no call with it returned before another began, one moment is enough. */
type Zone = { readonly firstReturn: number; readonly lastCall: number };
const lasts = ({ firstReturn, lastCall }: Zone): boolean => firstReturn < lastCall;
/** One value must be there while the other is. Two values that each need only one moment never contradict. */
const contradict = (one: Zone, other: Zone): boolean =>
  (lasts(one) || lasts(other)) && one.firstReturn < other.lastCall && other.firstReturn < one.lastCall;
/** The register before its first write holds undefined. */
const before: RegisterCall = {
  ...{ kind: 'write', value: undefined },
  ...{ called: Number.NEGATIVE_INFINITY, returned: Number.NEGATIVE_INFINITY },
};
/** Undefined if a read contradicts its write. */
const zonesOf = (calls: readonly RegisterCall[]): Zone[] | undefined => {
  const byValue = new Map<string | undefined, RegisterCall[]>();
  for (const call of [before, ...calls]) byValue.set(call.value, [...(byValue.get(call.value) ?? []), call]);
  const zones: Zone[] = [];
  for (const ofValue of byValue.values()) {
    const write = ofValue.find(({ kind }) => kind === 'write');
    const reads = ofValue.filter(({ kind }) => kind === 'read');
    if (write === undefined || reads.some(({ returned }) => returned < write.called)) return undefined;
    // Nobody saw a write without an answer: it need not have taken effect.
    if (reads.length === 0 && write.returned === Number.POSITIVE_INFINITY) continue;
    zones.push({
      firstReturn: Math.min(...ofValue.map(({ returned }) => returned)),
      lastCall: Math.max(...ofValue.map(({ called }) => called)),
    });
  }
  return zones;
};
/**
 * Undefined when it is linearizable; else the calls of which no order explains the answers. Every write has its own value, so
 * that pairs of values decide (Gibbons and Korach): a search for an order takes exponential time and memory as soon as some
 * writes have no answer.
 */
export const withoutOrder = (calls: readonly RegisterCall[]): readonly RegisterCall[] | undefined => {
  const writes = calls.filter(({ kind }) => kind === 'write').map(({ value }) => value);
  if (new Set(writes).size < writes.length) throw new Error('two writes have the same value');
  const zones = zonesOf(calls);
  const isExplained = zones?.every((one, i) => zones.slice(i + 1).every((other) => !contradict(one, other)));
  return isExplained === true ? undefined : calls.toSorted((a, b) => a.called - b.called);
};

/** Key → calls; the keys whose history is not linearizable, with that history. */
export const brokenRegisters = (
  history: ReadonlyMap<string, readonly RegisterCall[]>,
): readonly (readonly [string, readonly RegisterCall[]])[] =>
  [...history].flatMap(([key, calls]) => {
    const found = withoutOrder(calls);
    return found === undefined ? [] : [[key, found] as const];
  });
