import { createHash, createHmac, timingSafeEqual } from 'node:crypto';

export const APPROVAL_MINUTES = 10;

/**
 * The digest of what a dry run shows and of the files that it read. Ports of the embedded server, moments and the
 * boundary of an upload differ from run to run and are left out. Pure.
 */
export const digestOf = (shown: string, filesDigest: string): string => {
  const plan = /"digest":\s*"([0-9a-f]{64})"/.exec(shown)?.[1];
  const steady = shown
    .replaceAll(/http:\/\/127\.0\.0\.1:\d+/g, 'http://127.0.0.1')
    .replaceAll(/"taken_at":\s*"[^"]*"/g, '')
    .replaceAll(/boundary=[0-9A-Za-z-]+/g, 'boundary');
  return createHash('sha256')
    .update(JSON.stringify([plan ?? steady, filesDigest]))
    .digest('hex');
};

/** Tokens that allow one call once, as long as it would still do what was shown. They mean nothing to another server. */
export const approvals = (key: Uint8Array, now: () => number) => {
  const issued = new Map<string, number>();
  const tokenOf = (call: string, digest: string): string =>
    createHmac('sha256', key)
      .update(JSON.stringify([call, digest]))
      .digest('base64url');
  return {
    issue(call: string, digest: string): string {
      const token = tokenOf(call, digest);
      issued.set(token, now());
      return token;
    },
    /** True once: a second use, an old one and one for another call or another plan are refused. */
    redeem(token: string, call: string, digest: string): boolean {
      const expected = Buffer.from(tokenOf(call, digest));
      const given = Buffer.from(token);
      const isSame = expected.length === given.length && timingSafeEqual(expected, given);
      const at = issued.get(token);
      if (!isSame || at === undefined) return false;
      issued.delete(token);
      return now() - at <= APPROVAL_MINUTES * 60_000;
    },
  };
};
