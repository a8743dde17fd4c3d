import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { makeRedactor } from '../../src/output/redact.ts';
import type { Redactor } from '../../src/output/types.ts';

const hiding = (...secrets: string[]): Redactor => {
  const redactor = makeRedactor();
  for (const secret of secrets) redactor.hide(secret);
  return redactor;
};
/** Splits a text into pieces at these positions. */
const piecesOf = (text: string, cuts: readonly number[]): string[] => {
  const places = [...new Set([0, ...cuts.map((cut) => cut % (text.length + 1)), text.length])].sort(
    (a, b) => a - b,
  );
  return places.slice(1).map((end, i) => text.slice(places[i], end));
};
const streamed = (redactor: Redactor, pieces: readonly string[]): string => {
  const stream = redactor.stream();
  return pieces.map((piece) => stream.push(piece)).join('') + stream.end();
};

const secret = 's3cret/Token+with=odd "chars" & ümlaut';

describe('every spelling of a secret', () => {
  test.each<[string, string]>([
    ['as it is', secret],
    ['in JSON', JSON.stringify({ a: secret })],
    ['in JSON inside JSON text', JSON.stringify(secret)],
    ['in a URL', `https://x/?t=${encodeURIComponent(secret)}`],
    ['in a form', new URLSearchParams({ t: secret }).toString()],
    [
      'in a URL with small hexadecimal digits',
      encodeURIComponent(secret).replace(/%../g, (code) => code.toLowerCase()),
    ],
    ['in CSV', `"${secret.replaceAll('"', '""')}"`],
    ['in base64', Buffer.from(secret).toString('base64')],
    ['in base64url', Buffer.from(secret).toString('base64url')],
    ['as a Basic password', Buffer.from(`user:${secret}`).toString('base64')],
    ['as a Basic password of a longer name', Buffer.from(`users:${secret}`).toString('base64')],
    ['as a Basic user name', Buffer.from(`${secret}:password`).toString('base64')],
    ['in the middle of base64url', Buffer.from(`ab${secret}cd`).toString('base64url')],
  ])('%s', (_, text) => {
    const clean = hiding(secret).clean(`before ${text} after`);
    expect(clean).toContain('***');
    expect(clean).toMatch(/^before .* after$/);
    for (const form of [
      secret,
      encodeURIComponent(secret),
      Buffer.from(secret).toString('base64').slice(4, -4),
    ])
      expect(clean).not.toContain(form);
  });
});

test.each(['', 'a', 'abc', 'a1', 'test', 'token', 'secret', '1234', '1234567'])(
  '%j is an ordinary word or number, not a secret',
  (word) => {
    expect(hiding(word).clean(`{"${word}": "${word} abc"}`)).toBe(`{"${word}": "${word} abc"}`);
  },
);

test.each(['ab12', 's3cret', 'tok-1', 'abcdefgh', '12345678', 'pass word'])('%j is hidden', (secret) => {
  expect(hiding(secret).clean(`<${secret}>`)).toBe('<***>');
});

test('characters of patterns are plain characters in a secret', () => {
  for (const odd of ['a.c*1', '$(x9)', '[abc]1', 'a|b|c1', '\\d+\\1', '^abc$1', 'a-z/1']) {
    expect(hiding(odd).clean(`<${odd}> abcd a1c`)).toBe('<***> abcd a1c');
  }
});

test('a secret inside another one does not leave the rest of it', () => {
  expect(hiding('abc4', 'abc4efgh').clean('abc4efgh abc4')).toBe('*** ***');
  expect(streamed(hiding('abc4', 'abc4efgh'), ['abc4', 'efgh abc4'])).toBe('*** ***');
});

test('a secret split into two chunks is found, and a false start is written', () => {
  const redactor = hiding('topsecret');
  expect(streamed(redactor, ['a tops', 'ecret b'])).toBe('a *** b');
  expect(streamed(redactor, [...'a topsecret b'])).toBe('a *** b');
  expect(streamed(redactor, ['a tops', 'oil b tops'])).toBe('a topsoil b tops');
});

test('redaction without secrets holds no text back', () => {
  expect(makeRedactor().stream().push('anything')).toBe('anything');
});

test('a secret that becomes known later is hidden from then on', () => {
  const redactor = makeRedactor();
  const stream = redactor.stream();
  const first = stream.push('one topsecret ');
  redactor.hide('topsecret');
  expect(first + stream.push('two topsecret') + stream.end()).toBe('one topsecret two ***');
});

// A small alphabet makes secrets, their prefixes and overlaps frequent.
const word = fc.stringMatching(/^[ab"%]{8,11}$/);

test('fuzz: pieces give what the whole gives, and no secret is left', () => {
  const text = fc.array(fc.oneof(word, fc.string({ maxLength: 6 })), { maxLength: 12 });
  fc.assert(
    fc.property(
      fc.array(word, { minLength: 1, maxLength: 4 }),
      text,
      fc.array(fc.nat()),
      (secrets, parts, cuts) => {
        const redactor = hiding(...secrets);
        const whole = [...parts, ...secrets].join('');
        const clean = redactor.clean(whole);
        expect(streamed(redactor, piecesOf(whole, cuts))).toBe(clean);
        for (const one of secrets) expect(clean).not.toContain(one);
      },
    ),
    { numRuns: 500 },
  );
});

test('fuzz: any secret in any base64 neighbourhood', () => {
  const bytes = fc.string({ unit: 'grapheme', minLength: 12, maxLength: 40 });
  fc.assert(
    fc.property(bytes, fc.string({ maxLength: 5 }), fc.string({ maxLength: 5 }), (hidden, before, after) => {
      const text = Buffer.from(before + hidden + after).toString('base64');
      expect(hiding(hidden).clean(text)).toContain('***');
    }),
    { numRuns: 500 },
  );
});
