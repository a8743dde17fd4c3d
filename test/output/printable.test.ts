import { oneLine, printable } from '../../src/core/text.ts';
import { expect, test } from 'vitest';
import { signsFor } from '../../src/output/types.ts';
import type { Prompts } from '../../src/platform/host.ts';
import { cleanPrompts } from '../../src/platform/node/terminal.ts';
import { readSources } from '../support/sources.ts';
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

/** Sources that write to a terminal themselves, and why no text of others gives it a command. */
const writers: Readonly<Record<string, string>> = {
  'api/sent-requests.ts': 'printable',
  'auth/flow.ts': 'an address that URL made',
  'auth/methods/device.ts': 'an ExternalUrl, and a code of safeText',
  'cli/ask-missing.ts': 'printable',
  'cli/execute.ts': 'printable, and a version of a fixed form',
  'cli/mcp/call.ts': 'messages of a protocol as JSON',
  'cli/tracing.ts': 'printable',
  'commands/auth/programs.ts': 'the protocol of a program that reads it, and words of the command line',
  'commands/auth/token.ts': 'a token, which the user asked for',
  'commands/kv/prepare.ts': 'reads the width only',
  'commands/kv/top.ts': 'oneLine',
  'commands/mock/serve.ts': 'words of the command line',
  'kv/upgrade/present/live.ts': 'drawnLine',
  'output/error.ts': 'printable',
  'output/formats.ts': 'reads the width only',
  'output/logger.ts': 'printable',
  'output/page-text.ts': 'a text of output/render.ts',
  'output/render.ts': 'printable, or data for a program that reads it',
  'output/reports.ts': 'annotations, which escape their text',
  'support/tour.ts': 'texts of the tour',
};
test('only listed sources write to a terminal', () => {
  const writes = /\b(?:stdout|stderr)\b[!?]*\s*\.write\b|=\s*[\w.]*\bterminal\s*\.\s*(?:stdout|stderr)\s*;/;
  const found = readSources().filter(
    ([name, text]) => !/^(?:platform|mock-server|etcd-sim)\/|^\w+[-\w]*\.ts$/.test(name) && writes.test(text),
  );
  expect(found.map(([name]) => name).toSorted()).toEqual(expect.arrayContaining(Object.keys(writers)));
  expect(found.map(([name]) => name).filter((name) => !(name in writers))).toEqual([]);
});

const HOSTILE = [
  ['title', '\u001b]0;owned\u0007'],
  ['link', '\u001b]8;;https://evil.example\u001b\\text\u001b]8;;\u001b\\'],
  ['clipboard', '\u001b]52;c;UFdO\u0007'],
  ['C1', '\u009b2Jx'],
  ['device control', '\u001bPq#0\u001b\\'],
  ['carriage return', 'a\rb'],
  ['direction', 'a\u202eb'],
] as const;
/** Prompts that record what a terminal would get. */
const recordPrompts = () => {
  const shown: string[] = [];
  const prompts: Prompts = {
    confirm: async (question) => void shown.push(question) === undefined,
    text: async (question) => {
      shown.push(question);
      return 'typed';
    },
    select: async (question, choices) => {
      shown.push(question, ...choices.map(({ label }) => label));
      return choices[0]?.value ?? '';
    },
  };
  return { shown, prompts: cleanPrompts(prompts) };
};
test.each(HOSTILE)('a question does not give the terminal a command: %s', async (_, hostile) => {
  const { shown, prompts } = recordPrompts();
  await prompts.confirm(`Delete ${hostile}?`, false);
  await prompts.text(`Type ${hostile}:`);
  const chosen = await prompts.select(`Which of ${hostile}?`, [{ value: hostile, label: `${hostile}\n` }]);
  expect(chosen).toBe(hostile);
  expect(shown).toEqual([
    `Delete ${printable(hostile)}?`,
    `Type ${printable(hostile)}:`,
    `Which of ${printable(hostile)}?`,
    `${oneLine(hostile)}\\n`,
  ]);
  for (const text of shown) expect(text).not.toContain(hostile);
});
