import { describe, expect, test } from 'vitest';
import { labelsInMemory } from '../support/in-memory.ts';

const setUp = async () => {
  const at = labelsInMemory({
    'labels/a.yaml':
      'title: A\npermissions: [{role: EDITOR, email: me@example.com}, {role: READER, email: reader@example.com}]\n',
    'labels/b.yaml': 'title: B, or not\npermissions: [{role: READER, email: reader@example.com}]\n',
  });
  expect((await at.run(['apply', '-f', 'labels', '--yes'])).code).toBe(0);
  return at;
};
const permissionsOf = (at: ReturnType<typeof labelsInMemory>, title: string): string[] =>
  at
    .send('GET', `/labels/${at.id(title)}/permissions`)
    .labelPermissions.map(({ role, email }: any) => `${role} ${email}`)
    .toSorted();
const importing = (...more: string[]) => ['permissions', 'import', '-f', 'p.csv', '-o', 'json', ...more];

describe('the permissions of all labels as one table', () => {
  test('permissions are exported and imported again without a change', async () => {
    const at = await setUp();
    const { out, code } = await at.run(['permissions', 'export', '-o', 'csv']);
    expect([code, out.split('\n')[0]]).toEqual([0, 'label,title,role,email,person,group,audience']);
    expect(out).toContain('"B, or not"');
    await at.write('p.csv', out);
    const ran = await at.run(importing());
    expect([ran.code, ran.writes, ran.json().map(({ status }: any) => status)]).toEqual([
      0,
      [],
      ['unchanged', 'unchanged'],
    ]);
  });

  test('change only the labels in the table, after a confirmation of removals', async () => {
    const at = await setUp();
    const before = permissionsOf(at, 'B, or not');
    await at.write('p.csv', 'title,role,email\nA,EDITOR,me@example.com\nA,APPLIER,new@example.com\n');
    const dry = await at.run(importing('--dry-run'));
    expect([dry.code, dry.writes, dry.json()[0]]).toMatchObject([0, [], { added: 1, removed: 1 }]);
    const asked = await at.run(importing());
    expect([asked.code, asked.writes]).toEqual([2, []]);
    expect((await at.run(importing('--keep'))).code).toBe(0);
    expect(permissionsOf(at, 'A')).toContain('READER reader@example.com');
    expect((await at.run(importing('--yes'))).code).toBe(0);
    expect(permissionsOf(at, 'A')).toEqual(['APPLIER new@example.com', 'EDITOR me@example.com']);
    expect(permissionsOf(at, 'B, or not')).toEqual(before);
  });

  test('find labels of another deployment by title', async () => {
    const at = await setUp();
    await at.write('p.csv', 'label,title,role,email\nlabels/other,A,EDITOR,me@example.com\n');
    expect((await at.run(importing('--keep'))).json()).toMatchObject([{ title: 'A', status: 'unchanged' }]);
  });

  test.each([
    ['an unknown label', 'title,role,email\nC,READER,a@example.com\n', 'C'],
    ['an unknown role', 'title,role,email\nA,OWNER,a@example.com\n', 'OWNER'],
    [
      'a repeated principal',
      'title,role,email\nA,READER,a@example.com\nA,EDITOR,a@example.com\n',
      'a@example.com',
    ],
    ['a repeated header', 'title,role,role,email\nA,READER,EDITOR,a@example.com\n', 'role'],
    ['no rows', 'title,role,email\n', 'no rows'],
  ])('a permission table is rejected with %s', async (_, text, named) => {
    const at = await setUp();
    await at.write('p.csv', text);
    const ran = await at.run(importing('--yes'));
    expect([ran.code, ran.writes, ran.err]).toEqual([2, [], expect.stringContaining(named)]);
  });
});

test('title: addresses a label whose title looks like an ID', async () => {
  const at = labelsInMemory();
  for (const title of ['labels/x', 'title:y'])
    at.send('POST', '/labels', { labelType: 'SHARED', properties: { title } });
  expect((await at.run(['get', 'title:labels/x', '-o', 'json'])).json().id).toBe(at.id('labels/x'));
  expect((await at.run(['get', 'title:labels/x@latest', '-o', 'json'])).json().id).toBe(at.id('labels/x'));
  expect((await at.run(['get', 'title:y', '-o', 'json'])).json().id).toBe(at.id('title:y'));
  expect((await at.run(['get', 'title:nothing'])).code).toBe(6);
});
