import { expect, test } from 'vitest';
import { checkCallback, relayMark, sameSecret, typedCode } from '../../src/auth/callback.ts';

const expected = { state: 'good-state' };
const kind = (query: string) => checkCallback(new URLSearchParams(query), expected).kind;

test.each([
  ['code=4/0Abc&state=good-state', 'code'],
  ['code=4%2F0Abc&state=good-state&scope=a&authuser=0&prompt=consent&hd=x', 'code'],
  ['error=access_denied&state=good-state', 'refused'],
  ['code=x', 'relay'],
  ['error=access_denied', 'relay'],
  [`code=x&${relayMark}=1`, 'ignored'],
  ['', 'ignored'],
  ['state=good-state', 'failed'],
  ['code=x&state=bad-state', 'ignored'],
  ['code=x&state=', 'ignored'],
  ['code=x&state=GOOD-STATE', 'ignored'],
  ['code=x&state=good-state&state=good-state', 'failed'],
  ['code=x&code=y&state=good-state', 'failed'],
  ['error=a&error=b&state=good-state', 'failed'],
  ['code=x&iss=&state=good-state', 'failed'],
  ['code=x&error=access_denied&state=good-state', 'failed'],
  ['code=&state=good-state', 'failed'],
  ['code=a%0Ab&state=good-state', 'failed'],
  ['code=a%20b&state=good-state', 'code'],
  [`code=${'x'.repeat(8193)}&state=good-state`, 'failed'],
  [`code=${'x'.repeat(3000)}&state=good-state`, 'code'],
  ['STATE=good-state&code=x', 'relay'],
])('%s → %s', (query, wanted) => {
  expect(kind(query)).toBe(wanted);
});

test('the code is returned decoded', () => {
  const verdict = checkCallback(new URLSearchParams('code=4%2F0A%2Bz&state=good-state'), expected);
  expect(verdict.kind === 'code' && verdict.callback.code).toBe('4/0A+z');
});

test('state comparison takes equal text only', () => {
  expect(sameSecret('abc', 'abc')).toBe(true);
  expect(sameSecret('abc', 'abd')).toBe(false);
  expect(sameSecret('', 'abc')).toBe(false);
  expect(sameSecret('a'.repeat(100_000), 'abc')).toBe(false);
});

test('a typed code is marked as such', () => {
  const verdict = typedCode('4/0Abc', expected);
  expect(verdict.kind === 'code' && verdict.callback.source).toBe('typed');
  expect(typedCode('two words', expected).kind).toBe('ignored');
});
