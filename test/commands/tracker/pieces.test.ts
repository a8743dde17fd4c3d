import { createHmac } from 'node:crypto';
import { expect, test } from 'vitest';
import type { Command } from '../../../src/cli/command.ts';
import { commands } from '../../../src/commands/tracker/commands.ts';
import { matching } from '../../../src/tracker/ensure.ts';
import { candidates } from '../../../src/tracker/names/resolve.ts';
import { isId } from '../../../src/tracker/names/name-resolution.ts';
import { load, oneCommand } from '../../../src/commands/tracker/lazy-resource.ts';
import { MAX_BODY_BYTES, isSignedBy, readEvent } from '../../../src/tracker/webhooks.ts';
import { multipart } from '../../../src/api/send.ts';
import { operations } from '../../../src/core/operation.ts';
import { tracker } from '../../../src/api-specs/tracker/index.ts';
import { covers } from '../../support/covers.ts';

const shape = (command: Command) => ({
  path: command.path,
  args: command.args?.map(({ name }) => name),
  flags: Object.keys(command.flags ?? {}),
  summary: command.summary,
});

test('a single command is the same as in the whole list, for every row', async () => {
  const derived = commands.filter(({ operation, path }) => operation && path.length === 3);
  let single = 0;
  for (const command of derived) {
    const one = await oneCommand(command.path);
    if (one === undefined) continue;
    single += 1;
    expect(shape(one)).toEqual(shape(command));
  }
  expect(single).toBeGreaterThan(100);
  expect((await load(['tracker', 'labels'])).length).toBe(commands.length);
});

test('every row of the table has a command', covers('spec/program#choices-7'), () => {
  const covered = new Set(commands.map(({ operation }) => operation?.operation));
  const byPath = new Set(
    commands.map(({ operation }) => operation && `${operation.operation.method} ${operation.operation.path}`),
  );
  const missing = operations(tracker.table).filter(
    ({ operation }) => !covered.has(operation) && !byPath.has(`${operation.method} ${operation.path}`),
  );
  expect(missing.map(({ resource, verb }) => `${resource} ${verb}`)).toEqual([]);
});

test('no two commands have the same words', () => {
  const words = commands.map(({ path }) => path.join(' '));
  expect(words.filter((path, i) => words.indexOf(path) !== i)).toEqual([]);
});

test.each<[string, boolean]>([
  ['12', true],
  ['12345678-9012-3456-7890-123456789012', true],
  ['name:12', false],
  ['@12', false],
  ['bug', false],
  ['-1', false],
])('%s is an id: %s', (text, expected) => {
  expect(isId(text)).toBe(expected);
});

const things = [
  { id: 1, names: ['Bug'] },
  { id: 2, names: ['bug'] },
  { id: 3, names: ['ana', 'Ana Ortiz', 'ana@example.com'] },
  { id: 4, names: ['12'] },
];
test.each<[string, (string | number)[]]>([
  ['bug', [2]],
  ['BUG', [1, 2]],
  ['@ana', [3]],
  ['Ana Ortiz', [3]],
  ['ana@example.com', [3]],
  ['name:12', [4]],
  ['nobody', []],
])('%s may be %j', (text, ids) => {
  expect(candidates(things, text).map(({ id }) => id)).toEqual(ids);
});

test('an entry matches by external_id, otherwise by name; duplicate names are never guessed', () => {
  const rows = [
    { id: 1, name: 'a', external_id: 'x' },
    { id: 2, name: 'a', external_id: 'y' },
  ];
  expect(matching(rows, { name: 'zzz', external_id: 'y' })?.id).toBe(2);
  expect(matching(rows, { name: 'b' })).toBeUndefined();
  expect(() => matching(rows, { name: 'a' })).toThrow(/2 records have the name "a": 1, 2/);
});

const body = Buffer.from('{"id":"1","actions":[]}');
const good = createHmac('sha256', 's3cret').update(body).digest('hex');
test.each<[string, Uint8Array, string | undefined, string | undefined, string | undefined]>([
  ['signed', body, good, 's3cret', undefined],
  ['no secret asked for', body, undefined, undefined, undefined],
  ['no signature', body, undefined, 's3cret', '401 invalid_signature'],
  ['another secret', body, good, 'other', '401 invalid_signature'],
  ['upper case', body, good.toUpperCase(), 's3cret', undefined],
  ['a prefix', body, `sha256=${good}`, 's3cret', '401 invalid_signature'],
  ['one bit of the body', Buffer.from('{"id":"2","actions":[]}'), good, 's3cret', '401 invalid_signature'],
  ['not JSON', Buffer.from('hello'), undefined, undefined, '400 invalid_body'],
  ['a list', Buffer.from('[]'), undefined, undefined, '400 invalid_body'],
  ['as large as allowed', Buffer.from('{}'.padEnd(MAX_BODY_BYTES)), undefined, undefined, undefined],
  ['too large', Buffer.alloc(MAX_BODY_BYTES + 1), undefined, undefined, '413 payload_too_large'],
])(
  'a delivery: %s',
  covers('limit/eventBytes', 'spec/tracker#webhooks-4'),
  (_, bytes, header, secret, refusal) => {
    const read = readEvent(bytes, header, secret);
    expect('status' in read ? `${read.status} ${read.code}` : undefined).toBe(refusal);
  },
);
test('a signature of another length is no exception', () => {
  expect(isSignedBy('s', body, 'é')).toBe(false);
});

test('a multipart body has the announced length and keeps every byte and name', async () => {
  async function* bytes(): AsyncIterable<Uint8Array> {
    yield Buffer.from([0, 255, 13, 10]);
  }
  const {
    contentType,
    lengthBytes,
    body: stream,
  } = multipart(
    [
      { name: 'story_id', value: '7' },
      { name: 'file0', filename: 'a "b"\r\n é.txt', contentType: 'text/plain', sizeBytes: 4, bytes: bytes() },
    ],
    'mark',
  );
  const parts: Uint8Array[] = [];
  for await (const part of stream) parts.push(part);
  const whole = Buffer.concat(parts);
  expect(whole.length).toBe(lengthBytes);
  const form = await new Response(whole, { headers: { 'content-type': contentType } }).formData();
  const file = form.get('file0') as File;
  expect([form.get('story_id'), file.name, [...new Uint8Array(await file.arrayBuffer())]]).toEqual([
    '7',
    'a "b"\r\n é.txt',
    [0, 255, 13, 10],
  ]);
});
