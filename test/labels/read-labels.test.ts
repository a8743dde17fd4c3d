import { describe, expect, test } from 'vitest';
import { labelsInMemory } from '../support/in-memory.ts';
import { naming } from '../support/facts.ts';

const make = (at: ReturnType<typeof labelsInMemory>, ...titles: string[]): void => {
  for (const title of titles) at.send('POST', '/labels', { labelType: 'SHARED', properties: { title } });
};
const queryOf = (path: string): URLSearchParams => new URLSearchParams(path.split('?')[1]);

describe('reads of the service', () => {
  test('a read has no line breaks, and only the keys of a definition', async () => {
    const at = labelsInMemory({ 'a.yaml': 'title: A\n' });
    make(at, 'A');
    const ran = await at.run(['export', 'labels/' + at.id('A')]);
    expect(ran.requests.map(({ path }) => queryOf(path).get('prettyPrint'))).toEqual(['false']);
    expect(queryOf(ran.requests[0]?.path ?? '').get('fields')).toMatch(/^name,id,revisionId,/);
    const whole = await at.run(['locks', `labels/${at.id('A')}`]);
    expect(queryOf(whole.requests[0]?.path ?? '').get('fields')).toBeNull();
    expect(queryOf(whole.requests[0]?.path ?? '').get('view')).toBe('LABEL_VIEW_FULL');
  });
  test('pages have the maximum size, or a smaller one for complete labels', async () => {
    const at = labelsInMemory({ 'a.yaml': 'title: A\ndescription: d\npermissions: []\n' });
    make(at, 'A');
    const sizes = (requests: readonly { readonly path: string }[]) =>
      Object.fromEntries(
        requests.map(({ path }) => [/(\w+)\?/.exec(path)?.[1], queryOf(path).get('pageSize')]),
      );
    expect(sizes((await at.run(['apply', '-f', 'a.yaml'])).requests)).toMatchObject({
      ...{ labels: '50', locks: '200', permissions: '200' },
    });
    expect(sizes((await at.run(['locks', 'A'])).requests)).toMatchObject({ labels: '200' });
  });
  test('asks for admin rights with --admin only', async () => {
    const at = labelsInMemory({ 'a.yaml': 'title: A\ndescription: d\npermissions: []\n' });
    make(at, 'A');
    const rights = (requests: readonly { readonly path: string }[]) =>
      Object.fromEntries(
        requests.map(({ path }) => [/(\w+)\?/.exec(path)?.[1], queryOf(path).get('useAdminAccess')]),
      );
    const dry = ['apply', '-f', 'a.yaml', '--dry-run'];
    expect(rights((await at.run([...dry, '--admin'])).requests)).toMatchObject({
      ...{ labels: 'true', permissions: 'true', locks: null },
    });
    expect(rights((await at.run(dry)).requests)).toMatchObject({ labels: null, permissions: null });
    expect(rights((await at.run(['locks', 'A', '--admin'])).requests)).toMatchObject({ labels: 'true' });
  });
  test('the read continues with the next page until there is none', async () => {
    const at = labelsInMemory();
    make(at, ...Array.from({ length: 120 }, (_, i) => `L${i}`));
    const ran = await at.run(['export', '--all', '-o', 'json']);
    expect([ran.json().length, ran.requests.length]).toEqual([120, 3]);
  });
  test.each([
    ['an empty token is the end', [{ labels: [], nextPageToken: '' }], 0, 1],
    ['a page without labels is none', [{ nextPageToken: 'a' }, {}], 0, 2],
    ['the same token twice would never end', [{ nextPageToken: 'a' }, { nextPageToken: 'a' }, {}], 11, 2],
    [
      'so would a circle',
      [{ nextPageToken: 'a' }, { nextPageToken: 'b' }, { nextPageToken: 'a' }, {}],
      11,
      3,
    ],
  ])('%s', async (_, pages, code, count) => {
    const at = labelsInMemory();
    let n = 0;
    const ran = await at.run(['export', '--all', '-o', 'json'], {
      meanwhile: () => ({ status: 200, json: pages[n++] }),
    });
    expect([ran.code, ran.requests.length]).toEqual([code, count]);
    if (code !== 0) expect(ran.error()).toMatchObject({ code: 'OTHER_SHAPE' });
  });
});

