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
  /** Fills an empty store from a list of keys (rehearsal on a copy of real data). */
  | { readonly op: 'restore'; readonly keys: readonly StoredKey[]; readonly revision: number };

/** What stands in the log: the id makes a repeated proposal harmless. */
export type Proposal = { readonly id: string; readonly command: Command };

/** A refusal that every member finds alike: gRPC code and text. */
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
