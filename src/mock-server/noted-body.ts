import { Buffer } from 'node:buffer';
import type { Noted } from './noted.ts';

const KEPT_BYTES = 4096;
const BLOCK_BYTES = 64 * 1024;

/**
 * Notes bodies one behind the other in blocks: a block is nothing that the collector has to move, and it goes with the last
 * request that has its body there. Large bodies are counted, not kept.
 */
export const bodyNoter = (): ((noted: Noted, body: Uint8Array) => void) => {
  let block = new Uint8Array(0);
  let used = 0;
  return (noted, body) => {
    noted.bodyBytes = body.length;
    if (body.length > KEPT_BYTES) return;
    if (body.length > block.length - used) [block, used] = [new Uint8Array(BLOCK_BYTES), 0];
    block.set(body, used);
    noted.bodyIn = block;
    noted.bodyAt = used;
    used += body.length;
  };
};

/** The body as text; undefined when there was none or it was not kept. */
export const bodyText = ({ bodyIn, bodyAt, bodyBytes }: Noted): string | undefined =>
  bodyIn === undefined || bodyBytes === undefined
    ? undefined
    : Buffer.from(bodyIn.buffer, bodyAt, bodyBytes).toString('utf8');
