/**
 * A check whether a history of one register is linearizable: each operation can be assigned one moment between its call and
 * its return, so that every read returns the value of the preceding write.
 */
export type RegisterCall = {
  readonly kind: 'write' | 'read';
  /** The value written or read. Undefined is the register before its first write. */
  readonly value: string | undefined;
  readonly called: number;
  /**
   * Infinity means that it is unknown whether or when a write took effect. A read with this value provides no information, so
   * the caller omits it.
   */
  readonly returned: number;
};

/**
 * The time in which the register must hold one value. If no call with the value returned before another call started, one
 * moment is enough.
 */
type Zone = { readonly firstReturn: number; readonly lastCall: number };
const lasts = ({ firstReturn, lastCall }: Zone): boolean => firstReturn < lastCall;
/** Returns whether both values must be present at the same time. Two values that each need only one moment never contradict. */
const contradict = (one: Zone, other: Zone): boolean =>
  (lasts(one) || lasts(other)) && one.firstReturn < other.lastCall && other.firstReturn < one.lastCall;
/** The register holds undefined before its first write. */
const before: RegisterCall = {
  ...{ kind: 'write', value: undefined },
  ...{ called: Number.NEGATIVE_INFINITY, returned: Number.NEGATIVE_INFINITY },
};
/** Returns undefined if a read contradicts its write. */
const zonesOf = (calls: readonly RegisterCall[]): Zone[] | undefined => {
  const byValue = new Map<string | undefined, RegisterCall[]>();
  for (const call of [before, ...calls]) byValue.set(call.value, [...(byValue.get(call.value) ?? []), call]);
  const zones: Zone[] = [];
  for (const ofValue of byValue.values()) {
    const write = ofValue.find(({ kind }) => kind === 'write');
    const reads = ofValue.filter(({ kind }) => kind === 'read');
    if (write === undefined || reads.some(({ returned }) => returned < write.called)) return undefined;
    // No read returned the value of this write, and the write has no response, so the write need not have taken effect.
    if (reads.length === 0 && write.returned === Number.POSITIVE_INFINITY) continue;
    zones.push({
      firstReturn: Math.min(...ofValue.map(({ returned }) => returned)),
      lastCall: Math.max(...ofValue.map(({ called }) => called)),
    });
  }
  return zones;
};
/**
 * Returns undefined for a linearizable history; otherwise the calls whose responses no order explains. Every write has a unique
 * value, so a check of pairs of values is sufficient (Gibbons and Korach). A search for an order takes exponential time and
 * memory as soon as some writes have no response.
 */
export const withoutOrder = (calls: readonly RegisterCall[]): readonly RegisterCall[] | undefined => {
  const writes = calls.filter(({ kind }) => kind === 'write').map(({ value }) => value);
  if (new Set(writes).size < writes.length) throw new Error('two writes have the same value');
  const zones = zonesOf(calls);
  const isExplained = zones?.every((one, i) => zones.slice(i + 1).every((other) => !contradict(one, other)));
  return isExplained === true ? undefined : calls.toSorted((a, b) => a.called - b.called);
};

/** Maps keys to calls and returns the keys whose history is not linearizable, with that history. */
export const brokenRegisters = (
  history: ReadonlyMap<string, readonly RegisterCall[]>,
): readonly (readonly [string, readonly RegisterCall[]])[] =>
  [...history].flatMap(([key, calls]) => {
    const found = withoutOrder(calls);
    return found === undefined ? [] : [[key, found] as const];
  });
