import { expect, test } from 'vitest';
import { normalizeResponse, prefixOf, inputInDialect, operationInDialect } from '../../src/api/request.ts';
import { parseResponseJson, restoreNumbers, shownValue } from '../../src/core/json.ts';
import { tracker } from '../../src/api-specs/tracker/index.ts';

const unlink = tracker.table.epics['unlink-planningtool'];

test.each<[string, string]>([
  ['/api/v3', '/api/v3'],
  ['api/v3/', '/api/v3'],
  ['//x//', '/x'],
  ['/', ''],
  ['', ''],
])('%j as a prefix is %j', (given, expected) => {
  expect(prefixOf(given)).toBe(expected);
});

test.each([{}, { planningWord: '' }, { planningWord: 'planningtool' }])(
  'terms without a replacement stay unchanged: %j',
  (wording) => {
    const input = { body: { planningtool_id: 1 } };
    expect(operationInDialect(unlink, wording)).toBe(unlink);
    expect(inputInDialect(input, wording)).toBe(input);
    expect(normalizeResponse(input, wording)).toBe(input);
  },
);

test("the deployment's term replaces path and field names at any depth, and is removed from responses", () => {
  const wording = { planningWord: 'acmeplan' };
  const given = {
    params: { 'epic-public-id': 7 },
    body: { planningtool_id: 'a', name: 'planningtool_x', nested: [{ planningtool_url: null, other: 1 }] },
  };
  expect(operationInDialect(unlink, wording).path).toBe('/epics/{epic-public-id}/unlink-acmeplan');
  expect(inputInDialect(given, wording)).toEqual({
    params: { 'epic-public-id': 7 },
    body: { acmeplan_id: 'a', name: 'planningtool_x', nested: [{ acmeplan_url: null, other: 1 }] },
  });
  expect(
    normalizeResponse([{ acmeplan_id: 1, acmeplanner: 2, x: { acmeplan_name: 'acmeplan_' } }], wording),
  ).toEqual([{ planningtool_id: 1, acmeplanner: 2, x: { planningtool_name: 'acmeplan_' } }]);
});

test('the exact numbers of a response stay known in the terms of the documentation', () => {
  const answer = parseResponseJson('{"data":[{"acmeplan_id":12345678901234567891}]}');
  const { data } = normalizeResponse(answer, { planningWord: 'acmeplan' }) as { data: unknown[] };
  const text = '{"planningtool_id":12345678901234567891}';
  expect(restoreNumbers(JSON.stringify(shownValue(data[0])))).toBe(text);
});
