import { describe, expect, it } from 'vitest';
import { NumberText, requestIn } from '../../../src/etcd-sim/gateway/rpc.ts';

/** Responses of a real 3.3 gateway to these bodies. */
describe('the request of a gateway call', () => {
  it.each([
    ['', 'EOF'],
    ['hello', "invalid character 'h' looking for beginning of value"],
    ['[]', 'json: cannot unmarshal array into Go value of type map[string]json.RawMessage'],
    ['"x"', 'json: cannot unmarshal string into Go value of type map[string]json.RawMessage'],
    ['5', 'json: cannot unmarshal number into Go value of type map[string]json.RawMessage'],
    ['true', 'json: cannot unmarshal bool into Go value of type map[string]json.RawMessage'],
    ['{"key":"Zm9v"', 'unexpected EOF'],
    ['{"key":', 'unexpected EOF'],
    ['{"key":"Zm9', 'unexpected EOF'],
    ['[1', 'unexpected EOF'],
    ['{"key":"Zm9v",}', "invalid character '}' looking for beginning of object key string"],
    ["{'key':1}", "invalid character '\\'' looking for beginning of object key string"],
    ['{"key" "Zm9v"}', "invalid character '\"' after object key"],
    ['{"key":"Zm9v" x', "invalid character 'x' after object key:value pair"],
    ['{"list":[1 2]}', "invalid character '2' after array element"],
    ['{"key":"Zm\tv"}', "invalid character '\\t' in string literal"],
  ])('%j is refused as the servers refuse it', (text, message) => {
    expect(() => requestIn(text, false)).toThrow(expect.objectContaining({ code: 3, message }));
  });
  it.each([
    ['{}', {}],
    ['null', {}],
    [' {"a" : "b\\u0067\\n" } trailing text', { a: 'bg\n' }],
    ['{"a":[true,false,null,{"b":[]}]}', { a: [true, false, null, { b: [] }] }],
    ['{"a":1,"a":"2"}', { a: '2' }],
    ['{"__proto__":"x"}', JSON.parse('{"__proto__":"x"}')],
  ])('%j is read', (text, value) => {
    expect(requestIn(text, false)).toEqual(value);
  });
  it('keeps every digit of a number', () => {
    expect(requestIn('{"ID":7587821338341212345}', false)).toEqual({
      ID: new NumberText('7587821338341212345'),
    });
  });
  it('from 3.4 on, a missing body is the empty request', () => {
    expect(requestIn('', true)).toEqual({});
  });
  it('ends on a body that is nested without end', () => {
    expect(() => requestIn('['.repeat(100_000), false)).toThrow('exceeded max depth');
  });
  it('reads a text of millions of escapes', () => {
    const value = '\\n'.repeat(9_000_000);
    expect((requestIn(`{"key":"${value}"}`, false)['key'] as string).length).toBe(9_000_000);
    expect(() => requestIn(`{"key":"${value}`, false)).toThrow('unexpected EOF');
  });
});
