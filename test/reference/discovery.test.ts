import { expect, test } from 'vitest';
import { discovery } from '../../src/reference/discovery.ts';
import { labelsService } from '../../src/api-specs/labels/labels.ts';
import { readSpec } from '../spec/read.ts';

const document = discovery(labelsService, 'http://127.0.0.1:1') as any;
const methods = (node: any): any[] => [
  ...Object.values(node.methods ?? {}),
  ...Object.values(node.resources ?? {}).flatMap(methods),
];
const all = methods(document);
const kebab = (id: string): string =>
  id.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`).replaceAll('.', '-');
const list = (text = ''): string[] => (text === '' ? [] : text.split('|'));

test('every method of the transcribed table, under the name that it has there', () => {
  const found = Object.fromEntries(
    all.map((method) => [
      kebab(method.id.replace(/^labels\./, '')).replace(/update-label-/, 'update-'),
      method,
    ]),
  );
  const lines = readSpec('labels-endpoints');
  expect(Object.keys(found).sort()).toEqual(lines.map(({ id }) => id).sort());
  for (const { id = '', method, query, body, response } of lines) {
    const one = found[id];
    const inQuery = Object.keys(one.parameters).filter((name) => one.parameters[name].location === 'query');
    expect([id, one.httpMethod, inQuery.sort(), one.request?.$ref ?? '', one.response.$ref]).toEqual([
      id,
      method,
      list(query).sort(),
      body,
      response,
    ]);
    expect(one.scopes).toHaveLength(method === 'GET' ? 4 : 2);
  }
});

test('every field of the transcribed schemas with its type, format, words and whether only the service sets it', () => {
  const formats: Record<string, string> = { datetime: 'google-datetime', fieldmask: 'google-fieldmask' };
  for (const { schema = '', field = '', type = '', flags = '', enum: words = '' } of readSpec(
    'labels-schemas',
  )) {
    if (field === '') continue;
    const { readOnly = false, ...property } = document.schemas[schema].properties[field];
    const isList = type.endsWith('[]');
    const inner = isList ? property.items : property;
    const [kind = '', format = ''] = type.replace('[]', '').split(' ');
    const isPlain = ['string', 'integer', 'number', 'boolean'].includes(kind);
    expect({
      of: `${schema}.${field}`,
      type: inner.$ref ?? inner.type,
      format: inner.format ?? '',
      words: inner.enum ?? [],
      readOnly,
      isList,
    }).toEqual({
      of: `${schema}.${field}`,
      type: kind,
      format: isPlain ? (formats[format] ?? format) : '',
      words: list(words),
      readOnly: list(flags).includes('output'),
      isList: property.type === 'array',
    });
  }
});

test('defaults and bounds of parameters, the ones of every method, and the scopes', () => {
  const { labels } = document.resources;
  expect(labels.methods.list.parameters).toMatchObject({
    pageSize: { type: 'integer', format: 'int32', default: '50', minimum: '0' },
    minimumRole: { default: 'READER' },
    publishedOnly: { type: 'boolean', default: 'false' },
    view: { default: 'LABEL_VIEW_BASIC' },
  });
  expect(labels.resources.revisions.resources.permissions.methods.delete).toMatchObject({
    path: 'v2beta/{+name}',
    flatPath: 'v2beta/labels/{labelsId}/revisions/{revisionsId}/permissions/{permissionsId}',
    parameters: {
      name: { required: true, location: 'path', pattern: '^labels/[^/]+/revisions/[^/]+/permissions/[^/]+$' },
    },
  });
  expect(Object.keys(document.parameters).sort()).toEqual(
    [
      '$.xgafv',
      'access_token',
      'alt',
      'callback',
      'fields',
      'key',
      'oauth_token',
      'prettyPrint',
      'quotaUser',
      'uploadType',
      'upload_protocol',
    ].sort(),
  );
  expect(document.parameters.alt).toMatchObject({
    enum: ['json', 'media', 'proto'],
    default: 'json',
    location: 'query',
  });
  expect(Object.keys(document.auth.oauth2.scopes)).toHaveLength(4);
});
