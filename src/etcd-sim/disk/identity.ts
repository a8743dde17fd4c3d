import { createHash } from 'node:crypto';

const first8 = (data: string | Uint8Array): Buffer => createHash('sha1').update(data).digest().subarray(0, 8);

/** A member's id follows from its peer URLs and the cluster's token, so that it keeps it over every restart. */
export const memberId = (peerUrls: readonly string[], token: string): string =>
  first8([...peerUrls].sort().join('') + token).toString('hex');
export const clusterId = (memberIds: readonly string[]): string =>
  first8(Buffer.from([...memberIds].sort().join(''), 'hex')).toString('hex');
/** The gateway writes ids as decimal numbers, logs as hexadecimal ones. */
export const decimal = (hex: string): string => (hex === '' ? '0' : BigInt(`0x${hex}`).toString());
export const hexFrom = (text: string): string => BigInt(text).toString(16).padStart(16, '0');
