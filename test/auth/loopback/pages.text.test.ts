import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import {
  escapePageText,
  failurePage,
  ignoredPage,
  relayPage,
  repeatedPage,
  successPage,
} from '../../../src/auth/loopback/pages.ts';

test('text is escaped for any content', () => {
  expect(escapePageText(`<a href="x" onclick='y'>&\u0007\u202e`)).toBe(
    '&lt;a href=&quot;x&quot; onclick=&#39;y&#39;&gt;&amp;  ',
  );
});

const pages = {
  success: successPage('ada@example.com', [
    { scope: 'a', granted: true },
    { scope: 'b', granted: false },
  ]),
  failure: failurePage('<b>why</b>', 'what next'),
  ignored: ignoredPage(404, 'not ours'),
  repeated: repeatedPage(),
  relay: relayPage(),
};

test.each(Object.entries(pages))(
  '%s: style and script are exactly those that the policy names',
  (_, { headers, body }) => {
    const policy = headers['content-security-policy'] ?? '';
    for (const tag of ['style', 'script']) {
      for (const [, text = ''] of body.matchAll(new RegExp(`<${tag}>(.*?)</${tag}>`, 'gs'))) {
        expect(policy).toContain(`${tag}-src 'sha256-${createHash('sha256').update(text).digest('base64')}'`);
      }
    }
    expect(body).not.toMatch(/ on\w+=| style=|https?:|<link|<img/);
  },
);

test('the relay is the only page with a script', () => {
  expect(
    Object.entries(pages)
      .filter(([, { body }]) => body.includes('<script'))
      .map(([name]) => name),
  ).toEqual(['relay']);
});

test('every page shows the next step to the user', () => {
  expect(pages.success.body).toContain('You can close this window and return to the terminal.');
  expect(pages.success.body).toContain('b</code> (not granted)');
  expect(pages.failure.body).toContain('&lt;b&gt;why&lt;/b&gt;');
  expect(pages.ignored.body).toContain('terminal');
  expect(pages.relay.body).toContain('paste it into the terminal');
});

test('a scope is shown by its short name, with the whole one below', () => {
  const { body } = successPage(undefined, [
    { scope: 'https://scopes.example/auth/media.upload', granted: true },
  ]);
  expect(body).toContain('<code>media.upload</code><small>https://scopes.example/auth/media.upload</small>');
});
