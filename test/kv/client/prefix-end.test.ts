import { describe, expect, it } from 'vitest';
import { prefixEnd } from '../../../src/kv/client/messages.ts';

describe('the end of a prefix', () => {
  it.each([
    ['a/', 'a0'],
    ['a', 'b'],
    ['az', 'a{'],
    ['a\x7f', 'a\x80'],
    ['é', '\xc3\xaa'],
    ['ÿ', '\xc3\xc0'],
    ['', '\0'],
  ])('%j ends before the bytes %j', (prefix, end) => {
    expect(Buffer.from(prefixEnd(prefix)).toString('latin1')).toBe(end);
  });
});
