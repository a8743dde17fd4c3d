import { describe, expect, it } from 'vitest';
import { bool, int, list, obj, req, str } from '../../src/core/field.ts';
import { op } from '../../src/core/operation.ts';
import { HttpError } from '../../src/mock-server/body.ts';
import type { MockReply, MockRequest, Environment } from '../../src/mock-server/service-set.ts';
import { Store } from '../../src/mock-server/store.ts';
import { Bytes, Json, tableService } from '../../src/mock-server/table-service.ts';

const row = { summary: 'x', cites: 'x' } as const;
const things = {
  list: op({
    ...row,
    method: 'GET',
    path: '/things',
    ok: 200,
    query: { limit: { ...int({ min: 1 }), default: 25 }, slim: bool(), tags: list(str(5)) },
  }),
  create: op({
    ...row,
    method: 'POST',
    path: '/things',
    ok: 201,
    body: { name: req(str(5)), parts: list(obj({ size: int() })) },
  }),
  get: op({ ...row, method: 'GET', path: '/things/{id}', ok: 200, params: { id: int() } }),
  delete: op({ ...row, method: 'DELETE', path: '/things/{id}', ok: 204, params: { id: int() } }),
  text: op({ ...row, method: 'GET', path: '/text', ok: 200 }),
  file: op({ ...row, method: 'GET', path: '/file', ok: 200 }),
} as const;

const store = new Store();
const rows = store.collection<object>('things');
const text = new Json('[1]');
const handle = tableService<{ things: typeof things }, object>({
  service: {
    name: 'x',
    title: 'x',
    version: '1',
    basePath: '/api',
    tokenHeader: { name: 'x', prefix: '' },
    table: { things },
  },
  state: {},
  env: { store } as Environment,
  handlers: {
    things: {
      list: ({ query }) => query as never,
      create: ({ body, headers }) => {
        rows.put(1, body);
        if (body.name === 'fail') throw new HttpError(422, 'refused after a change');
        headers.location = '/api/things/1';
        return body as never;
      },
      get: ({ params }) => params as never,
      delete: () => undefined as never,
      text: () => text,
      file: () => new Bytes(Uint8Array.of(1, 2), 'image/png'),
    },
  },
  admit: (request) => {
    if (request.headers.token === undefined) throw new HttpError(401, 'who?');
  },
  refusal: ({ status, message, problems, body }) => ({
    status,
    body: JSON.stringify({ message, problems: problems.map(({ path, rule }) => `${path} ${rule}`), ...body }),
  }),
  commonQuery: new Set(['token']),
});
const ask = async (
  method: string,
  url: string,
  body = '',
  headers: Record<string, string> = { token: 'x' },
): Promise<MockReply & { json: any }> => {
  const [path = '', query = ''] = url.split('?');
  const request: MockRequest = {
    method,
    path: `/api${path}`,
    query,
    headers,
    body: new TextEncoder().encode(body),
    remoteAddress: '',
    isTls: false,
  };
  const reply = await handle(request);
  return {
    ...reply,
    json: typeof reply.body === 'string' && reply.body !== '' ? JSON.parse(reply.body) : undefined,
  };
};

describe('a service made of a table', () => {
  it('hands over checked values with their defaults', async () => {
    expect((await ask('GET', '/things')).json).toEqual({ limit: 25 });
    expect((await ask('GET', '/things?limit=3&slim=true&tags=a&tags=b&token=x')).json).toEqual({
      limit: 3,
      slim: true,
      tags: ['a', 'b'],
    });
    expect((await ask('GET', '/things/7')).json).toEqual({ id: 7 });
  });

  it('the service returns the status of the row, and headers of the handler', async () => {
    const made = await ask('POST', '/things', '{"name":"x"}');
    expect([made.status, made.headers]).toEqual([
      201,
      { location: '/api/things/1', 'content-type': 'application/json; charset=utf-8' },
    ]);
    expect(await ask('DELETE', '/things/7')).toMatchObject({ status: 204, headers: {} });
    expect(await ask('GET', '/file')).toMatchObject({
      headers: { 'content-type': 'image/png' },
      body: Uint8Array.of(1, 2),
    });
  });

  it.each(['{', 'no', '"\u0000', '{"a":1}}'])(
    'a body that is not JSON is refused with the reason: %j',
    async (body) => {
      const { status, json } = await ask('POST', '/things', body);
      const other = await ask('POST', '/things', '[]');
      expect([status, json.problems, other.status]).toEqual([400, ['body type'], 400]);
      expect(json.message).not.toBe(other.json.message);
    },
  );
  it('the service sends a repeated text as bytes', async () => {
    const bodies = [await ask('GET', '/text'), await ask('GET', '/text'), await ask('GET', '/text')].map(
      ({ body }) => body,
    );
    expect(bodies[0]).toBe('[1]');
    expect(bodies[1]).toEqual(new TextEncoder().encode('[1]'));
    expect(bodies[2]).toBe(bodies[1]);
  });

  it.each([
    ['POST', '/things', '{"name":"123456"}', ['name max']],
    ['POST', '/things', '{"nam":"x"}', ['nam unknown', 'name required']],
    ['POST', '/things', '{"name":"x","parts":[{"size":1},{"size":"1"}]}', ['parts[1].size type']],
    ['POST', '/things', '', ['name required']],
    ['POST', '/things', '[]', ['body type']],
    ['POST', '/things', '{', ['body type']],
    ['GET', '/things?limit=0', '', ['limit min']],
    ['GET', '/things?limit=x', '', ['limit type']],
    ['GET', '/things?tags=abcdef', '', ['tags[0] max']],
    ['GET', '/things?nope=1', '', ['nope unknown']],
    ['GET', '/things/x', '', ['id type']],
  ])('refuses %s %s %s', async (method, path, body, problems) => {
    const { status, json } = await ask(method, path, body);
    expect([status, json.problems]).toEqual([400, problems]);
  });

  it('refuses a body that is not UTF-8', async () => {
    const request = {
      method: 'POST',
      path: '/api/things',
      query: '',
      headers: { token: 'x' },
      body: Uint8Array.of(0x7b, 0xff, 0x7d),
      remoteAddress: '',
      isTls: false,
    };
    expect((await handle(request)).status).toBe(400);
  });

  it('the service authenticates before it reads the path', async () => {
    expect((await ask('GET', '/nope', '', {})).status).toBe(401);
    expect((await ask('GET', '/nope')).status).toBe(404);
  });

  it('names the methods of a path', async () => {
    expect((await ask('PUT', '/things')).json).toMatchObject({ allow: ['GET', 'POST'] });
    expect(await ask('OPTIONS', '/things', '', {})).toMatchObject({
      status: 204,
      headers: { allow: 'OPTIONS, HEAD, GET, POST' },
    });
    expect((await ask('OPTIONS', '/nope', '', {})).status).toBe(404);
  });

  it('undoes what a refused request changed', async () => {
    store.transact(() => store.clear());
    expect((await ask('POST', '/things', '{"name":"fail"}')).status).toBe(422);
    expect(rows.size).toBe(0);
  });
});
