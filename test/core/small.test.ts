import { expect, test } from 'vitest';
import { durationText, formats, parseDuration, sizeText, wordLines } from '../../src/core/format.ts';
import { exitCodes } from '../../src/core/problem.ts';
import { nearest } from '../../src/core/text.ts';

test.each([
  ['30', 30_000],
  ['30s', 30_000],
  ['1h30m', 5_400_000],
  ['500ms', 500],
  ['1.5s', 1500],
])('duration %s', (text, ms) => {
  expect(parseDuration(text)).toBe(ms);
});
test.each(['', 'soon', '5x', '-1s', '1h 30m'])('no duration: %j', (text) => {
  expect(() => parseDuration(text)).toThrow(/not a duration/);
});
test('a flag that is no duration is named once', () => {
  expect(() => parseDuration('soon', '--timeout')).toThrow(
    expect.objectContaining({
      message: '--timeout is not a duration; got "soon"',
      detail: expect.objectContaining({
        problems: [{ path: '--timeout', rule: 'format', message: 'is not a duration; got "soon"' }],
      }),
    }),
  );
});
test.each([
  [-90_000, '-1 min 30 s'],
  [0.4, '0 ms'],
  [320, '320 ms'],
  [999.4, '999 ms'],
  [999.5, '1.0 s'],
  [4200, '4.2 s'],
  [59_949, '59.9 s'],
  [59_950, '1 min 00 s'],
  [60_000, '1 min 00 s'],
  [185_000, '3 min 05 s'],
  [3_599_499, '59 min 59 s'],
  [3_599_500, '1 h 00 min'],
  [7_260_000, '2 h 01 min'],
  [7_800_000, '2 h 10 min'],
])('%d ms in words', (ms, text) => {
  expect(durationText(ms)).toBe(text);
});
test.each([
  [0, '0 bytes'],
  [1, '1 byte'],
  [1023, '1023 bytes'],
  [1024, '1 KiB'],
  [49_152, '48 KiB'],
  [1024 ** 2, '1.0 MiB'],
  [9.96 * 1024 ** 2, '10.0 MiB'],
  [340 * 1024 ** 2, '340 MiB'],
])('%d bytes in words', (bytes, text) => {
  expect(sizeText(bytes)).toBe(text);
});

test.each([
  ['lables', 'labels'],
  ['creat', 'create'],
  ['xyz', undefined],
  ['del', 'delete'],
  ['la', undefined],
  ['member', 'member_ids'],
  ['members', 'member_ids'],
])('nearest of %s', (typed, expected) => {
  expect(nearest(typed, ['labels', 'create', 'delete', 'member_ids'])).toBe(expected);
});

test.each([
  ['3.7', undefined],
  ['3.66', undefined],
  ['4', undefined],
  ['3,6', '3.6'],
  ['35', '3.5'],
])('nearest of the number %s has the same digits', (typed, expected) => {
  expect(nearest(typed, ['3.2', '3.3', '3.4', '3.5', '3.6'])).toBe(expected);
});

/** spec/program#exit-codes, transcribed. */
test.each([
  ['done', 0],
  ['unknown', 1],
  ['usage', 2],
  ['config', 3],
  ['auth', 4],
  ['refused', 5],
  ['not-found', 6],
  ['rate-limit', 7],
  ['stopped', 8],
  ['partial', 9],
  ['unsafe', 10],
  ['network', 11],
  ['rolled-back', 12],
  ['no', 20],
  ['interrupted', 130],
  ['terminated', 143],
] as const)('exit code of %s is %d', (category, code) => {
  expect(exitCodes[category].code).toBe(code);
  expect(Object.keys(exitCodes)).toHaveLength(16);
});

test.each([
  ['byte', ['', 'AA', 'AA==', 'AAA=', 'AAAA', 'AAAA==', 'a-_/+0', 'x'.repeat(40_000_000)]],
  ['fieldmask', ['', '*', 'a', 'a.b,c_1', `a${',a'.repeat(5_000_000)}`]],
] as const)('%s has valid texts of any length', (format, texts) => {
  for (const text of texts) expect(formats[format].holds(text)).toBe(true);
});
test.each([
  ['byte', ['A', '=', '==', 'AAAAA', 'AA===', 'A=A=', 'AA\n', 'A A', `${'x'.repeat(40_000_000)}!`]],
  ['fieldmask', [',', 'a,', ',a', '*,a', 'a,*', 'a b', 'a\n']],
] as const)('%s has invalid texts of any length', (format, texts) => {
  for (const text of texts) expect(formats[format].holds(text)).toBe(false);
});

test('a line that fits keeps the spaces of its author, and a longer line keeps them between its words', () => {
  expect(wordLines('a   b  c', 8)).toEqual(['a   b  c']);
  expect(wordLines('a   b  cc', 8)).toEqual(['a   b', 'cc']);
});
