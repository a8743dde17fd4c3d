import { expect, test } from 'vitest';
import { canChange } from '../../src/core/operation.ts';

test.each([
  ['GET', '/api/v3/labels', false],
  ['HEAD', '/api/v3/labels', false],
  ['POST', '/api/v3/stories/search', false],
  ['POST', '/api/v3/search/stories?query=a', false],
  ['POST', '/v2/labels:search', false],
  ['POST', '/api/v3/labels', true],
  ['POST', '/api/v3/research', true],
  ['PUT', '/api/v3/labels/search', true],
  ['DELETE', '/v2/labels/search', true],
  ['PATCH', '/v2/labels/search', true],
])('a %s of %s can change the service: %s', (method, path, expected) => {
  expect(canChange({ method, path })).toBe(expected);
});
