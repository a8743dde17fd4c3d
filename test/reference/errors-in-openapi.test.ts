import { describe, expect, test } from 'vitest';
import { check } from '../../src/core/check.ts';
import { obj } from '../../src/core/field.ts';
import { operations } from '../../src/core/operation.ts';
import { tracker } from '../../src/api-specs/tracker/index.ts';
import { exampleOf, openApi, swagger } from '../../src/reference/openapi.ts';

const document = openApi(tracker, 'http://127.0.0.1:1') as any;
const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` });

describe('errors', () => {
  test('every refusal has a body that a generated client can read', () => {
    for (const [path, methods] of Object.entries(document.paths) as [string, any][])
      for (const [method, { responses }] of Object.entries(methods) as [string, any][])
        for (const status of ['400', '401', '403', '404', '422', '429'])
          expect(
            responses[status]?.content?.['application/json']?.schema,
            `${method} ${path} ${status}`,
          ).toBeDefined();
  });
  test('a named error is next to the common body of its status', () => {
    const { responses } = document.paths['/documents'].post;
    expect(responses[403].content['application/json'].schema).toEqual({
      anyOf: [ref('Error'), ref('DisabledFeatureError')],
    });
    expect(document.components.schemas.DisabledFeatureError.required).toEqual(['feature_tag', 'message']);
  });
  test('a status that only a named error has', () => {
    const { responses } = document.paths['/custom-fields/{custom-field-public-id}'].put;
    expect(responses[409].content['application/json'].schema).toEqual(ref('DataConflictError'));
  });
  test('every name in a row has a description', () => {
    const named = Object.keys(tracker.namedErrors);
    for (const { resource, verb, operation } of operations(tracker.table))
      for (const name of operation.errors ?? []) expect(named, `${resource} ${verb}`).toContain(name);
  });
});

test('the example of every JSON body fits its own limits', () => {
  for (const { resource, verb, operation } of operations(tracker.table)) {
    if (operation.body === undefined || (operation.encoding ?? 'json') !== 'json') continue;
    expect([resource, verb, check(obj(operation.body), exampleOf(operation.body))]).toEqual([
      resource,
      verb,
      [],
    ]);
  }
});

test('Swagger 2.0 allows no siblings of a reference', () => {
  const beside: string[] = [];
  const visit = (value: unknown, at: string): void => {
    if (typeof value !== 'object' || value === null) return;
    if ('$ref' in value && Object.keys(value).length > 1) beside.push(at);
    for (const [key, inner] of Object.entries(value)) visit(inner, `${at}/${key}`);
  };
  visit(swagger(tracker, '127.0.0.1:1'), '');
  expect(beside).toEqual([]);
});
