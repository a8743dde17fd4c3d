import { expect, test } from 'vitest';
import { errorFrom } from '../../src/api/response.ts';
import { explainedRefusal } from '../../src/labels/api-types.ts';
import { naming } from '../support/facts.ts';

const refusal = (status: number, details: unknown[] = []) =>
  errorFrom(
    { status, headers: {}, text: JSON.stringify({ error: { code: status, message: 'No.', details } }) },
    'GET /v2beta/labels',
  );
const hints = async (status: number, to: Parameters<typeof explainedRefusal>[1], details?: unknown[]) =>
  (await explainedRefusal(refusal(status, details), to)).detail.tryThis;

test('a missing role is distinguished from a missing scope, and admins are reminded of their flag', async () => {
  const ask = expect.stringContaining('opsctl labels permissions list <label>');
  expect(await hints(403, { method: 'POST', isAdmin: false })).toEqual([
    ask,
    '--admin, if you administer the labels',
  ]);
  expect(await hints(403, { method: 'POST', isAdmin: true })).toEqual([ask]);
  const scope = [
    { reason: 'ACCESS_TOKEN_SCOPE_INSUFFICIENT', metadata: { required_scopes: 'https://s.example/labels' } },
  ];
  expect(await hints(403, { method: 'POST', isAdmin: false }, scope)).toEqual([
    'opsctl login --add-scope https://s.example/labels',
  ]);
});

test('a missing list suggests another URL; a missing label does not', async () => {
  expect(await hints(404, { method: 'GET', isAdmin: false, isOfAll: true })).toEqual([naming('URL', 'url')]);
  expect(await hints(404, { method: 'GET', isAdmin: false, isOfAll: false })).toEqual([]);
});
