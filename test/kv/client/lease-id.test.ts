import { describe, expect, it } from 'vitest';
import { decimalLease } from '../../../src/kv/client/messages.ts';

describe('lease ids', () => {
  it.each([
    ['694d5765fc71500b', '7587817042727751691'],
    ['0x10', '16'],
    ['ffffffffffffffff', '-1'],
  ])('%s is %s on the wire', (id, decimal) => {
    expect(decimalLease(id)).toBe(decimal);
  });
  it.each(['', 'xyz', '11112222333344445', '-1'])('%j is refused with the rule', (id) => {
    expect(() => decimalLease(id)).toThrow(expect.objectContaining({ category: 'usage' }));
  });
});
