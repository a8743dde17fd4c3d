import { describe, expect, test } from 'vitest';
import { TOKEN, type TrackerServer, startTracker } from '../support/tracker-server.ts';
import { covers } from '../support/covers.ts';

let server: TrackerServer;
const start = async (...options: Parameters<typeof startTracker>): Promise<TrackerServer['ask']> => {
  server = await startTracker(...options);
  return server.ask;
};
const advance = (ms: number) =>
  fetch(`${server.mock.origin}/__opsctl/clock`, { method: 'PUT', body: JSON.stringify({ advance_ms: ms }) });

describe('content type of a body', () => {
  test.each([
    'application/json',
    'APPLICATION/JSON; charset=utf-8',
    'application/vnd.api+json',
    'text/plain;charset=UTF-8',
    'application/x-www-form-urlencoded',
  ])('%s is read as JSON', async (type) => {
    const ask = await start();
    expect((await ask('POST', '/labels', '{"name":"typed"}', { 'Content-Type': type })).status).toBe(201);
  });
  test.each(['application/xml', 'text/html', 'multipart/form-data; boundary=x', 'application/octet-stream'])(
    '%s is refused',
    async (type) => {
      const ask = await start();
      const answer = await ask('POST', '/labels', '{"name":"typed"}', { 'Content-Type': type });
      expect([answer.status, answer.body.errors['content-type']]).toEqual([
        400,
        expect.stringContaining('application/json'),
      ]);
      expect((await ask('PUT', '/iterations/enable', undefined, { 'Content-Type': type })).status).toBe(204);
    },
  );
});

describe('token', () => {
  test(
    'the deprecated query parameter is accepted, and judged like the header',
    covers('spec/tracker#versions-3', 'spec/tracker#authentication-1'),
    async () => {
      const ask = await start();
      const none = { 'Tracker-Token': '' };
      expect((await ask('GET', `/labels?token=${TOKEN}`, undefined, none)).status).toBe(200);
      expect(
        (await ask('GET', `/labels?slim=true&token=${TOKEN}`, undefined, none)).body[0],
      ).not.toHaveProperty('stats');
      expect((await ask('POST', `/labels?token=${TOKEN}`, { name: 'a' }, none)).status).toBe(201);
      const wrong = await ask('GET', '/labels?token=wrong', undefined, none);
      expect([wrong.status, wrong.body.tag]).toEqual([401, 'unauthorized']);
      expect((await ask('GET', '/labels?token=', undefined, none)).body.tag).toBe('organization2_missing');
    },
  );
  // spec/tracker#versions-5
  test(
    'a response to a deprecated request has the header Deprecation',
    covers('spec/tracker#versions-5'),
    async () => {
      const ask = await start();
      const deprecation = async (path: string, headers = {}) =>
        (await ask('GET', path, undefined, headers)).headers.get('deprecation');
      expect(await deprecation(`/labels?token=${TOKEN}`, { 'Tracker-Token': '' })).toBe('true');
      expect(await deprecation('/milestones')).toBe('true');
      expect(await deprecation('/objectives')).toBeNull();
      expect(await deprecation('/labels')).toBeNull();
    },
  );
  test('the header counts before the parameter', async () => {
    const ask = await start();
    expect((await ask('GET', `/labels?token=${TOKEN}`, undefined, { 'Tracker-Token': 'wrong' })).status).toBe(
      401,
    );
    expect((await ask('GET', '/labels?token=wrong')).status).toBe(200);
  });
  test(
    'the token is checked before the path: an unknown path without a token is 401',
    covers('spec/tracker#authentication-3'),
    async () => {
      const ask = await start();
      expect((await ask('GET', '/nothing', undefined, { 'Tracker-Token': '' })).status).toBe(401);
      expect((await ask('GET', '/nothing', undefined, { 'Tracker-Token': 'wrong' })).status).toBe(401);
      expect((await ask('GET', '/nothing')).status).toBe(404);
    },
  );
  test('a prefix, a longer one and another case are not it', async () => {
    const ask = await start();
    for (const token of [TOKEN.slice(0, -1), `${TOKEN}x`, TOKEN.toUpperCase(), `Bearer ${TOKEN}`]) {
      expect((await ask('GET', '/labels', undefined, { 'Tracker-Token': token })).status).toBe(401);
    }
  });
});

