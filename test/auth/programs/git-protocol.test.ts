import { expect, test } from 'vitest';
import { gitAnswer, gitRequest } from '../../../src/auth/programs/credential-protocols.ts';

const token = { token: 'at-1', origin: 'test', expiresMs: 1_900_000_000_000 };
const ask = (text: string): string | undefined =>
  gitAnswer(gitRequest(text), ['git.example.com'], 'oauth2', token);

test('gitcredentials(7): a git without authtype gets a user name and a password', () => {
  expect(ask('protocol=https\nhost=git.example.com\n\n')).toBe(
    'username=oauth2\npassword=at-1\npassword_expiry_utc=1900000000\n',
  );
});
test('git 2.46: a git that announces authtype, among others, gets Bearer', () => {
  const text = 'capability[]=authtype\ncapability[]=state\nprotocol=https\nhost=git.example.com\n\n';
  expect(ask(text)).toBe(
    'capability[]=authtype\nauthtype=Bearer\ncredential=at-1\npassword_expiry_utc=1900000000\n',
  );
});
test.each(['protocol=http\nhost=git.example.com\n', 'protocol=https\nhost=other.example.com\n'])(
  'no token for %j',
  (text) => {
    expect(ask(`capability[]=authtype\n${text}`)).toBeUndefined();
  },
);

test('the request ends at its empty line', () => {
  expect(ask('protocol=https\nhost=other.example.com\n\nhost=git.example.com\n')).toBeUndefined();
});
test.each(['x\npassword=evil', 'x\rquit=1', 'x\0'])('a user name starts no other attribute: %j', (name) => {
  const request = gitRequest('protocol=https\nhost=git.example.com\n\n');
  expect(() => gitAnswer(request, ['git.example.com'], name, token)).toThrow(
    expect.objectContaining({ category: 'usage' }),
  );
});
