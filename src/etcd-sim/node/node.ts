import { randomShare } from '../../core/shape.ts';
import type { Host } from '../../platform/host.ts';
import { linesOf, type Stored, type Wal } from '../disk/db-file.ts';
import type { Faults, MemberLog } from '../forms.ts';
import type { Entry, Message, Ready } from '../raft/progress.ts';
import { Raft } from '../raft/raft.ts';
import {
  type Applied,
  type Command,
  isMembershipChange,
  type MemberRecord,
  type Proposal,
} from '../state/command.ts';
import { Machine } from '../state/machine.ts';
import { PeerLink, PeerLinks } from './peer-link.ts';

/** Reads that wait until the state has come as far as they need. */
class Behind {
  readonly #waiting: { readonly index: number; readonly resolve: () => void }[] = [];
  until(index: number, applied: number): Promise<void> {
    if (applied >= index) return Promise.resolve();
    return new Promise((done) => this.#waiting.push({ index, resolve: done }));
  }
  release(applied: number): void {
    for (let i = this.#waiting.length - 1; i >= 0; i -= 1)
      if (applied >= (this.#waiting[i]?.index ?? 0)) this.#waiting.splice(i, 1)[0]?.resolve();
  }
}

/**
 * Only one membership change at a time: with two concurrent changes, each could find a separate majority.
 * Uncommitted changes of an earlier leader also count.
 */
class ChangeGate {
  #term = -1;
  #index = 0;
  isOpen(term: number, lastIndex: number, applied: number): boolean {
    if (this.#term !== term) [this.#term, this.#index] = [term, lastIndex];
    return applied >= this.#index;
  }
  take(index: number): void {
    this.#index = index;
  }
}

/**
 * spec/store#measured-answers: without a quorum, a write or a linearizable read fails after 7 s: 5 s and two
 * election timeouts.
 */
const requestLimitMs = (electionMs: number): number => 5_000 + 2 * electionMs;
/** A request that the agreement has not decided yet. */
export type Waiting = {
  readonly until: number;
  offeredAt: number;
  term: number;
  readonly offer: () => void;
  readonly fail: (error: Error) => void;
};

export type NodeOptions = {
  readonly id: string;
  readonly name: string;
  /** The initial members of the log. The log contains the later changes. */
  readonly first: readonly MemberRecord[];
  readonly heartbeatMs: number;
  readonly electionMs: number;
  readonly quotaBytes: number;
};
const REOFFER_MS = 25;
/** No quorum or no leader within the limit. */
export class TimedOut extends Error {}
/** One member: the agreement, its disk, the state it leads to, and the links to the other members. */
export class Node {
  readonly id: string;
  readonly machine: Machine;
  readonly raft: Raft<Proposal>;
  readonly links: PeerLinks;
  readonly #host: Host;
  readonly #o: NodeOptions;
  readonly #wal: Wal;
  readonly #log: MemberLog;
  readonly #waiting = new Map<string, Waiting & { readonly resolve: (result: Applied) => void }>();
  readonly #reads = new Map<number, Waiting & { readonly resolve: () => void }>();
  readonly #leaderReads = new Map<number, (index: number | undefined) => void>();
  readonly #behind = new Behind();
  readonly #boot: string;
  #counter = 0;
  readonly #gate = new ChangeGate();
  #isStopped = false;
  /** Called for each applied command, in order; not for those read back from the disk. */
  onApplied: (command: Command, result: Applied) => void = () => {};
  /** Called once when its log cannot be written. The member must not respond after that. */
  onFailure: (text: string) => void = () => {};
  /** Called when this member does not belong to the cluster any more. */
  onRemoved: () => void = () => {};

  constructor(
    host: Host,
    options: NodeOptions,
    parts: { wal: Wal; stored: Stored; log: MemberLog; faults: Faults },
  ) {
    this.#host = host;
    this.#o = options;
    this.id = options.id;
    this.#wal = parts.wal;
    this.#log = parts.log;
    this.machine = new Machine(options.quotaBytes, options.first);
    this.#boot = Buffer.from(host.random(6)).toString('hex');
    const raftOptions = {
      id: options.id,
      configuration: this.machine.membership.configuration,
      heartbeatMs: options.heartbeatMs,
      electionMs: options.electionMs,
      jitter: () => randomShare(host),
    };
    this.raft = new Raft(raftOptions, parts.stored, host.elapsed());
    const { faults, log } = parts;
    const common = { own: options.id, timeoutMs: options.electionMs, faults, log };
    const onRemoved = (): void => this.onRemoved();
    this.links = new PeerLinks(
      options.id,
      (id, url) => new PeerLink(host, { ...common, id, url, onRemoved }),
    );
    const { committed } = this.raft.take();
    for (const entry of committed) this.#apply(entry.index, entry.data);
    this.#follow();
  }
  /** The agreement and the links go by who belongs to the cluster now. */
  #follow(): void {
    this.links.keep(this.machine.membership.all);
    this.raft.reconfigure(this.machine.membership.configuration, this.#host.elapsed());
  }

  #apply(index: number, proposal: Proposal | undefined): Applied | undefined {
    if (proposal === undefined) {
      this.machine.applied = index;
      return undefined;
    }
    const result = this.machine.apply(index, proposal.id, proposal.command);
    const waiting = this.#waiting.get(proposal.id);
    this.#waiting.delete(proposal.id);
    waiting?.resolve(result);
    return result;
  }

  /** Executes the output of the raft core. Responses for `to` are returned, all other messages are sent. */
  #drain(to?: string): Message<Proposal>[] {
    const ready = this.raft.take();
    this.#store(ready);
    for (const text of ready.said) this.#log('I', 'raft', text);
    for (const message of ready.messages) if (message.to !== to) void this.#post(message);
    for (const entry of ready.committed) this.#commit(entry);
    if (ready.committed.length > 0) this.#behind.release(this.machine.applied);
    for (const { id, index } of ready.reads) {
      this.#leaderReads.get(id)?.(index);
      this.#leaderReads.delete(id);
    }
    if (ready.said.length > 0) {
      if (!this.raft.isLeading) this.#giveUpLeaderReads();
      this.#reoffer(true);
    }
    for (const link of this.links.values()) void this.#pump(link);
    return ready.messages.filter((message) => message.to === to);
  }
  #commit({ index, data }: Entry<Proposal>): void {
    const result = this.#apply(index, data);
    if (data === undefined || result === undefined) return;
    if (isMembershipChange(data.command)) this.#follow();
    this.onApplied(data.command, result);
  }
  #giveUpLeaderReads(): void {
    for (const answer of this.#leaderReads.values()) answer(undefined);
    this.#leaderReads.clear();
  }
  #store(ready: Ready<Proposal>): void {
    const lines = linesOf(ready, this.raft.commit);
    if (lines.length > 0 && this.#wal.isFull()) {
      this.#isStopped = true;
      this.onFailure('no space left on device');
      throw new Error('no space left on device');
    }
    this.#wal.write(lines);
  }
  async #pump(link: PeerLink): Promise<void> {
    if (link.isBusy || this.#isStopped) return;
    const message = this.raft.appendFor(link.id);
    if (message === undefined) return;
    link.isBusy = true;
    const answers = await link.raft([message]);
    link.isBusy = false;
    if (answers.length === 0) this.raft.noteSilence(link.id);
    this.#take(answers);
  }
  async #post(message: Message<Proposal>): Promise<void> {
    this.#take((await this.links.get(message.to)?.raft([message])) ?? []);
  }
  #take(messages: readonly Message<Proposal>[]): void {
    if (this.#isStopped) return;
    for (const message of messages) this.raft.receive(message, this.#host.elapsed());
    if (messages.length > 0) this.#drain();
  }
  /** Messages of one peer. The responses are returned immediately. */
  receive(from: string, messages: readonly Message<Proposal>[]): Message<Proposal>[] {
    for (const message of messages) this.raft.receive(message, this.#host.elapsed());
    return this.#drain(from);
  }
  /** Called every few milliseconds. */
  tick(): void {
    if (this.#isStopped) return;
    this.raft.tick(this.#host.elapsed());
    this.#drain();
    this.#reoffer(false);
  }
  get isStopped(): boolean {
    return this.#isStopped;
  }
  stop(): void {
    this.#isStopped = true;
    this.#wal.close();
  }

  #newWaiting(limitMs: number): Pick<Waiting, 'until' | 'offeredAt' | 'term'> {
    return { until: this.#host.elapsed() + limitMs, offeredAt: 0, term: -1 };
  }
  /** Writes through the agreement; rejects with TimedOut after the limit. The result is what every member computes. */
  propose(command: Command, limitMs = requestLimitMs(this.#o.electionMs)): Promise<Applied> {
    this.#counter += 1;
    const proposal = { id: `${this.#boot}-${this.#counter}`, command };
    return new Promise((done, fail) => {
      const waiting = {
        ...this.#newWaiting(limitMs),
        resolve: done,
        fail,
        offer: () => void this.#offer(proposal),
      };
      this.#waiting.set(proposal.id, waiting);
      waiting.offer();
    });
  }
  async #offer(proposal: Proposal): Promise<void> {
    const waiting = this.#waiting.get(proposal.id);
    if (waiting === undefined) return;
    waiting.offeredAt = this.#host.elapsed();
    const { leader } = this.raft;
    if (leader === this.id) {
      if (this.accept(proposal)) waiting.term = this.raft.term;
    } else if (leader !== undefined) {
      const { term } = this.raft;
      waiting.term = term;
      // The term is reset if the leader did not accept the message, so that it is offered again at the next
      // tick.
      if (!(await this.links.get(leader)?.propose(proposal))) waiting.term = -1;
    }
  }
  /** A proposal of this or another member; false when this member does not lead. The same one may come again: the id makes it harmless. */
  accept(proposal: Proposal): boolean {
    const isChange = isMembershipChange(proposal.command);
    const { term, log } = this.raft;
    if (isChange && !this.#gate.isOpen(term, log.lastIndex, this.machine.applied)) return false;
    const index = this.raft.propose(proposal);
    if (isChange && index !== undefined) this.#gate.take(index);
    if (index !== undefined) this.#drain();
    return index !== undefined;
  }
  #reoffer(isLeaderNew: boolean): void {
    const now = this.#host.elapsed();
    const each = (waiting: Waiting, forget: () => void): void => {
      if (now > waiting.until) {
        forget();
        waiting.fail(new TimedOut());
        return;
      }
      const isLost = waiting.term !== this.raft.term || now - waiting.offeredAt > this.#o.electionMs;
      if (isLost && (isLeaderNew || now - waiting.offeredAt >= REOFFER_MS)) waiting.offer();
    };
    for (const [id, waiting] of this.#waiting) each(waiting, () => this.#waiting.delete(id));
    for (const [id, waiting] of this.#reads) each(waiting, () => this.#reads.delete(id));
  }

  /** Resolves when a read of this member's state sees every write acknowledged before; rejects with TimedOut. */
  linearize(limitMs = requestLimitMs(this.#o.electionMs)): Promise<void> {
    this.#counter += 1;
    const id = this.#counter;
    return new Promise((done, fail) => {
      const waiting = {
        ...this.#newWaiting(limitMs),
        resolve: done,
        fail,
        offer: () => void this.#offerRead(id),
      };
      this.#reads.set(id, waiting);
      waiting.offer();
    });
  }
  async #offerRead(id: number): Promise<void> {
    const waiting = this.#reads.get(id);
    if (waiting === undefined) return;
    waiting.offeredAt = this.#host.elapsed();
    waiting.term = this.raft.term;
    const { leader } = this.raft;
    const index =
      leader === undefined
        ? undefined
        : leader === this.id
          ? await this.leaderRead()
          : await this.links.get(leader)?.readIndex();
    if (index === undefined) waiting.term = -1;
    else {
      await this.#behind.until(index, this.machine.applied);
      if (this.#reads.delete(id)) waiting.resolve();
    }
  }
  /** The index a linearizable read must have reached; undefined when this member does not lead. */
  leaderRead(): Promise<number | undefined> {
    this.#counter += 1;
    const id = this.#counter;
    return new Promise((resolve) => {
      this.#leaderReads.set(id, resolve);
      if (this.raft.read(id)) this.#drain();
      else {
        this.#leaderReads.delete(id);
        resolve(undefined);
      }
    });
  }
  /** Hands the leadership to the member with the longest log (or to `to`) and waits for it; false when that failed. */
  async handOver(to?: string): Promise<boolean> {
    const target = to ?? this.raft.successor(this.#host.elapsed());
    if (target === undefined || !this.raft.handOver(target, this.#host.elapsed())) return false;
    this.#drain();
    const until = this.#host.elapsed() + 2 * this.#o.electionMs;
    while (this.#host.elapsed() < until) {
      if (this.raft.leader === target) return true;
      await this.#host.sleep(5);
    }
    return false;
  }
}

/** The leader's view of lease expiry. A new leader restarts every lease, as the real servers do. */
export class Lessor {
  readonly #host: Host;
  readonly #node: Node;
  #ends = new Map<string, number>();
  #term = -1;
  readonly #revoking = new Set<string>();
  constructor(host: Host, node: Node) {
    this.#host = host;
    this.#node = node;
  }
  /** Ends what is over; does something only on the leader. */
  tick(): void {
    const { raft, machine } = this.#node;
    if (!raft.isLeading) return;
    const now = this.#host.elapsed();
    if (this.#term !== raft.term) {
      this.#term = raft.term;
      this.#ends = new Map();
    }
    for (const { id, ttl } of machine.leases.values()) {
      const ends = this.#ends.get(id);
      if (ends === undefined) this.#ends.set(id, now + ttl * 1000);
      else if (ends <= now && !this.#revoking.has(id)) this.#revoke(id);
    }
  }
  #revoke(id: string): void {
    this.#revoking.add(id);
    const forgetRevoke = (): void => {
      this.#revoking.delete(id);
      this.#ends.delete(id);
    };
    this.#node.propose({ op: 'revoke', id }).then(forgetRevoke, forgetRevoke);
  }
  /**
   * Remaining whole seconds, as reported by the leader; undefined if the lease has expired or no leader is
   * known.
   */
  async remainingSeconds(id: string): Promise<number | undefined> {
    if (!this.#node.raft.isLeading) return this.#askLeader('/raft/lease', id);
    this.tick();
    const ends = this.#ends.get(id);
    const left = ends === undefined ? 0 : Math.floor((ends - this.#host.elapsed()) / 1000);
    return left < 0 || ends === undefined ? undefined : left;
  }
  /** Restarts the lease. Returns its granted seconds; undefined if it has expired. */
  async renew(id: string): Promise<number | undefined> {
    if (!this.#node.raft.isLeading) return this.#askLeader('/raft/lease-renew', id);
    const lease = this.#node.machine.leases.get(id);
    if (lease === undefined) return undefined;
    this.#ends.set(id, this.#host.elapsed() + lease.ttl * 1000);
    return lease.ttl;
  }
  async #askLeader(path: string, id: string): Promise<number | undefined> {
    const { leader } = this.#node.raft;
    const link = leader === undefined ? undefined : this.#node.links.get(leader);
    return (await link?.ask<{ seconds?: number }>(path, { id }))?.seconds;
  }
}
