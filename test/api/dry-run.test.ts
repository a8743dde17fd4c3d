import { expect, test } from 'vitest';
import { dryRun } from '../../src/api/request.ts';

const request = { method: 'POST', url: 'http://t.example/x', body: '{"a":"it\'s"}' };

test('a dry run parses a JSON body and shows any other body unchanged', () => {
  const json = dryRun({ ...request, headers: { 'content-type': 'application/json' } });
  expect(json.body).toEqual({ a: "it's" });
  const form = dryRun({ ...request, headers: { 'content-type': 'text/plain' } });
  expect(form.body).toBe(request.body);
  expect(dryRun({ method: 'GET', url: request.url, headers: {} })).toEqual({
    dry_run: true,
    method: 'GET',
    url: request.url,
    headers: {},
    curl: "curl -X GET 'http://t.example/x'",
  });
});

test('secrets are not shown, in the headers as little as in the curl line', () => {
  const headers = { authorization: 'Bearer abc', 'x-session-token': 'def', accept: 'text/plain' };
  const shown = dryRun({ ...request, headers });
  expect(shown.headers).toEqual({
    authorization: 'Bearer ***',
    'x-session-token': '***',
    accept: 'text/plain',
  });
  expect(shown.curl).toBe(
    `curl -X POST 'http://t.example/x' -H 'authorization: Bearer ***' -H 'x-session-token: ***' -H 'accept: text/plain' --data-raw '{"a":"it'\\''s"}'`,
  );
});
