import { createHash } from 'node:crypto';
import { storeCrc } from '../../core/protobuf.ts';
import type { Machine } from '../state/machine.ts';
import type { AppendFile, Host } from '../../platform/host.ts';
import type { Entry, HardState, Ready } from '../raft/progress.ts';
import type { MemberRecord, Proposal } from '../state/command.ts';

/** A finished database file in the layout that backup tools of the store read: pages of 4 KiB, a tree of buckets. */
type Item = { readonly key: Uint8Array; readonly value: Uint8Array };
const PAGE = 4096;
const HEAD = 16;
const ELEMENT = 16;
const MAGIC = 0xed0cdaed;
const LEAF = 0x02;
const BRANCH = 0x01;
const META = 0x04;
const FREE = 0x10;
const IS_BUCKET = 0x01;
const fnv1a64 = (bytes: Uint8Array): bigint => {
  let hash = 0xcbf29ce484222325n;
  for (const byte of bytes) hash = ((hash ^ BigInt(byte)) * 0x100000001b3n) & 0xffffffffffffffffn;
  return hash;
};
const bySmaller = (a: Item, b: Item): number => Buffer.compare(a.key, b.key);
/** Collects pages in order; a page with big values takes several page numbers. */
class Pages {
  readonly parts: Buffer[] = [];
  next = 3;
  add(kind: number, items: readonly (Item & { readonly flags?: number; readonly page?: number })[]): number {
    const size = items.reduce((sum, item) => sum + ELEMENT + item.key.length + item.value.length, HEAD);
    const count = Math.ceil(size / PAGE);
    const page = Buffer.alloc(count * PAGE);
    const id = this.next;
    header(page, id, kind, items.length, count - 1);
    let at = HEAD + items.length * ELEMENT;
    items.forEach((item, i) => {
      const element = HEAD + i * ELEMENT;
      if (kind === BRANCH) {
        page.writeUInt32LE(at - element, element);
        page.writeUInt32LE(item.key.length, element + 4);
        page.writeBigUInt64LE(BigInt(item.page ?? 0), element + 8);
      } else {
        page.writeUInt32LE(item.flags ?? 0, element);
        page.writeUInt32LE(at - element, element + 4);
        page.writeUInt32LE(item.key.length, element + 8);
        page.writeUInt32LE(item.value.length, element + 12);
      }
      page.set(item.key, at);
      page.set(item.value, at + item.key.length);
      at += item.key.length + item.value.length;
    });
    this.parts.push(page);
    this.next += count;
    return id;
  }
}
const header = (page: Buffer, id: number, kind: number, count: number, overflow: number): void => {
  page.writeBigUInt64LE(BigInt(id), 0);
  page.writeUInt16LE(kind, 8);
  page.writeUInt16LE(count, 10);
  page.writeUInt32LE(overflow, 12);
};
/** Items into groups that fill a page each; a group has at least two, so that the tree gets narrower. */
const groups = <T extends Item>(items: readonly T[]): T[][] => {
  const found: T[][] = [[]];
  let size = HEAD;
  for (const item of items) {
    const bytes = ELEMENT + item.key.length + item.value.length;
    const last = found.at(-1) as T[];
    if (last.length >= 2 && size + bytes > PAGE) {
      found.push([item]);
      size = HEAD + bytes;
    } else {
      last.push(item);
      size += bytes;
    }
  }
  return found;
};
const noValue = new Uint8Array();
/** Writes a tree and returns the number of its root page. */
const tree = (pages: Pages, items: readonly Item[]): number => {
  let level = groups(items).map((group) => ({
    key: group[0]?.key ?? noValue,
    value: noValue,
    page: pages.add(LEAF, group),
  }));
  while (level.length > 1) {
    level = groups(level).map((group) => ({
      key: group[0]?.key ?? noValue,
      value: noValue,
      page: pages.add(BRANCH, group),
    }));
  }
  return level[0]?.page ?? 0;
};
const meta = (id: number, root: number, pageCount: number): Buffer => {
  const page = Buffer.alloc(PAGE);
  header(page, id, META, 0, 0);
  page.writeUInt32LE(MAGIC, 16);
  page.writeUInt32LE(2, 20);
  page.writeUInt32LE(PAGE, 24);
  page.writeBigUInt64LE(BigInt(root), 32);
  page.writeBigUInt64LE(2n, 48);
  page.writeBigUInt64LE(BigInt(pageCount), 56);
  page.writeBigUInt64LE(BigInt(id), 64);
  page.writeBigUInt64LE(fnv1a64(page.subarray(16, 72)), 72);
  return page;
};
export const dbFile = (buckets: Readonly<Record<string, readonly Item[]>>): Buffer => {
  const pages = new Pages();
  const roots = Object.entries(buckets).map(([name, items]) => {
    const value = Buffer.alloc(16);
    value.writeBigUInt64LE(BigInt(tree(pages, [...items].sort(bySmaller))), 0);
    return { key: Buffer.from(name), value, flags: IS_BUCKET };
  });
  const root = pages.add(LEAF, roots.sort(bySmaller));
  const free = Buffer.alloc(PAGE);
  header(free, 2, FREE, 0, 0);
  return Buffer.concat([meta(0, root, pages.next), meta(1, root, pages.next), free, ...pages.parts]);
};
/** spec/store#measured-snapshots: the last 32 bytes of a snapshot are the sha256 of everything before. */
export const trailer = (file: Uint8Array): Buffer => createHash('sha256').update(file).digest();

