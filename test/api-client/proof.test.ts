import { expect, test } from 'vitest';
import { int, list, obj, str } from '../../src/core/field.ts';
import { op } from '../../src/core/operation.ts';
import { expectProof } from '../../src/api-client/proof.ts';
import { excerptOf } from '../../src/core/excerpt.ts';

const base = { method: 'POST', path: '/x', summary: 's', cites: 'spec/tracker#labels' } as const;
const byId = op({ ...base, ok: 201, returns: obj({ id: int(), name: str() }) });
const byName = op({ ...base, ok: 200, returns: obj({ name: str() }) });
const plain = op({ ...base, ok: 200, returns: obj({ permissions: list(str()) }) });
const names = op({ ...base, ok: 200, returns: list(str()) });
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
  [plain, {}, true],
  [plain, { permissions: [] }, true],
  [plain, { message: 'no' }, false],
  [plain, [], false],
  [names, [], true],
  [names, ['a'], true],
  [names, { message: 'no' }, false],
  [names, undefined, false],
  [word, 'a', true],
  [word, undefined, false],
])('the record that its row returns proves a write, and nothing else: %#', (operation, value, expected) => {
  expect(isProof(operation, value)).toBe(expected);
});

test('a 204 proves a write without a record, and so does the record', () => {
  expect(isProof(none, undefined, 204)).toBe(true);
  expect(isProof(none, { id: 7 }, 200)).toBe(true);
  expect(isProof(none, { message: 'no' }, 200)).toBe(false);
  expect(isProof(none, undefined, 200)).toBe(false);
});

test('what came instead is shown on one line, and not the whole of it', () => {
  expect(excerptOf(' a\n  b ')).toBe('a b');
  expect(excerptOf('x'.repeat(120))).toBe('x'.repeat(120));
  expect(excerptOf('x'.repeat(121))).toBe(`${'x'.repeat(120)}…`);
  const write = (text: string) => () =>
    expectProof(byId, { status: 200, text }, undefined, 'http://t.example/x');
  expect(write('')).toThrow('POST /x: the answer (200) does not prove that the change was made: it is empty');
  expect(write('<html>')).toThrow('it reads <html>; expected a record with `id`');
});
