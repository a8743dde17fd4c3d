import type { Configuration } from './message.ts';

type Peer = {
  /** Learners get the log, and count for nothing. */
  votes: boolean;
  next: number;
  match: number;
  ackedRound: number;
  heardAt: number;
  wantsMessage: boolean;
  /** Its last message got no answer: it gets a heartbeat, and the log once it answers, as the probes of raft do. */
  isSilent: boolean;
};
type Appended = { readonly ok: boolean; readonly match: number; readonly round: number };

/** What a leader knows of the other members: how far their logs go, and when each was heard. */
export class Progress {
  readonly #peers = new Map<string, Peer>();

  /** A new leader knows nothing yet: it tries its own last entry first. */
  reset(own: string, configuration: Configuration, next: number, now: number): void {
    this.#peers.clear();
    this.keep(own, configuration, next, now);
  }
  /** Members that left are forgotten, new ones begin at `next`, a promoted one keeps what it has. */
  keep(own: string, { voters, learners }: Configuration, next: number, now: number): void {
    const others = [...voters, ...learners].filter((id) => id !== own);
    for (const id of this.#peers.keys()) if (!others.includes(id)) this.#peers.delete(id);
    for (const id of others) {
      const known = this.#peers.get(id);
      const fresh = { next, match: 0, ackedRound: 0, heardAt: now, wantsMessage: true, isSilent: false };
      this.#peers.set(id, { ...(known ?? fresh), votes: voters.includes(id) });
    }
  }
  get #voters(): Peer[] {
    return [...this.#peers.values()].filter(({ votes }) => votes);
  }
  votes(id: string): boolean {
    return this.#peers.get(id)?.votes === true;
  }
  has(id: string): boolean {
    return this.#peers.has(id);
  }
  wake(id: string): void {
    const peer = this.#peers.get(id);
    if (peer !== undefined) peer.wantsMessage = true;
  }
  /** There is something to say; who is silent waits for the next heartbeat. */
  wakeAll(): void {
    for (const peer of this.#peers.values()) if (!peer.isSilent) peer.wantsMessage = true;
  }
  beat(): void {
    for (const peer of this.#peers.values()) peer.wantsMessage = true;
  }
  unanswered(id: string): void {
    const peer = this.#peers.get(id);
    if (peer !== undefined) peer.isSilent = true;
  }
  isSilent(id: string): boolean {
    return this.#peers.get(id)?.isSilent === true;
  }
  /** The index of the next entry for a member that is to get a message, which is then under way. */
  takeNext(id: string): number | undefined {
    const peer = this.#peers.get(id);
    if (peer === undefined || !peer.wantsMessage) return undefined;
    peer.wantsMessage = false;
    return peer.next;
  }
  /** The highest index that so many voters have; `own` is where the leader's log ends, if it votes. */
  reachedBy(members: number, own: readonly number[]): number {
    const matches = [...own, ...this.#voters.map(({ match }) => match)];
    return matches.sort((a, b) => b - a)[members - 1] ?? 0;
  }
  matchOf(id: string): number {
    return this.#peers.get(id)?.match ?? 0;
  }
  /** How many voters were heard since then. */
  heardSince(time: number): number {
    return this.#voters.filter(({ heardAt }) => heardAt >= time).length;
  }
  /** How many voters have acknowledged that round of messages. */
  ackedSince(round: number): number {
    return this.#voters.filter(({ ackedRound }) => ackedRound >= round).length;
  }
  /** The voter with the longest log of those heard since then; undefined when there is none. */
  longest(time: number): string | undefined {
    const live = [...this.#peers].filter(([, { heardAt, votes }]) => votes && heardAt >= time);
    return live.sort(([, a], [, b]) => b.match - a.match)[0]?.[0];
  }
  /** A member's response to an append: how far it is, and whether it needs another message. */
  appended(id: string, { ok, match, round }: Appended, now: number, last: number, newest: number): void {
    const peer = this.#peers.get(id);
    if (peer === undefined) return;
    peer.heardAt = now;
    peer.isSilent = false;
    peer.ackedRound = Math.max(peer.ackedRound, round);
    if (ok) {
      peer.match = Math.max(peer.match, match);
      peer.next = peer.match + 1;
    } else peer.next = Math.max(1, Math.min(peer.next - 1, match + 1));
    if (peer.next <= last || !ok || peer.ackedRound < newest) peer.wantsMessage = true;
  }
}
