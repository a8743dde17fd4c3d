/** Checks whether a response belongs to the requested record. The rows come from the API documents. */
import { expect, test } from 'vitest';
import type { LooseInput, Operation } from '../../src/core/operation.ts';
import { labelsService } from '../../src/api-specs/labels/labels.ts';
import { tracker } from '../../src/api-specs/tracker/index.ts';
import { answerFrom, expectShape } from '../../src/api/response.ts';
import { naming } from '../support/facts.ts';

const { stories, labels, members, webhooks } = tracker.table;
const epicComments = tracker.table['epic-comments'];
const { table } = labelsService;
const uuid = '0F0F0F0F-aaaa-4bbb-8ccc-123456789012';

const errorOf = (operation: Operation, input: LooseInput, value: unknown): string | undefined => {
  const reply = {
    status: operation.ok === 204 ? 200 : operation.ok,
    headers: { 'content-type': 'application/json' },
    text: JSON.stringify(value),
  };
  try {
    const answer = answerFrom(operation, reply, 'http://t.example/x', input);
    expectShape(operation, answer, 'http://t.example/x', input);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
};
const params = (name: string, value: unknown): LooseInput => ({ params: { [name]: value } });

test.each<[string, Operation, LooseInput, unknown, string]>([
  [
    'an update',
    labels.update,
    params('label-public-id', 5),
    { id: 6 },
    naming('200', '5', 'response', 'confirm'),
  ],
  [
    'a question',
    labels.get,
    params('label-public-id', 5),
    { id: 6 },
    naming('6', '5', 'unexpected', 'response'),
  ],
  [
    'a change of a comment',
    epicComments.update,
    { params: { 'epic-public-id': 1, 'comment-public-id': 5 } },
    { id: 1 },
    naming('200', '5', 'response', 'confirm'),
  ],
  [
    'a publication',
    table.labels.publish,
    params('name', 'labels/a'),
    { id: 'b' },
    naming('200', 'a', 'response', 'confirm'),
  ],
  [
    'a label',
    table.labels.get,
    params('name', 'labels/a@3'),
    { id: 'b' },
    naming('b', 'a', 'unexpected', 'response'),
  ],
  [
    'a delta',
    table.labels.delta,
    { ...params('name', 'labels/a'), body: { requests: [] } },
    { updatedLabel: { id: 'b' } },
    naming('200', 'a', 'response', 'confirm'),
  ],
  [
    'stories that were made',
    stories.bulkCreate,
    { body: { stories: [{ name: 'a' }, { name: 'b' }] } },
    [{ id: 1 }],
    naming('`stories`', '2', '1', 'response', 'confirm'),
  ],
  [
    'more stories than were made',
    stories.bulkCreate,
    { body: { stories: [{ name: 'a' }] } },
    [{ id: 1 }, { id: 2 }],
    naming('`stories`', '1', '2', 'response', 'confirm'),
  ],
  [
    'stories that were changed',
    stories.bulkUpdate,
    { body: { story_ids: [7, 8] } },
    [{ id: 7 }, { id: 9 }],
    naming('`story_ids`', '8', 'response', 'confirm'),
  ],
  [
    'permissions',
    table.permissions.batchUpdate,
    { ...params('parent', 'labels/a'), body: { requests: [{}, {}] } },
    { permissions: [{}] },
    naming('`requests`', '2', '1', 'response', 'confirm', 'permissions'),
  ],
  [
    'edits',
    table.labels.delta,
    { ...params('name', 'labels/a'), body: { requests: [{}, {}] } },
    { responses: [{}], updatedLabel: { id: 'a' } },
    naming('`requests`', 'response', 'confirm'),
  ],
])('the response to %s is about another record', (_, operation, input, value, said) => {
  expect(errorOf(operation, input, value)).toEqual(said);
});

test.each<[string, Operation, LooseInput, unknown]>([
  ['a deletion', labels.delete, params('label-public-id', 5), { id: 6 }],
  ['an id of text', labels.update, params('label-public-id', 5), { id: '5' }],
  ['an id in capitals', members.get, params('member-public-id', uuid), { id: uuid.toLowerCase() }],
  [
    'a reply, which is a record of its own',
    epicComments.reply,
    { params: { 'epic-public-id': 1, 'comment-public-id': 5 } },
    { id: 6 },
  ],
  ['what is made below a record', epicComments.create, params('epic-public-id', 1), { id: 6 }],
  ['a webhook, whose shape no document shows', webhooks.get, params('integration-public-id', 1), { id: 'x' }],
  ['a label without its id, where a mask left it out', table.labels.get, params('name', 'labels/a'), {}],
  ['a label by its revision', table.labels.get, params('name', 'labels/Ab@published'), { id: 'Ab' }],
  ['stories', stories.bulkUpdate, { body: { story_ids: [8, 7, 8] } }, [{ id: 7 }, { id: 8 }]],
  ['a search', stories.search, { body: { epic_ids: [1, 2] } }, [{ id: 1 }]],
  [
    'a delta without its answers',
    table.labels.delta,
    { ...params('name', 'labels/a'), body: { requests: [{}] } },
    { updatedLabel: { id: 'a' } },
  ],
])('lawful: %s', (_, operation, input, value) => {
  expect(errorOf(operation, input, value)).toBeUndefined();
});
