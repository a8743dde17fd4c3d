import type { Buffer } from 'node:buffer';
import { crc32 } from 'node:zlib';
import { Deferred, encode } from './deferred.ts';
import type { Key } from './indexed.ts';
import type { Change } from './store.ts';

/**
 * The transactions of one write are one line, so that all of them are there or none: eight hexadecimal digits of CRC-32, a space, then for each change collection, key and
 * value, parted by tabs; an empty value is a deletion. JSON text holds no raw tab or line end, so nothing is escaped.
 */
const TAB = 9;
const DIGITS = 8;

export type Entry = { readonly collection: string; readonly key: Key; readonly value: Deferred | undefined };

const changeText = ({ c, k, v }: { c: string; k: Key; v?: unknown }): string =>
  `${c}\t${JSON.stringify(k)}\t${v === undefined ? '' : v instanceof Deferred ? v.text() : encode(v)}`;

/** Changes as a line has them, without its checksum; parts of one line are joined by tabs. */
export const changesText = (changes: readonly Change[]): string => changes.map(changeText).join('\t');

export const checksummed = (text: string): string =>
  `${crc32(text).toString(16).padStart(DIGITS, '0')} ${text}\n`;

/** After a write that failed half-way: everything from `offset` up to this line never happened. */
export const voidLine = (offset: number): string => `\n~${offset}\n`;

/** True when the line between `start` and `end` is whole. */
export const isSound = (bytes: Buffer, start: number, end: number): boolean =>
  end - start > DIGITS &&
  Number.parseInt(bytes.toString('latin1', start, start + DIGITS), 16) ===
    crc32(bytes.subarray(start + DIGITS + 1, end)) &&
  bytes[start + DIGITS] === 0x20;

const keyOf = (text: string): Key =>
  text.charCodeAt(0) === 0x22 ? (JSON.parse(text) as string) : Number(text);

const nextTab = (bytes: Buffer, from: number, end: number): number => {
  const at = bytes.indexOf(TAB, from);
  return at === -1 ? end : Math.min(at, end);
};

/** The changes of one sound line; values stay bytes. */
export const entriesOf = (bytes: Buffer, start: number, end: number): Entry[] => {
  const entries: Entry[] = [];
  let at = start + DIGITS + 1;
  while (at < end) {
    const afterName = nextTab(bytes, at, end);
    const afterKey = nextTab(bytes, afterName + 1, end);
    const afterValue = nextTab(bytes, afterKey + 1, end);
    entries.push({
      collection: bytes.toString('latin1', at, afterName),
      key: keyOf(bytes.toString('utf8', afterName + 1, afterKey)),
      value: afterValue === afterKey + 1 ? undefined : new Deferred(bytes, afterKey + 1, afterValue),
    });
    at = afterValue + 1;
  }
  return entries;
};
