import { describe, expect, test } from 'vitest';
import { naming } from '../support/facts.ts';
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

  test('a row with the ID of one label and the title of another is rejected', async () => {
    const at = await setUp();
    await at.write('p.csv', `label,title,role,email\nlabels/${at.id('A')},B,EDITOR,me@example.com\n`);
    const ran = await at.run(importing('--keep'));
    expect([ran.code, ran.writes]).toEqual([2, []]);
    expect(ran.error().problems[0]).toMatchObject({ path: 'title', line: 2, message: naming('"B"', '"A"') });
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
    ['no rows', 'title,role,email\n', 'rows'],
  ])('a permission table is rejected with %s', async (_, text, named) => {
    const at = await setUp();
    await at.write('p.csv', text);
    const ran = await at.run(importing('--yes'));
    expect([ran.code, ran.writes, ran.err]).toEqual([2, [], naming(named)]);
  });
});

test.each([
  ['a line break', '"a@example.com\nb@example.com"', 'entry'],
  ['a semicolon', 'a@example.com;b@example.com', 'entry'],
  ['a comma', '"a@example.com, b@example.com"', 'entry'],
  ['a space', 'a@example.com b@example.com', 'entry'],
  ['a dot at the end', 'a@example.com.', 'remove'],
  ['a full stop of another script', 'a@example。com', 'remove'],
  ['a tab', 'a@example.com\tb@example.com', 'entry'],
  ['a line separator', 'a@example.com\u2028b@example.com', 'entry'],
  ['a name', 'Ada <a@example.com>', 'address'],
  ['an invisible character', 'a@example.com\u200b', 'invisible'],
  ['a space without a break', '\u00a0a@example.com', 'invisible'],
  ['a control character', 'a\u0001@example.com', 'invisible'],
  ['no domain', 'ada', 'invisible'],
  ['an address of mail', 'mailto:a@example.com', 'signs'],
])('an email with %s is rejected with the line, the value and the fix', async (_, email, fix) => {
  const text = email.replace(/^"|"$/g, '');
  const files = {
    'p.csv': `title,role,email\nA,READER,reader@example.com\nA,READER,${email}\n`,
    'p.yaml': `- {title: A, role: READER, email: reader@example.com}\n- title: A\n  role: READER\n  email: ${JSON.stringify(text)}\n`,
    'l.csv': `role,email\nREADER,reader@example.com\nREADER,${email}\n`,
    'l.yaml': `title: A\npermissions:\n  - role: READER\n    email: ${JSON.stringify(text)}\n`,
  };
  const commands = [
    [['permissions', 'import', '-f', 'p.csv'], 3],
    [['permissions', 'import', '-f', 'p.yaml'], 4],
    [['permissions', 'sync', 'A', '-f', 'l.csv'], 3],
    [['apply', '-f', 'l.yaml'], 4],
  ] as const;
  const at = await setUp();
  for (const [name, value] of Object.entries(files)) await at.write(name, value);
  for (const [words, line] of commands) {
    const ran = await at.run([...words, '--yes', '-o', 'json']);
    expect([words, ran.code, ran.requests]).toEqual([words, 2, []]);
    expect(ran.error().problems).toEqual([
      expect.objectContaining({
        ...{ file: words.at(-1), line, path: expect.stringContaining('email') },
        ...{ message: naming('one'), hint: naming(fix) },
      }),
    ]);
  }
});

test('the errors of a permission table name the file and the line', async () => {
  const at = await setUp();
  const problemsOf = async (text: string) => {
    await at.write('p.csv', text);
    const ran = await at.run(importing('--yes'));
    expect([ran.code, ran.writes]).toEqual([2, []]);
    return ran.error().problems.map(({ file, line, path }: any) => [file, line, path]);
  };
  const row = 'A,READER,a@example.com';
  const header = 'title,role,email';
  expect(await problemsOf(`${header}\n${row}\n\nA,OWNER,b@example.com\n`)).toEqual([['p.csv', 4, 'role']]);
  const unknown = await problemsOf(`${header}\n${row}\nNowhere,READER,b@example.com\n`);
  expect(unknown).toEqual([['p.csv', 3, 'title']]);
  expect(await problemsOf(`${header}\n${row}\n,,\n${row}\n`)).toEqual([['p.csv', 4, '']]);
  const columns = 'sep=;\ntitle;role;mail;email\nA;READER;x;a@example.com\nA;READER;y;b@example.com\n';
  expect(await problemsOf(columns)).toEqual([['p.csv', 2, 'mail']]);
  expect(await problemsOf('role,email\nREADER,a@example.com\n')).toEqual([['p.csv', 2, 'title']]);
  expect(await problemsOf(`${header}\n${row}\nA,READER,#N/A\n`)).toEqual([['p.csv', 3, 'email']]);
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

test('rows without values in a permission table are reported', async () => {
  const at = await setUp();
  await at.write('p.csv', 'title,role,email\nA,EDITOR,me@example.com\n,,\n');
  const ran = await at.run(importing('--yes', '--keep'));
  expect([ran.code, ran.writes]).toEqual([0, []]);
  expect(ran.err).toMatch(/p\.csv.*line 3/);
});
