import {
  type AlarmType,
  type Applied,
  type Command,
  type Delete,
  type Failure,
  isMembershipChange,
  type MemberRecord,
  Membership,
  type MembershipChange,
  type Put,
  type TxnResult,
} from './command.ts';
import { failures, Keyspace, transact, writes } from './keyspace.ts';

export type Alarm = { readonly member: string; readonly alarm: AlarmType };
export type Published = { readonly name: string; readonly clientUrls: readonly string[] };
export type Lease = { readonly id: string; readonly ttl: number };
export type User = { readonly name: string; readonly salt: string; readonly hash: string };
/** Remembered proposals. A proposal that is repeated within this number of others has no effect. */
const REMEMBERED = 5_000;

/** The replicated state. `apply` returns the same result on every member. */
export class Machine {
  readonly keys = new Keyspace();
  readonly leases = new Map<string, Lease>();
  readonly membership: Membership;
  /** The published attributes of members after their start. */
  readonly published = new Map<string, Published>();
  readonly users = new Map<string, User>();
  alarms: readonly Alarm[] = [];
  isAuthOn = false;
  clusterVersion: string | undefined;
  /** The version that the cluster is to be lowered to. */
  downgradeTo: string | undefined;
  applied = 0;
  readonly #quotaBytes: number;
  #fileBytes = 0;
  readonly #seen = new Map<string, Applied>();

  constructor(quotaBytes: number, first: readonly MemberRecord[] = []) {
    this.#quotaBytes = quotaBytes;
    this.membership = new Membership(first);
  }
  /** Space in use, as a member reports it: whole pages of 4 KiB and some for the tree. */
  get sizeBytes(): number {
    return 20_480 + Math.ceil(this.keys.sizeBytes / 4096) * 4096;
  }
  /** Size of the file: it grows, and only a defragmentation makes it smaller. */
  get fileBytes(): number {
    this.#fileBytes = Math.max(this.#fileBytes, this.sizeBytes);
    return this.#fileBytes;
  }
  defragment(): void {
    this.#fileBytes = this.sizeBytes;
  }
  has(alarm: AlarmType): boolean {
    return this.alarms.some((one) => one.alarm === alarm);
  }
  /**
   * True if a put of this size would exceed the quota. The member that received the request raises the alarm.
   */
  isFull(bytes: number): boolean {
    return this.fileBytes + bytes > this.#quotaBytes;
  }

  apply(index: number, id: string, command: Command): Applied {
    this.applied = index;
    const known = this.#seen.get(id);
    if (known !== undefined) return known;
    const result = this.#run(command);
    this.#seen.set(id, result);
    this.#fileBytes = Math.max(this.#fileBytes, this.sizeBytes);
    if (this.#seen.size > REMEMBERED) this.#seen.delete(this.#seen.keys().next().value as string);
    return result;
  }
  #run(command: Command): Applied {
    const failure = this.#refusal(command);
    if (failure !== undefined) return { ok: false, failure };
    switch (command.op) {
      case 'put':
      case 'delete':
        return this.#single(command);
      case 'txn': {
        const done = transact(this, [command]);
        return 'code' in done ? { ok: false, failure: done } : this.#ok({ txn: done[0] as TxnResult });
      }
      case 'compact': {
        const problem = this.keys.compact(command.revision);
        return problem === undefined ? this.#ok() : { ok: false, failure: problem };
      }
      case 'restore':
        this.keys.restore(command.keys, command.revision, command.compacted);
        return this.#ok();
      default:
        this.#administer(command);
        return this.#ok();
    }
  }
  #ok(more: Partial<Extract<Applied, { ok: true }>> = {}): Applied {
    return { ok: true, revision: this.keys.revision, ...more };
  }
  #refusal(command: Command): Failure | undefined {
    const isWrite = (command.op === 'put' || command.op === 'txn') && writes(command);
    if (isMembershipChange(command)) return this.membership.refusal(command);
    if (this.has('CORRUPT') && (isWrite || command.op === 'delete')) return failures.corrupt;
    if (this.has('NOSPACE') && (isWrite || command.op === 'grant')) return failures.noSpace;
    if (command.op === 'grant' && this.leases.has(command.id)) return failures.leaseExists;
    if (command.op === 'revoke' && !this.leases.has(command.id)) return failures.noLease;
    return undefined;
  }
  #single(command: Put | Delete): Applied {
    const done = transact(this, [command]);
    if ('code' in done) return { ok: false, failure: done };
    const [response] = done;
    if (response?.op === 'delete') return this.#ok({ deleted: response.deleted, prev: response.prev });
    const before = response?.op === 'put' ? response.prev : undefined;
    return this.#ok({ prev: before === undefined ? [] : [before] });
  }
  #administer(command: Command): void {
    if (command.op === 'grant') this.leases.set(command.id, { id: command.id, ttl: command.ttl });
    else if (command.op === 'revoke') this.#revoke(command.id);
    else if (command.op === 'alarm') this.#alarm(command);
    else if (command.op === 'cluster-version') this.clusterVersion = command.version;
    else if (command.op === 'downgrade') this.downgradeTo = command.target;
    else if (command.op === 'publish') this.#publish(command);
    else if (isMembershipChange(command)) this.#changeMembers(command);
    else if (command.op === 'user')
      this.users.set(command.name, { name: command.name, salt: command.salt, hash: command.hash });
    else if (command.op === 'auth') this.isAuthOn = command.on;
  }
  /** Attributes that a removed member publishes arrive too late. */
  #publish({ member, name, clientUrls }: Command & { op: 'publish' }): void {
    if (!this.membership.wasRemoved(member)) this.published.set(member, { name, clientUrls });
  }
  #changeMembers(change: MembershipChange): void {
    this.membership.change(change);
    if (change.op === 'member-remove') this.published.delete(change.member);
  }
  #revoke(id: string): void {
    this.leases.delete(id);
    const attached = this.leaseKeys(id);
    if (attached.length === 0) return;
    const revision = this.keys.revision + 1;
    for (const [sub, key] of attached.entries()) this.keys.delete({ key }, revision, sub);
    this.keys.revision = revision;
  }
  leaseKeys(id: string): string[] {
    const all = this.keys.range({ key: '\0', end: '\0' });
    return 'code' in all ? [] : all.kvs.filter((kv) => kv.lease === id).map((kv) => kv.key);
  }
  #alarm(command: Command & { op: 'alarm' }): void {
    const same = (one: Alarm): boolean => one.member === command.member && one.alarm === command.alarm;
    const others = this.alarms.filter((one) => !same(one));
    // Member 0 with DEACTIVATE means every member that has this alarm.
    if (command.action === 'DEACTIVATE')
      this.alarms = command.member === '0' ? others.filter((one) => one.alarm !== command.alarm) : others;
    else this.alarms = [...others, { member: command.member, alarm: command.alarm }];
  }
}
