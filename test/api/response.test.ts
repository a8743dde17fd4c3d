import { describe, expect, test } from 'vitest';
import { answerFrom, errorFrom, jsonOf, refuseRedirect } from '../../src/api/response.ts';
import { op } from '../../src/core/operation.ts';
import { int, obj, str } from '../../src/core/field.ts';
import type { AppError } from '../../src/core/problem.ts';
import { naming } from '../support/facts.ts';
import { covers } from '../support/covers.ts';

const url = 'http://t.example/x?token=secret';
const base = { path: '/x', summary: 's', cites: 'spec/tracker#labels' } as const;
const read = op({ ...base, method: 'GET', ok: 200, returns: obj({ id: int(), name: str() }) });
const wordless = op({ ...base, method: 'GET', ok: 200 });
const make = op({ ...base, method: 'POST', ok: 201, returns: obj({ id: int() }) });
const register = op({ ...base, method: 'POST', ok: 204 });
const remove = op({ ...base, method: 'DELETE', ok: 204 });
const JSON_TYPE = { 'content-type': 'application/json; charset=utf-8' };
const answer = (operation: Parameters<typeof answerFrom>[0], status: number, text = '', headers = {}) =>
  answerFrom(operation, { status, headers, text }, url);
const thrown = (run: () => unknown): AppError | undefined => {
  try {
    run();
  } catch (error) {
    return error as AppError;
  }
  return undefined;
};
const meant = (status: number, body: unknown): AppError =>
  errorFrom({ status, headers: {}, text: typeof body === 'string' ? body : JSON.stringify(body) }, 'GET /x');

test.each([
  [399, 'unknown'],
  [400, 'refused'],
  [401, 'auth'],
  [402, 'refused'],
  [404, 'not-found'],
  [405, 'refused'],
  [410, 'not-found'],
  [411, 'refused'],
  [429, 'rate-limit'],
  [430, 'refused'],
  [499, 'refused'],
  [500, 'network'],
  [599, 'network'],
])('a response with status %i is %s', (status, category) => {
  expect(meant(status, {}).category).toBe(category);
  expect(meant(status, {}).detail.retryable).toBe(status === 429 || status >= 500);
});

describe('the words of a service', () => {
  test.each([
    [{ error: { message: 'inner', status: 'S' }, message: 'outer' }, 'inner'],
    [{ error: { status: 'S' }, message: 'outer', error_description: 'described' }, 'outer'],
    [{ error: 'word', error_description: 'described' }, 'described'],
    [{ error: 'word' }, 'word'],
    ['no such thing\n', 'no such thing'],
    ['["a"]', '["a"]'],
  ])('the message for %j is: %s', covers('spec/program#choices-4'), (body, said) => {
    expect(meant(400, body).message).toBe(`GET /x: ${said}`);
  });
  test.each([{ message: '' }, { message: 7 }, {}, '  ', ' <html>'])('%j is not a message', (body) => {
    const { message } = meant(400, body);
    expect([message, message.includes('html')]).toEqual([
      naming('GET /x', '400', 'service', 'returned'),
      false,
    ]);
  });

  test.each([
    [{ error: { status: 'S' }, tag: 'T' }, 'S'],
    [{ tag: 'T', reason_tag: 'R' }, 'T'],
    [{ reason_tag: 'R', feature_tag: 'F' }, 'R'],
    [{ feature_tag: 'F', error: 'E' }, 'F'],
    [{ error: 'E' }, 'E'],
    [{ error: ['E'] }, undefined],
  ])('the code for %j is %s', (body, code) => {
    expect(meant(400, body).detail.code).toBe(code);
  });

  test('fields that it names are problems, in either of its forms', () => {
    const named = (body: unknown) =>
      meant(422, body).detail.problems?.map(({ path, message }) => [path, message]);
    expect(named({ errors: { name: 'is taken', tags: ['a', 'b'] } })).toEqual([
      ['name', 'is taken'],
      ['tags', '["a","b"]'],
    ]);
    const details = [{ fieldViolations: [{ field: 'title', description: 'is too long' }, {}] }, { other: 1 }];
    expect(named({ error: { details } })).toEqual([
      ['title', 'is too long'],
      ['', expect.any(String)],
    ]);
    expect(named({ error: { details: 'none' } })).toEqual([]);
  });

  test('an object is kept for the user; a page suggests an incorrect base URL', () => {
    expect(meant(400, { message: 'no' }).detail).toMatchObject({ data: { message: 'no' }, tryThis: [] });
    expect(meant(400, 'no').detail).not.toHaveProperty('data');
    expect(meant(400, '\n<html>').detail.tryThis).toEqual([naming('URL', 'proxy')]);
    expect(meant(429, {}).detail.tryThis).toEqual([naming('minute', '--concurrency')]);
  });
});

