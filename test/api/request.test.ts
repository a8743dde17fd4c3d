import { expect, test } from 'vitest';
import { dryRun, inputProblems, joinUrl, requestFrom } from '../../src/api/request.ts';
import { answerFrom } from '../../src/api/response.ts';
import { retryAfterMs, retryDelay } from '../../src/api/send.ts';
import { AppError } from '../../src/core/problem.ts';
import { tracker } from '../../src/api-specs/tracker/index.ts';

const { create, list } = tracker.table.labels;
const to = { baseUrl: 'https://t.example/', headers: { 'Tracker-Token': 'secret-1' } };

test('the request of a row, in literals', () => {
  expect(requestFrom(tracker, create, { body: { name: "it's", color: '#112233' } }, to)).toEqual({
    method: 'POST',
    url: 'https://t.example/api/v3/labels',
    headers: { accept: 'application/json', 'Tracker-Token': 'secret-1', 'content-type': 'application/json' },
    body: '{"name":"it\'s","color":"#112233"}',
  });
  expect(requestFrom(tracker, list, { query: { slim: true } }, to).url).toBe(
    'https://t.example/api/v3/labels?slim=true',
  );
});

test('every problem before anything is sent; an unknown key is refused, never dropped', () => {
  const error = (() => {
    try {
      requestFrom(tracker, create, { body: { name: 'x'.repeat(129), colour: '#112233' } }, to);
    } catch (caught) {
      return caught as AppError;
    }
  })();
  expect(error?.category).toBe('usage');
  expect(error?.detail.problems?.map(({ path, rule }) => [path, rule])).toEqual([
    ['name', 'max'],
    ['colour', 'unknown'],
  ]);
});

test.each([
  ['https://x', 'https://x/api/v3/labels'],
  ['https://x/', 'https://x/api/v3/labels'],
  ['https://x/api/v3', 'https://x/api/v3/labels'],
  ['https://x/tenant/api/v3/', 'https://x/tenant/api/v3/labels'],
])('base URL %s', (base, url) => {
  expect(joinUrl(base, '/api/v3', '/labels')).toBe(url);
});

test('a dry run shows the request, and as curl, without the token', () => {
  const shown = dryRun(requestFrom(tracker, create, { body: { name: "it's" } }, to));
  expect(shown.headers['Tracker-Token']).toBe('***');
  expect(shown.body).toEqual({ name: "it's" });
  expect(shown.curl).toContain(`--data-raw '{"name":"it'\\''s"}'`);
  expect(JSON.stringify(shown)).not.toContain('secret-1');
});

const url = 'https://t.example/api/v3/labels';
test.each<[number, string, string]>([
  [400, 'refused', '{"message":"bad","errors":{"name":"required attribute"}}'],
  [401, 'auth', '{"message":"Unauthorized","tag":"unauthorized"}'],
  [403, 'refused', '{"feature_tag":"docs","message":"off"}'],
  [404, 'not-found', '{"message":"Resource not found."}'],
  [409, 'refused', '{"error":"data-conflict-error","message":"lost"}'],
  [422, 'refused', '{"message":"taken"}'],
  [429, 'rate-limit', ''],
  [500, 'network', '<html>'],
  [503, 'network', ''],
])('the response %d is %s', (status, category, text) => {
  const read = () => answerFrom(create, { status, headers: { 'x-request-id': 'r-1' }, text }, url);
  expect(read).toThrow(AppError);
  try {
    read();
  } catch (error) {
    expect((error as AppError).category).toBe(category);
    expect((error as AppError).detail).toMatchObject({ httpStatus: status, requestId: 'r-1' });
  }
});

