import { describe, expect, it, test } from 'vitest';
import { directCalls } from '../../../src/kv/client/messages.ts';
import { type Shape, decode, encode } from '../../../src/core/protobuf.ts';

const shape: Shape = {
  key: [1, 'bytes'],
  name: [2, 'text'],
  small: [3, 'int64'],
  large: [4, 'uint64'],
  yes: [5, 'flag'],
  kind: [6, ['ZERO', 'ONE', 'TWO']],
  inner: [7, { shape: { ID: [1, 'uint64'] } }, 'many'],
  urls: [16, 'text', 'many'],
};

describe('messages of the store', () => {
  it('messages are encoded and decoded without a change', () => {
    const json = {
      key: Buffer.from('a\0ü').toString('base64'),
      name: 'größe',
      small: '-1',
      large: '18446744073709551615',
      yes: true,
      kind: 'TWO',
      inner: [{ ID: '1' }, { ID: '300' }],
      urls: ['https://a', 'https://b'],
    };
    expect(decode(shape, encode(shape, json))).toEqual(json);
  });
  it('messages have the wire format of protobuf', () => {
    expect(encode(shape, { name: 'ab', small: 300, yes: true }).toString('hex')).toBe(
      '12026162' + '18ac02' + '2801',
    );
    expect(encode(shape, { small: '-1' }).toString('hex')).toBe('18ffffffffffffffffff01');
    expect(encode({ urls: [16, 'text', 'many'] }, { urls: ['x'] }).toString('hex')).toBe('82010178');
    // A put with key `a` and value `b`.
    expect(
      encode(directCalls['/kv/put']?.request as Shape, { key: 'YQ==', value: 'Yg==' }).toString('hex'),
    ).toBe('0a0161120162');
  });
  it('unknown fields are skipped in any form', () => {
    const bytes = Buffer.from('4001' + '4901020304050607' + '08' + '520141' + '5d01020304' + '1807', 'hex');
    expect(decode(shape, bytes)).toEqual({ small: '7' });
  });
  it('a message that is cut off is an error', () => {
    const whole = encode(shape, { name: 'abcdef', small: 300 });
    for (const at of [1, 3, whole.length - 1])
      expect(() => decode(shape, whole.subarray(0, at))).toThrow(/cut off|middle of a number/);
  });
  it('a condition is never left out: on the revision of a key, and none that is not known', () => {
    const request = directCalls['/kv/txn']?.request as Shape;
    const compare = [{ key: 'YQ==', target: 'MOD', result: 'EQUAL', mod_revision: '300' }];
    expect(encode(request, { compare }).toString('hex')).toBe('0a0a' + '0800' + '1002' + '1a0161' + '30ac02');
    expect(() => encode(request, { compare: [{ key: 'YQ==', target: 'LEASE', lease: '1' }] })).toThrow(
      'no field lease',
    );
  });
});

const strict = {
  text: [1, 'text'],
  data: [2, 'bytes'],
  count: [3, 'int64'],
  counts: [4, 'int64', 'many'],
} as const satisfies Shape;
test.each([
  ['an integer of 11 bytes', '1880808080808080808080' + '01'],
  ['an integer in a field of bytes', '1005'],
  ['an integer in a field of text', '0805'],
  ['text in a field with one integer', '1a0141'],
  ['a fixed number in a field of an integer', '190000000000000000'],
  ['a number that is cut off', '1880'],
])('the reader rejects %s', (_, hex) => {
  expect(() => decode(strict, Buffer.from(hex, 'hex'))).toThrow();
});
test('the reader accepts packed numbers, and an integer of 10 bytes', () => {
  expect(decode(strict, Buffer.from('2203010203', 'hex'))).toEqual({ counts: ['1', '2', '3'] });
  expect(decode(strict, Buffer.from('18ffffffffffffffffff01', 'hex'))).toEqual({ count: '-1' });
});
