import { expect, test } from 'vitest';
import { openApi } from '../../src/reference/openapi.ts';
import { labelsService } from '../../src/api-specs/labels/labels.ts';
import { tracker } from '../../src/api-specs/tracker/index.ts';

const labels = openApi(labelsService, 'http://127.0.0.1:1') as any;

test('the label service: its 20 paths, its own refusals with their body, and the parameters of every method', () => {
  expect(Object.keys(labels.paths)).toHaveLength(20);
  const { responses, parameters } = labels.paths['/labels/{labelId}:publish'].post;
  expect(Object.keys(responses)).toEqual(['200', '400', '401', '403', '404', '409', '429']);
  expect(responses[404].content['application/json'].schema).toEqual({
    $ref: '#/components/schemas/ErrorBody',
  });
  expect(labels.components.schemas.ErrorBody.properties.error).toEqual({
    $ref: '#/components/schemas/Status',
  });
  expect(parameters).toContainEqual({ $ref: '#/components/parameters/fields' });
  expect(Object.keys(labels.components.parameters)).toHaveLength(11);
  expect(labels.components.parameters.xgafv).toMatchObject({
    name: '$.xgafv',
    in: 'query',
    schema: { enum: ['1', '2'] },
  });
});

test('every reference in the document leads somewhere', () => {
  const found = new Set(
    [...JSON.stringify(labels).matchAll(/"\$ref":"#\/components\/(\w+)\/([^"]+)"/g)].map(
      ([, kind, name]) => `${kind}/${name}`,
    ),
  );
  expect(found.size).toBeGreaterThan(80);
  for (const each of found) {
    const [kind = '', name = ''] = each.split('/');
    expect([each, typeof labels.components[kind]?.[name]]).toEqual([each, 'object']);
  }
});

test('the tracker keeps the refusals of every endpoint', () => {
  const document = openApi(tracker, 'http://127.0.0.1:1') as any;
  expect(Object.keys(document.paths['/labels'].post.responses)).toEqual(
    expect.arrayContaining(['400', '401', '404', '422', '429']),
  );
  expect(document.components.parameters).toBeUndefined();
});
