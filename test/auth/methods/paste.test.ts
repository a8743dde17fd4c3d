import { expect, test } from 'vitest';
import { verdictOfPaste } from '../../../src/auth/methods/paste.ts';

const verdict = (line: string) => verdictOfPaste(line, { state: 'st' });

test.each([
  'http://127.0.0.1:4711/?code=4%2F0A&state=st',
  'http://127.0.0.1:4711?state=st&iss=https%3A%2F%2Fa.example&code=4%2F0A&scope=x',
  'http://127.0.0.1:4711/?code=4%2F0A#state=st',
  'http://127.0.0.1:4711/?code=4%2F0A&state=st#state=st',
  '"http://127.0.0.1:4711/?code=4%2F0A&state=st"',
  '<http://127.0.0.1:4711/?code=4%2F0A&state=st>',
  '  http://127.0.0.1:4711/?code=4%2F0A\n&state=st  ',
  '\u001b[200~http://127.0.0.1:4711/?code=4%2F0A&state=st\u001b[201~',
  "curl 'http://127.0.0.1:4711/?code=4%2F0A&state=st' -H 'accept: text/html'",
  'It ended at http://localhost:4711/?code=4%2F0A&state=st',
  'http://127.0.0.1:4711/\\?code\\=4%2F0A\\&state\\=st',
  'http://127.0.0.1:4711/?code=4%2F0A&amp;state=st',
  '?code=4%2F0A&state=st',
  'code=4%2F0A&state=st',
  'state=st&code=4%2F0A',
  'code=4%2F0A#state=st',
  '4/0A',
  '4%2F0A',
])('%j is the code 4/0A', (line) => {
  const found = verdict(line);
  expect(found.kind === 'code' && found.callback.code).toBe('4/0A');
});

test.each([
  ['http://127.0.0.1:4711/?code=x', 'state is missing'],
  ['http://127.0.0.1:4711/?code=x&state=other', 'another login'],
  ['http://127.0.0.1:4711/?code=x&state=st#state=other', 'more than once'],
  ['https://a.example/o/oauth2/v2/auth?code_challenge=abc&state=st&client_id=x', 'address to open'],
  ['', 'empty'],
  ['code=x', 'state is missing'],
  ['hello environment', 'neither an address nor a code'],
  ['y', 'neither an address nor a code'],
  ['Exit', 'neither an address nor a code'],
  ['http://', 'not a whole address'],
])('%j is not used: %s', (line, why) => {
  const found = verdict(line);
  expect(found).toMatchObject({ kind: 'ignored' });
  expect(found.kind === 'ignored' && found.why).toContain(why);
});

test('a refusal can be pasted too', () => {
  expect(verdict('http://127.0.0.1:1/?error=access_denied&state=st')).toMatchObject({
    kind: 'refused',
    refusal: { error: 'access_denied' },
  });
});
