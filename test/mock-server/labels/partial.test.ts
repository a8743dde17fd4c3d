import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { list, obj, str } from '../../../src/core/field.ts';
import { select, selectionFrom, unknownNames } from '../../../src/mock-server/labels/service.ts';
import { errorWith } from '../../support/facts.ts';

const label = {
  id: 'a',
  properties: { title: 'T', description: 'D' },
  fields: [{ id: '1', properties: { displayName: 'F' } }, { id: '2' }],
};

describe('selection', () => {
  test.each<[string, unknown]>([
    ['id', { id: 'a' }],
    ['*', label],
    ['properties/title', { properties: { title: 'T' } }],
    ['properties.title,id', { id: 'a', properties: { title: 'T' } }],
    ['fields(id)', { fields: [{ id: '1' }, { id: '2' }] }],
    ['fields/properties/displayName', { fields: [{ properties: { displayName: 'F' } }, {}] }],
    [
      'fields(id,properties/displayName)',
      label && { fields: [{ id: '1', properties: { displayName: 'F' } }, { id: '2' }] },
    ],
    ['*/title', { id: 'a', properties: { title: 'T' }, fields: [{}, {}] }],
    ['properties,properties/title', { properties: { title: 'T', description: 'D' } }],
  ])('%s', (text, expected) => expect(select(label, selectionFrom(text))).toEqual(expected));

  test.each(['', ',', 'a,', 'a(', 'a(b', 'a)', 'a/', '/a', 'a b(', 'a(b))', '()'])(
    '%j is refused',
    (text) => {
      expect(() => selectionFrom(text)).toThrow(errorWith('LabelError', 'selection', 'field'));
    },
  );

  test('names that the response cannot have are reported', () => {
    const shape = obj({ id: str(), properties: obj({ title: str() }), fields: list(obj({ id: str() })) });
    expect(unknownNames(selectionFrom('id,colour,fields(id,x),properties/title'), shape)).toEqual([
      'colour',
      'x',
    ]);
    expect(unknownNames(selectionFrom('*/title,id/deep'), shape)).toEqual(['deep']);
    expect(unknownNames(selectionFrom('*/colour'), shape)).toEqual(['*']);
  });
});

test('a repeated selection has no effect and adds no value', () => {
  const names = fc.constantFrom('id', 'properties', 'title', 'fields', '*', 'displayName');
  const path = fc.array(names, { minLength: 1, maxLength: 3 }).map((parts) => parts.join('/'));
  fc.assert(
    fc.property(fc.array(path, { minLength: 1, maxLength: 4 }), (paths) => {
      const selection = selectionFrom(paths.join(','));
      const once = select(label, selection);
      expect(select(once, selection)).toEqual(once);
      expect(label).toMatchObject(once as object);
    }),
  );
});
