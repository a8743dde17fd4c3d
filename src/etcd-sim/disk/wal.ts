import { createHash } from 'node:crypto';
import type { AppendFile, Host } from '../../platform/host.ts';
import type { Entry, HardState, Ready } from '../raft/progress.ts';
import type { MemberRecord, Proposal } from '../state/command.ts';

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
