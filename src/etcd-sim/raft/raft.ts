import {
  type Configuration,
  type Draft,
  type Entry,
  type HardState,
  type Message,
  Progress,
  RaftLog,
  type RaftOptions,
  type Ready,
  type Role,
} from './progress.ts';

type Read = { readonly id: number; readonly index: number; readonly round: number };
/** Reads that wait until a majority has confirmed that their leader still leads. */
class PendingReads {
  #waiting: Read[] = [];
  #ready: { readonly id: number; readonly index: number }[] = [];

  add(read: Read): void {
    this.#waiting.push(read);
  }
  drop(): void {
    this.#waiting = [];
  }
  /** Releases the reads whose round is confirmed, in order. */
  release(isConfirmed: (round: number) => boolean): void {
    for (let first = this.#waiting[0]; first && isConfirmed(first.round); first = this.#waiting[0]) {
      this.#waiting.shift();
      this.#ready.push({ id: first.id, index: first.index });
    }
  }
  take(): readonly { readonly id: number; readonly index: number }[] {
    const ready = this.#ready;
    this.#ready = [];
    return ready;
  }
}

/** The log messages of members about elections, in the wording of the real servers. */
const followText = (own: string, before: string | undefined, leader: string, term: number): string =>
  before === undefined
    ? `raft.node: ${own} elected leader ${leader} at term ${term}`
    : `raft.node: ${own} changed leader from ${before} to ${leader} at term ${term}`;
const campaignTexts = (own: string, term: number): string[] => [
  `${own} is starting a new election at term ${term - 1}`,
  `${own} became candidate at term ${term}`,
];
const leadTexts = (own: string, term: number): string[] => [
  `${own} became leader at term ${term}`,
  followText(own, undefined, own, term),
];

/** Who votes now, as one member sees it. */
export class Voters {
  readonly #own: string;
  #configuration: Configuration;
  constructor(own: string, configuration: Configuration) {
    this.#own = own;
    this.#configuration = configuration;
  }
  get configuration(): Configuration {
    return this.#configuration;
  }
  change(configuration: Configuration): void {
    this.#configuration = configuration;
  }
  get majority(): number {
    return Math.floor(this.#configuration.voters.length / 2) + 1;
  }
  /** 1 if this member is a voter. */
  get own(): number {
    return this.#configuration.voters.includes(this.#own) ? 1 : 0;
  }
  get others(): string[] {
    return this.#configuration.voters.filter((id) => id !== this.#own);
  }
}

/** A learner that has nine tenths of the log is promoted, as the real servers do. */
const IN_SYNC = 0.9;
/**
 * One member's part of the consensus: terms, votes, the log, committed entries. It uses neither a clock nor a
 * network: times are passed in as `now` (monotonic milliseconds), and the work to do is returned by `take`.
 */
export class Raft<D> {
  readonly #o: RaftOptions;
  readonly #voters: Voters;
  readonly #progress = new Progress();
  readonly #reads = new PendingReads();
  readonly log: RaftLog<D>;
  role: Role = 'follower';
  term: number;
  leader: string | undefined;
  #lastLeader: string | undefined;
  commit: number;
  #vote: string | undefined;
  #votes = new Set<string>();
  #electionAt: number;
  #heardLeaderAt = Number.NEGATIVE_INFINITY;
  #beatAt = 0;
  #round = 0;
  #handingTo: { readonly id: string; readonly until: number } | undefined;
  #hardChanged = false;
  #handed = 0;
  #outbox: Message<D>[] = [];
  #said: string[] = [];

  constructor(
    options: RaftOptions,
    stored: { hard?: HardState; entries?: readonly Entry<D>[]; commit?: number },
    now: number,
  ) {
    this.#o = options;
    this.#voters = new Voters(options.id, options.configuration);
    this.log = new RaftLog(stored.entries);
    this.term = stored.hard?.term ?? 0;
    this.#vote = stored.hard?.vote;
    this.commit = Math.min(stored.commit ?? 0, this.log.lastIndex);
    // A starting member calls an election early: with an active leader the others reject it immediately, and
    // without one the election does not wait a whole second.
    this.#electionAt = now + options.heartbeatMs * (0.5 + 1.5 * options.jitter());
  }
  /** The members from now on. A leader may gain a majority. */
  reconfigure(configuration: Configuration, now: number): void {
    this.#voters.change(configuration);
    if (this.role !== 'leader') return;
    this.#progress.keep(this.#o.id, configuration, this.log.lastIndex + 1, now);
    this.#advance();
    this.#releaseReads();
  }
  /** True if a learner has nearly all entries of this leader; undefined if the member does not exist. */
  isInSync(id: string): boolean | undefined {
    return this.#progress.has(id) ? this.#progress.matchOf(id) >= IN_SYNC * this.log.lastIndex : undefined;
  }
  /** True when this member leads and has heard from a majority lately. */
  get isLeading(): boolean {
    return this.role === 'leader';
  }

