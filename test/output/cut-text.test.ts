/** A message shows a part of a foreign text. No place of the cut may show a part of a secret of this run. */
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { cutText, shortenMiddle } from '../../src/core/problem.ts';
import { makeRedactor } from '../../src/output/redact.ts';

const source = new URL('../../src/', import.meta.url).pathname;
const secret = 'Qx7+vT"9/kW2 zR4=yB8';
/** What JSON, a URL, a form and a Basic password make of the secret. */
const spellings = [
  secret,
  JSON.stringify(secret).slice(1, -1),
  encodeURIComponent(secret),
  new URLSearchParams({ t: secret }).toString().slice(2),
  Buffer.from(`user:${secret}`).toString('base64').replace(/=+$/, '').slice(7, -1),
];
/** The parts of a spelling that a reader could tell from chance. */
const partsOf = (spelling: string): string[] =>
  Array.from({ length: spelling.length - 2 }, (_, at) => spelling.slice(at, at + 3));
const shownParts = (text: string, spelling: string): string[] =>
  partsOf(spelling).filter((part) => text.includes(part));
const redactor = makeRedactor();
redactor.hide(secret);
const stream = (text: string, size: number): string => {
  const { push, end } = redactor.stream();
  let done = '';
  for (let at = 0; at < text.length; at += size) done += push(text.slice(at, at + size));
  return done + end();
};

test.each(spellings)('no cut shows three characters of a secret that is written as %s', (spelling) => {
  for (let before = 0; before <= 90; before += 1) {
    const text = `${'-'.repeat(before)}${spelling}${'-'.repeat(120)}`;
    const tail = `${'-'.repeat(120)}${spelling}${'-'.repeat(before)}`;
    for (const cut of [cutText(text, 60), shortenMiddle(text, 80), shortenMiddle(tail, 80)]) {
      expect(shownParts(redactor.clean(`error: ${cut} is wrong`), spelling)).toEqual([]);
      for (const size of [1, 7, 64]) expect(shownParts(stream(cut, size), spelling)).toEqual([]);
    }
  }
});

test('a piece between two cuts is masked if it is the middle of a secret', () => {
  for (let at = 1; at < secret.length - 4; at += 1) {
    const text = `line …${secret.slice(at, at + 4)}… of the file`;
    expect(redactor.clean(text)).toBe('line …***… of the file');
    expect(stream(text, 1)).toBe('line …***… of the file');
  }
});

test.each(['wait… then', 'Qx…', '…B8', '… (40 characters left out) …', '…', '……'])(
  'the redactor keeps %j, which has no part of a secret',
  (text) => {
    expect(redactor.clean(text)).toBe(text);
    expect(stream(text, 1)).toBe(text);
  },
);

test('a stream masks at a cut as one text, wherever its pieces end', () => {
  const word = fc.constantFrom('…', 'a', secret, secret.slice(0, 9), secret.slice(-9), ' ', '-');
  fc.assert(
    fc.property(fc.array(word, { maxLength: 12 }), fc.integer({ min: 1, max: 30 }), (words, size) => {
      const shown = stream(words.join(''), size);
      expect(shown).not.toContain(secret);
      expect(shown).not.toContain(`${secret.slice(0, 9)}…`);
      expect(shown).not.toContain(`…${secret.slice(-9)}`);
    }),
  );
});

test('a cut text contains no half of a character', () => {
  for (let most = 1; most < 40; most += 1)
    expect(cutText('a🙂'.repeat(50), most)).not.toMatch(/\p{Surrogate}/u);
  expect(cutText('short', 5)).toBe('short');
  expect(cutText('shorter', 5)).toBe('short…');
});

/** Names that are made of letters, digits and hyphens, or that a schema limits. */
const names: Readonly<Record<string, string>> = {
  'auth/machine/machine-token.ts': 'the name of a token',
  'auth/credential-store/account.ts': 'the name of an account',
  'labels/lock-entries.ts': 'the name of a file',
  'kv/snapshots/schedule.ts': 'the name of a Kubernetes object',
  'cli/mcp/tools.ts': 'the name of a tool',
};
test('every message cuts foreign text with cutText, so that the redactor sees the cut', () => {
  const found = readdirSync(source, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !(name in names) && name !== 'core/problem.ts')
    .flatMap((name) =>
      [
        ...readFileSync(join(source, name), 'utf8').matchAll(
          /\.slice\(0, (?:[4-9]\d|\d{3,}|\d_\d+)\)|\.slice\(0, [^()]*\)\}(?:…|\.{3})/g,
        ),
      ].map(([cut]) => `${name}: ${cut}`),
    );
  expect(found).toEqual([]);
});
