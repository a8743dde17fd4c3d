import { expect, test } from 'vitest';
import {
  AppError,
  awaitAll,
  InvalidArguments,
  invalidArguments,
  problem,
  reword,
} from '../../src/core/problem.ts';

test('reworded wrong arguments are still wrong arguments, with the detail that was given', () => {
  const error = invalidArguments([problem('--name', 'rule', 'names nothing')]);
  const detail = { ...error.detail, tryThis: ['opsctl kv status --endpoints a:1'], cause: error };
  const said = reword(error, detail);
  expect(said).toBeInstanceOf(InvalidArguments);
  expect(said).toMatchObject({ category: 'usage', message: 'invalid arguments', detail });
});

test('another error keeps its category, and its message unless one is given', () => {
  const error = new AppError('refused', 'no', { code: 'NO' });
  expect(reword(error, { code: 'NO', tryThis: ['again'] })).toMatchObject({
    category: 'refused',
    message: 'no',
    detail: { code: 'NO', tryThis: ['again'] },
  });
  expect(reword(error, error.detail, 'not yet').message).toBe('not yet');
});

test('awaitAll throws the error of the first failed operation in the list, after all have finished', async () => {
  let failSlow: (error: Error) => void = () => {};
  const slow = new Promise<string>((_, reject) => (failSlow = reject));
  let isSlowOver = false;
  const work = awaitAll([
    Promise.resolve(1),
    slow.finally(() => (isSlowOver = true)),
    Promise.reject(new Error('fast')),
  ]);
  const caught = work.catch((error: Error) => [error.message, isSlowOver]);
  await new Promise((resolve) => setImmediate(resolve));
  failSlow(new Error('slow'));
  expect(await caught).toEqual(['slow', true]);
  expect(await awaitAll([Promise.resolve(1), Promise.resolve('two')])).toEqual([1, 'two']);
});
