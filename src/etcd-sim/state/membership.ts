import type { Configuration } from '../raft/message.ts';
import type { Failure, MembershipChange } from './command.ts';

export type MemberRecord = {
  readonly id: string;
  readonly peerUrls: readonly string[];
  readonly isLearner: boolean;
};

const MOST_LEARNERS = 1;
/** In the words of the real servers (spec/store#measured-answers). */
export const membershipFailures = {
  exists: { code: 9, message: 'etcdserver: member ID already exist' },
  urlExists: { code: 9, message: 'etcdserver: Peer URLs already exists' },
  badUrls: { code: 3, message: 'etcdserver: given member URLs are invalid' },
  notFound: { code: 5, message: 'etcdserver: member not found' },
  notLearner: { code: 9, message: 'etcdserver: can only promote a learner member' },
  notInSync: {
    code: 9,
    message: 'etcdserver: can only promote a learner member which is in sync with leader',
  },
  tooManyLearners: { code: 9, message: 'etcdserver: too many learner members in cluster' },
  notEnoughStarted: {
    code: 2,
    message: 'etcdserver: re-configuration failed due to not enough started members',
  },
  unhealthy: { code: 14, message: 'etcdserver: unhealthy cluster' },
} as const satisfies Record<string, Failure>;

/** Who belongs to the cluster, in the order of joining. A member that was removed never comes back under its id. */
export class Membership {
  readonly #members = new Map<string, MemberRecord>();
  readonly #removed = new Set<string>();

  constructor(first: readonly MemberRecord[]) {
    for (const member of first) this.#members.set(member.id, member);
  }
  get all(): readonly MemberRecord[] {
    return [...this.#members.values()];
  }
  get voters(): readonly MemberRecord[] {
    return this.all.filter(({ isLearner }) => !isLearner);
  }
  get configuration(): Configuration {
    const learners = this.all.filter(({ isLearner }) => isLearner);
    return { voters: this.voters.map(({ id }) => id), learners: learners.map(({ id }) => id) };
  }
  get(id: string): MemberRecord | undefined {
    return this.#members.get(id);
  }
  isLearner(id: string): boolean {
    return this.#members.get(id)?.isLearner === true;
  }
  wasRemoved(id: string): boolean {
    return this.#removed.has(id);
  }

  /** Why every member refuses the change; undefined: it is made. */
  refusal(change: MembershipChange): Failure | undefined {
    if (change.op === 'member-add') return this.#addRefusal(change);
    const known = this.#members.get(change.member);
    if (known === undefined) return membershipFailures.notFound;
    if (change.op === 'member-promote' && !known.isLearner) return membershipFailures.notLearner;
    if (change.op === 'member-update' && this.#isTaken(change.peerUrls, change.member))
      return membershipFailures.urlExists;
    return undefined;
  }
  #addRefusal({ member, peerUrls, isLearner }: MembershipChange & { op: 'member-add' }): Failure | undefined {
    if (this.wasRemoved(member)) return membershipFailures.notFound;
    if (this.#members.has(member)) return membershipFailures.exists;
    if (this.#isTaken(peerUrls, member)) return membershipFailures.urlExists;
    const learners = this.#members.size - this.voters.length;
    return isLearner && learners >= MOST_LEARNERS ? membershipFailures.tooManyLearners : undefined;
  }
  #isTaken(urls: readonly string[], own: string): boolean {
    return this.all.some(({ id, peerUrls }) => id !== own && peerUrls.some((url) => urls.includes(url)));
  }
  change(change: MembershipChange): void {
    const { member: id } = change;
    if (change.op === 'member-add') {
      const { peerUrls, isLearner } = change;
      this.#members.set(id, { id, peerUrls, isLearner });
    } else if (change.op === 'member-remove') {
      this.#members.delete(id);
      this.#removed.add(id);
    } else {
      const changed = change.op === 'member-promote' ? { isLearner: false } : { peerUrls: change.peerUrls };
      this.#members.set(id, { ...(this.#members.get(id) as MemberRecord), ...changed });
    }
  }
}
