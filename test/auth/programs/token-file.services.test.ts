import { chmodSync, existsSync, readdirSync, readFileSync, statSync, symlinkSync } from 'node:fs';
import { dirname, isAbsolute } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import type { Account } from '../../../src/auth/credential-store/account.ts';
import { keepAccount } from '../../../src/auth/complete-login.ts';
import { openTokenFile } from '../../../src/auth/programs/credential-protocols.ts';
import { makeDirectory } from '../../support/directory.ts';
import { makeAuthContext } from '../auth-context.ts';
import { goodTokens, tokenServer } from '../token-server.ts';

let closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers) await close();
  closers = [];
});

const until = async (isSo: () => boolean): Promise<void> => expect.poll(isSo, { interval: 1 }).toBe(true);

/** Creates an account whose token is valid for ten minutes, on a machine where the test ends the waits for the refresh. */
const setUp = async (env: Readonly<Record<string, string>> = {}, ofOther?: string) => {
  let count = 1;
  const tokens = await tokenServer(() => ({
    ...goodTokens,
    body: { ...(goodTokens.body as object), access_token: `at-${++count}`, expires_in: 600 },
  }));
  closers.push(() => tokens.close());
  const waits: { readonly ms: number; pass(): void }[] = [];
  const context = await makeAuthContext({
    host: (host) => ({
      ...host,
      hostname: host.hostname,
      env: { ...host.env, ...env },
      files: {
        ...host.files,
        info: async (path) => {
          const info = await host.files.info(path);
          return info !== undefined && path === ofOther ? { ...info, uid: 65_534 } : info;
        },
      },
      sleep: (ms, signal) =>
        ms < 60_000
          ? host.sleep(ms, signal)
          : new Promise((pass, reject) => {
              waits.push({ ms, pass });
              signal?.addEventListener('abort', () => reject(signal.reason));
            }),
    }),
  });
  closers.push(() => context.close());
  const endpoints = { authorize: `${tokens.url}/a`, token: `${tokens.url}/token`, revoke: `${tokens.url}/r` };
  const now = context.host.now();
  const account: Omit<Account, 'generation' | 'signIn'> = {
    name: 'work',
    server: tokens.url,
    endpoints,
    clientId: 'c',
    requested: [],
    granted: [],
    obtainedMs: now,
    accessToken: 'at-1',
    accessExpiresMs: now + 600_000,
    refreshToken: 'rt',
  };
  await keepAccount(context, account);
  return { context, tokens, waits };
};

test('the token in the file is replaced before it expires, repeatedly, and the file is removed at the end', async () => {
  const { context, waits } = await setUp();
  const file = await openTokenFile(context, { minTtlMs: 60_000 });
  const held = (): string => readFileSync(file.path, 'utf8');
  expect(held()).toBe('at-1');
  expect(statSync(file.path).mode & 0o777).toBe(0o600);
  expect(statSync(dirname(file.path)).mode & 0o777).toBe(0o700);
  for (const [round, next] of ['at-2', 'at-3'].entries()) {
    await until(() => waits.length === round + 1);
    // The refresh occurs before less than the promised minute is left.
    expect(waits[round]?.ms).toBeLessThan(540_000);
    waits[round]?.pass();
    await until(() => held() === next);
  }
  await file.close();
  expect(existsSync(dirname(file.path))).toBe(false);
});

test.each(['', 'relative', './here'])(
  'the file is in the temporary directory when XDG_RUNTIME_DIR is %j',
  async (value) => {
    const { context } = await setUp({ XDG_RUNTIME_DIR: value });
    const file = await openTokenFile(context, { minTtlMs: 60_000 });
    expect(isAbsolute(file.path)).toBe(true);
    expect(dirname(dirname(file.path))).toBe(context.host.files.temporaryDirectory());
    await file.close();
  },
);

/** Creates a directory of this user with the given mode. */
const makeRuntimeDirectory = (mode: number): string => {
  const directory = makeDirectory();
  chmodSync(directory, mode);
  return directory;
};

test('the file is in the runtime directory when only this user can own and enter it', async () => {
  const runtime = makeRuntimeDirectory(0o700);
  const link = `${makeRuntimeDirectory(0o700)}/link`;
  symlinkSync(runtime, link);
  for (const value of [runtime, link]) {
    const { context } = await setUp({ XDG_RUNTIME_DIR: value });
    const file = await openTokenFile(context, { minTtlMs: 60_000 });
    expect(dirname(dirname(file.path))).toBe(value);
    await file.close();
  }
});

test.each([0o777, 0o1777, 0o770, 0o750, 0o711])(
  'the file is in the temporary directory when the mode of XDG_RUNTIME_DIR is %o',
  async (mode) => {
    const runtime = makeRuntimeDirectory(mode);
    const { context } = await setUp({ XDG_RUNTIME_DIR: runtime });
    const file = await openTokenFile(context, { minTtlMs: 60_000 });
    expect(dirname(dirname(file.path))).toBe(context.host.files.temporaryDirectory());
    expect(readdirSync(runtime)).toEqual([]);
    await file.close();
  },
);

test('the file is in the temporary directory when XDG_RUNTIME_DIR belongs to another user, also through a link', async () => {
  const runtime = makeRuntimeDirectory(0o700);
  const link = `${makeRuntimeDirectory(0o700)}/link`;
  symlinkSync(runtime, link);
  for (const value of [runtime, link, `${runtime}/missing`]) {
    const { context } = await setUp({ XDG_RUNTIME_DIR: value }, runtime);
    const file = await openTokenFile(context, { minTtlMs: 60_000 });
    expect(dirname(dirname(file.path))).toBe(context.host.files.temporaryDirectory());
    expect(readdirSync(runtime)).toEqual([]);
    await file.close();
  }
});

test('a failed refresh keeps the valid token, prints a warning, and is retried', async () => {
  const { context, tokens, waits } = await setUp();
  const file = await openTokenFile(context, { minTtlMs: 60_000 });
  tokens.answer({ status: 400, body: { error: 'invalid_request' } });
  await until(() => waits.length === 1);
  waits[0]?.pass();
  await until(() => context.said.text().includes('could not be refreshed'));
  expect(readFileSync(file.path, 'utf8')).toBe('at-1');
  await file.close();
});
