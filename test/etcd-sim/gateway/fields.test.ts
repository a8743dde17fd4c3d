import { describe, expect, it } from 'vitest';
import {
  base64Field,
  bigField,
  booleanField,
  bytesField,
  enumField,
  listField,
  requestIn,
  unsignedField,
} from '../../../src/etcd-sim/gateway/rpc.ts';

const body = (value: unknown) =>
  requestIn(`{"a_b":${typeof value === 'string' ? value : JSON.stringify(value)}}`, false);

/** Responses of a real 3.3 gateway. */
describe('fields of a gateway call', () => {
  it.each([
    ['Zg', 0],
    ['Zg=', 3],
    ['Zg===', 4],
    ['Zg==A', 4],
    ['Zg=A', 2],
    ['Zm9', 0],
    ['Zm9v=', 4],
    ['Zm9vY', 4],
    ['Zm8=Zm8=', 4],
    ['Zg==Zg==', 4],
    ['=', 0],
    ['====', 0],
    ['!!!', 0],
    ['Zm9v!mFy', 4],
    ['_-_-', 0],
  ])('base64 %s is wrong at byte %i', (text, at) => {
    expect(() => base64Field(body(JSON.stringify(text)), 'a_b')).toThrow(
      `illegal base64 data at input byte ${at}`,
    );
  });
  it.each([
    ['""', ''],
    ['null', ''],
    ['"Zg=="', 'f'],
    ['"Zm9="', 'fo'],
    ['"Zm\\n9v"', 'foo'],
  ])('base64 %s is read', (text, value) => {
    expect(bytesField(body(text), 'a_b')).toBe(value);
  });
  it.each([
    ['5', 'number'],
    ['true', 'bool'],
    ['{}', 'object'],
  ])('%s is not bytes', (text, kind) => {
    expect(() => base64Field(body(text), 'a_b')).toThrow(
      `json: cannot unmarshal ${kind} into Go value of type []uint8`,
    );
  });
  it.each([
    ['"99"', '99'],
    ['99', '99'],
    ['-8', '-8'],
    ['null', '0'],
    ['7587821338341212345', '7587821338341212345'],
    ['"9223372036854775807"', '9223372036854775807'],
  ])('the number %s is read to its last digit', (text, value) => {
    expect(bigField(body(text), 'a_b')).toBe(value);
  });
  it.each([
    ['"abc"', "invalid character 'a' looking for beginning of value"],
    ['"12a"', "invalid character 'a' after top-level value"],
    ['""', 'unexpected end of JSON input'],
    ['1.5', 'json: cannot unmarshal number 1.5 into Go value of type int64'],
    ['"1.5"', 'json: cannot unmarshal number 1.5 into Go value of type int64'],
    ['1e3', 'json: cannot unmarshal number 1e3 into Go value of type int64'],
    [
      '99999999999999999999',
      'json: cannot unmarshal number 99999999999999999999 into Go value of type int64',
    ],
    ['true', 'json: cannot unmarshal bool into Go value of type int64'],
    ['[]', 'json: cannot unmarshal array into Go value of type int64'],
  ])('%s is not a number', (text, message) => {
    expect(() => bigField(body(text), 'a_b')).toThrow(message);
  });
  it('ids of members have no sign', () => {
    expect(unsignedField(body('18446744073709551615'), 'a_b')).toBe('18446744073709551615');
    expect(unsignedField(body('"9372538179322589801"'), 'a_b')).toBe('9372538179322589801');
    for (const text of ['-1', '18446744073709551616'])
      expect(() => unsignedField(body(text), 'a_b')).toThrow(
        `json: cannot unmarshal number ${text} into Go value of type uint64`,
      );
  });
  it('a switch accepts only true and false', () => {
    expect([
      booleanField(body('true'), 'a_b'),
      booleanField(body('null'), 'a_b'),
      booleanField({}, 'a_b'),
    ]).toEqual([true, false, false]);
    expect(() => booleanField(body('"true"'), 'a_b')).toThrow(
      'json: cannot unmarshal string into Go value of type bool',
    );
    expect(() => booleanField(body('1'), 'a_b')).toThrow(
      'json: cannot unmarshal number into Go value of type bool',
    );
  });
  it('an enum accepts a name or its number; an unnamed number is the first', () => {
    const read = (text: string) => enumField(body(text), 'a_b', ['NONE', 'ASCEND'], 'Order');
    expect([read('"ASCEND"'), read('1'), read('9'), read('null')]).toEqual([
      'ASCEND',
      'ASCEND',
      'NONE',
      'NONE',
    ]);
    expect(() => read('"UP"')).toThrow('unknown value "UP" for enum etcdserverpb.Order');
  });
  it('takes lists of records only', () => {
    expect(listField(body('[{"x":"1"}]'), 'a_b')).toEqual([{ x: '1' }]);
    expect(() => listField(body('{}'), 'a_b')).toThrow(
      'json: cannot unmarshal object into Go value of type []json.RawMessage',
    );
    expect(() => listField(body('[5]'), 'a_b')).toThrow(
      'json: cannot unmarshal number into Go value of type map[string]json.RawMessage',
    );
  });
});
