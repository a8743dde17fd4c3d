import { beforeAll, describe, expect, test } from 'vitest';
import { type LabelServer, labelServer } from '../../support/labels-server.ts';
import { covers } from '../../support/covers.ts';

let server: LabelServer;
let limits: any;
beforeAll(async () => {
  server = await labelServer();
  limits = (await server.send('GET', '/limits/label')).json;
});

const label = (title: string, fields: unknown[] = [], description = '') =>
  server.send('POST', '/labels', { labelType: 'SHARED', properties: { title, description }, fields });
const field = (displayName: string, more: object = { textOptions: {} }) => ({
  properties: { displayName },
  ...more,
});
const choice = (displayName: string, more: object = {}) => ({ properties: { displayName, ...more } });
const letters = (count: number): string => 'é'.repeat(count);
const selection = (choices: unknown[]) => label('T', [field('F', { selectionOptions: { choices } })]);

/** The service enforces exactly the limit that the read returns: it accepts n and rejects n + 1, in characters, not in bytes. */
const cases: readonly (readonly [
  string,
  () => number,
  (n: number) => Promise<{ status: number; json: any }>,
])[] = [
  ['maxTitleLength', () => limits.maxTitleLength, (n) => label(letters(n))],
  ['maxDescriptionLength', () => limits.maxDescriptionLength, (n) => label('T', [], letters(n))],
  [
    'maxFields',
    () => limits.maxFields,
    (n) =>
      label(
        'T',
        Array.from({ length: n }, (_, i) => field(`F${i}`)),
      ),
  ],
  [
    'fieldLimits.maxDisplayNameLength',
    () => limits.fieldLimits.maxDisplayNameLength,
    (n) => label('T', [field(letters(n))]),
  ],
  [
    'selectionLimits.maxChoices',
    () => limits.fieldLimits.selectionLimits.maxChoices,
    (n) => selection(Array.from({ length: n }, (_, i) => choice(`C${i}`))),
  ],
  [
    'selectionLimits.maxDisplayNameLength',
    () => limits.fieldLimits.selectionLimits.maxDisplayNameLength,
    (n) => selection([choice(letters(n))]),
  ],
  [
    'selectionLimits.maxIdLength',
    () => limits.fieldLimits.selectionLimits.maxIdLength,
    (n) => selection([{ id: 'a'.repeat(n), ...choice('C') }]),
  ],
  [
    'fieldLimits.maxDescriptionLength',
    () => limits.fieldLimits.maxDescriptionLength,
    (n) => selection([choice('C', { description: letters(n) })]),
  ],
  [
    'selection maxEntries',
    () => limits.fieldLimits.selectionLimits.listLimits.maxEntries,
    (n) => label('T', [field('F', { selectionOptions: { listOptions: { maxEntries: n } } })]),
  ],
  [
    'user maxEntries',
    () => limits.fieldLimits.userLimits.listLimits.maxEntries,
    (n) => label('T', [field('F', { userOptions: { listOptions: { maxEntries: n } } })]),
  ],
];

describe.each(cases)('%s', (_, limit, make) => {
  test('the limit is accepted', async () => expect((await make(limit())).status).toBe(200));
  test('one more than the limit is rejected', covers('spec/labels#limits-2'), async () => {
    const { status, json } = await make(limit() + 1);
    expect({ status, reason: json.error?.details[0].reason }).toEqual({
      status: 400,
      reason: 'LIMIT_EXCEEDED',
    });
  });
});

test(
  'a delta meets the same limits, and a rejected delta leaves no change',
  covers('spec/labels#edits-2'),
  async () => {
    const { json } = await label(
      'T',
      Array.from({ length: limits.maxFields }, (_, i) => field(`F${i}`)),
    );
    const add = { createField: { field: field('more') } };
    expect((await server.send('POST', `/labels/${json.id}:delta`, { requests: [add] })).status).toBe(400);
    const swap = [{ deleteField: { id: json.fields[0].id } }, add];
    expect(
      (await server.send('POST', `/labels/${json.id}:delta`, { requests: swap })).json.updatedLabel
        .revisionId,
    ).toBe('2');
    expect(
      (
        await server.send('POST', `/labels/${json.id}:delta`, {
          requests: [
            {
              updateLabel: { properties: { title: letters(limits.maxTitleLength + 1) }, updateMask: 'title' },
            },
          ],
        })
      ).status,
    ).toBe(400);
  },
);

test('the oldest drafts go when there are more than maxDraftRevisions', async () => {
  const { json } = await label('T');
  for (let i = 0; i < limits.maxDraftRevisions; i++) {
    await server.send('POST', `/labels/${json.id}:delta`, {
      requests: [{ updateLabel: { properties: { title: `T${i}` }, updateMask: 'title' } }],
    });
  }
  expect((await server.send('GET', `/labels/${json.id}@1`)).status).toBe(404);
  expect((await server.send('GET', `/labels/${json.id}@2`)).status).toBe(200);
  expect((await server.send('GET', `/labels/${json.id}`)).json.revisionId).toBe(
    String(limits.maxDraftRevisions + 1),
  );
});

test('no more published fields are deleted than maxDeletedFields', async () => {
  const { json } = await label('T');
  const path = `/labels/${json.id}`;
  const once = async (): Promise<{ status: number; json: any }> => {
    const made = await server.send('POST', `${path}:delta`, {
      requests: [{ createField: { field: field('F') } }],
    });
    await server.send('POST', `${path}:publish`, {});
    const { id } = made.json.responses[0].createField;
    return server.send('POST', `${path}:delta`, {
      requests: [{ disableField: { id, disabledPolicy: {}, updateMask: '*' } }, { deleteField: { id } }],
    });
  };
  for (let i = 0; i < limits.maxDeletedFields; i++) expect((await once()).status).toBe(200);
  expect(await once()).toMatchObject({ status: 400, json: { error: { status: 'INVALID_ARGUMENT' } } });
});
