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
  data: Buffer;
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
    inode.synced = Buffer.from(inode.data);
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
      inode.synced = Buffer.from(inode.data);
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
      inode.synced = Buffer.from(inode.data);
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
