import { expect, test } from 'vitest';
import { color, int, list, orNull, record, ref, req, str, type Field } from '../../src/core/field.ts';
import { objectSchema, schemaOf } from '../../src/core/shape.ts';

const v31 = { version: '3.1', refPrefix: '#/components/schemas/' } as const;

test('limits, null and formats become JSON Schema', () => {
  expect(
    objectSchema(
      { name: req(str(128, { min: 1 })), color: orNull(color()), n: int({ min: 1, max: 250, default: 10 }) },
      new Map(),
      v31,
    ),
  ).toEqual({
    type: 'object',
    properties: {
      name: { type: 'string', minLength: 1, maxLength: 128 },
      color: {
        type: ['string', 'null'],
        pattern: '^#[a-fA-F0-9]{6}$',
        description: 'must be a hexadecimal color of six digits such as #1a2b3c',
      },
      n: { type: 'integer', format: 'int64', minimum: 1, maximum: 250, default: 10 },
    },
    required: ['name'],
    additionalProperties: false,
  });
});

test('a record that contains itself is written once and referred to', () => {
  const node: Field = record('Node', { children: list(ref('Node', (): Field => node)) });
  const components = new Map();
  expect(schemaOf(node, components, v31)).toEqual({ $ref: '#/components/schemas/Node' });
  expect(components.get('Node')).toMatchObject({
    properties: { children: { items: { $ref: '#/components/schemas/Node' } } },
    required: ['children'],
  });
});
