type Peer = {
  next: number;
  match: number;
  ackedRound: number;
  heardAt: number;
  wantsMessage: boolean;
};
type Appended = { readonly ok: boolean; readonly match: number; readonly round: number };

/** What a leader knows of the other members: how far their logs go, and when each was heard. */
export class Progress {
  readonly #peers = new Map<string, Peer>();

  /** A new leader knows nothing yet: it tries its own last entry first. */
  reset(ids: readonly string[], next: number, now: number): void {
    for (const id of ids)
      this.#peers.set(id, { next, match: 0, ackedRound: 0, heardAt: now, wantsMessage: true });
  }
  has(id: string): boolean {
    return this.#peers.has(id);
  }
  wake(id: string): void {
    const peer = this.#peers.get(id);
    if (peer !== undefined) peer.wantsMessage = true;
  }
  wakeAll(): void {
    for (const peer of this.#peers.values()) peer.wantsMessage = true;
  }
  /** The index of the next entry for a member that is to get a message, which is then under way. */
  takeNext(id: string): number | undefined {
    const peer = this.#peers.get(id);
    if (peer === undefined || !peer.wantsMessage) return undefined;
    peer.wantsMessage = false;
    return peer.next;
  }
  /** The highest index that so many members have; the leader's own log ends at `last`. */
  reachedBy(members: number, last: number): number {
    const matches = [last, ...[...this.#peers.values()].map(({ match }) => match)];
    return matches.sort((a, b) => b - a)[members - 1] ?? 0;
  }
  matchOf(id: string): number {
    return this.#peers.get(id)?.match ?? 0;
  }
  /** How many members were heard since then. */
  heardSince(time: number): number {
    return [...this.#peers.values()].filter(({ heardAt }) => heardAt >= time).length;
  }
  /** How many members have acknowledged that round of messages. */
  ackedSince(round: number): number {
    return [...this.#peers.values()].filter(({ ackedRound }) => ackedRound >= round).length;
  }
  /** The member with the longest log of those heard since then; undefined when there is none. */
  longest(time: number): string | undefined {
    const live = [...this.#peers].filter(([, { heardAt }]) => heardAt >= time);
    return live.sort(([, a], [, b]) => b.match - a.match)[0]?.[0];
  }
  /** A member's response to an append: how far it is, and whether it needs another message. */
  appended(id: string, { ok, match, round }: Appended, now: number, last: number, newest: number): void {
    const peer = this.#peers.get(id);
    if (peer === undefined) return;
    peer.heardAt = now;
    peer.ackedRound = Math.max(peer.ackedRound, round);
    if (ok) {
      peer.match = Math.max(peer.match, match);
      peer.next = peer.match + 1;
    } else peer.next = Math.max(1, Math.min(peer.next - 1, match + 1));
    if (peer.next <= last || !ok || peer.ackedRound < newest) peer.wantsMessage = true;
  }
}
