import { Buffer } from 'node:buffer';
import type { Bytes, Host, Outgoing } from '../platform/host.ts';

const SLICES_PER_SECOND = 10;

/** The bytes at a rate, ten slices a second; a client sees a slow connection and not a pause before the answer. */
async function* slowly(host: Host, pieces: AsyncIterable<Bytes>, perSecond: number): AsyncGenerator<Bytes> {
  const slice = Math.max(1, Math.floor(perSecond / SLICES_PER_SECOND));
  let isFirst = true;
  for await (const bytes of pieces) {
    for (let at = 0; at < bytes.length; at += slice) {
      if (!isFirst) await host.sleep(1000 / SLICES_PER_SECOND);
      isFirst = false;
      yield bytes.subarray(at, at + slice);
    }
  }
}

async function* whole(bytes: Bytes): AsyncGenerator<Bytes> {
  yield bytes;
}

/** The same answer with its body sent at `perSecond` bytes a second. */
export const throttled = (host: Host, outgoing: Outgoing, perSecond: number): Outgoing => {
  const { body } = outgoing;
  if (body === undefined) return outgoing;
  if (typeof body !== 'string' && !(body instanceof Uint8Array))
    return { ...outgoing, body: slowly(host, body, perSecond) };
  const bytes = typeof body === 'string' ? Buffer.from(body) : body;
  const headers = { ...outgoing.headers, 'content-length': String(bytes.length) };
  return { ...outgoing, headers, body: slowly(host, whole(bytes), perSecond) };
};