const varint = (value: bigint): number[] => {
  const bytes: number[] = [];
  let rest = BigInt.asUintN(64, value);
  for (; rest >= 128n; rest >>= 7n) bytes.push(Number(rest & 127n) | 128);
  return [...bytes, Number(rest)];
};
const text = (field: number, bytes: Uint8Array): Buffer =>
  bytes.length === 0
    ? Buffer.alloc(0)
    : Buffer.concat([Buffer.from([(field << 3) | 2, ...varint(BigInt(bytes.length))]), bytes]);
const number = (field: number, value: number | string): Buffer =>
  BigInt(value) === 0n ? Buffer.alloc(0) : Buffer.from([field << 3, ...varint(BigInt(value))]);
/** A revision as the store names its records: 8 bytes main, `_`, 8 bytes sub, `t` for a deletion. */
const revisionKey = (main: number, sub: number, isDeletion: boolean): Buffer => {
  const key = Buffer.alloc(isDeletion ? 18 : 17);
  key.writeBigUInt64BE(BigInt(main), 0);
  key[8] = 0x5f;
  key.writeBigUInt64BE(BigInt(sub), 9);
  if (isDeletion) key[17] = 0x74;
  return key;
};
const eight = (value: number): Buffer => {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(BigInt(value));
  return bytes;
};
const makeItem = (name: string, value: Uint8Array): Item => ({ key: Buffer.from(name), value });
type StoredChange = { readonly name: string; readonly mod: number; readonly kv?: unknown };
/** The bytes of each change, in the order and the form of the real servers. */
const records = ({ keys }: Machine): (Item & StoredChange)[] =>
  [...keys.versions()]
    .map((change) => {
      const { name, mod, sub, kv } = change;
      const key = Buffer.from(name, 'latin1');
      const value =
        kv === undefined
          ? text(1, key)
          : Buffer.concat([
              text(1, key),
              number(2, kv.create),
              number(3, kv.mod),
              number(4, kv.version),
              text(5, Buffer.from(kv.value, 'base64')),
              number(6, kv.lease ?? 0),
            ]);
      return { ...change, key: revisionKey(mod, sub, kv === undefined), value };
    })
    .sort(bySmaller);
/**
 * The hash of the keys at a revision, equal to that of a real server with the same changes: values that a compaction
 * at this revision would remove do not count.
 */
export const hashAt = (machine: Machine, revision: number): number => {
  const { compacted } = machine.keys;
  const changes = records(machine).filter(({ mod }) => mod <= revision);
  const newest = new Map(changes.map((change) => [change.name, change]));
  const kept = new Set([...newest.values()].filter(({ kv }) => kv !== undefined));
  const counts = (change: Item & StoredChange): boolean =>
    change.mod > compacted ||
    ((kept.size === 0 || kept.has(change)) && !(change.mod === compacted && change.kv === undefined));
  return changes
    .filter(counts)
    .reduce((hash, { key, value }) => storeCrc(value, storeCrc(key, hash)), storeCrc(Buffer.from('key'), 0));
};
/**
 * The data in a simulated member's snapshot in addition to the keys. Real members use buckets in a different
 * format.
 */
export type SimulatedState = {
  readonly isAuthOn: boolean;
  readonly users: readonly { readonly name: string; readonly salt: string; readonly hash: string }[];
  readonly leases: readonly { readonly id: string; readonly ttl: number }[];
};
/** Its key in the bucket `meta`. */
export const stateKey = 'simulated_state';
const toState = (machine: Machine): SimulatedState => ({
  isAuthOn: machine.isAuthOn,
  users: [...machine.users.values()],
  leases: [...machine.leases.values()].map(({ id, ttl }) => ({ id, ttl })),
});
/** The member's v3 data as a database file, without the trailer. */
export const snapshotFile = (machine: Machine): Buffer =>
  dbFile({
    alarm: [],
    auth: [],
    authRoles: [],
    authUsers: [],
    cluster:
      machine.clusterVersion === undefined
        ? []
        : [makeItem('clusterVersion', Buffer.from(machine.clusterVersion))],
    key: records(machine),
    lease: [],
    members: [],
    members_removed: [],
    meta: [
      makeItem('consistent_index', eight(machine.applied)),
      ...['scheduledCompactRev', 'finishedCompactRev'].flatMap((name) =>
        machine.keys.compacted === 0 ? [] : [makeItem(name, revisionKey(machine.keys.compacted, 0, false))],
      ),
      makeItem('simulated', Buffer.from('a rehearsal, not a database')),
      makeItem(stateKey, Buffer.from(JSON.stringify(toState(machine)))),
    ],
  });

