/**
 * A disk as it appears after a crash of the machine. The content of a file survives if it was synced. A directory
 * entry survives if the metadata log was forced up to it (fsync of the directory, or of the file that the entry
 * names). Other changes survive in part.
 */
import type { Random } from './random.ts';

export type Inode = {
  readonly id: number;
  readonly kind: 'file' | 'directory' | 'link';
  mode: number;
  modifiedMs: number;
  /** The bytes of a content never change: a write makes another buffer, or appends after the end of this one. */
  data: Buffer;
  /** The memory of `data`, with room for appended bytes. */
  room?: Buffer;
  /** The number of bytes of `room` that a content has used. */
  used: number;
  /** The content that is durable on the disk. */
  synced: Buffer;
  readonly entries: Map<string, Inode>;
  readonly target?: string;
};
/** Directory entries that change together. */
type Change = { readonly directory: Inode; readonly name: string; readonly inode: Inode | undefined };

const EMPTY = Buffer.alloc(0);
export const failure = (code: string, call: string, path: string): Error =>
  Object.assign(new Error(`${code}: simulated, ${call} '${path}'`), { code, path, syscall: call });

/**
 * Writes bytes at a position. Appended bytes go into the room after the content, because a copy of the whole content for
 * each line of a log would need most of the time of a history.
 */
export const writeAt = (inode: Inode, bytes: Uint8Array, at: number): void => {
  const { data, room } = inode;
  const end = Math.max(at + bytes.length, data.length);
  const isAppend = at === data.length;
  // A truncated or restored content has other memory, and an earlier content may use the bytes after it.
  const isOwn = room?.buffer === data.buffer && room.byteOffset === data.byteOffset && inode.used === at;
  if (room !== undefined && isAppend && isOwn && end <= room.length) room.set(bytes, at);
  else {
    inode.room = Buffer.alloc(isAppend ? end * 2 : end);
    data.copy(inode.room);
    inode.room.set(bytes, at);
  }
  inode.used = end;
  inode.data = (inode.room as Buffer).subarray(0, end);
};

export class Disk {
  #nextId = 1;
  root = this.#inode('directory', 0o755);
  /** Metadata that is not on the disk yet, in order, and the durable tree. */
  #log: (readonly Change[])[] = [];
  #kept = new Map<Inode, Map<string, Inode>>([[this.root, new Map()]]);
  /** Remaining free space. */
  freeBytes = Number.POSITIVE_INFINITY;
  isReadOnly = false;
  /** If true, the next sync fails. */
  failsSync = false;

  #inode(kind: Inode['kind'], mode: number, target?: string): Inode {
    this.#nextId += 1;
    return {
      id: this.#nextId,
      kind,
      mode,
      modifiedMs: 0,
      data: EMPTY,
      used: 0,
      synced: EMPTY,
      entries: new Map(),
      ...(target === undefined ? {} : { target }),
    };
  }
  make(kind: Inode['kind'], mode: number, target?: string): Inode {
    return this.#inode(kind, mode, target);
  }
  /** Returns the inode of a path. Follows links, but not the link of the last name unless `followsLast` is true. */
  find(path: string, followsLast = true, depth = 0): Inode | undefined {
    if (depth > 20) throw failure('ELOOP', 'open', path);
    const names = path.split('/').filter((name) => name !== '' && name !== '.');
    let at: Inode = this.root;
    for (const [i, name] of names.entries()) {
      if (at.kind !== 'directory') throw failure('ENOTDIR', 'open', path);
      const next = at.entries.get(name);
      if (next === undefined) return undefined;
      const isLast = i === names.length - 1;
      if (next.kind !== 'link' || (isLast && !followsLast)) at = next;
      else {
        const through = this.find(next.target ?? '', true, depth + 1);
        if (through === undefined) return undefined;
        at = through;
      }
    }
    return at;
  }
  change(changes: readonly Change[]): void {
    for (const { directory, name, inode } of changes) {
      if (inode === undefined) directory.entries.delete(name);
      else directory.entries.set(name, inode);
    }
    this.#log.push(changes);
  }
  use(bytes: number): void {
    this.freeBytes -= bytes;
  }
  sync(inode: Inode): void {
    inode.synced = inode.data;
    const about = (changes: readonly Change[]) =>
      changes.some((change) => change.inode === inode || change.directory === inode);
    this.#keep(this.#log.findLastIndex(about) + 1);
  }
  #keep(count: number): void {
    for (const { directory, name, inode } of this.#log.splice(0, count).flat()) {
      const kept = this.#kept.get(directory) ?? new Map<string, Inode>();
      this.#kept.set(directory, kept);
      if (inode === undefined) kept.delete(name);
      else kept.set(name, inode);
    }
  }
  /** Makes all previous changes durable. */
  settle(): void {
    this.#keep(this.#log.length);
    const visit = (inode: Inode): void => {
      inode.synced = inode.data;
      for (const child of inode.entries.values()) visit(child);
    };
    visit(this.root);
  }
  /** Simulates a power loss: unsynced content and entries survive in part, and entries survive in their order. */
  losePower(random: Random): void {
    this.#keep(random.chance(0.3) ? this.#log.length : random.below(this.#log.length + 1));
    this.#log = [];
    const seen = new Set<Inode>();
    const visit = (inode: Inode): void => {
      if (seen.has(inode)) return;
      seen.add(inode);
      if (inode.kind === 'file' && !inode.data.equals(inode.synced))
        inode.data = survivorOf(inode.synced, inode.data, random);
      inode.synced = inode.data;
      if (inode.kind !== 'directory') return;
      const kept = this.#kept.get(inode) ?? new Map<string, Inode>();
      inode.entries.clear();
      for (const [name, child] of kept) inode.entries.set(name, child);
      for (const child of inode.entries.values()) visit(child);
    };
    visit(this.root);
  }
}

/**
 * Returns a possible content of a file that was written but not synced: the old content, a part of the data, or blocks
 * that were never filled.
 */
const survivorOf = (synced: Buffer, data: Buffer, random: Random): Buffer => {
  const isAppended = data.length > synced.length && data.subarray(0, synced.length).equals(synced);
  const base = isAppended ? synced.length : 0;
  if (random.chance(0.2)) return Buffer.from(data);
  if (random.chance(isAppended ? 0.2 : 0.3)) return Buffer.from(synced);
  const until = base + random.below(data.length - base + 1);
  const part = Buffer.from(data.subarray(0, until));
  return random.chance(0.2) ? Buffer.concat([part, Buffer.alloc(data.length - until)]) : part;
};
