import { expect, test } from 'vitest';
import {
  addScopeLine,
  isIdentity,
  missing,
  scopesFrom,
  scopeTable,
  union,
} from '../../src/auth/auth-context.ts';

test.each([
  ['a b', ['a', 'b']],
  ['a  b ', ['a', 'b']],
  ['', []],
  ['a,b', ['a,b']],
  ['A a', ['A', 'a']],
  ['a a', ['a']],
])('spec/sign-in#scope: %j is the list %j (separated by spaces, case kept)', (text, scopes) => {
  expect(scopesFrom(text)).toEqual(scopes);
});

test('requested scopes without a grant are listed, and so are additional grants', () => {
  expect(scopeTable(['a', 'b'], ['b', 'c'])).toEqual([
    { scope: 'a', granted: false },
    { scope: 'b', granted: true },
    { scope: 'c', granted: true },
  ]);
  expect(missing(['a', 'b'], ['b'])).toEqual(['a']);
});

test('the command that requests more scopes can be copied unchanged', () => {
  expect(addScopeLine(['x/media.upload'], 'ada@example.com')).toBe(
    'opsctl login --account ada@example.com --add-scope x/media.upload',
  );
  expect(union(['a'], ['b', 'a'])).toEqual(['a', 'b']);
});

test.each([
  ['openid', true],
  ['email', true],
  ['https://x.example/auth/userinfo.email', true],
  ['https://x.example/auth/media', false],
  ['Openid', false],
])('%s is an identity scope: %s', (scope, is) => {
  expect(isIdentity(scope)).toBe(is);
});
