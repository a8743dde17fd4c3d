import { expect, test } from 'vitest';
import { fill, paramNames, template } from '../../src/core/operation.ts';

test.each([
  ['/labels/{label-public-id}', { 'label-public-id': 12 }, '/labels/12'],
  ['/epics/{e}/comments/{c}', { e: 1, c: 2 }, '/epics/1/comments/2'],
  ['/{name=labels/*}:publish', { name: 'labels/abc@latest' }, '/labels/abc@latest:publish'],
  [
    '/{parent=labels/*/revisions/*}/permissions:batchDelete',
    { parent: 'labels/a b/revisions/7' },
    '/labels/a%20b/revisions/7/permissions:batchDelete',
  ],
  ['/labels/{id}', { id: 'a/b?c#d' }, '/labels/a%2Fb%3Fc%23d'],
])('fill %s', (path, params, expected) => {
  expect(fill(path, params)).toBe(expected);
});

test.each(['.', '..', 'labels/..', '../labels', './x', 'labels/../..'])(
  'fill refuses the segment in %s',
  (name) => {
    expect(() => fill('/{name=labels/*}:publish', { name })).toThrow('is not a name or an ID');
    if (!name.includes('/'))
      expect(() => fill('/labels/{id}', { id: name })).toThrow('is not a name or an ID');
  },
);

test.each(['...', '.x', '..x', '%2e%2e', '..%2f', '\u2024\u2024', '\ud800', 'a\\..\\b'])(
  'a URL parser keeps the segment %j',
  (id) => {
    const path = fill('/a/labels/{id}/x', { id });
    expect(new URL(`http://h${path}`).pathname.split('/')).toHaveLength(5);
  },
);

test('names of parameters, and the verb apart', () => {
  expect(paramNames('/{parent=labels/*/revisions/*}/locks')).toEqual(['parent']);
  expect(template('/{name=labels/*}:updateLabelCopyMode').verb).toBe('updateLabelCopyMode');
});
