import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  customSchemeProblem,
  isAuthorizedRedirect,
  redirectForm,
} from '../../../src/mock-server/oauth/errors.ts';
import type { Client } from '../../../src/mock-server/oauth/state.ts';

const client = (more: Partial<Client>): Client =>
  ({
    id: '1-a.apps.opsctl.example',
    package_name: null,
    bundle_id: null,
    item_id: null,
    redirect_uris: [],
    ...more,
  }) as Client;

describe('forms', () => {
  test.each([
    ['http://127.0.0.1:8080', { kind: 'loopback', host: '127.0.0.1', path: '/' }],
    ['http://[::1]:1/cb?a=1', { kind: 'loopback', host: '[::1]', path: '/cb?a=1' }],
    ['http://127.0.0.1', { kind: 'loopback', host: '127.0.0.1', path: '/' }],
    ['http://127.0.0.1?x=1', { kind: 'loopback', host: '127.0.0.1', path: '?x=1' }],
    ['http://localhost:9', { kind: 'loopback', host: 'localhost', path: '/' }],
    ['http://127.0.0.1:', { kind: 'other' }],
    ['http://127.0.0.1:99999', { kind: 'other' }],
    ['http://127.0.0.1:80@evil.example/', { kind: 'other' }],
    ['http://127.0.0.1:80/a b', { kind: 'other' }],
    ['http://127.0.0.1:80/#f', { kind: 'other' }],
    ['http://127.0.0.1:80/<x>', { kind: 'other' }],
    ['https://item.example/cb', { kind: 'https', host: 'item.example' }],
    ['https://user@item.example/cb', { kind: 'other' }],
    ['ftp.example:/x', { kind: 'custom', scheme: 'ftp.example', rest: '/x' }],
    ['', { kind: 'other' }],
    ['/relative', { kind: 'other' }],
    ['http:/x', { kind: 'other' }],
    ['HTTPS://x', { kind: 'other' }],
  ])('%s', (uri, form) => {
    expect(redirectForm(uri)).toEqual(form);
  });
  test('loopback is only the two addresses and localhost', () => {
    fc.assert(
      fc.property(fc.webUrl({ validSchemes: ['http', 'https'] }), (url) => {
        expect(redirectForm(url).kind).not.toBe('loopback');
      }),
      { numRuns: 40 },
    );
  });
  test('browsers read every accepted redirect URI with the same host', () => {
    const tail = fc.stringMatching(/^[/?][ -~]{0,20}$/);
    fc.assert(
      fc.property(
        fc.constantFrom('127.0.0.1', '[::1]'),
        fc.integer({ min: 1, max: 65535 }),
        tail,
        (host, port, rest) => {
          const uri = `http://${host}:${port}${rest}`;
          if (redirectForm(uri).kind !== 'loopback') return;
          const url = new URL(uri);
          expect([url.hostname, url.username, url.hash]).toEqual([host, '', '']);
        },
      ),
    );
  });
});

test.each([
  ['com.example.app', '/cb', undefined],
  ['com.example.app', '', undefined],
  ['com.example.app', '/a/b?x=1', undefined],
  ['com.example.app', '//cb', 'single slash'],
  ['com.example.app', 'cb', 'SCHEME:/PATH'],
  ['com.example.app', '?x', 'SCHEME:/PATH'],
  ['com.example.app', '/a#b', 'SCHEME:/PATH'],
  ['myapp', '/x', 'must contain a period'],
])('the custom scheme %s:%s', (scheme, rest, says) => {
  const problem = customSchemeProblem({ scheme, rest });
  if (says === undefined) expect(problem).toBeUndefined();
  else expect(problem).toContain(says);
});

describe('authorized', () => {
  test.each([
    ['implied, any port', {}, 'http://127.0.0.1:5/', false, true],
    ['implied, other path', {}, 'http://127.0.0.1:5/x', false, false],
    ['implied, any path', {}, 'http://127.0.0.1:5/x', true, true],
    ['registered path', { redirect_uris: ['http://127.0.0.1/cb'] }, 'http://127.0.0.1:5/cb', false, true],
    [
      'registered with a port',
      { redirect_uris: ['http://127.0.0.1:1/cb'] },
      'http://127.0.0.1:5/cb',
      false,
      true,
    ],
    [
      'registered, the other address',
      { redirect_uris: ['http://127.0.0.1/cb'] },
      'http://[::1]:5/cb',
      false,
      false,
    ],
    [
      'registered, the other address, any path',
      { redirect_uris: ['http://127.0.0.1/cb'] },
      'http://[::1]:5/cb',
      true,
      false,
    ],
    ['package name', { package_name: 'com.a.b' }, 'com.a.b:/x', false, true],
    ['package name in another case', { package_name: 'com.a.b' }, 'Com.a.b:/x', false, false],
    ['client ID backwards', {}, 'example.opsctl.apps.1-a:/x', false, true],
    ['registered scheme, exactly', { redirect_uris: ['a.b:/x'] }, 'a.b:/x', false, true],
    ['registered scheme, other path', { redirect_uris: ['a.b:/x'] }, 'a.b:/y', false, false],
    ['extension', { item_id: 'it' }, 'https://it.extensions.opsctl.example/x', false, true],
    ['https that nobody registered', {}, 'https://it.extensions.opsctl.example/x', false, false],
    ['https registered', { redirect_uris: ['https://a.example/cb'] }, 'https://a.example/cb', false, true],
  ])('%s', (_, more, uri, anyPath, expected) => {
    expect(isAuthorizedRedirect(client(more), uri, anyPath)).toBe(expected);
  });
});