  tick(now: number): void {
    if (this.role === 'leader') {
      this.#leaderTick(now);
      return;
    }
    if (this.leader !== undefined && now - this.#heardLeaderAt > this.#o.electionMs) {
      this.#said.push(`raft.node: ${this.#o.id} lost leader ${this.leader} at term ${this.term}`);
      this.leader = undefined;
      this.#lastLeader = undefined;
    }
    // A learner, and a member that has not seen yet that it is one, leaves elections to the others.
    if (this.#voters.own === 1 && now >= this.#electionAt) this.#campaign(now, true, false);
  }
  #leaderTick(now: number): void {
    if (this.#handingTo !== undefined && now > this.#handingTo.until) this.#handingTo = undefined;
    if (this.#progress.heardSince(now - this.#o.electionMs) + this.#voters.own < this.#voters.majority) {
      this.#said.push(`${this.#o.id} stepped down to follower since quorum is not active`);
      this.#follow(this.term, undefined, now);
      return;
    }
    if (now < this.#beatAt) return;
    this.#beatAt = now + this.#o.heartbeatMs;
    this.#progress.beat();
  }

  #setTerm(term: number, vote: string | undefined): void {
    if (term !== this.term || vote !== this.#vote) this.#hardChanged = true;
    this.term = term;
    this.#vote = vote;
  }
  #follow(term: number, leader: string | undefined, now: number): void {
    const lastLeader = this.#lastLeader;
    if (this.role !== 'follower') this.#said.push(`${this.#o.id} became follower at term ${term}`);
    this.role = 'follower';
    this.#handingTo = undefined;
    if (term !== this.term) this.#setTerm(term, undefined);
    if (leader !== undefined && leader !== lastLeader)
      this.#said.push(followText(this.#o.id, lastLeader, leader, term));
    this.leader = leader;
    this.#lastLeader = leader ?? lastLeader;
    this.#electionAt = now + this.#o.electionMs * (1 + this.#o.jitter());
  }
  #campaign(now: number, isPre: boolean, isForced: boolean): void {
    this.role = isPre ? 'pre-candidate' : 'candidate';
    this.leader = undefined;
    if (!isPre) {
      this.#setTerm(this.term + 1, this.#o.id);
      this.#said.push(...campaignTexts(this.#o.id, this.term));
    }
    this.#votes = new Set([this.#o.id]);
    this.#electionAt = now + this.#o.electionMs * (0.3 + 0.7 * this.#o.jitter());
    const { lastIndex, lastTerm } = this.log;
    const asked = { type: 'vote', lastIndex, lastTerm, isPre, isForced } as const;
    for (const to of this.#voters.others) this.#send(to, asked, isPre ? this.term + 1 : this.term);
    this.#countVotes(now);
  }
  #countVotes(now: number): void {
    if (this.#votes.size < this.#voters.majority) return;
    if (this.role === 'pre-candidate') this.#campaign(now, false, false);
    else if (this.role === 'candidate') this.#lead(now);
  }
  #lead(now: number): void {
    this.role = 'leader';
    this.leader = this.#o.id;
    this.#lastLeader = this.#o.id;
    this.#said.push(...leadTexts(this.#o.id, this.term));
    this.#reads.drop();
    this.#progress.reset(this.#o.id, this.#voters.configuration, this.log.lastIndex + 1, now);
    // An entry of the leader's own term commits the entries of earlier leaders.
    this.log.push(this.term, undefined);
    this.#beatAt = now + this.#o.heartbeatMs;
    this.#advance();
  }
  #send(to: string, draft: Draft<D>, term = this.term): void {
    this.#outbox.push({ ...draft, from: this.#o.id, to, term } as Message<D>);
  }

