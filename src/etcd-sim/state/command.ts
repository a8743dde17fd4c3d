import type { Configuration } from '../raft/progress.ts';

/** What the members agree on, one after the other. Keys are byte strings (one character a byte), values base64 as they came. */
export type KeyRange = { readonly key: string; readonly end?: string };
export type Compare = KeyRange & {
  readonly target: 'VERSION' | 'CREATE' | 'MOD' | 'VALUE' | 'LEASE';
  readonly result: 'EQUAL' | 'GREATER' | 'LESS' | 'NOT_EQUAL';
  readonly value: string | number;
};
export type RangeOptions = KeyRange & {
  readonly limit?: number;
  readonly revision?: number;
  readonly sortOrder?: 'NONE' | 'ASCEND' | 'DESCEND';
  readonly sortTarget?: 'KEY' | 'VERSION' | 'CREATE' | 'MOD' | 'VALUE';
  readonly keysOnly?: boolean;
  readonly countOnly?: boolean;
};
export type Put = {
  readonly op: 'put';
  readonly key: string;
  readonly value: string;
  readonly lease?: string;
  readonly prevKv?: boolean;
  /** Keeps the value, or the lease, that the key has. */
  readonly ignoreValue?: boolean;
  readonly ignoreLease?: boolean;
};
export type Delete = { readonly op: 'delete'; readonly prevKv?: boolean } & KeyRange;
export type Txn = {
  readonly op: 'txn';
  readonly compare: readonly Compare[];
  readonly success: readonly TxnOp[];
  readonly failure: readonly TxnOp[];
};
export type TxnOp = Put | Delete | ({ readonly op: 'range' } & RangeOptions) | Txn;
export type AlarmType = 'NONE' | 'NOSPACE' | 'CORRUPT';
export type StoredKey = {
  readonly key: string;
  readonly value: string;
  readonly create: number;
  readonly mod: number;
  readonly version: number;
  readonly lease?: string;
};
/** A value of a key or its deletion, as a restore loads it. `sub` numbers the changes of one revision. */
export type StoredRecord =
  | (StoredKey & { readonly sub?: number })
  | { readonly key: string; readonly mod: number; readonly sub?: number; readonly isDeleted: true };
/** Who belongs to the cluster: one member at a time. Ids are hexadecimal. */
export type MembershipChange =
  | {
      readonly op: 'member-add';
      readonly member: string;
      readonly peerUrls: readonly string[];
      readonly isLearner: boolean;
    }
  | { readonly op: 'member-promote'; readonly member: string }
  | { readonly op: 'member-update'; readonly member: string; readonly peerUrls: readonly string[] }
  | { readonly op: 'member-remove'; readonly member: string };
export type Command =
  | MembershipChange
  | Put
  | Delete
  | Txn
  | { readonly op: 'compact'; readonly revision: number }
  | { readonly op: 'grant'; readonly id: string; readonly ttl: number }
  | { readonly op: 'revoke'; readonly id: string }
  | {
      readonly op: 'alarm';
      readonly action: 'ACTIVATE' | 'DEACTIVATE';
      readonly member: string;
      readonly alarm: AlarmType;
    }
  | { readonly op: 'cluster-version'; readonly version: string }
  /** Without a target none is on any more. */
  | { readonly op: 'downgrade'; readonly target?: string }
  | {
      readonly op: 'publish';
      readonly member: string;
      readonly name: string;
      readonly clientUrls: readonly string[];
    }
  | { readonly op: 'user'; readonly name: string; readonly salt: string; readonly hash: string }
  | { readonly op: 'auth'; readonly on: boolean }
  /** Fills an empty store with changes in the order of their revisions. */
  | {
      readonly op: 'restore';
      readonly keys: readonly StoredRecord[];
      readonly revision: number;
      readonly compacted?: number;
    };
/** An entry of the log: the ID makes a repeated proposal harmless. */
export type Proposal = { readonly id: string; readonly command: Command };
/** A rejection that every member produces in the same way: gRPC code and text. */
export type Failure = { readonly code: number; readonly message: string };
export type KeyValue = StoredKey;
export type RangeResult = {
  readonly kvs: readonly KeyValue[];
  readonly count: number;
  readonly more: boolean;
};
export type Applied =
  | {
      readonly ok: true;
      readonly revision: number;
      readonly prev?: readonly KeyValue[];
      readonly deleted?: number;
      readonly txn?: TxnResult;
    }
  | { readonly ok: false; readonly failure: Failure };
export type TxnResult = { readonly succeeded: boolean; readonly responses: readonly TxnResponse[] };
export type TxnResponse =
  | { readonly op: 'put'; readonly prev?: KeyValue }
  | { readonly op: 'delete'; readonly deleted: number; readonly prev: readonly KeyValue[] }
  | ({ readonly op: 'txn' } & TxnResult)
  | ({ readonly op: 'range' } & RangeResult);
const changes: ReadonlySet<Command['op']> = new Set([
  'member-add',
  'member-promote',
  'member-update',
  'member-remove',
]);
export const isMembershipChange = (command: Command): command is MembershipChange => changes.has(command.op);

export type MemberRecord = {
  readonly id: string;
  readonly peerUrls: readonly string[];
  readonly isLearner: boolean;
};
const MOST_LEARNERS = 1;
/** The wording of the real servers (spec/store#measured-answers). */
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