describe('a label that a person names', () => {
  const named = async (typed: string, ...titles: string[]) => {
    const at = labelsInMemory();
    make(at, ...titles);
    const ran = await at.run(['locks', typed, '-o', 'json']);
    return { at, ran };
  };
  test('a label is found by its title, in any case if the title is unique', async () => {
    const { at, ran } = await named('plan a', 'Plan A', 'plan b');
    expect([ran.code, ran.json().id]).toEqual([0, at.id('Plan A')]);
    const both = await named('plan a', 'Plan A', 'plan a');
    expect(both.ran.json().id).toBe(both.at.id('plan a'));
  });
  test('an ambiguous title needs an ID', async () => {
    const { ran } = await named('Same', 'Same', 'Same', 'Same', 'Same');
    expect([ran.code, ran.error().message]).toEqual([
      2,
      expect.stringContaining('4 labels have the title "Same"'),
    ]);
    expect(ran.error().problems).toMatchObject([
      { path: '<label>', message: naming('ambiguous'), hint: naming('id') },
    ]);
    const table = labelsInMemory();
    make(table, 'Same', 'Same', 'Same', 'Same');
    const { err } = await table.run(['locks', 'Same', '-o', 'table']);
    expect(err.match(/labels\/\w+$/gm)?.length).toBe(3);
  });
  test('an unknown title suggests a similar one', async () => {
    const { ran } = await named('Contrct', 'Contract', 'Other');
    expect([ran.code, ran.error()]).toMatchObject([
      6,
      { code: 'NO_SUCH_LABEL', problems: [{ hint: naming('"Contract"?') }] },
    ]);
    expect((await named('zzzzzz', 'Contract')).ran.error().problems[0].hint).toBeUndefined();
  });
  test.each(['', ' ', 'labels/', 'labels/ '])('a label must be named: %j is not a name', async (typed) => {
    const { ran } = await named(typed, 'A');
    expect([ran.code, ran.requests, ran.error().problems[0].path]).toEqual([2, [], '<label>']);
  });
  test('an ID or title with a revision selects that revision', async () => {
    const at = labelsInMemory({ 'a.yaml': 'title: A\n' });
    await at.run(['apply', '-f', 'a.yaml', '--publish']);
    at.edit('A', { title: 'B' });
    const titleOf = async (typed: string) => {
      const ran = await at.run(['get', typed, '--view', 'LABEL_VIEW_FULL', '-o', 'json']);
      return ran.code === 0 ? ran.json().properties.title : ran.code;
    };
    expect(await titleOf('B')).toBe('B');
    expect(await titleOf('B@published')).toBe('A');
    expect(await titleOf('B@2')).toBe('A');
    expect(await titleOf('B@latest')).toBe('B');
    expect(await titleOf(at.id('B'))).toBe('B');
    expect(await titleOf(`${at.id('B')}@published`)).toBe('A');
    expect(await titleOf(`labels/${at.id('B')}@published`)).toBe('A');
    expect(await titleOf('B@elsewhere')).toBe(6);
    at.edit('B', { title: 'me@2' });
    expect(await titleOf('me@2')).toBe('me@2');
    at.edit('me@2', { title: 'Retention' });
    expect(await titleOf('Retention@published')).toBe('A');
  });
  test('a title that looks like an ID is first requested as an ID; in a dry run only titles are read', async () => {
    const at = labelsInMemory();
    make(at, 'Retention');
    const ran = await at.run(['locks', 'Retention', '-o', 'json']);
    expect([ran.code, ran.requests[0]?.path.split('?')[0]]).toEqual([0, '/labels/Retention']);
    const dry = await at.run(['locks', 'Retention', '--dry-run', '-o', 'json']);
    expect([dry.code, dry.requests[0]?.path.split('?')[0]]).toEqual([0, '/labels']);
    const id = at.id('Retention');
    expect((await at.run(['locks', id, '--dry-run', '-o', 'json'])).json().id).toBe(id);
    const short = await at.run(['locks', 'Abcdefg', '-o', 'json']);
    expect([short.code, short.requests.map(({ path }) => path.split('?')[0])]).toEqual([6, ['/labels']]);
    expect((await at.run(['locks', 'Abcdefgh', '-o', 'json'])).error().code).toBe('NO_SUCH_LABEL');
  });
  test('a forbidden label is not a missing label, unless the service returns 403 for both', async () => {
    const at = labelsInMemory();
    make(at, 'Retention');
    const answered = (status: number, json: object = {}) =>
      at.run(['locks', 'Retention', '-o', 'json'], {
        meanwhile: ({ path }) => (path.startsWith('/labels/Retention') ? { status, json } : undefined),
      });
    expect((await answered(403)).code).toBe(0);
    expect((await answered(401)).code).toBe(4);
    const denied = await at.run(['locks', 'Elsewhere', '-o', 'json'], {
      meanwhile: ({ path }) => (path.startsWith('/labels/Elsewhere') ? { status: 403, json: {} } : undefined),
    });
    expect(denied.code).toBe(5);
  });
});