describe('paths and methods', () => {
  test.each(['/nothing', '/labels/', '/labels/105/nothing', '//labels', '/epics/106/comments/1/2', ''])(
    '%s is 404',
    async (path) => {
      const ask = await start();
      const answer = await ask('GET', path);
      expect([answer.status, answer.body]).toEqual([404, { message: 'Resource not found.' }]);
    },
  );
  test.each([
    ['PATCH', '/labels/105', 'GET, PUT, DELETE'],
    ['DELETE', '/labels', 'GET, POST'],
    ['POST', '/repositories', 'GET'],
    ['GET', '/entity-templates/enable', 'PUT'],
    ['POST', '/epics/paginated', 'GET'],
  ])('%s %s is 405 and lists the allowed methods', async (method, path, allow) => {
    const ask = await start();
    const answer = await ask(method, path);
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, allow]);
    expect(answer.body.message).toContain('Method Not Allowed');
  });
  test('a body that is not UTF-8 is 400', async () => {
    const ask = await start();
    expect((await ask('POST', '/labels', new Uint8Array([0x7b, 0x22, 0xff, 0x22, 0x7d]))).status).toBe(400);
  });
  test('an identifier is a whole number, plainly written', async () => {
    const ask = await start();
    for (const id of ['105.0', '1e2', '0x69', ' 105', '9'.repeat(30)])
      expect((await ask('GET', `/labels/${encodeURIComponent(id)}`)).status).toBe(400);
    expect((await ask('GET', '/labels/-1')).status).toBe(404);
    for (const id of ['9007199254740993', '9223372036854775807'])
      expect((await ask('GET', `/labels/${id}`)).status).toBe(404);
  });
});

describe('200 requests a minute', () => {
  test(
    'the 201st is 429 and not processed; a minute later all is well',
    covers('spec/tracker#limits-1'),
    async () => {
      const ask = await start({ ratePerMinute: 200 });
      for (let i = 0; i < 199; i++) expect((await ask('GET', '/member')).status).toBe(200);
      expect((await ask('POST', '/labels', { name: 'last' })).status).toBe(201);
      const over = await ask('POST', '/labels', { name: 'too many' });
      expect([over.status, over.body.message, over.headers.get('retry-after')]).toEqual([
        429,
        'Too many requests: at most 200 a minute.',
        null,
      ]);
      expect(
        [...server.store.collection<{ name: string }>('tracker.labels').values()].map(({ name }) => name),
      ).toEqual(['onboarding', 'last']);
    },
  );
  test('refusals for a bad token do not count; refusals of a known one do', async () => {
    const ask = await start({ ratePerMinute: 2 });
    for (let i = 0; i < 5; i++)
      expect((await ask('GET', '/member', undefined, { 'Tracker-Token': 'x' })).status).toBe(401);
    expect((await ask('GET', '/nothing')).status).toBe(404);
    expect((await ask('GET', '/member')).status).toBe(200);
    expect((await ask('GET', '/member')).status).toBe(429);
  });
  test('the minute is that of the clock of the mock server', async () => {
    const ask = await start({ ratePerMinute: 1 });
    expect([(await ask('GET', '/member')).status, (await ask('GET', '/member')).status]).toEqual([200, 429]);
    await advance(60_000);
    expect((await ask('GET', '/member')).status).toBe(200);
  });
  test('Retry-After is sent on request', async () => {
    const ask = await start({ ratePerMinute: 1, rateRetryAfter: true });
    await ask('GET', '/member');
    const wait = Number((await ask('GET', '/member')).headers.get('retry-after'));
    expect(wait).toBeGreaterThan(0);
    expect(wait).toBeLessThanOrEqual(60);
  });
});

describe('an empty workspace', () => {
  test('an empty workspace has only records that the API cannot create', async () => {
    const ask = await start({}, 'empty');
    const size = async (path: string): Promise<number> => (await ask('GET', path)).body.length;
    const lists = [
      '/labels',
      '/epics',
      '/objectives',
      '/categories',
      '/projects',
      '/iterations',
      '/groups',
      '/files',
      '/custom-fields',
      '/entity-templates',
    ];
    expect(await Promise.all(lists.map(size))).toEqual(lists.map(() => 0));
    expect([
      await size('/members'),
      await size('/workflows'),
      (await ask('GET', '/epic-workflow')).body.epic_states.length,
    ]).toEqual([3, 1, 3]);
    expect((await ask('POST', '/stories', { name: 'first' })).body.workflow_state_id).toBe(11);
  });
});
