import fc from 'fast-check';
import { expect, test } from 'vitest';
import { answerUri } from '../../../src/mock-server/oauth/authorize.ts';
import { readParams, reencode } from '../../../src/mock-server/oauth/errors.ts';
import { html, Html } from '../../../src/core/text.ts';
import { formTarget } from '../../../src/mock-server/oauth/pages.ts';

test('the parser handles names, values, repeats, spaces and malformed input', () => {
  const params = readParams('a=1&b=x+y%20z&a=2&&c&=d&e=a%3Db=c');
  expect([
    params.get('a'),
    params.all('a'),
    params.repeated,
    params.get('b'),
    params.get('c'),
    params.get('e'),
    params.count,
  ]).toEqual(['1', ['1', '2'], ['a'], 'x y z', '', 'a=b=c', 6]);
  expect(params.get('missing')).toBeUndefined();
  expect(readParams('').count).toBe(0);
  for (const [text, isGood] of [
    ['a=%ZZ', false],
    ['a=%FF', false],
    ['%FF=a', false],
    ['state=%FF', true],
    ['a=%C3%A9', true],
  ] as const)
    expect(readParams(text).isWellFormed, text).toBe(isGood);
});
test('any form that a browser makes is read back', () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(
        fc.tuple(fc.string({ minLength: 1, unit: 'grapheme' }), fc.string({ unit: 'grapheme' })),
        { selector: ([name]) => name },
      ),
      (pairs) => {
        const params = readParams(new URLSearchParams(pairs).toString());
        for (const [name, value] of pairs) expect(params.get(name)).toBe(value);
      },
    ),
  );
});
test('a state of any bytes is preserved, and is safe in headers and URLs', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), fc.boolean(), (bytes, lower) => {
      const hex = [...bytes]
        .map(
          (byte) =>
            `%${lower ? byte.toString(16).padStart(2, '0') : byte.toString(16).toUpperCase().padStart(2, '0')}`,
        )
        .join('');
      const encoded = reencode(hex);
      expect(encoded).toMatch(/^(?:[A-Za-z0-9\-._~]|%[0-9A-F]{2})*$/);
      const back = Buffer.from(
        encoded.replace(/%(..)/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16))),
        'latin1',
      );
      expect(back.equals(Buffer.from(bytes))).toBe(true);
    }),
  );
  expect(reencode('a+b%2Bc%zz%4')).toBe('a%20b%2Bc%25zz%254');
  expect(reencode('é')).toBe('%C3%A9');
});

const asked = (redirect_uri: string, state: string | null = 's') => ({ redirect_uri, state });
test.each([
  ['http://127.0.0.1:1', 'both', 'http://127.0.0.1:1?state=s&code=4%2F0a%27#state=s'],
  ['http://127.0.0.1:1/cb', 'fragment', 'http://127.0.0.1:1/cb?code=4%2F0a%27#state=s'],
  ['http://127.0.0.1:1/cb?x=1', 'query', 'http://127.0.0.1:1/cb?x=1&state=s&code=4%2F0a%27'],
  ['http://127.0.0.1:1/cb?', 'query', 'http://127.0.0.1:1/cb?state=s&code=4%2F0a%27'],
  ['a.b:', 'query', 'a.b:?state=s&code=4%2F0a%27'],
] as const)('the response to %s with the state in %s', (uri, stateIn, expected) => {
  expect(answerUri(asked(uri), { code: "4/0a'" }, stateIn)).toBe(expected);
});
test('a response to a request without a state has no state', () => {
  expect(answerUri(asked('a.b:/c', null), { error: 'access_denied' }, 'both')).toBe(
    'a.b:/c?error=access_denied',
  );
});

test('values in pages are escaped, HTML is not', () => {
  const nasty = `<b>&"'`;
  expect(
    html`<i title="${nasty}">${nasty}${new Html('<u>')}${undefined}${false}${0}${[html`<s>`, html`${'<'}`]}</i>`
      .text,
  ).toBe('<i title="&lt;b&gt;&amp;&quot;&#39;">&lt;b&gt;&amp;&quot;&#39;<u>0<s>&lt;</i>');
  fc.assert(fc.property(fc.string(), (text) => !/[<>"']/.test(html`${text}`.text)));
});
test.each([
  ['http://127.0.0.1:12/cb?x', ' http://127.0.0.1:12'],
  ['http://[::1]:12/cb', ' http:'],
  ['com.example.app:/cb', ' com.example.app:'],
  ['https://a.example/x', ' https://a.example'],
])('targets of the form for %s', (uri, source) => {
  expect(formTarget(uri)).toBe(source);
});
