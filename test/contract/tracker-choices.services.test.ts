import { afterEach, describe, expect, test } from 'vitest';
import { checkInput } from '../../src/api/request.ts';
import { tracker } from '../../src/api-specs/tracker/index.ts';
import type { MockOptions } from '../../src/mock-server/service-set.ts';
import { startTracker, type TrackerServer } from '../support/tracker-server.ts';
import { covers } from '../support/covers.ts';

// spec/tracker#choices: each choice of the embedded server, from both sides.
const open: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of open.splice(0)) await close();
});
const start = async (options: Partial<MockOptions> = {}): Promise<TrackerServer> => {
  const server = await startTracker(options, 'demo');
  open.push(() => server.close());
  return server;
};
const types = ['', 'text/plain', 'application/x-www-form-urlencoded', 'application/problem+json'];
const wrongTypes = ['application/xml', 'text/html', 'multipart/form-data; boundary=x'];
const withType = (type: string) => ({ 'Content-Type': type });

describe('content types of a JSON body (spec/tracker#choices-15)', () => {
  test.each(['application/json', 'application/json; charset=utf-8', ...types])(
    'the default mode reads a JSON body with the content type "%s"',
    async (type) => {
      const { ask } = await start();
      expect((await ask('POST', '/labels', JSON.stringify({ name: 'x' }), withType(type))).status).toBe(201);
    },
  );
  test.each(wrongTypes)(
    'the default mode rejects a JSON body with the content type %s',
    covers('spec/tracker#choices-15'),
    async (type) => {
      const { ask } = await start();
      expect((await ask('POST', '/labels', JSON.stringify({ name: 'x' }), withType(type))).status).toBe(400);
    },
  );
  test.each([...types, ...wrongTypes])('the strict mode rejects the content type "%s"', async (type) => {
    const { ask } = await start({ isStrict: true });
    const refused = await ask('POST', '/labels', JSON.stringify({ name: 'x' }), withType(type));
    expect([refused.status, refused.body.errors['content-type']]).toEqual([
      400,
      expect.stringContaining('must be application/json'),
    ]);
  });
  test(
    'the strict mode accepts application/json and requests without a body',
    covers('spec/tracker#choices-15'),
    async () => {
      const { ask } = await start({ isStrict: true });
      const json = withType('application/json; charset=UTF-8');
      expect((await ask('POST', '/labels', JSON.stringify({ name: 'x' }), json)).status).toBe(201);
      expect((await ask('GET', '/labels', undefined, withType(''))).status).toBe(200);
      expect((await ask('PUT', '/iterations/enable', undefined, withType(''))).status).toBe(204);
    },
  );
});

describe('times without a zone (spec/tracker#choices-20)', () => {
  const epic = { name: 'e', deadline: '2026-05-01T10:00:00' };
  test('the default mode reads the time as UTC', async () => {
    const { ask } = await start();
    const created = await ask('POST', '/epics', epic);
    expect([created.status, created.body.deadline]).toEqual([201, '2026-05-01T10:00:00Z']);
  });
  test('the strict mode rejects the time, also inside an object, and accepts a time with a zone', async () => {
    const { ask } = await start({ isStrict: true });
    expect((await ask('POST', '/epics', epic)).body.errors.deadline).toContain('must have a zone');
    const inside = { name: 't', story_contents: { deadline: epic.deadline } };
    const refused = await ask('POST', '/entity-templates', inside);
    expect(refused.body.errors['story_contents.deadline']).toContain('must have a zone');
    expect((await ask('POST', '/epics', { ...epic, deadline: `${epic.deadline}Z` })).status).toBe(201);
  });
});

describe('colors (spec/tracker#choices-14)', () => {
  const create = tracker.table.labels.create;
  test.each(['red', '#ff', '#fff', '#ffff', '#fffff', '#ffffff80', 'inherit'])(
    'client and server reject %s',
    covers('spec/tracker#choices-14', 'spec/tracker#values-1'),
    async (color) => {
      expect(() => checkInput(create, { body: { name: 'x', color } })).toThrow();
      const { ask } = await start();
      expect((await ask('POST', '/labels', { name: 'x', color })).status).toBe(400);
      const nested = await ask('POST', '/epics', { name: 'e', labels: [{ name: 'l', color }] });
      expect([nested.status, Object.keys(nested.body.errors)]).toEqual([400, ['labels[0].color']]);
    },
  );
});

test(
  'several groups are returned in their order, and the page shows the first (spec/tracker#choices-16)',
  covers('spec/tracker#choices-16'),
  async () => {
    const { ask, mock } = await start();
    const group = async (name: string) =>
      (await ask('POST', '/groups', { name, mention_name: name.toLowerCase() })).body.id as string;
    const group_ids = [await group('Zebra'), await group('Aardvark')];
    const records = [
      ['epics', 'epic', { name: 'e', group_ids }],
      ['iterations', 'iteration', { name: 'i', start_date: '2026-01-01', end_date: '2026-01-14', group_ids }],
    ] as const;
    for (const [path, kind, body] of records) {
      const { id } = (await ask('POST', `/${path}`, body)).body;
      expect((await ask('GET', `/${path}/${id}`)).body.group_ids).toEqual(group_ids);
      const page = await (await fetch(`${mock.origin}/app/${kind}/${id}`)).text();
      expect([page.includes('Zebra'), page.includes('Aardvark')]).toEqual([true, false]);
    }
  },
);

