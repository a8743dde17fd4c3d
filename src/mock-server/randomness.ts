import { createHash } from 'node:crypto';
import type { Store } from './store.ts';

export type RandomBytes = (bytes: number) => Uint8Array;
const POOL_BYTES = 4096;

/** Asks the machine for a page at a time: an identifier a request would otherwise be a system call a request. */
const pooled = (source: RandomBytes): RandomBytes => {
  let pool = new Uint8Array(0);
  let at = 0;
  return (bytes) => {
    if (bytes > POOL_BYTES) return source(bytes);
    if (at + bytes > pool.length) {
      pool = new Uint8Array(source(POOL_BYTES));
      at = 0;
    }
    at += bytes;
    return pool.slice(at - bytes, at);
  };
};

/** The same bytes for the same seed. The start's number is part of it, so that a restart on kept state repeats no identifier. */
const seeded = (seed: string, store: Store): RandomBytes => {
  const start = store.transact(() => store.next('mock.seeded-starts'));
  let block = 0;
  return pooled((bytes) => {
    const blocks: number[] = [];
    while (blocks.length < bytes) {
      blocks.push(...createHash('sha256').update(`${seed}/${start}/${block}`).digest());
      block += 1;
    }
    return Uint8Array.from(blocks.slice(0, bytes));
  });
};

export const randomFor = (source: RandomBytes, seed: string | undefined, store: Store): RandomBytes =>
  seed === undefined ? pooled(source) : seeded(seed, store);

const hex = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));

/** Version 4 of RFC 9562. */
export const uuidFrom = (random: RandomBytes): string => {
  const bytes = random(16);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  let text = '';
  for (let i = 0; i < 16; i++)
    text += (i === 4 || i === 6 || i === 8 || i === 10 ? '-' : '') + hex[bytes[i] ?? 0];
  return text;
};
