import { expect, test } from 'vitest';
import { oneLine, printable, signsFor } from '../../src/output/types.ts';
import { covers } from '../support/covers.ts';

test.each([
  ['plain text, grüße, 日本, 👍', 'plain text, grüße, 日本, 👍'],
  ['a\tb\nc', 'a\tb\nc'],
  ['\u001b[31mred', '\\u001b[31mred'],
  ['\u001b]0;title\u0007', '\\u001b]0;title\\u0007'],
  ['over\rwritten', 'over\\u000dwritten'],
  ['\u009b31m', '\\u009b31m'],
  ['del\u007f', 'del\\u007f'],
  ['turned \u202e around', 'turned \\u202e around'],
  ['\u0000', '\\u0000'],
  ['\u061cArabic mark', '\\u061cArabic mark'],
  ['zero\u200bwidth', 'zero\\u200bwidth'],
  ['word\u2060joiner', 'word\\u2060joiner'],
  ['\ufeffmark of the byte order', '\\ufeffmark of the byte order'],
  ['tag\u{e0041}\u{e007f}', 'tag\\udb40\\udc41\\udb40\\udc7f'],
  [
    'flag: 🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}',
    'flag: 🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}',
  ],
  ['a tag 🏴\u{e0041}', 'a tag 🏴\\udb40\\udc41'],
  ['marks\ufff9of\ufffalines\ufffb', 'marks\\ufff9of\\ufffalines\\ufffb'],
  ['joiners: 👩\u200d💻 می\u200cخواهم', 'joiners: 👩\u200d💻 می\u200cخواهم'],
])('%j is shown as %j', covers('defect/R-20'), (text, expected) => {
  expect(printable(text)).toBe(expected);
});

test('text for a single line contains no line end', () => {
  expect(oneLine('a\nb\tc\rd\u2028e\u001b[0m')).toBe('a\\nb\\tc\\rd\\u2028e\\u001b[0m');
});

test.each([
  ['bad\n::stop-commands::x', 'bad\n: :stop-commands::x'],
  ['  ::set-output name=a::b', '  : :set-output name=a::b'],
  ['\u00a0::add-mask::b', '\u00a0: :add-mask::b'],
  ['x ##[set-env name=A]b', 'x # #[set-env name=A]b'],
  ['##vso[task.setvariable variable=a]b', '# #vso[task.setvariable variable=a]b'],
  ["##teamcity[publishArtifacts 'x']", "# #teamcity[publishArtifacts 'x']"],
  ['http://[::1]:80 and ::1', 'http://[::1]:80 and ::1'],
  ['::1 is an address', '::1 is an address'],
  ['## [0.2.0]', '## [0.2.0]'],
])('a runner of a CI service obeys no command in %j', (text, expected) => {
  for (const name of ['GITHUB_ACTIONS', 'TF_BUILD', 'TEAMCITY_VERSION'])
    expect(signsFor({ [name]: 'true' })(text)).toBe(expected);
  expect(signsFor({})(text)).toBe(text);
});
