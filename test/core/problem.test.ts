import { expect, test } from 'vitest';
import { AppError, InvalidArguments, invalidArguments, problem, reworded } from '../../src/core/problem.ts';

test('reworded wrong arguments are still wrong arguments, with the detail that was given', () => {
  const error = invalidArguments([problem('--name', 'rule', 'names nothing')]);
  const detail = { ...error.detail, tryThis: ['opsctl kv status --endpoints a:1'], cause: error };
  const said = reworded(error, detail);
  expect(said).toBeInstanceOf(InvalidArguments);
  expect(said).toMatchObject({ category: 'usage', message: 'invalid arguments', detail });
});

test('another error keeps its category, and its message unless one is given', () => {
  const error = new AppError('refused', 'no', { code: 'NO' });
  expect(reworded(error, { code: 'NO', tryThis: ['again'] })).toMatchObject({
    category: 'refused',
    message: 'no',
    detail: { code: 'NO', tryThis: ['again'] },
  });
  expect(reworded(error, error.detail, 'not yet').message).toBe('not yet');
});
