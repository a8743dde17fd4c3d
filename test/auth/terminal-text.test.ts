import { expect, test } from 'vitest';
import { safeText } from '../../src/auth/auth-context.ts';
import { refusedByUser } from '../../src/auth/flow.ts';
import { makeUnexpectedResponseError, outage, serviceFailure } from '../../src/auth/protocol/send.ts';

test.each([
  ['plain ü', 'plain ü'],
  ['\u001b[31mred', '\\u{1b}[31mred'],
  ['a\r\nb', 'a\\u{d}\\u{a}b'],
  ['\u202Eabc', '\\u{202e}abc'],
  ['\u0007', '\\u{7}'],
  ['\u009b2J', '\\u{9b}2J'],
  ['\u2028', '\\u{2028}'],
  ['\u200b', '\\u{200b}'],
])('%j is shown as %s', (text, shown) => {
  expect(safeText(text)).toBe(shown);
});

test('long text is cut', () => {
  expect(safeText('x'.repeat(100), 10)).toBe(`${'x'.repeat(10)}…`);
});

const SECRET = 'q7-secret-of-a-server';
const said = (headers: Record<string, string>, text: string) =>
  makeUnexpectedResponseError('code exchange', { status: 403, headers, text }).message;
test.each([
  ['an error page', () => said({ 'content-type': 'text/html' }, `<p>debug: access_token=${SECRET}</p>`)],
  ['a text', () => said({}, `Authorization: Bearer ${SECRET}`)],
  ['JSON of another form', () => said({}, JSON.stringify({ credential: { value: SECRET } }))],
  ['a challenge', () => said({ 'www-authenticate': `Bearer access_token="${SECRET}"` }, '')],
  [
    'a description',
    () => serviceFailure('code exchange', 'invalid_request', `code_verifier=${SECRET}`).message,
  ],
  ['an error code', () => serviceFailure('code exchange', `token=${SECRET}`, undefined).message],
  ['an outage', () => outage('revoke', { status: 503, headers: {}, text: '' }, `token=${SECRET}`, 0).message],
  [
    'a refusal in the browser',
    () => {
      const description = `device_code: ${SECRET}`;
      return refusedByUser({ error: 'access_denied', description, params: new URLSearchParams() }, [])
        .message;
    },
  ],
])('no message quotes a secret in %s of a server', (_, message) => {
  expect(message()).toContain('***');
  expect(message()).not.toContain(SECRET);
});
