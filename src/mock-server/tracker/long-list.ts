import { Buffer } from 'node:buffer';

/** One record of a list, and what its text shows of other records. */
export type Shown = { readonly record: object; readonly seen: readonly unknown[] };
type Segment = { readonly shown: readonly Shown[]; readonly bytes: Buffer };

/** Records of one segment: some hundred kilobytes, made anew when one of them changes. */
const SEGMENT = 256;

const isSame = (a: Shown, b: Shown | undefined): boolean =>
  a.record === b?.record && a.seen.length === b.seen.length && a.seen.every((one, i) => one === b.seen[i]);

/**
 * A long list as JSON in UTF-8, in segments: an unchanged list is only written, a change of one record costs its segment.
 * Segments are found again by their first record, so what is inserted or deleted moves no other.
 */
export class LongList {
  #segments: readonly Segment[] = [];
  #version = -1;
  /** Memory that the segments take. */
  bytes = 0;

  isOf(version: number): boolean {
    return this.#version === version;
  }
  update(version: number, all: readonly Shown[], text: (at: number) => string): void {
    const known = new Map(this.#segments.map((segment) => [segment.shown[0]?.record, segment]));
    const segments: Segment[] = [];
    for (let at = 0; at < all.length; ) {
      const found = known.get(all[at]?.record);
      const segment =
        found?.shown.every((one, i) => isSame(one, all[at + i])) === true
          ? found
          : this.#made(all, at, known, text);
      segments.push(segment);
      at += segment.shown.length;
    }
    this.#segments = segments;
    this.#version = version;
    this.bytes = segments.reduce((sum, one) => sum + one.bytes.length, 0);
  }
  /** The JSON array. What is given stays as it was, whatever changes while it is written. */
  *body(): Generator<Uint8Array> {
    const segments = this.#segments;
    yield Buffer.from('[');
    for (const [i, { bytes }] of segments.entries()) yield i === 0 ? bytes.subarray(1) : bytes;
    yield Buffer.from(']');
  }
  get length(): number {
    return this.bytes + 2 - (this.#segments.length > 0 ? 1 : 0);
  }

  /** A new segment; it ends where a known one begins, so that the rest stays in step. */
  #made(
    all: readonly Shown[],
    start: number,
    known: ReadonlyMap<object | undefined, Segment>,
    text: (at: number) => string,
  ): Segment {
    let end = start + 1;
    while (end < all.length && end - start < SEGMENT && !known.has(all[end]?.record)) end += 1;
    let json = '';
    for (let at = start; at < end; at++) json += `,${text(at)}`;
    return { shown: all.slice(start, end), bytes: Buffer.from(json) };
  }
}
