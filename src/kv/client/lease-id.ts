import { invalidArguments, problem } from '../../core/problem.ts';

/** Ids are hexadecimal for people and decimal, signed 64 bit, on the wire. */
export const decimalLease = (id: string, path = '<lease-id>'): string => {
  if (!/^(0x)?[0-9a-f]{1,16}$/i.test(id))
    throw invalidArguments([
      problem(path, 'format', `must be a hexadecimal id of at most 16 digits; got ${JSON.stringify(id)}`),
    ]);
  return BigInt.asIntN(64, BigInt(`0x${id.replace(/^0x/i, '')}`)).toString();
};

/** An id as people and the store's ctl write it: 16 hexadecimal digits. */
export const hexLease = (decimal: string): string =>
  BigInt.asUintN(64, BigInt(decimal)).toString(16).padStart(16, '0');
