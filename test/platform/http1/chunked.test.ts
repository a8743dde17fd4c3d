import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Chunked } from '../../../src/platform/node/http1-answer.ts';

/** Feeds the text in pieces of these sizes, in a repeating cycle. */
const read = (text: string, sizes: readonly number[]): { data: string; rest: string; isDone: boolean } => {
  const body = new Chunked();
  const bytes = Buffer.from(text);
  let data = '';
  let rest = '';
  for (let at = 0, i = 0; at < bytes.length; i++) {
    const piece = bytes.subarray(at, at + (sizes[i % sizes.length] ?? 1));
    at += piece.length;
    rest += body.push(piece, (part) => {
      data += part.toString('latin1');
    });
  }
  return { data, rest, isDone: body.isDone };
};

test('the parser skips sizes in hexadecimal, extensions and trailers, and leaves the following bytes', () => {
  const text = '3;name="a"\r\nabc\r\n0A\r\n0123456789\r\n0\r\nx-sum: 1\r\ny: 2\r\n\r\nHTTP/1.1 200';
  expect(read(text, [1000])).toEqual({ data: 'abc0123456789', rest: 'HTTP/1.1 200', isDone: true });
  expect(read('0\r\n\r\n', [1])).toEqual({ data: '', rest: '', isDone: true });
  expect(read('3\r\nab', [2])).toEqual({ data: 'ab', rest: '', isDone: false });
});

test('any body in any chunks, split at any position, is read back unchanged', () => {
  const parts = fc.array(
    fc.string({ minLength: 1, maxLength: 40 }).map((text) => Buffer.from(text).toString('latin1')),
  );
  const sizes = fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1, maxLength: 5 });
  fc.assert(
    fc.property(parts, sizes, (texts, pieces) => {
      const body = new Chunked();
      const chunks = texts.map((text) => Buffer.from(`${text.length.toString(16)}\r\n${text}\r\n`, 'latin1'));
      const bytes = Buffer.concat([...chunks, Buffer.from('0\r\n\r\n')]);
      let data = '';
      for (let at = 0, i = 0; at < bytes.length; i++) {
        const piece = bytes.subarray(at, at + (pieces[i % pieces.length] ?? 1));
        at += piece.length;
        body.push(piece, (part) => {
          data += part.toString('latin1');
        });
      }
      expect([data, body.isDone]).toEqual([texts.join(''), true]);
    }),
  );
});

test.each([
  'x\r\n',
  '\r\n',
  '-1\r\n',
  '3\nabc\r\n',
  '3\r\nabcd\r\n',
  '1234567890abc\r\n',
  '3 \r\nabc\r\n',
  '3;a=\0\r\nabc\r\n',
  `1;${'x'.repeat(20_000)}`,
])('%j is refused', (text) => {
  expect(() => read(text, [1000])).toThrow('chunks have no sizes');
});

test.each(['0\r\nx: a\0b\r\n\r\n', '0\r\nx: a\r\n folded\r\n\r\n', '0\r\nno colon\r\n\r\n'])(
  '%j has a malformed trailer',
  (text) => {
    expect(() => read(text, [1000])).toThrow('is not HTTP/1.1: ');
  },
);
