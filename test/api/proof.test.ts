import { expect, test } from 'vitest';
import { int, list, obj, str } from '../../src/core/field.ts';
import { type Service, op } from '../../src/core/operation.ts';
import { labelsService } from '../../src/api-specs/labels/labels.ts';
import { oauthConsole } from '../../src/api-specs/oauth/console.ts';
import { tracker } from '../../src/api-specs/tracker/index.ts';
import { answerFrom, expectProof, refuseNoSuccess } from '../../src/api/response.ts';
import { excerptOf } from '../../src/core/redact-secrets.ts';
import { covers } from '../support/covers.ts';
import { errorWith } from '../support/facts.ts';

const base = { method: 'POST', path: '/x', summary: 's', cites: 'spec/tracker#labels' } as const;
const byId = op({ ...base, ok: 201, returns: obj({ id: int(), name: str() }) });
const byName = op({ ...base, ok: 200, returns: obj({ name: str() }) });
const plain = op({ ...base, ok: 200, returns: obj({ permissions: list(str()) }) });
const names = op({ ...base, ok: 200, returns: list(str()) });
const rows = op({ ...base, ok: 200, returns: list(obj({ id: int() })) });
const found = op({ ...base, path: '/x/search', ok: 200, returns: list(obj({ id: int() })) });
const empty = op({ ...base, ok: 200, returns: obj({}) });
const word = op({ ...base, ok: 200, returns: str() });
const none = op({ ...base, ok: 204 });

const isProof = (operation: Parameters<typeof expectProof>[0], value: unknown, status = 200): boolean => {
  try {
    expectProof(operation, { status, text: 'text' }, value, 'http://t.example/x');
    return true;
  } catch {
    return false;
  }
};

test.each([
  [byId, { id: 7 }, true],
  [byId, { id: 'a' }, true],
  [byId, { id: '' }, false],
  [byId, { name: 'a' }, false],
  [byId, null, false],
  [byId, [{ id: 7 }], false],
  [byName, { name: 'a' }, true],
  [byName, { id: 7 }, false],
  [plain, {}, false],
  [empty, {}, true],
  [empty, { login: '/' }, false],
  [plain, { permissions: [] }, true],
  [plain, { message: 'no' }, false],
  [plain, [], false],
  [names, [], false],
  [names, ['a'], true],
  [rows, [{ id: 1 }, { id: 2 }], true],
  [rows, [null], false],
  [rows, [{ id: 1 }, {}], false],
  [found, [], true],
  [found, null, false],
  [names, { message: 'no' }, false],
  [names, undefined, false],
  [word, 'a', true],
  [word, undefined, false],
])('only the record that its row returns confirms a write: %#', (operation, value, expected) => {
  expect(isProof(operation, value)).toBe(expected);
});

test('a 204 or the record confirms a write without a record', () => {
  expect(isProof(none, undefined, 204)).toBe(true);
  expect(isProof(none, { id: 7 }, 200)).toBe(true);
  expect(isProof(none, { message: 'no' }, 200)).toBe(false);
  expect(isProof(none, undefined, 200)).toBe(false);
});

test('an error shows the unexpected response on one line, truncated', () => {
  expect(excerptOf(' a\n  b ')).toBe('a b');
  expect(excerptOf('x'.repeat(120))).toBe('x'.repeat(120));
  expect(excerptOf('x'.repeat(121))).toBe(`${'x'.repeat(120)}…`);
  const write = (text: string) => () =>
    expectProof(byId, { status: 200, text }, undefined, 'http://t.example/x');
  expect(write('')).toThrow(errorWith('NOT_PROVEN', 'POST', '/x', '200', 'empty', 'confirm', 'empty'));
  expect(write('<html>')).toThrow(errorWith('NOT_PROVEN', '<html>', 'id', 'response', 'confirm'));
});

/** Responses of a cache, a gateway or a captive portal. None of them proves a write of any service. */
const unproven: readonly (readonly [status: number, text: string, type?: string])[] = [
  ...[304, 200, 201, 202, 100].map((status) => [status, ''] as const),
  ...['null', '"x"', '5', 'true', '[]', '[null]', '{"login":"/"}', '{"id":null}', '{"id":{}}'].map(
    (text) => [200, text] as const,
  ),
  [0, '{"id":1,"name":"x"}'],
  [302, '{"id":1,"name":"x"}'],
  [200, '<html>Sign in to WiFi', 'text/html'],
  [200, '<html>Sign in to WiFi'],
];
const writes = [tracker, labelsService, oauthConsole].flatMap(({ name, table }: Service) =>
  Object.entries(table).flatMap(([resource, verbs]) =>
    Object.entries(verbs)
      .filter(([verb, { method }]) => method !== 'GET' && verb !== 'search')
      .map(([verb, operation]) => [`${name} ${resource} ${verb}`, operation] as const),
  ),
);
test.each(writes)('only the response to %s itself confirms it', covers('defect/D3-1'), (_, operation) => {
  for (const [status, text, type = 'application/json'] of unproven)
    expect(
      () => answerFrom(operation, { status, headers: { 'content-type': type }, text }, 'http://t.example/x'),
      `${status} ${text}`,
    ).toThrow(expect.objectContaining({ category: 'network' }));
});

test('a response outside the tables is a success only with 2xx', covers('defect/D3-6'), () => {
  const reply = (status: number) => ({ status, headers: {}, text: '[{"id":1}]' });
  for (const status of [0, 100, 199, 302, 304])
    expect(() => refuseNoSuccess(reply(status), 'POST /files'), String(status)).toThrow('POST /files: ');
  expect(() => refuseNoSuccess(reply(201), 'POST /files')).not.toThrow();
});
