import type { JournalEntry } from '../../engine/types.ts';

const stepOf = (step: string): { readonly member: string; readonly kind: string } => {
  const at = step.lastIndexOf('.');
  return { member: step.slice(0, at), kind: step.slice(at + 1) };
};

/** How long each member took from its first step to the end of its gate. One that was interrupted in between says nothing. Pure. */
export const memberDurations = (entries: readonly JournalEntry[]): number[] => {
  const begun = new Map<string, number>();
  const found: number[] = [];
  const note = (entry: Extract<JournalEntry, { kind: 'begin' | 'end' }>): void => {
    const { member, kind } = stepOf(entry.step);
    if (member === '' || kind === 'settle') return;
    const at = Date.parse(entry.at);
    if (entry.kind === 'begin' && !begun.has(member)) begun.set(member, at);
    const since = begun.get(member);
    if (entry.kind !== 'end' || kind !== 'gate' || since === undefined) return;
    found.push(at - since);
    begun.delete(member);
  };
  for (const entry of entries) {
    if (entry.kind === 'closed' || entry.kind === 'resumed') begun.clear();
    if (entry.kind === 'begin' || entry.kind === 'end') note(entry);
  }
  return found;
};

const margin = 1.25;
/** Time the next member needs: the longest that one took, in this run or else in those before, and a quarter more; what the limits allow when nothing is known. Pure. */
export const neededMs = (
  thisRun: readonly number[],
  earlier: readonly number[],
  limitsMs: number,
): { readonly ms: number; readonly isLearned: boolean } => {
  const known = thisRun.length > 0 ? thisRun : earlier;
  return known.length === 0
    ? { ms: limitsMs, isLearned: false }
    : { ms: Math.ceil(Math.max(...known) * margin), isLearned: true };
};
