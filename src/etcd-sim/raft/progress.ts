type Peer = {
  /** Learners receive the log, but have no vote. */
  votes: boolean;
  next: number;
  match: number;
  ackedRound: number;
  heardAt: number;
  wantsMessage: boolean;
  /**
   * A peer that did not respond to its last message gets heartbeats, and the log after it responds, like the
   * probes of raft.
   */
  isSilent: boolean;
};
type Appended = { readonly ok: boolean; readonly match: number; readonly round: number };
/** What a leader knows of the other members: how far their logs go, and when each was heard. */
export class Progress {
  readonly #peers = new Map<string, Peer>();

  /** A new leader has no information about its peers: it tries its own last entry first. */
  reset(own: string, configuration: Configuration, next: number, now: number): void {
    this.#peers.clear();
    this.keep(own, configuration, next, now);
  }
  /** Removed members are forgotten, new ones start at `next`, and a promoted one keeps its progress. */
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
  /** True if there are messages to send. An unresponsive peer waits for the next heartbeat. */
  wakeAll(): void {
    for (const peer of this.#peers.values()) if (!peer.isSilent) peer.wantsMessage = true;
  }
  beat(): void {
    for (const peer of this.#peers.values()) peer.wantsMessage = true;
  }
  noteSilence(id: string): void {
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
  /** The voter with the longest log among those heard since then; undefined if none exists. */
  longest(time: number): string | undefined {
    const live = [...this.#peers].filter(([, { heardAt, votes }]) => votes && heardAt >= time);
    return live.sort(([, a], [, b]) => b.match - a.match)[0]?.[0];
  }
  /** A member's response to an append: how far it is, and whether it needs another message. */
  noteAppend(id: string, { ok, match, round }: Appended, now: number, last: number, newest: number): void {
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

const MAX_BATCH = 500;
const MAX_BATCH_CHARACTERS = 4 << 20;
/** The replicated log in memory, from index 1, with what was not handed to the disk yet. It is kept whole: this is a rehearsal. */
export class RaftLog<D> {
  readonly #entries: Entry<D>[];
  #stored: number;
  #cutAfter: number | undefined;

  constructor(entries: readonly Entry<D>[] = []) {
    this.#entries = [...entries];
    this.#stored = entries.length;
  }
  get lastIndex(): number {
    return this.#entries.length;
  }
  get lastTerm(): number {
    return this.term(this.lastIndex) ?? 0;
  }
  /** True when a log that ends there has everything that this one has committed (Raft 5.4.1). */
  isCoveredBy(lastIndex: number, lastTerm: number): boolean {
    return lastTerm > this.lastTerm || (lastTerm === this.lastTerm && lastIndex >= this.lastIndex);
  }
  /** Term of the entry; 0 before the first, undefined past the last. */
  term(index: number): number | undefined {
    return index === 0 ? 0 : this.#entries[index - 1]?.term;
  }
  slice(after: number, upTo: number): Entry<D>[] {
    return this.#entries.slice(after, upTo);
  }
  /** At most one message's worth of entries. */
  batch(after: number): Entry<D>[] {
    const found: Entry<D>[] = [];
    let size = 0;
    for (
      let i = after;
      i < this.#entries.length && found.length < MAX_BATCH && size < MAX_BATCH_CHARACTERS;
      i += 1
    ) {
      const entry = this.#entries[i] as Entry<D>;
      found.push(entry);
      size += sizeOf(entry);
    }
    return found;
  }
  push(term: number, data: D | undefined): Entry<D> {
    const entry: Entry<D> = { term, index: this.#entries.length + 1, data };
    this.#entries.push(entry);
    return entry;
  }
  /** Accepts a leader's entries: conflicting entries are removed, existing ones stay. */
  accept(entries: readonly Entry<D>[]): void {
    for (const entry of entries) {
      const known = this.term(entry.index);
      if (known === entry.term) continue;
      if (known !== undefined) this.#cut(entry.index - 1);
      this.#entries.push(entry);
    }
  }
  #cut(after: number): void {
    this.#entries.length = after;
    if (after < this.#stored) {
      this.#stored = after;
      this.#cutAfter = after;
    }
  }
  /** What the disk must get next. */
  takeUnstored(): { cutAfter?: number; entries: Entry<D>[] } {
    const found = { cutAfter: this.#cutAfter, entries: this.#entries.slice(this.#stored) };
    this.#stored = this.#entries.length;
    this.#cutAfter = undefined;
    return found;
  }
}
/** Roughly the characters of an entry: values are the only part that grows. */
const sizeOf = (entry: Entry<unknown>): number => {
  const value = (entry.data as { command?: { value?: unknown } } | undefined)?.command?.value;
  return 100 + (typeof value === 'string' ? value.length : 0);
};

/** One line of the replicated log. `data` is undefined for the empty entry a new leader writes. */
export type Entry<D> = { readonly term: number; readonly index: number; readonly data?: D };
type Envelope = { readonly from: string; readonly to: string; readonly term: number };
export type Message<D> = Envelope &
  (
    | {
        readonly type: 'vote';
        readonly lastIndex: number;
        readonly lastTerm: number;
        readonly isPre: boolean;
        readonly isForced: boolean;
      }
    | { readonly type: 'voted'; readonly granted: boolean; readonly isPre: boolean }
    | {
        readonly type: 'append';
        readonly prevIndex: number;
        readonly prevTerm: number;
        readonly entries: readonly Entry<D>[];
        readonly commit: number;
        readonly round: number;
      }
    | { readonly type: 'appended'; readonly ok: boolean; readonly match: number; readonly round: number }
    | { readonly type: 'take-over' }
  );
/** A message before the sender's name and term are put on it. */
export type Draft<D> =
  Message<D> extends infer M ? (M extends Envelope ? Omit<M, keyof Envelope> : never) : never;
/**
 * The voters and the learners. The configuration changes by one member at a time, when the entry for the
 * change is applied.
 */
export type Configuration = { readonly voters: readonly string[]; readonly learners: readonly string[] };
export type RaftOptions = {
  readonly id: string;
  readonly configuration: Configuration;
  readonly heartbeatMs: number;
  readonly electionMs: number;
  /** 0 to 1, other at each call: spreads the election times. */
  readonly jitter: () => number;
};
export type Role = 'follower' | 'pre-candidate' | 'candidate' | 'leader';
export type HardState = { readonly term: number; readonly vote?: string };
/**
 * The work for the shell, in this order: write `hard` and `entries`, then send, then apply, then respond to
 * `reads`.
 */
export type Ready<D> = {
  readonly hard?: HardState;
  /** The stored log is cut after this index before `entries` are written. */
  readonly cutAfter?: number;
  readonly entries: readonly Entry<D>[];
  readonly messages: readonly Message<D>[];
  readonly committed: readonly Entry<D>[];
  readonly reads: readonly { readonly id: number; readonly index: number }[];
  /** What happened, for the member's log, in the words of the real servers. */
  readonly said: readonly string[];
};
