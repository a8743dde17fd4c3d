import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { AppError } from '../../src/core/problem.ts';
import { decodeUtf8, utf8Decoder, utf8Text } from '../../src/core/text.ts';

const strict = (bytes: Uint8Array): string | undefined => {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
};
const bytes = fc.array(
  fc.oneof(
    fc.constantFrom([0x41], [0x0a], [0xc3, 0xa9], [0xe2, 0x82, 0xac], [0xf0, 0x9f, 0x92, 0xa5]),
    fc.constantFrom([0xe9], [0xc3], [0xe2, 0x82], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80], [0xff]),
  ),
);
const thrownBy = (act: () => unknown): AppError => {
  try {
    act();
  } catch (error) {
    if (error instanceof AppError) return error;
  }
  throw new Error('nothing was thrown');
};

describe('the decoder of text input', () => {
  test.each([1, 2, 3, 4])('accepts a first mark in pieces of %i bytes, and refuses a second one', (size) => {
    const read = (text: string): string => {
      const [decoder, given] = [utf8Decoder('x'), Buffer.from(text)];
      let read = '';
      for (let i = 0; i < given.length; i += size) read += decoder.push(given.subarray(i, i + size));
      return read + decoder.end();
    };
    expect(read('\uFEFFé,b\n')).toBe('\uFEFFé,b\n');
    expect(thrownBy(() => read('\uFEFFé\n\uFEFFa')).detail.data).toEqual({ file: 'x', line: 2, byte: 6 });
  });

  test('accepts the same bytes as the platform, whole and in pieces, and reports the same place', () => {
    fc.assert(
      fc.property(bytes, fc.integer({ min: 1, max: 5 }), (parts, size) => {
        const given = Uint8Array.from(parts.flat());
        const expected = strict(given);
        const whole = utf8Text(given);
        const decoder = utf8Decoder('x');
        const pieces = (): string => {
          let text = '';
          for (let i = 0; i < given.length; i += size) text += decoder.push(given.slice(i, i + size));
          return text + decoder.end();
        };
        if (expected !== undefined) {
          expect([whole, pieces()]).toEqual([{ text: expected }, expected]);
          return;
        }
        const { byte, line } = whole.fault ?? { byte: -1, line: -1 };
        expect(strict(given.slice(0, byte))).toBeDefined();
        expect(thrownBy(pieces).detail.data).toEqual({ file: 'x', line, byte });
      }),
      { numRuns: 2000, seed: 7 },
    );
  });

  test.each([
    [
      'Latin-1',
      Buffer.from('a\nb é', 'latin1'),
      'x.csv:2: not UTF-8: byte 4 is 0xE9',
      'iconv -f WINDOWS-1252',
    ],
    [
      'UTF-16LE without a mark',
      Buffer.from('name\né', 'utf16le'),
      'UTF-16LE (every second byte is zero)',
      'iconv -f UTF-16LE -t UTF-8 x.csv',
    ],
    [
      'UTF-16BE without a mark',
      Buffer.from('name\né', 'utf16le').swap16(),
      'UTF-16BE (every second byte is zero)',
      'iconv -f UTF-16BE -t UTF-8 x.csv',
    ],
    [
      'UTF-32',
      Buffer.from([0xff, 0xfe, 0, 0, 0x61, 0, 0, 0]),
      'x.csv:1: UTF-32',
      'iconv -f UTF-32 -t UTF-8 x.csv',
    ],
    ['Shift JIS', Buffer.from([0x61, 0x93, 0xfa]), 'byte 1 is 0x93', 'WINDOWS-1251 or SHIFT_JIS'],
    ['UTF-16LE', Buffer.from('\ufeffa', 'utf16le'), 'x.csv:1: UTF-16', 'iconv -f UTF-16 -t UTF-8 x.csv'],
    ['a coded surrogate', Buffer.from([0x61, 0xed, 0xa0, 0x80]), 'byte 1 is 0xED', 'iconv'],
    ['a cut sequence', Buffer.from([0x61, 0xe2, 0x82]), 'byte 1 is 0xE2', 'iconv'],
  ])('rejects %s with its place and the way to convert it', (_, given, message, remedy) => {
    const error = thrownBy(() => decodeUtf8(given, 'x.csv'));
    expect(error.message).toContain(message);
    expect(error.detail.tryThis?.join('\n')).toContain(remedy);
  });
});
