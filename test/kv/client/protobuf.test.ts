import { describe, expect, it } from 'vitest';
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
    // A put of key `a`, value `b`.
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
