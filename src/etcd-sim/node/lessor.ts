import type { Host } from '../../platform/host.ts';
import type { Node } from './node.ts';

/** The leader's view of when leases end. A new leader starts every lease anew, as the real servers do. */
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
    const done = (): void => {
      this.#revoking.delete(id);
      this.#ends.delete(id);
    };
    this.#node.propose({ op: 'revoke', id }).then(done, done);
  }
  /** Whole seconds left, asked from the leader; undefined when the lease is over or nobody knows. */
  async remainingSeconds(id: string): Promise<number | undefined> {
    if (!this.#node.raft.isLeading) return this.#askLeader('/raft/lease', id);
    this.tick();
    const ends = this.#ends.get(id);
    const left = ends === undefined ? 0 : Math.floor((ends - this.#host.elapsed()) / 1000);
    return left < 0 || ends === undefined ? undefined : left;
  }
  /** Starts the lease's time anew; its granted seconds, undefined when it is over. */
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
