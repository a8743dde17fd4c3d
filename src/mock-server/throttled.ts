import { Buffer } from 'node:buffer';
import type { Bytes, Host, Outgoing } from '../platform/host.ts';

const SLICES_PER_SECOND = 10;

/** The bytes at a rate, ten slices a second; a client sees a slow connection and not a pause before the answer. */
async function* slowly(host: Host, bytes: Bytes, perSecond: number): AsyncGenerator<Bytes> {
  const slice = Math.max(1, Math.floor(perSecond / SLICES_PER_SECOND));
  for (let at = 0; at < bytes.length; at += slice) {
    if (at > 0) await host.sleep(1000 / SLICES_PER_SECOND);
    yield bytes.subarray(at, at + slice);
  }
}

/** The same answer with its body sent at `perSecond` bytes a second. */
export const throttled = (host: Host, outgoing: Outgoing, perSecond: number): Outgoing => {
  const { body } = outgoing;
  if (typeof body !== 'string' && !(body instanceof Uint8Array)) return outgoing;
  const bytes = typeof body === 'string' ? Buffer.from(body) : body;
  const headers = { ...outgoing.headers, 'content-length': String(bytes.length) };
  return { ...outgoing, headers, body: slowly(host, bytes, perSecond) };
};
