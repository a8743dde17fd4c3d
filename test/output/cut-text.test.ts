/** A message shows a part of a foreign text. No place of the cut may show a part of a secret of this run. */
import { expect, test } from 'vitest';
import { shortenMiddle } from '../../src/core/problem.ts';
import { makeRedactor } from '../../src/output/redact.ts';

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
test.each(spellings)('no cut shows three characters of a secret that is written as %s', (spelling) => {
  for (let before = 0; before <= 90; before += 1) {
    const text = `${'-'.repeat(before)}${spelling}${'-'.repeat(120)}`;
    const tail = `${'-'.repeat(120)}${spelling}${'-'.repeat(before)}`;
    for (const cut of [shortenMiddle(text, 80), shortenMiddle(tail, 80)])
      expect(shownParts(redactor.clean(`error: ${cut} is wrong`), spelling)).toEqual([]);
  }
});

test('a piece between two cuts is masked if it is the middle of a secret', () => {
  for (let at = 1; at < secret.length - 4; at += 1) {
    const text = `line …${secret.slice(at, at + 4)}… of the file`;
    expect(redactor.clean(text)).toBe('line …***… of the file');
  }
});

test.each(['wait… then', 'Qx…', '…B8', '… (40 characters left out) …', '…', '……'])(
  'the redactor keeps %j, which has no part of a secret',
  (text) => {
    expect(redactor.clean(text)).toBe(text);
  },
);
