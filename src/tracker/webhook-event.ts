import { createHmac, timingSafeEqual } from 'node:crypto';
import { limits } from '../core/limits.ts';

/** spec/tracker#webhooks: what a receiver must refuse, with the status that tells the sender why. */
export type Refusal = {
  readonly status: 400 | 401 | 413;
  readonly code: 'invalid_signature' | 'payload_too_large' | 'invalid_body';
  readonly message: string;
};
export const MAX_BODY_BYTES = limits.eventBytes;

/** Lower-case hex of HMAC-SHA-256 over the exact bytes of the body, without a prefix. */
const signature = (secret: string, body: Uint8Array): string =>
  createHmac('sha256', secret).update(body).digest('hex');

/** Compared in constant time, whatever the length of what was sent. */
export const isSignedBy = (secret: string, body: Uint8Array, header: string | undefined): boolean => {
  const expected = Buffer.from(signature(secret, body), 'utf8');
  const given = Buffer.from(header ?? '', 'utf8');
  return given.length === expected.length && timingSafeEqual(given, expected);
};

/** One delivery as an event, or why it is refused. Without a secret nothing is checked. Pure. */
export const readEvent = (
  body: Uint8Array,
  header: string | undefined,
  secret: string | undefined,
): { readonly event: Record<string, unknown> } | Refusal => {
  if (body.length > MAX_BODY_BYTES)
    return { status: 413, code: 'payload_too_large', message: `a body has at most ${MAX_BODY_BYTES} bytes` };
  if (secret !== undefined && !isSignedBy(secret, body, header)) {
    return {
      status: 401,
      code: 'invalid_signature',
      message:
        header === undefined
          ? 'the header Payload-Signature is missing'
          : 'the signature does not fit the body',
    };
  }
  try {
    const event: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
    if (typeof event === 'object' && event !== null && !Array.isArray(event))
      return { event: event as Record<string, unknown> };
  } catch {
    // Falls through to the refusal below.
  }
  return { status: 400, code: 'invalid_body', message: 'the body must be a JSON object' };
};
