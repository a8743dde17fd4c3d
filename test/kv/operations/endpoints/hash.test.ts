import { describe, expect, it } from 'vitest';
import { hashVerdict } from '../../../../src/kv/operations/endpoints.ts';

const hashed = (endpoint: string, hash: number) => ({
  endpoint,
  hash,
  revision: 7,
  compact_revision: -1,
  version: '3.4.23',
});

describe('comparison of hashes of one revision', () => {
  it('equal hashes are good, without a word', () => {
    expect(hashVerdict([hashed('a:1', 5), hashed('b:1', 5)])).toEqual({ isSame: true });
  });
  it('the member against the majority is named, with the revision', () => {
    expect(hashVerdict([hashed('a:1', 5), hashed('b:1', 6), hashed('c:1', 5)])).toEqual({
      isSame: false,
      warning: 'b:1 holds different data at revision 7',
    });
  });
  it('an unresponsive endpoint proves no difference', () => {
    expect(hashVerdict([hashed('a:1', 5), { endpoint: 'b:1', error: 'refused' }])).toEqual({ isSame: false });
  });
});
