import { createHmac } from 'node:crypto';
import { type IncomingHttpHeaders, type Server, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type TrackerServer, startTracker } from '../support/tracker-server.ts';
import type { Host } from '../../src/platform/host.ts';
import { GROUP, OWNER } from './tracker-cases.ts';
import { covers } from '../support/covers.ts';

type Delivery = { readonly headers: IncomingHttpHeaders; readonly text: string; readonly event: any };
let server: TrackerServer;
let receiver: Server;
let url = '';
let deliveries: Delivery[] = [];
let answers: number[] = [];
let waiting: (() => void)[] = [];
const ask: TrackerServer['ask'] = (...request) => server.ask(...request);

beforeEach(async () => {
  [deliveries, answers, waiting] = [[], [], []];
  server = await startTracker();
  receiver = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const text = Buffer.concat(chunks).toString();
      deliveries.push({ headers: request.headers, text, event: JSON.parse(text) });
      response.writeHead(answers.shift() ?? 200).end();
      for (const wake of waiting.splice(0)) wake();
    });
  });
  await new Promise<void>((done) => receiver.listen(0, '127.0.0.1', done));
  url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`;
});
afterEach(async () => {
  receiver.closeAllConnections();
  await new Promise((done) => receiver.close(done));
});
const arrived = async (count: number): Promise<Delivery[]> => {
  await expect.poll(() => deliveries.length < count, { interval: 1 }).toBe(false);
  return deliveries;
};
const register = async (body: object = {}): Promise<string> => {
  const { headers } = await ask('POST', '/integrations/webhook', { webhook_url: url, ...body });
  return headers.get('location') ?? '';
};

test(
  'registration returns 204 with the location of the record; the secret is never returned',
  covers('spec/program#choices-6', 'spec/tracker#webhooks-1'),
  async () => {
    const answer = await ask('POST', '/integrations/webhook', { webhook_url: url, secret: 'hush' });
    expect([answer.status, answer.text]).toEqual([204, '']);
    const place = answer.headers.get('location') ?? '';
    expect(place).toMatch(/^\/api\/v3\/integrations\/webhook\/\d+$/);
    const { body, text } = await ask('GET', `${server.mock.origin}${place}`);
    expect(body).toMatchObject({
      id: Number(place.split('/').pop()),
      webhook_url: url,
      has_secret: true,
      disabled: false,
      type: 'generic',
      entity_type: 'integration',
      creator_id: OWNER,
    });
    expect(text).not.toContain('hush');
    const open = await register();
    expect((await ask('GET', `${server.mock.origin}${open}`)).body.has_secret).toBe(false);
  },
);

test('a new story causes an event with ID, actor, action and references, signed byte for byte', async () => {
  await register({ secret: 'hush' });
  const { body: story } = await ask('POST', '/stories', {
    name: 'ñandú',
    epic_id: 106,
    group_id: GROUP,
    workflow_state_id: 12,
  });
  const [{ headers, text, event }] = (await arrived(1)) as [Delivery];
  expect(headers['payload-signature']).toBe(createHmac('sha256', 'hush').update(text).digest('hex'));
  expect(headers['content-type']).toContain('application/json');
  expect(event).toMatchObject({
    id: expect.stringMatching(/^[0-9a-f-]{36}$/),
    version: 'v1',
    changed_at: expect.stringMatching(/Z$/),
    primary_id: story.id,
    member_id: OWNER,
    actions: [
      {
        id: story.id,
        entity_type: 'story',
        action: 'create',
        name: 'ñandú',
        story_type: 'feature',
        app_url: story.app_url,
      },
    ],
  });
  expect(event.references).toContainEqual({ id: 12, entity_type: 'workflow-state', name: 'In Progress' });
  expect(event.references).toContainEqual(expect.objectContaining({ id: 106, entity_type: 'epic' }));
});

test('an update event lists the changes, with added and removed items; an unchanged update causes no event', async () => {
  await register();
  await ask('PUT', '/stories/107', { workflow_state_id: 13, owner_ids: [OWNER] });
  await ask('PUT', '/stories/107', {});
  await ask('PUT', '/epics/106', { name: 'New name' });
  const [story, epic] = (await arrived(2)) as [Delivery, Delivery];
  expect(story.headers).not.toHaveProperty('payload-signature');
  expect(story.event.actions[0].changes).toMatchObject({
    workflow_state_id: { old: 12, new: 13 },
    owner_ids: { adds: [OWNER], removes: ['11111111-0000-4000-8000-000000000002'] },
    completed: { old: false, new: true },
  });
  expect(epic.event.actions[0]).toMatchObject({
    entity_type: 'epic',
    action: 'update',
    changes: { name: { old: 'Sign-up in five minutes', new: 'New name' } },
  });
});

test('deletes, comments and tasks cause events in order; labels do not', async () => {
  await register();
  await ask('POST', '/labels', { name: 'quiet' });
  await ask('POST', '/epics/106/comments', { text: 'a' });
  await ask('POST', '/stories/107/comments', { text: 'b' });
  await ask('POST', '/stories/107/tasks', { description: 'c' });
  await ask('DELETE', '/stories/107');
  await ask('DELETE', '/epics/106');
  const kinds = (await arrived(5)).map(({ event }) => [
    event.actions[0].entity_type,
    event.actions[0].action,
    event.primary_id,
  ]);
  expect(kinds).toEqual([
    ['epic-comment', 'create', 106],
    ['story-comment', 'create', 107],
    ['story-task', 'create', 107],
    ['story', 'delete', 107],
    ['epic', 'delete', 106],
  ]);
});

test('a delivery that fails is sent again, the same bytes; later events wait for it', async () => {
  answers = [500, 503, 200];
  await register({ secret: 's' });
  await ask('POST', '/stories', { name: 'first' });
  await ask('POST', '/stories', { name: 'second' });
  const all = await arrived(4);
  expect(all.map(({ event }) => event.actions[0].name)).toEqual(['first', 'first', 'first', 'second']);
  expect(new Set(all.slice(0, 3).map(({ text, headers }) => text + headers['payload-signature'])).size).toBe(
    1,
  );
});

test('a rejected request and a deleted webhook cause no event', async () => {
  const place = await register();
  await ask('POST', '/stories', { name: '' });
  await ask('PUT', '/stories/107', { epic_id: 9 });
  expect((await ask('DELETE', `${server.mock.origin}${place}`)).status).toBe(204);
  await ask('POST', '/stories', { name: 'unheard' });
  await register();
  await ask('POST', '/stories', { name: 'heard' });
  expect((await arrived(1)).map(({ event }) => event.actions[0].name)).toEqual(['heard']);
});

test('the server stops without waiting for a receiver that is gone', async () => {
  await register();
  receiver.closeAllConnections();
  await new Promise((done) => receiver.close(done));
  for (let i = 0; i < 20; i++) await ask('POST', '/stories', { name: `s${i}` });
  await server.mock.close();
  await new Promise<void>((done) => receiver.listen(0, '127.0.0.1', done));
  expect(deliveries).toEqual([]);
});

test(
  'a delivery is signed with the secret of its webhook, and is unsigned without a secret',
  covers('spec/tracker#webhooks-2'),
  async () => {
    await register({ secret: 'hush' });
    await register();
    await ask('POST', '/stories', { name: 'ñandú' });
    const all = await arrived(2);
    const signatures = all.map(({ headers }) => headers['payload-signature']);
    const signed = all.find(({ headers }) => headers['payload-signature'] !== undefined);
    const expected = createHmac('sha256', 'hush')
      .update(signed?.text ?? '')
      .digest('hex');
    expect(signatures.sort()).toEqual([expected, undefined]);
    expect(expected).toMatch(/^[0-9a-f]{64}$/);
  },
);

test(
  'an event has an ID, the member, the version, old and new values, and names for its IDs',
  covers('spec/tracker#webhooks-3'),
  async () => {
    await register();
    await ask('PUT', '/stories/107', { name: 'New', workflow_state_id: 13 });
    const [{ event }] = (await arrived(1)) as [Delivery];
    expect(event.id).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    expect(event).toMatchObject({ member_id: OWNER, version: 'v1', primary_id: 107 });
    expect(event.actions).toMatchObject([
      {
        id: 107,
        entity_type: 'story',
        action: 'update',
        changes: {
          name: { old: 'Sign-up form with three fields', new: 'New' },
          workflow_state_id: { old: 12, new: 13 },
        },
      },
    ]);
    for (const [id, name] of [
      [12, 'In Progress'],
      [13, 'Completed'],
    ])
      expect(event.references).toContainEqual({ id, entity_type: 'workflow-state', name });
  },
);

test(
  'stories and epics with their comments and tasks cause events; other records do not',
  covers('spec/tracker#webhooks-5'),
  async () => {
    await register();
    await ask('POST', '/labels', { name: 'quiet' });
    await ask('PUT', '/labels/105', { name: 'quieter' });
    await ask('POST', '/categories', { name: 'quiet' });
    await ask('POST', '/projects', { name: 'quiet', team_id: 1 });
    await ask('PUT', '/objectives/102', { name: 'quiet' });
    await ask('PUT', '/iterations/104', { name: 'quiet' });
    await ask('PUT', `/groups/${GROUP}`, { name: 'quiet' });
    await ask('POST', '/documents', { title: 'quiet', content: '' });
    const { body: story } = await ask('POST', '/stories', { name: 's' });
    await ask('PUT', `/stories/${story.id}`, { name: 't' });
    const { body: comment } = await ask('POST', `/stories/${story.id}/comments`, { text: 'c' });
    await ask('PUT', `/stories/${story.id}/comments/${comment.id}`, { text: 'd' });
    const { body: task } = await ask('POST', `/stories/${story.id}/tasks`, { description: 't' });
    await ask('DELETE', `/stories/${story.id}/tasks/${task.id}`);
    await ask('DELETE', `/stories/${story.id}`);
    const { body: epic } = await ask('POST', '/epics', { name: 'e' });
    await ask('PUT', `/epics/${epic.id}`, { name: 'f' });
    await ask('POST', `/epics/${epic.id}/comments`, { text: 'c' });
    await ask('DELETE', `/epics/${epic.id}`);
    const kinds = (await arrived(11)).map(
      ({ event }) => `${event.actions[0].entity_type} ${event.actions[0].action}`,
    );
    expect(kinds).toEqual([
      'story create',
      'story update',
      'story-comment create',
      'story-comment update',
      'story-task create',
      'story-task delete',
      'story delete',
      'epic create',
      'epic update',
      'epic-comment create',
      'epic delete',
    ]);
  },
);

test(
  'a delivery has five attempts with doubling delays from 250 ms, in order',
  covers('spec/tracker#choices-12'),
  async () => {
    const waits: number[] = [];
    const change = (host: Host): Host => ({ ...host, sleep: async (ms) => void waits.push(ms) });
    server = await startTracker({}, 'demo', undefined, change);
    answers = [500, 500, 500, 500, 500, 200];
    await register();
    await ask('POST', '/stories', { name: 'first' });
    await ask('POST', '/stories', { name: 'second' });
    const all = await arrived(6);
    expect(all.map(({ event }) => event.actions[0].name)).toEqual([
      'first',
      'first',
      'first',
      'first',
      'first',
      'second',
    ]);
    expect(waits).toEqual([250, 500, 1000, 2000]);
  },
);
