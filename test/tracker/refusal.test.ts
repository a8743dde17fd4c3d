import { expect, test } from 'vitest';
import { errorFrom } from '../../src/api/response.ts';
import { explainedRefusal } from '../../src/tracker/search.ts';
import { AppError } from '../../src/core/problem.ts';
import { epics } from '../../src/api-specs/tracker/epics.ts';
import { labels } from '../../src/api-specs/tracker/labels.ts';
import { naming } from '../support/facts.ts';

const target = {
  baseUrl: 'https://t.example',
  headers: {},
  isMock: false,
  origin: 'environment OPSCTL_TRACKER_URL',
};
const refusal = (status: number, body: unknown) =>
  errorFrom({ status, headers: {}, text: JSON.stringify(body) }, 'GET /x');
const hints = (error: unknown) => (error as AppError).detail.tryThis ?? [];

test.each([
  [401, { message: 'Unauthorized', tag: 'unauthorized' }, 'OPSCTL_TRACKER_TOKEN=…'],
  [403, { message: 'Docs are off', feature_tag: 'documents' }, ['feature', 'documents', 'off']],
  [
    403,
    { message: 'No', reason_tag: 'entitlement-violation', entitlement_tag: 'teams' },
    ['plan', 'not', 'teams'],
  ],
  [403, { message: 'You shall not' }, 'opsctl tracker members me'],
  [404, { message: 'Resource not found.' }, ['base URL', 'environment OPSCTL_TRACKER_URL']],
  [409, { error: 'data-conflict-error', message: 'changed' }, 'repeat the change'],
])('an error with status %i has a hint', (status, body, what) => {
  const before = refusal(status, body);
  const after = explainedRefusal(before, target, labels.list) as AppError;
  expect(hints(after).join(' ')).toEqual(naming(...([what].flat() as [string])));
  expect([after.category, after.message, after.detail.httpStatus]).toEqual([
    before.category,
    before.message,
    status,
  ]);
});

test('a missing record suggests its list, a missing part has no suggestion', () => {
  const gone = refusal(404, { message: 'Resource not found.' });
  expect(hints(explainedRefusal(gone, target, labels.get))).toEqual(['opsctl tracker labels list']);
  expect(hints(explainedRefusal(gone, target, epics.stories))).toEqual([]);
});

test('an id that is not there may have been meant as a name', () => {
  const gone = new AppError('not-found', 'GET /api/v3/labels/120: Resource not found.', { httpStatus: 404 });
  expect(hints(explainedRefusal(gone, target, labels.get))).toEqual([
    'opsctl tracker labels list',
    naming('120', 'name:120', 'digits'),
  ]);
});

test('the embedded server is recognized, and other errors stay unchanged', () => {
  const mock = { ...target, isMock: true, origin: 'mock' };
  expect(hints(explainedRefusal(refusal(401, {}), mock))).toEqual([
    '`opsctl mock status` shows the token of the running server',
  ]);
  const late = refusal(429, {});
  expect(explainedRefusal(late, target)).toBe(late);
  const other = new TypeError('x');
  expect(explainedRefusal(other, target)).toBe(other);
});