test.each<[string, Record<string, string>, string, unknown]>([
  ['Location carries the id', { location: '/api/v3/integrations/webhook/140' }, '', { id: 140 }],
  [
    'also as a whole URL',
    { location: 'https://x.example/api/v3/integrations/webhook/140/?a=1' },
    '',
    { id: 140 },
  ],
  ['an id may be text', { location: '/integrations/webhook/ab-1' }, '', { id: 'ab-1' }],
  [
    'a service may send the record all the same',
    {},
    '{"id":7,"webhook_url":"https://x.example"}',
    { id: 7, webhook_url: 'https://x.example' },
  ],
  ['or nothing', {}, '', undefined],
])('a registration that returns 204: %s', (_, headers, text, value) => {
  const { create: register } = tracker.table.webhooks;
  expect(
    answerFrom(register, { status: 204, headers, text }, 'http://x.example/api/v3/integrations/webhook'),
  ).toEqual(value);
});

test('a page instead of JSON is named as such', () => {
  expect(() =>
    answerFrom(
      list,
      { status: 200, headers: { 'content-type': 'text/html' }, text: '<html>sign in</html>' },
      url,
    ),
  ).toThrow(/^GET .*\(text\/html\)/);
});

test('an error names the requested path, not the template, and no query parameter', () => {
  const reply = { status: 404, headers: {}, text: '{"message":"Resource not found."}' };
  expect(() => answerFrom(tracker.table.labels.get, reply, `${url}/4711?token=secret-1`)).toThrow(
    /^GET \/api\/v3\/labels\/4711: Resource not found\.$/,
  );
});

const at = { nowMs: 0, jitter: () => 0 };
test.each<[string, string, number, Parameters<typeof retryDelay>[2], boolean]>([
  ['a read that was cut', 'GET', 1, { kind: 'failed', sent: true }, true],
  ['a write that may have arrived', 'POST', 1, { kind: 'failed', sent: true }, false],
  ['a write that was not sent', 'POST', 1, { kind: 'failed', sent: false }, true],
  ['a delete that may have arrived', 'DELETE', 1, { kind: 'failed', sent: true }, false],
  ['a write over the limit', 'POST', 1, { kind: 'reply', status: 429, retryAfter: undefined }, true],
  ['a read on 503', 'GET', 1, { kind: 'reply', status: 503, retryAfter: undefined }, true],
  ['a write on 503', 'POST', 1, { kind: 'reply', status: 503, retryAfter: '1' }, false],
  ['a refusal', 'GET', 1, { kind: 'reply', status: 404, retryAfter: undefined }, false],
  ['a success', 'GET', 1, { kind: 'reply', status: 200, retryAfter: undefined }, false],
  ['the fourth try', 'GET', 4, { kind: 'failed', sent: false }, false],
])('%s', (_, method, tries, outcome, again) => {
  expect(retryDelay(method, tries, outcome, at) !== undefined).toBe(again);
});

test('Retry-After is obeyed in both forms; a bare 429 waits for the window', () => {
  expect(retryAfterMs('7', 0)).toBe(7000);
  expect(retryAfterMs('Thu, 01 Jan 1970 00:00:09 GMT', 4000)).toBe(5000);
  expect(retryAfterMs('soon', 0)).toBeUndefined();
  expect(retryAfterMs('1, 1', 0)).toBeUndefined();
  expect(retryDelay('POST', 1, { kind: 'reply', status: 429, retryAfter: '3' }, at)).toBe(3000);
  expect(retryDelay('POST', 3, { kind: 'reply', status: 429, retryAfter: undefined }, at)).toBe(60_000);
});

test('the check finds problems in path, query and body', () => {
  const pathsOf = (...given: Parameters<typeof inputProblems>): string[] =>
    inputProblems(...given).map(({ path }) => path);
  const { labels } = tracker.table;
  expect(pathsOf(labels.list, { query: { slm: true } })).toEqual(['slm']);
  expect(pathsOf(labels.list, { query: { slim: 'x' } })).toEqual(['slim']);
  expect(pathsOf(labels.list, {})).toEqual([]);
  expect(pathsOf(labels.list, { body: { name: 'x' } })).toEqual(['name']);
  expect(pathsOf(labels.create, {})).toEqual(['name']);
  expect(pathsOf(labels.delete, {})).toEqual(['label-public-id']);
});