  /** Index of the new entry; undefined when this member does not lead or hands over. */
  propose(data: D): number | undefined {
    if (this.role !== 'leader' || this.#handingTo !== undefined) return undefined;
    const { index } = this.log.push(this.term, data);
    this.#progress.wakeAll();
    this.#advance();
    return index;
  }
  /** Asks for a read that sees every acknowledged write; `id` comes back in `reads`. False when this member cannot promise it. */
  read(id: number): boolean {
    if (this.role !== 'leader' || this.log.term(this.commit) !== this.term) return false;
    this.#round += 1;
    this.#reads.add({ id, index: this.commit, round: this.#round });
    this.#progress.wakeAll();
    this.#releaseReads();
    return true;
  }
  #releaseReads(): void {
    this.#reads.release(
      (round) => this.#progress.ackedSince(round) + this.#voters.own >= this.#voters.majority,
    );
  }
  #advance(): void {
    const own = this.#voters.own === 1 ? [this.log.lastIndex] : [];
    const reached = this.#progress.reachedBy(this.#voters.majority, own);
    // Only entries of the own term are counted (the others follow).
    if (reached <= this.commit || this.log.term(reached) !== this.term) return;
    this.commit = reached;
    this.#progress.wakeAll();
  }
  /**
   * The member with the longest log of those heard within the wait of a follower for a leader; undefined if
   * there is none.
   */
  successor(now: number): string | undefined {
    return this.#progress.longest(now - this.#o.electionMs);
  }
  /** Starts to hand the leadership over; the target must be another member that votes. */
  handOver(to: string, now: number): boolean {
    if (this.role !== 'leader' || !this.#progress.votes(to)) return false;
    this.#handingTo = { id: to, until: now + this.#o.electionMs };
    this.#said.push(`${this.#o.id} [term ${this.term}] starts to transfer leadership to ${to}`);
    this.#progress.wake(to);
    this.#finishHandOver(to);
    return true;
  }
  #finishHandOver(id: string): void {
    if (this.#handingTo?.id === id && this.#progress.matchOf(id) === this.log.lastIndex)
      this.#send(id, { type: 'take-over' });
  }

  readonly noteSilence = (id: string): void => this.#progress.noteSilence(id);
  /** The next append for a peer that has none in flight; undefined if there is no message to send. */
  appendFor(id: string): Message<D> | undefined {
    const next = this.role === 'leader' ? this.#progress.takeNext(id) : undefined;
    if (next === undefined) return undefined;
    const prevIndex = next - 1;
    const entries = this.#progress.isSilent(id) ? [] : this.log.batch(prevIndex);
    return {
      type: 'append',
      from: this.#o.id,
      to: id,
      term: this.term,
      prevIndex,
      prevTerm: this.log.term(prevIndex) ?? 0,
      entries,
      commit: this.commit,
      round: this.#round,
    };
  }

  receive(message: Message<D>, now: number): void {
    if (message.type === 'vote') this.#onVote(message, now);
    else if (message.term > this.term && !(message.type === 'voted' && message.isPre && message.granted)) {
      this.#follow(message.term, message.type === 'append' ? message.from : undefined, now);
      this.#dispatch(message, now);
    } else if (message.term >= this.term || message.type === 'append' || message.type === 'voted')
      this.#dispatch(message, now);
  }
  #dispatch(message: Message<D>, now: number): void {
    if (message.type === 'append') this.#onAppend(message, now);
    else if (message.type === 'appended') this.#onAppended(message, now);
    else if (message.type === 'voted') this.#onVoted(message, now);
    else if (message.type === 'take-over' && this.role !== 'leader' && this.#voters.own === 1)
      this.#campaign(now, false, true);
  }
  #onVote(message: Message<D> & { type: 'vote' }, now: number): void {
    const hasLeader =
      this.role === 'leader' || (this.leader !== undefined && now - this.#heardLeaderAt < this.#o.electionMs);
    // A member that came back must not unseat a leader that works.
    if (hasLeader && !message.isForced && message.from !== this.leader) {
      this.#send(message.from, { type: 'voted', granted: false, isPre: message.isPre });
      return;
    }
    if (!message.isPre && message.term > this.term) this.#follow(message.term, undefined, now);
    const isFree = message.isPre
      ? message.term > this.term
      : message.term === this.term && (this.#vote ?? message.from) === message.from;
    const granted = isFree && this.log.isCoveredBy(message.lastIndex, message.lastTerm);
    if (granted && !message.isPre) {
      this.#setTerm(this.term, message.from);
      this.#electionAt = now + this.#o.electionMs * (1 + this.#o.jitter());
    }
    const term = granted ? message.term : this.term;
    this.#send(message.from, { type: 'voted', granted, isPre: message.isPre }, term);
  }
  #onVoted(message: Message<D> & { type: 'voted' }, now: number): void {
    const counts = this.role === (message.isPre ? 'pre-candidate' : 'candidate') && message.granted;
    if (!counts || message.term !== (message.isPre ? this.term + 1 : this.term)) return;
    this.#votes.add(message.from);
    this.#countVotes(now);
  }
  #onAppend(message: Message<D> & { type: 'append' }, now: number): void {
    const isOld = message.term < this.term;
    if (!isOld) {
      this.#follow(message.term, message.from, now);
      this.#heardLeaderAt = now;
    }
    if (isOld || this.log.term(message.prevIndex) !== message.prevTerm) {
      const match = isOld ? 0 : Math.min(this.log.lastIndex, message.prevIndex - 1);
      this.#send(message.from, { type: 'appended', ok: false, match, round: message.round });
      return;
    }
    this.log.accept(message.entries);
    const match = message.prevIndex + message.entries.length;
    this.commit = Math.max(this.commit, Math.min(message.commit, match));
    this.#send(message.from, { type: 'appended', ok: true, match, round: message.round });
  }
  #onAppended(message: Message<D> & { type: 'appended' }, now: number): void {
    if (this.role !== 'leader' || !this.#progress.has(message.from)) return;
    this.#progress.noteAppend(message.from, message, now, this.log.lastIndex, this.#round);
    this.#advance();
    this.#releaseReads();
    this.#finishHandOver(message.from);
  }

  /** Everything to do since the last call. */
  take(): Ready<D> {
    const { cutAfter, entries } = this.log.takeUnstored();
    const committed = this.log.slice(this.#handed, this.commit);
    this.#handed = this.commit;
    const ready = {
      hard: this.#hardChanged ? { term: this.term, vote: this.#vote } : undefined,
      cutAfter,
      entries,
      messages: this.#outbox,
      committed,
      reads: this.#reads.take(),
      said: this.#said,
    };
    this.#hardChanged = false;
    this.#outbox = [];
    this.#said = [];
    return ready;
  }
}