describe('times of creation (spec/tracker#choices-17)', () => {
  const other = { created_at: '2020-01-02T03:04:05Z', updated_at: '2021-01-02T03:04:05Z' };
  const bodies = {
    '/epics': { name: 'e' },
    '/epics/EPIC/comments': { text: 't' },
    '/projects': { name: 'p', team_id: 1 },
  };
  test.each(Object.entries(bodies))(
    'a create at %s sets both times and defaults to now',
    async (path, body) => {
      const { ask } = await start();
      const epic = (await ask('GET', '/epics')).body[0].id;
      const at = path.replace('EPIC', String(epic));
      expect((await ask('POST', at, { ...body, ...other })).body).toMatchObject(other);
      const { created_at, updated_at } = (await ask('POST', at, body)).body;
      expect(created_at).toBe(updated_at);
      expect(Math.abs(Date.parse(created_at) - Date.now())).toBeLessThan(60_000);
    },
  );
  test(
    'every create body with created_at has updated_at as well',
    covers('spec/tracker#choices-17', 'spec/tracker#epics-2'),
    () => {
      const creates = Object.values(tracker.table).flatMap((resource) =>
        Object.values(resource as Record<string, { method: string; body?: object }>).filter(
          ({ method, body }) => method === 'POST' && body !== undefined && 'created_at' in body,
        ),
      );
      expect(creates.length).toBeGreaterThan(3);
      for (const { body } of creates) expect(body).toHaveProperty('updated_at');
    },
  );
});

test(
  'an update of a file changes its fields and not its content (spec/tracker#choices-18)',
  covers('spec/tracker#choices-18'),
  async () => {
    const { ask } = await start();
    const form = new FormData();
    form.append('file0', new Blob(['the content']), 'a.txt');
    const [{ id, url }] = (await ask('POST', '/files', form)).body;
    const changed = { name: 'b.txt', description: 'd', external_id: 'x' };
    expect((await ask('PUT', `/files/${id}`, changed)).body).toMatchObject({ ...changed, size: 11 });
    const content = await fetch(url, { headers: { 'Tracker-Token': 'contract-token' } });
    expect(await content.text()).toBe('the content');
    expect((await ask('PUT', `/files/${id}`, { content: 'other' })).status).toBe(400);
  },
);

describe('responses obey the limits of their fields (spec/tracker#choices-19)', () => {
  const limits = [
    ['/categories', 'name', 128],
    ['/epics', 'name', 256],
    ['/epics', 'description', 100_000],
    ['/labels', 'name', 128],
    ['/labels', 'description', 1024],
    ['/objectives', 'name', 256],
  ] as const;
  test.each(limits)(
    '%s returns a %s of %i characters and never a longer one',
    covers('spec/tracker#choices-19'),
    async (path, field, max) => {
      const { ask } = await start();
      for (const character of ['a', 'é', '💥']) {
        const value = character.repeat(max);
        const body = { name: `n${character}`, [field]: value };
        expect((await ask('POST', path, body)).body[field]).toBe(value);
        expect((await ask('POST', path, { ...body, [field]: `${value}a` })).status).toBe(400);
      }
      for (const record of (await ask('GET', path)).body)
        expect([...(record[field] ?? '')].length).toBeLessThanOrEqual(max);
    },
  );
});

test('the log of requests counts deprecated requests (spec/tracker#versions-5)', async () => {
  const { ask, mock } = await start();
  await ask('GET', '/labels');
  await ask('GET', '/milestones');
  await ask('GET', '/labels?token=contract-token', undefined, { 'Tracker-Token': '' });
  const answer = await fetch(`${mock.origin}/__opsctl/requests`, { method: 'GET' });
  const rows = (await answer.json()) as { deprecated?: true; path: string }[];
  expect(rows.map(({ path, deprecated }) => [path, deprecated])).toEqual([
    ['/api/v3/labels', undefined],
    ['/api/v3/milestones', true],
    ['/api/v3/labels', true],
  ]);
});

test('a deleted comment disappears with its replies, and deleted is never true (spec/tracker#choices-21)', async () => {
  const { ask } = await start();
  const epic = (await ask('GET', '/epics')).body[0].id;
  const at = `/epics/${epic}/comments`;
  const before = (await ask('GET', at)).body.length;
  const { id } = (await ask('POST', at, { text: 'parent' })).body;
  expect((await ask('POST', `${at}/${id}`, { text: 'reply' })).body.deleted).toBe(false);
  expect((await ask('DELETE', `${at}/${id}`)).status).toBe(204);
  const left = await ask('GET', at);
  expect(left.body).toHaveLength(before);
  expect(left.text).not.toContain('"deleted":true');
});
