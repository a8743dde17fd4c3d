/** 64-bit ids are decimal on the wire and hexadecimal for people. */
export const hexId = (decimal: string): string => BigInt(decimal).toString(16);
