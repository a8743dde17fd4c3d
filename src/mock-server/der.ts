/** The little of ASN.1 DER (X.690) that a certificate is made of. */
export const der = (tag: number, ...parts: readonly Uint8Array[]): Uint8Array => {
  const content = joined(parts);
  return joined([Uint8Array.of(tag), lengthOf(content.length), content]);
};

const joined = (parts: readonly Uint8Array[]): Uint8Array => {
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
};
const lengthOf = (length: number): Uint8Array => {
  if (length < 0x80) return Uint8Array.of(length);
  const digits: number[] = [];
  for (let rest = length; rest > 0; rest = Math.floor(rest / 256)) digits.unshift(rest % 256);
  return Uint8Array.of(0x80 | digits.length, ...digits);
};
const base128 = (value: number): number[] => {
  const digits = [value & 0x7f];
  for (let rest = value >> 7; rest > 0; rest >>= 7) digits.unshift((rest & 0x7f) | 0x80);
  return digits;
};

export const sequence = (...parts: Uint8Array[]): Uint8Array => der(0x30, ...parts);
export const setOf = (...parts: Uint8Array[]): Uint8Array => der(0x31, ...parts);
/** A positive whole number, most significant byte first. */
export const integer = (bytes: Uint8Array): Uint8Array =>
  (bytes[0] ?? 0) & 0x80 ? der(0x02, Uint8Array.of(0), bytes) : der(0x02, bytes);
export const boolean = (value: boolean): Uint8Array => der(0x01, Uint8Array.of(value ? 0xff : 0));
export const oid = (dotted: string): Uint8Array => {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number);
  return der(0x06, Uint8Array.of(first * 40 + second, ...rest.flatMap(base128)));
};
export const utf8 = (text: string): Uint8Array => der(0x0c, new TextEncoder().encode(text));
export const octets = (bytes: Uint8Array): Uint8Array => der(0x04, bytes);
export const bits = (bytes: Uint8Array, unused = 0): Uint8Array => der(0x03, Uint8Array.of(unused), bytes);
/** Years up to 2049 have two digits (RFC 5280 4.1.2.5). */
export const time = (ms: number): Uint8Array => {
  const text = new Date(ms).toISOString().replace(/[-:T]|\.\d+/g, '');
  return Number(text.slice(0, 4)) < 2050
    ? der(0x17, new TextEncoder().encode(text.slice(2)))
    : der(0x18, new TextEncoder().encode(text));
};
