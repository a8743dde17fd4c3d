/** The key after all keys with this prefix, as bytes: its last byte that can be raised is one higher. Nothing is after all keys: a zero byte alone. */
export const prefixEnd = (prefix: string): Uint8Array => {
  const bytes = Buffer.from(prefix);
  for (let i = bytes.length - 1; i >= 0; i -= 1) {
    const byte = bytes[i] as number;
    if (byte < 0xff) return Buffer.concat([bytes.subarray(0, i), Buffer.from([byte + 1])]);
  }
  return Buffer.of(0);
};