test.each([
  [299, false],
  [300, true],
  [304, false],
  [305, true],
  [399, true],
  [400, false],
])('status %i is a redirect, which is refused: %s', (status, isRefused) => {
  const redirect = { status, headers: { location: 'http://other.example/' }, text: '' };
  const error = thrown(() => refuseRedirect(redirect, 'GET /x'));
  expect(error?.message.includes('redirects to http://other.example/') ?? false).toBe(isRefused);
  if (isRefused) expect(error).toMatchObject({ category: 'network', detail: { httpStatus: status } });
});

describe('a success', () => {
  test.each([200, 201, 299])('a success is any status from 200 to 299: %i', (status) => {
    expect(answer(read, status, '{"id":1}')).toEqual({ id: 1 });
  });
  test.each([
    [199, 'NO_SUCCESS'],
    [0, 'NO_SUCCESS'],
    [304, 'NO_SUCCESS'],
  ])('status %i is not a success', (status, code) => {
    expect(thrown(() => answer(read, status, '{"id":1}'))?.detail.code).toBe(code);
  });
  test('a redirect or an error is not a success, for any body', () => {
    expect(thrown(() => answer(read, 300, '{"id":1}'))?.message).toContain('redirects to another address');
    expect(thrown(() => answer(read, 400, '{"id":1}'))?.category).toBe('refused');
  });

  test('a success is JSON by its type or by its content', () => {
    expect(answer(wordless, 200, '7', JSON_TYPE)).toBe(7);
    expect(answer(wordless, 200, ' [1]')).toEqual([1]);
    expect(thrown(() => answer(wordless, 200, '7'))?.message).toEqual(
      naming('GET /x', '200', '7', 'response', 'type'),
    );
    expect(thrown(() => answer(wordless, 200, '{"a"', {}))?.message).toContain('JSON');
    expect(jsonOf({ status: 200, headers: JSON_TYPE, text: 'null' }, 'GET /x')).toBeNull();
  });

  test('a success without a body is valid only if the row returns no value', () => {
    expect(answer(wordless, 200)).toBeUndefined();
    expect(thrown(() => answer(read, 200))).toMatchObject({
      category: 'network',
      detail: { code: 'NOT_JSON' },
      message: expect.stringMatching(/^GET \/x: .*\(200\)/),
    });
    expect(thrown(() => answer(make, 201))?.detail.code).toBe('NOT_PROVEN');
  });

  test('the response to a change must confirm it', () => {
    expect(answer(make, 201, '{"id":1}')).toEqual({ id: 1 });
    expect(thrown(() => answer(make, 201, '{"message":"soon"}'))?.detail.code).toBe('NOT_PROVEN');
    expect(answer(read, 200, '{"message":"soon"}')).toEqual({ message: 'soon' });
  });

  test(
    'a 204 has the ID in Location; a deleted record is not a result',
    covers('spec/program#choices-6'),
    () => {
      expect(answer(register, 204, '', { location: '/x/123456789012345' })).toEqual({
        id: 123_456_789_012_345,
      });
      expect(answer(register, 204, '', { location: '/x/1234567890123456' })).toEqual({
        id: '1234567890123456',
      });
      expect(answer(register, 204)).toBeUndefined();
      expect(answer(register, 204, '{"id":9}')).toEqual({ id: 9 });
      expect(answer(remove, 204)).toBeUndefined();
      expect(answer(remove, 200, '{"id":9}')).toBeUndefined();
      expect(thrown(() => answer(remove, 200, '{"message":"soon"}'))?.detail.code).toBe('NOT_PROVEN');
    },
  );
});
