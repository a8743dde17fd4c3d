import { expect, test } from 'vitest';
import { AppError, InvalidArguments, invalidArguments, problem, reword } from '../../src/core/problem.ts';

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
