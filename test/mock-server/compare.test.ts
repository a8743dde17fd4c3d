/** The comparison of another service with a recording: the requests that it sends, and the differences that it reports. */
import { expect, test } from 'vitest';
import type { Exchange } from '../../src/mock-server/cassette/cassette.ts';
import { compareWith } from '../../src/mock-server/cassette/compare.ts';
import type { HttpRequest } from '../../src/platform/host.ts';
import { fakeHost, type ScriptedReply } from '../support/fake-host.ts';

type Json = { readonly [name: string]: unknown } | readonly unknown[];
const TYPE = { 'content-type': 'application/json; charset=utf-8' };
const exchange = (request: Partial<Exchange['request']>, json: Json, status = 200): Exchange => ({
  request: { method: 'GET', path: '/things', query: '', headers: {}, ...request },
  response: { status, headers: TYPE, body: { json } },
});
const other = { url: 'http://other.example:8080', headers: { token: 'own' } };
/** Compares the recorded exchanges with the given responses, in the same order. */
const compare = async (exchanges: readonly Exchange[], replies: readonly ScriptedReply[]) => {
  const host = fakeHost({ reply: (_, count) => ({ headers: TYPE, ...replies[count - 1] }) });
  const rows: (readonly unknown[])[] = [];
  const cassette = { upstream: 'http://recorded.example', exchanges };
  for await (const row of compareWith(host, cassette, other))
    rows.push([row.exchange, row.method, row.path, row.where, row.recorded, row.received]);
  return { rows, requests: host.requests };
};
const sent = ({ method, url, body }: HttpRequest): readonly unknown[] => [
  method,
  url,
  body === undefined ? undefined : JSON.parse(Buffer.from(body as string).toString()),
];

test('equal responses have no differences; other identifiers and times are equal', async () => {
  const [id, uuid] = ['11111111-1111-1111-1111-111111111111', '22222222-2222-2222-2222-222222222222'];
  const recorded = { id: 7, owner_ids: [id], at: '2026-01-01T00:00:00Z', note: 'x', key: id };
  const received = { id: 9, owner_ids: [uuid], at: '2026-02-02T00:00:00Z', note: 'x', key: uuid };
  expect((await compare([exchange({}, recorded)], [{ body: received }])).rows).toEqual([]);
});

test('a difference names its exchange, its request and its place, with both values', async () => {
  const { rows } = await compare(
    [
      exchange({}, { list: [{ name: 'a', size: 1 }] }),
      exchange({ method: 'PUT', path: '/things/1' }, { list: [1, 2, 3], gone: true }, 201),
    ],
    [{ body: { list: [{ name: 'b', size: 2 }] } }, { body: { list: [1, 4], more: 'm' } }],
  );
  expect(rows).toEqual([
    [1, 'GET', '/things', 'body.list[0].name', 'a', 'b'],
    [1, 'GET', '/things', 'body.list[0].size', 1, 2],
    [2, 'PUT', '/things/1', 'status', 201, 200],
    [2, 'PUT', '/things/1', 'body.list.length', 3, 2],
    [2, 'PUT', '/things/1', 'body.list[1]', 2, 4],
    [2, 'PUT', '/things/1', 'body.gone', true, undefined],
    [2, 'PUT', '/things/1', 'body.more', undefined, 'm'],
  ]);
});

test('one identifier always stands for the same other identifier', async () => {
  const { rows } = await compare(
    [exchange({}, { id: 1, parent_id: 2 }), exchange({}, [{ id: 1 }, { id: 2 }])],
    [{ body: { id: 11, parent_id: 12 } }, { body: [{ id: 11 }, { id: 13 }] }],
  );
  expect(rows).toEqual([[2, 'GET', '/things', 'body[1].id', 2, 13]]);
});

test('requests contain the identifiers of the other service in the path, the query and the body', async () => {
  const { requests, rows } = await compare(
    [
      exchange({ method: 'POST', body: { json: { name: 'n' } } }, { id: 12, name: 'n' }),
      exchange(
        {
          ...{ method: 'PUT', path: '/things/12/parts', query: 'after=12&size=120' },
          body: { json: { thing_ids: [12], size: 12, nested: { id: 12, unknown_id: 5 } } },
        },
        { url: 'https://recorded.example/things/12' },
      ),
    ],
    [{ body: { id: 98, name: 'n' } }, { body: { url: 'http://other.example/things/98' } }],
  );
  expect(requests.map(sent)).toEqual([
    ['POST', 'http://other.example:8080/things', { name: 'n' }],
    [
      'PUT',
      'http://other.example:8080/things/98/parts?after=98&size=120',
      { thing_ids: [98], size: 12, nested: { id: 98, unknown_id: 5 } },
    ],
  ]);
  expect(rows).toEqual([]);
});

test('a masked header is replaced, and other recorded headers are sent', async () => {
  const headers = { accept: 'application/json', authorization: '***', token: 'recorded' };
  const { requests } = await compare([exchange({ headers }, {})], [{ body: {} }]);
  expect(requests[0]?.headers).toEqual({ accept: 'application/json', token: 'own' });
});

test('the media type is compared without its parameters, and a body of text as text', async () => {
  const text = (type: string, kept: string): Exchange => ({
    ...exchange({}, {}),
    response: { status: 200, headers: { 'content-type': type }, body: { text: kept } },
  });
  const { rows } = await compare(
    [text('text/html; charset=utf-8', 'a'), { ...exchange({}, {}), response: { status: 204, headers: {} } }],
    [
      { headers: { 'content-type': 'text/plain' }, body: 'a' },
      { status: 204, headers: {}, body: '' },
    ],
  );
  expect(rows).toEqual([
    [1, 'GET', '/things', 'content-type', 'text/html', 'text/plain'],
    // Text that may contain secrets is not kept.
    [1, 'GET', '/things', 'body', 'a', '(omitted: neither JSON nor a form)'],
  ]);
});
