import { afterEach, beforeEach, expect, test } from 'vitest';
import { type TokenResponse, type TokenServer, tokenServer } from '../../auth/token-server.ts';
import { type Program, addressOf, program } from './program.ts';

let tokens: TokenServer;
let opsctl: Program;
beforeEach(async () => {
  tokens = await tokenServer();
  opsctl = await program();
});
afterEach(async () => {
  await tokens.close();
});

const answer = (n: number, expiresIn: number): TokenResponse => ({
  body: {
    access_token: `at-${n}-secret`,
    expires_in: expiresIn,
    refresh_token: 'rt-1-secret',
    scope: 'x/media.readonly',
    token_type: 'Bearer',
  },
});

/** Signs in with a token that has already expired. */
const signInExpired = async (): Promise<void> => {
  tokens.answer(answer(0, 0));
  const login = opsctl.start([
    'login',
    '--auth-url',
    tokens.url,
    '--client-id',
    'client-1',
    '--scope',
    'x/media.readonly',
    '--no-browser',
  ]);
  const { state, redirect } = await addressOf(login);
  await fetch(redirect({ code: 'code-secret-1', state }));
  expect((await login.ended).code).toBe(0);
  tokens.asked.length = 0;
};

test('50 processes with an expired token: one request at the token endpoint, 50 successes', async () => {
  await signInExpired();
  let count = 0;
  tokens.answer(() => ({ ...answer(++count, 3599), delayMs: 300 }));
  const ended = await Promise.all(Array.from({ length: 50 }, () => opsctl.run(['auth', 'token'])));
  expect(ended.map(({ code, stderr }) => ({ code, stderr }))).toEqual(
    Array(50).fill({ code: 0, stderr: '' }),
  );
  expect(new Set(ended.map(({ stdout }) => stdout))).toEqual(new Set(['at-1-secret\n']));
  expect(tokens.asked).toHaveLength(1);
});

test('after kill -9 of the refreshing process, the next one takes over without waiting for its response', async () => {
  await signInExpired();
  // The token endpoint never responds to the process that the test kills.
  tokens.answer(() => new Promise(() => {}));
  tokens.asked.length = 0;
  const holder = opsctl.start(['auth', 'refresh']);
  await expect.poll(() => tokens.asked.length === 0, { interval: 5 }).toBe(false);
  tokens.answer(answer(2, 3599));
  const next = opsctl.start(['auth', 'refresh']);
  await new Promise((resolve) => setTimeout(resolve, 500));
  expect(next.child.exitCode).toBeNull();
  expect(tokens.asked).toHaveLength(1);
  holder.child.kill('SIGKILL');
  expect((await next.ended).code).toBe(0);
  expect(tokens.asked).toHaveLength(2);
});

test('an account that is refreshed by many processes during a sign-out stays signed out without a crash', async () => {
  await signInExpired();
  tokens.answer(({ url }) =>
    url.startsWith('/revoke') ? { status: 200, body: '' } : { ...answer(1, 3599), delayMs: 20 },
  );
  const [logout, ...others] = await Promise.all([
    opsctl.run(['logout']),
    ...Array.from({ length: 10 }, () => opsctl.run(['auth', 'token'])),
  ]);
  expect(logout?.code).toBe(0);
  for (const { code } of others) expect([0, 4]).toContain(code);
  expect((await opsctl.run(['auth', 'status'])).code).toBe(4);
});
