import { expect, test } from 'vitest';
import { readdirSync, readFileSync } from 'node:fs';
import { externalUrl, parseUrl } from '../../src/core/external-url.ts';
import { formats } from '../../src/core/format.ts';

test.each([
  ['https://tracker.example/label/1', 'https://tracker.example/label/1'],
  ['HTTP://Tracker.example', 'http://tracker.example/'],
  ['http://127.0.0.1:1/a?b=c&d=$(e)', 'http://127.0.0.1:1/a?b=c&d=$(e)'],
  ['http://[::1]:8080/x', 'http://[::1]:8080/x'],
  ['https://bücher.example/ü?q=ü#ü', 'https://xn--bcher-kva.example/%C3%BC?q=%C3%BC#%C3%BC'],
  ['https://a.example/b c', 'https://a.example/b%20c'],
  ['https://a.example/@user', 'https://a.example/@user'],
])('%s is a web address', (text, url) => {
  expect(externalUrl(text)).toBe(url);
});

test.each([
  'https://exam\u200bple.com',
  'https://exam\u00adple.com/x',
  'https://example.com\u2060:443',
  'https://ex\u200dample.com',
  'https://example\ufe0f.com',
  'https://exam\tple.com',
  'http:\\\\127.0\u200b.0.1',
  '//b\u00fc\u200bcher.example/x',
])('%j has an invisible character in its host and is not a URL', (text) => {
  expect([parseUrl(text, 'https://a.example/'), externalUrl(text)]).toEqual([undefined, undefined]);
  expect(formats.url?.holds(text)).toBe(false);
});
test.each([
  'https://b\u00fccher.example/a\u200bb',
  'https://\u0646\u0627\u0645\u0647\u200c\u0627\u06cc.example/',
  'https://a.example/\u{1f469}\u200d\u{1f680}',
])('%j has a host without invisible characters', (text) => {
  expect([parseUrl(text)?.protocol, formats.url?.holds(text)]).toEqual(['https:', true]);
});

test.each([
  '--renderer-cmd-prefix=touch -- ran',
  '-o',
  'file:///etc/hostname',
  'javascript:alert(1)',
  'data:text/html,x',
  'tel:900123',
  'mailto:a@b.example',
  'smb://host/share',
  'vbscript:x',
  'chrome://settings',
  '//host/path',
  '/path',
  'host.example',
  '',
  ' https://a.example',
  'https://a.example\n',
  'https://a.example/\t--x',
  'https://a.example/\u202egpj',
  'https://a.example/\u200b',
  'https://a.example/\u001b]8;;x',
  'https://user:secret@a.example/',
  'https://user@a.example/',
  'https://@a.example/',
  'https://trusted.example\\@evil.example/',
  'http:evil.example',
  'https://',
  'https://a b/',
  `https://a.example/${'x'.repeat(40_000)}`,
  undefined,
  null,
  1,
  { href: 'https://a.example' },
])('%j is not a web address', (text) => {
  expect(externalUrl(text)).toBeUndefined();
});

test('letters outside of ASCII are read alike after any number of calls', () => {
  // After some thousand calls, Node 20 uses a faster form of URL.canParse, which reports such text as no URL.
  for (let i = 0; i < 50_000; i += 1)
    if (parseUrl('https://b\u00fccher.example/\u00fc') === undefined)
      throw new Error(`call ${i} found no URL`);
  expect(parseUrl('no url')).toBeUndefined();
  expect(parseUrl('?a=b', 'https://a.example/c')?.href).toBe('https://a.example/c?a=b');
});
test('no file asks URL.canParse', () => {
  const root = new URL('../../src/', import.meta.url);
  const found = (readdirSync(root, { recursive: true }) as string[])
    .filter((path) => path.endsWith('.ts'))
    .filter((path) => /URL\.canParse\(/.test(readFileSync(new URL(path, root), 'utf8')));
  expect(found, 'Use parseUrl of core/external-url.ts.').toEqual([]);
});