type Line =
  | {
      readonly meta: {
        readonly member: string;
        readonly cluster: string;
        /** The initial members of the log. */
        readonly members?: readonly MemberRecord[];
      };
    }
  | { readonly hard: HardState }
  | { readonly cut: number }
  | { readonly e: readonly [index: number, term: number, data?: Proposal] }
  | { readonly commit: number };
export type Stored = {
  readonly member?: string;
  readonly cluster?: string;
  readonly members?: readonly MemberRecord[];
  readonly hard?: HardState;
  readonly entries: Entry<Proposal>[];
  readonly commit: number;
};
const KINDS = ['meta', 'hard', 'cut', 'e', 'commit'] as const;
const isLine = (value: unknown): value is Line =>
  typeof value === 'object' &&
  value !== null &&
  KINDS.some((kind) => kind in value) &&
  (!('e' in value) || Array.isArray(value.e));
const parseLine = (line: string): Line | undefined => {
  try {
    const value: unknown = JSON.parse(line);
    return isLine(value) ? value : undefined;
  } catch {
    return undefined;
  }
};
/** Reads the lines back. The last one may be torn by a kill; everything after the first bad line is not used. */
export const storedFrom = (text: string): Stored & { readonly goodBytes: number } => {
  let stored: Stored = { entries: [], commit: 0 };
  let goodBytes = 0;
  for (let from = 0; from < text.length; ) {
    const end = text.indexOf('\n', from);
    const line = end < 0 ? undefined : parseLine(text.slice(from, end));
    if (line === undefined) break;
    if ('meta' in line) stored = { ...stored, ...line.meta };
    else if ('hard' in line) stored = { ...stored, hard: line.hard };
    else if ('cut' in line) stored.entries.length = line.cut;
    else if ('commit' in line) stored = { ...stored, commit: line.commit };
    else stored.entries.push({ index: line.e[0], term: line.e[1], data: line.e[2] });
    goodBytes += Buffer.byteLength(text.slice(from, end + 1));
    from = end + 1;
  }
  return { ...stored, goodBytes };
};
export const walPath = (dataDir: string): string =>
  `${dataDir}/member/wal/0000000000000000-0000000000000000.wal`;
/** The member's log on disk: one JSON line an event, only appended. */
export class Wal {
  /** A fault makes the disk full. */
  isFull = (): boolean => false;
  readonly #file: AppendFile;
  constructor(file: AppendFile) {
    this.#file = file;
  }
  static async open(host: Host, dataDir: string): Promise<{ wal: Wal; stored: Stored }> {
    const path = walPath(dataDir);
    await host.files.makeDirectory(`${dataDir}/member/wal`, 0o700);
    const text = (await host.files.read(path)) ?? '';
    const { goodBytes, ...stored } = storedFrom(text);
    if (goodBytes < Buffer.byteLength(text)) await host.files.truncate(path, goodBytes);
    return { wal: new Wal(host.files.append(path, 0o600)), stored };
  }
  write(lines: readonly Line[]): void {
    if (lines.length > 0) this.#file.write(`${lines.map((line) => JSON.stringify(line)).join('\n')}\n`);
  }
  close(): void {
    this.#file.close();
  }
}
export const entryLine = (entry: Entry<Proposal>): Line => ({
  e: entry.data === undefined ? [entry.index, entry.term] : [entry.index, entry.term, entry.data],
});
/** The data that must be on the disk before any response depends on it. */
export const linesOf = (ready: Ready<Proposal>, commit: number): Line[] => [
  ...(ready.hard === undefined ? [] : [{ hard: ready.hard }]),
  ...(ready.cutAfter === undefined ? [] : [{ cut: ready.cutAfter }]),
  ...ready.entries.map(entryLine),
  ...(ready.committed.length === 0 ? [] : [{ commit }]),
];

const first8 = (data: string | Uint8Array): Buffer => createHash('sha1').update(data).digest().subarray(0, 8);
/** A member's id follows from its peer URLs and the cluster's token, so that it keeps it over every restart. */
export const memberId = (peerUrls: readonly string[], token: string): string =>
  first8([...peerUrls].sort().join('') + token).toString('hex');
export const clusterId = (memberIds: readonly string[]): string =>
  first8(Buffer.from([...memberIds].sort().join(''), 'hex')).toString('hex');
/** The gateway writes ids as decimal numbers, logs as hexadecimal ones. */
export const decimal = (hex: string): string => (hex === '' ? '0' : BigInt(`0x${hex}`).toString());
export const hexFrom = (text: string): string => BigInt(text).toString(16).padStart(16, '0');
