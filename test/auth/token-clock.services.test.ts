import { afterEach, expect, test } from 'vitest';
import { accountFrom } from '../../src/auth/credential-store/account.ts';
import { instantNow } from '../../src/auth/auth-context.ts';
import { keepAccount } from '../../src/auth/complete-login.ts';
import { accessToken } from '../../src/auth/token.ts';
import { makeAuthContext } from './auth-context.ts';
import { goodTokens, tokenServer } from './token-server.ts';

let closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers) await close();
  closers = [];
});

const day = 86_400_000;
/** Signs in with a clock offset of `offMs`, then sets the offset to `laterMs`. The tokens are valid for an hour. */
const signedInAt = async (offMs: number, laterMs: number) => {
  const tokens = await tokenServer({
    ...goodTokens,
    body: { access_token: 'at-new', token_type: 'Bearer', expires_in: 3600 },
  });
  closers.push(() => tokens.close());
  let off = offMs;
  const context = await makeAuthContext({
    host: (host) => ({ ...host, hostname: host.hostname, now: () => host.now() + off }),
  });
  closers.push(() => context.close());
  const endpoints = { authorize: `${tokens.url}/a`, token: `${tokens.url}/token`, revoke: `${tokens.url}/r` };
  const owner = { name: 'work', signIn: 's', server: tokens.url, endpoints, clientId: 'c' };
  const answer = { accessToken: 'at-old', refreshToken: 'rt', expiresInS: 3600 };
  await keepAccount(context, accountFrom(owner, answer, [], instantNow(context.host)));
  off = laterMs;
  return { context, tokens };
};

test.each([
  ['was a day ahead at the sign-in and is right now', day, 0],
  ['is put back by a day', 0, -day],
  ['is put forward by a day', 0, day],
  ['was a day behind and is right now', -day, 0],
  ['stays as it is', 0, 0],
])(
  'the clock %s: --min-ttl of two hours is never promised for tokens with one hour',
  async (_, before, now) => {
    const { context } = await signedInAt(before, now);
    await expect(accessToken(context, { minTtlMs: 2 * 3_600_000 })).rejects.toMatchObject({
      detail: { code: 'TTL_TOO_LONG' },
    });
  },
);

test.each([
  ['put forward past the end of the token', 0, day, 'at-new', 1],
  ['put back', 0, -day, 'at-old', 0],
])('the clock is %s: %i → %i', async (_, before, now, token, asked) => {
  const { context, tokens } = await signedInAt(before, now);
  expect((await accessToken(context)).token).toBe(token);
  expect(tokens.asked).toHaveLength(asked);
});
