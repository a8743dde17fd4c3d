import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { AppError } from '../../src/core/problem.ts';
import { sharedFailure } from '../../src/auth/renew.ts';
import { type TestAuthContext, makeAuthContext } from './auth-context.ts';

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});
/** Creates two processes of one user. The second process uses the given settings. */
const two = async (
  settings = {},
): Promise<{ first: TestAuthContext; second: TestAuthContext; path: string }> => {
  const first = await makeAuthContext();
  const second = await makeAuthContext({ directory: first.directory, settings });
  closers.push(first.close, second.close);
  return { first, second, path: join(first.directory, 'a.failed') };
};
const outage = new AppError('network', 'the service fails', {
  code: 'SERVER_ERROR',
  httpStatus: 500,
  retryable: true,
  tryThis: ['later'],
});

test('waiting processes get the same error, later ones do not', async () => {
  const { first, second, path } = await two();
  const waiter = sharedFailure(second, path);
  waiter.throwIfLeft();
  await sharedFailure(first, path).leave(outage);
  expect(() => waiter.throwIfLeft()).toThrow(
    expect.objectContaining({
      category: 'network',
      message: 'the service fails',
      detail: { code: 'SERVER_ERROR', httpStatus: 500, retryable: true, tryThis: ['later'] },
    }),
  );
  sharedFailure(second, path).throwIfLeft();
});

test('a process with another proxy, certificate or time limit asks for itself', async () => {
  const { first, second, path } = await two({ timeout: '60s' });
  const waiter = sharedFailure(second, path);
  await sharedFailure(first, path).leave(outage);
  expect(() => waiter.throwIfLeft()).not.toThrow();
});

test.each([
  ['a refusal', new AppError('auth', 'invalid_client', { code: 'INVALID_CLIENT' })],
  ['Ctrl-C', new AppError('interrupted', 'interrupted')],
  ['a mistake of ours', new Error('on purpose')],
])('an outcome for %s is not shared', async (_, error) => {
  const { first, second, path } = await two();
  const waiter = sharedFailure(second, path);
  await sharedFailure(first, path).leave(error);
  expect(() => waiter.throwIfLeft()).not.toThrow();
});

test('a damaged outcome file is ignored', async () => {
  const { first, path } = await two();
  const waiter = sharedFailure(first, path);
  for (const text of ['', '{', 'null', '{"id":1}']) {
    writeFileSync(path, text);
    expect(() => waiter.throwIfLeft()).not.toThrow();
  }
});
