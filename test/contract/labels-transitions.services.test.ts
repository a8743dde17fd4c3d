import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readSpec } from '../spec/read.ts';
import { type LabelServer, labelServer } from '../support/labels-server.ts';

let any: LabelServer;
let strict: LabelServer;
beforeAll(async () => {
  any = await labelServer();
  strict = await labelServer({ labelDeletePolicy: 'disabled-first' });
});
afterAll(() => Promise.all([any.close(), strict.close()]));

const edit = {
  requests: [{ updateLabel: { properties: { description: 'changed' }, updateMask: 'description' } }],
};
/** The terms of the state table (test/spec/labels-lifecycle.tsv), each reached by real requests. */
const ways: Record<string, readonly (readonly [string, unknown])[]> = {
  'draft (UNPUBLISHED_DRAFT)': [],
  'published, no newer draft': [[':publish', {}]],
  'published + draft': [
    [':publish', {}],
    [':delta', edit],
  ],
  disabled: [
    [':publish', {}],
    [':disable', {}],
  ],
};
const requests: Record<string, readonly [string, string, unknown]> = {
  delta: ['POST', ':delta', edit],
  publish: ['POST', ':publish', {}],
  disable: ['POST', ':disable', {}],
  enable: ['POST', ':enable', {}],
  delete: ['DELETE', '', undefined],
};
/** from, action, state after, hasUnpublishedChanges after, increase of the revision number; no state means a rejection. */
const table: readonly (readonly [string, string, string?, boolean?, number?])[] = [
  ['draft (UNPUBLISHED_DRAFT)', 'delta', 'UNPUBLISHED_DRAFT', false, 1],
  ['draft (UNPUBLISHED_DRAFT)', 'publish', 'PUBLISHED', false, 1],
  ['draft (UNPUBLISHED_DRAFT)', 'disable'],
  ['draft (UNPUBLISHED_DRAFT)', 'enable'],
  ['draft (UNPUBLISHED_DRAFT)', 'delete', 'gone'],
  ['published, no newer draft', 'delta', 'PUBLISHED', true, 1],
  ['published, no newer draft', 'publish'],
  ['published, no newer draft', 'disable', 'DISABLED', false, 1],
  ['published, no newer draft', 'enable'],
  ['published, no newer draft', 'delete', 'gone'],
  ['published + draft', 'delta', 'PUBLISHED', true, 1],
  ['published + draft', 'publish', 'PUBLISHED', false, 1],
  ['published + draft', 'disable', 'DISABLED', true, 2],
  ['published + draft', 'enable'],
  ['published + draft', 'delete', 'gone'],
  ['disabled', 'delta', 'DISABLED', true, 1],
  ['disabled', 'publish'],
  ['disabled', 'disable'],
  ['disabled', 'enable', 'PUBLISHED', false, 1],
  ['disabled', 'delete', 'gone'],
];

const made = async (server: LabelServer, from: string): Promise<string> => {
  const { json } = await server.send('POST', '/labels', { labelType: 'SHARED', properties: { title: from } });
  for (const [verb, body] of ways[from] ?? [])
    expect((await server.send('POST', `/labels/${json.id}${verb}`, body)).status).toBe(200);
  return json.id;
};
const seen = async (server: LabelServer, id: string) =>
  (await server.send('GET', `/labels/${id}?view=LABEL_VIEW_FULL`)).json;

// source: harness
test('the table has a line for every line of the transcribed one', () => {
  const lines = readSpec('labels-lifecycle').filter(({ from }) => from !== 'deleted');
  expect(table.map(([from, action]) => `${from} ${action}`)).toEqual(
    lines.map(({ from, action }) => `${from} ${action}`),
  );
});

// source: document, choice
describe('every arrow, and every arrow that there is not', () => {
  test.each(table.map((line) => ({ line })))(
    '$line',
    async ({ line: [from, action, state, hasChanges, moved] }) => {
      const id = await made(any, from);
      const before = await seen(any, id);
      const [method, verb, body] = requests[action] ?? ['', '', undefined];
      const reply = await any.send(method, `/labels/${id}${verb}`, body);
      if (state === undefined) {
        expect(reply.json.error).toMatchObject({ code: 400, status: 'FAILED_PRECONDITION' });
        expect(await seen(any, id)).toEqual(before);
        return;
      }
      expect(reply.status).toBe(200);
      if (state === 'gone') {
        expect((await any.send('GET', `/labels/${id}`)).status).toBe(404);
        return;
      }
      const after = await seen(any, id);
      expect(after.lifecycle.state).toBe(state);
      expect(after.lifecycle.hasUnpublishedChanges ?? false).toBe(hasChanges);
      expect(Number(after.revisionId) - Number(before.revisionId)).toBe(moved);
    },
  );

  test.each(Object.keys(requests))('deleted: %s is 404', async (action) => {
    const id = await made(any, 'draft (UNPUBLISHED_DRAFT)');
    await any.send('DELETE', `/labels/${id}`);
    const [method, verb, body] = requests[action] ?? ['', '', undefined];
    expect((await any.send(method, `/labels/${id}${verb}`, body)).json.error.status).toBe('NOT_FOUND');
  });
});

// source: document, choice
test.each([
  ['draft (UNPUBLISHED_DRAFT)', 200],
  ['published, no newer draft', 400],
  ['published + draft', 400],
  ['disabled', 200],
] as const)('disabled-first: delete from %s returns %d', async (from, status) => {
  const id = await made(strict, from);
  expect((await strict.send('DELETE', `/labels/${id}`)).status).toBe(status);
});

/** Fields and choices have the same three states; only a published part can be disabled, and only a disabled part can be enabled. */
const parts: readonly (readonly [string, string, number])[] = [
  ['draft', 'disable', 400],
  ['draft', 'enable', 400],
  ['draft', 'delete', 200],
  ['published', 'disable', 200],
  ['published', 'enable', 400],
  ['published', 'delete', 400],
  ['disabled', 'disable', 400],
  ['disabled', 'enable', 200],
  ['disabled', 'delete', 200],
];
// source: document, choice
describe.each(['Field', 'SelectionChoice'])('%s', (kind) => {
  test.each(parts)('%s: %s returns %d', async (state, action, status) => {
    const field = {
      properties: { displayName: 'F' },
      selectionOptions: { choices: [{ id: 'one', properties: { displayName: 'One' } }] },
    };
    const { json: label } = await any.send('POST', '/labels', {
      labelType: 'SHARED',
      properties: { title: 'parts' },
      fields: [field],
    });
    const fieldId = label.fields[0].id;
    const target = kind === 'Field' ? { id: fieldId } : { fieldId, id: 'one' };
    const send = (verb: string) => {
      const extra = verb === 'disable' ? { disabledPolicy: {}, updateMask: '*' } : {};
      return any.send('POST', `/labels/${label.id}:delta`, {
        requests: [{ [`${verb}${kind}`]: { ...target, ...extra } }],
      });
    };
    if (state !== 'draft') await any.send('POST', `/labels/${label.id}:publish`, {});
    if (state === 'disabled') expect((await send('disable')).status).toBe(200);
    const before = await seen(any, label.id);
    expect((await send(action)).status).toBe(status);
    if (status === 400) expect(await seen(any, label.id)).toEqual(before);
  });
});
