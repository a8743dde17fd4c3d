/** A login that was started lies in a file until it is finished: whatever else lies there is said, and gone. */
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readPending } from '../../src/auth/pending-login.ts';
import { makeAuthContext } from './auth-context.ts';

const whole = {
  server: 's',
  endpoints: { authorize: 'https://a/auth', token: 'https://a/token', revoke: 'https://a/revoke' },
  clientId: 'c',
  redirectUri: 'http://127.0.0.1:1/',
  verifier: 'verifier-verifier',
  state: 'state-state',
  nonce: 'nonce-nonce',
  requested: ['openid'],
  expiresMs: 9e15,
};
const reading = async (text: string) => {
  const context = await makeAuthContext();
  const path = join(context.directory, 'pending-login.json');
  await context.host.files.replace(path, text, 0o600);
  const found = await readPending(context).catch((error: unknown) => error);
  const isKept = (await context.host.files.read(path)) !== undefined;
  await context.close();
  return { found, isKept };
};

test('one that is whole is read and kept', async () => {
  expect(await reading(JSON.stringify(whole))).toEqual({ found: whole, isKept: true });
});

test.each([
  'null',
  '5',
  '[]',
  '{}',
  JSON.stringify(whole).slice(0, -9),
  ...Object.keys(whole).map((field) => JSON.stringify({ ...whole, [field]: null })),
  ...Object.keys(whole).map((field) => JSON.stringify({ ...whole, [field]: undefined })),
])('one that is damaged is begun anew: %s', async (text) => {
  expect(await reading(text)).toMatchObject({
    found: { category: 'auth', message: 'the started login cannot be read' },
    isKept: false,
  });
});
