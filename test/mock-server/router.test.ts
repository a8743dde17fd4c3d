import { describe, expect, it } from 'vitest';
import { int, str } from '../../src/core/field.ts';
import { op } from '../../src/core/operation.ts';
import { routerFor } from '../../src/mock-server/table-service.ts';

const row = { summary: 'x', cites: 'x', ok: 200 } as const;
const table = {
  epics: {
    list: op({ ...row, method: 'GET', path: '/epics' }),
    create: op({ ...row, method: 'POST', path: '/epics' }),
    page: op({ ...row, method: 'GET', path: '/epics/paginated' }),
    get: op({ ...row, method: 'GET', path: '/epics/{epic-public-id}', params: { 'epic-public-id': int() } }),
    comment: op({
      ...row,
      method: 'GET',
      path: '/epics/{epic-public-id}/comments/{id}',
      params: { 'epic-public-id': int(), id: int() },
    }),
  },
  labels: {
    get: op({ ...row, method: 'GET', path: '/{name=labels/*}', params: { name: str() } }),
    delete: op({ ...row, method: 'DELETE', path: '/{name=labels/*}', params: { name: str() } }),
    publish: op({ ...row, method: 'POST', path: '/{name=labels/*}:publish', params: { name: str() } }),
    locks: op({ ...row, method: 'GET', path: '/{parent=labels/*}/locks', params: { parent: str() } }),
    batch: op({ ...row, method: 'POST', path: '/labels:batch' }),
  },
} as const;
const route = routerFor(table);
const shown = (method: string, path: string): string => {
  const match = route(method, path);
  if (match.kind === 'wrong-method') return `allows ${match.allow.join(', ')}`;
  return match.kind === 'no-path'
    ? 'nothing'
    : `${match.named.resource}.${match.named.verb} ${JSON.stringify(match.params)}`;
};

describe('the router', () => {
  it.each([
    ['GET', '/epics', 'epics.list {}'],
    ['POST', '/epics', 'epics.create {}'],
    ['GET', '/epics/12', 'epics.get {"epic-public-id":"12"}'],
    ['GET', '/epics/12/comments/7', 'epics.comment {"epic-public-id":"12","id":"7"}'],
    ['GET', '/labels/abc', 'labels.get {"name":"labels/abc"}'],
    ['POST', '/labels/abc:publish', 'labels.publish {"name":"labels/abc"}'],
    ['GET', '/labels/abc/locks', 'labels.locks {"parent":"labels/abc"}'],
    ['POST', '/labels:batch', 'labels.batch {}'],
  ])('finds %s %s', (method, path, found) => expect(shown(method, path)).toBe(found));

  it('the router prefers a literal to a parameter, even if it is percent-encoded', () => {
    expect(shown('GET', '/epics/paginated')).toBe('epics.page {}');
    expect(shown('GET', '/epics/%70aginated')).toBe('epics.page {}');
  });

  it('decodes parameters, and keeps an encoded slash in its segment', () => {
    expect(shown('GET', '/epics/a%20b')).toBe('epics.get {"epic-public-id":"a b"}');
    expect(shown('GET', '/epics/a%2Fb')).toBe('epics.get {"epic-public-id":"a/b"}');
  });

  it('the router treats a colon without a verb as part of the name', () => {
    expect(shown('GET', '/labels/a:b')).toBe('labels.get {"name":"labels/a:b"}');
  });

  it.each([
    ['DELETE', '/epics', 'allows GET, POST'],
    ['PUT', '/epics/12', 'allows GET'],
    ['GET', '/labels/abc:publish', 'allows POST'],
    ['OPTIONS', '/labels/abc', 'allows GET, DELETE'],
  ])('names the methods that %s %s does not have', (method, path, allowed) =>
    expect(shown(method, path)).toBe(allowed),
  );

  it.each([
    '/',
    '',
    '/nope',
    '/epics/',
    '/epics/12/',
    '/epics//comments/1',
    '/epics/12/nope',
    '/labels',
    '/labels/a/b',
    '/epics/%zz',
  ])('the router finds no row at %j', (path) => expect(shown('GET', path)).toBe('nothing'));
});
