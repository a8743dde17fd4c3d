import { expect, test } from 'vitest';
import { labelsInMemory } from '../support/in-memory.ts';
import { naming } from '../support/facts.ts';

const terminal = { tty: ['stdin', 'stderr'] } as const;
/** Label A, which ed can edit and rea can read. */
const shared = async (files: Readonly<Record<string, string>> = {}) => {
  const at = labelsInMemory(files);
  at.send('POST', '/labels', { labelType: 'SHARED', properties: { title: 'A' } });
  for (const [role, email] of [
    ['EDITOR', 'ed@example.com'],
    ['READER', 'rea@example.com'],
  ])
    at.send('POST', `/labels/${at.id('A')}/permissions`, { role, email });
  const now = (): string[] =>
    at
      .send('GET', `/labels/${at.id('A')}/permissions`)
      .labelPermissions.map(({ email, role }: any) => `${email} ${role}`)
      .toSorted();
  const sync = (file: string, ...more: string[]) =>
    at.run(['permissions', 'sync', 'A', '-f', file, '-o', 'json', ...more]);
  return { at, now, sync };
};
const yaml = '- {role: APPLIER, email: rea@example.com}\n- {role: READER, email: new@example.com}\n';

test('the sync removes missing permissions after a confirmation; the second run sends no request', async () => {
  const { at, now, sync } = await shared({ 'list.yaml': yaml });
  const argv = ['permissions', 'sync', 'A', '-f', 'list.yaml', '-o', 'json'];
  const no = await at.run(argv, { ...terminal, answers: [false] });
  expect([no.code, no.writes]).toEqual([10, []]);
  expect(no.asked.join()).toEqual(naming('permissions', 'ed@example.com'));
  const yes = await at.run(argv, { ...terminal, answers: [true] });
  expect(yes.json()).toMatchObject({
    label: `labels/${at.id('A')}`,
    added: [{ email: 'new@example.com' }],
    changed: [{ from: 'READER', to: { role: 'APPLIER', email: 'rea@example.com' } }],
    removed: [{ email: 'ed@example.com' }],
    sent: true,
  });
  expect(yes.err).toEqual(naming('permissions', 'new@example.com', 'READER', at.id('A')));
  expect(now()).toEqual(['new@example.com READER', 'rea@example.com APPLIER']);
  const again = await sync('list.yaml');
  expect([again.code, again.writes, again.json().sent]).toEqual([0, [], false]);
  expect((await at.run(argv.slice(0, 5), { tty: ['stdout'] })).out).toContain('no changes');
});

test('--keep keeps missing permissions without a prompt', async () => {
  const { at, now } = await shared({ 'list.yaml': yaml });
  const ran = await at.run(['permissions', 'sync', 'A', '-f', 'list.yaml', '--keep'], {
    tty: ['stdin', 'stdout', 'stderr'],
  });
  expect([ran.code, ran.asked]).toEqual([0, []]);
  expect(ran.out).toContain('+ new@example.com READER\n~ rea@example.com READER becomes APPLIER');
  expect(now()).toEqual(['ed@example.com EDITOR', 'new@example.com READER', 'rea@example.com APPLIER']);
});

test('a dry run of the sync neither prompts nor sends a request', async () => {
  const { at, now } = await shared({ 'list.yaml': yaml });
  const ran = await at.run(
    ['permissions', 'sync', 'A', '-f', 'list.yaml', '--dry-run', '-o', 'json'],
    terminal,
  );
  expect([ran.code, ran.asked, ran.writes, ran.json().sent]).toEqual([0, [], [], false]);
  expect(now()).toHaveLength(2);
});

test('the sync requests admin rights only with --admin', async () => {
  const { at, sync } = await shared({ 'list.yaml': yaml });
  const bodies = (await sync('list.yaml', '--yes', '--admin')).writes.map(({ body }) => body.useAdminAccess);
  expect(bodies).toEqual([true, true]);
  await at.write('list.yaml', '[]\n');
  const plain = (await sync('list.yaml', '--yes')).writes;
  expect(plain.map(({ body }) => 'useAdminAccess' in body)).toEqual([false]);
});

test('a revision in the name of the label is not part of its permissions', async () => {
  const { at } = await shared({ 'list.yaml': '[]\n' });
  const name = `labels/${at.id('A')}`;
  const ran = await at.run(['permissions', 'sync', `${name}@1`, '-f', 'list.yaml', '--yes', '-o', 'json']);
  expect([ran.code, ran.json().label]).toEqual([0, name]);
});

test('a table is one by its name or by its first line', async () => {
  const table = 'role,email\nREADER,rea@example.com\nEDITOR,ed@example.com\n';
  const { at, sync } = await shared({
    ...{ 'list.csv': table, 'other.txt': table, 'bom.txt': `\uFEFF"role","email" \r\n${table.slice(11)}` },
    ...{ 'one.csv': 'email\nx\n', 'one.txt': 'role\n' },
  });
  for (const file of ['list.csv', 'other.txt', 'bom.txt'])
    expect([file, (await sync(file)).json().sent]).toEqual([file, false]);
  const piped = await at.run(['permissions', 'sync', 'A', '-f', '-', '-o', 'json'], { stdin: table });
  expect(piped.json().sent).toBe(false);
  const [csv, plain] = [await sync('one.csv'), await sync('one.txt')];
  expect(csv.error().message).toContain('one.csv: ');
  expect(plain.error().problems).toMatchObject([{ message: naming('list', 'permissions') }]);
  const bad = await at.run(['permissions', 'sync', 'A', '-f', '-', '-o', 'json'], {
    stdin: 'role,email\nBOSS,a@x\n',
  });
  expect([bad.code, bad.requests]).toEqual([2, []]);
  expect(bad.error().problems[0]).toMatchObject({
    ...{ path: 'role', file: 'standard input', line: 2 },
    rule: 'enum',
    message: naming('READER', 'APPLIER', 'ORGANIZER', 'EDITOR', 'BOSS'),
  });
  expect(bad.err).toEqual(naming('standard input', 'role', '2', 'permissions', 'invalid'));
});

test('two entries for one permission, and two permissions for one entry, are rejected with both names', async () => {
  const both = '- {role: READER, email: ed@example.com}\n- {role: APPLIER, person: people/1}\n';
  const live = (labelPermissions: readonly object[]) => ({
    meanwhile: ({ method, path }: { method: string; path: string }) =>
      method === 'GET' && path.includes('/permissions')
        ? { status: 200, json: { labelPermissions } }
        : undefined,
  });
  const { at } = await shared({ 'both.yaml': both, 'one.yaml': '- {role: READER, email: ed@example.com}\n' });
  const argv = (file: string) => ['permissions', 'sync', 'A', '-f', file, '--yes', '-o', 'json'];
  const ed = { name: 'labels/x/permissions/1', role: 'EDITOR', email: 'ed@example.com' };
  for (const [file, answer, names] of [
    ['both.yaml', live([{ ...ed, person: 'people/1' }]), ['ed@example.com READER', 'people/1 APPLIER']],
    ['one.yaml', live([ed, { ...ed, name: 'labels/x/permissions/2', role: 'READER' }]), ['EDITOR', 'READER']],
  ] as const) {
    const ran = await at.run(argv(file), answer);
    expect([ran.code, ran.writes]).toEqual([2, []]);
    expect(ran.error().problems[0].message).toEqual(
      expect.toSatisfy((text: string) => names.every((name) => text.includes(name))),
    );
  }
});

test('a file with two lists of permissions is rejected', async () => {
  const list = '[{role: READER, email: ed@example.com}]';
  const { sync } = await shared({ 'two.yaml': `permissions: ${list}\nlabelPermissions: []\n` });
  const ran = await sync('two.yaml', '--yes');
  expect([ran.code, ran.writes]).toEqual([2, []]);
  expect(ran.error().problems[0]).toMatchObject({ path: 'labelPermissions', line: 2 });
});

test('a name of two permissions is rejected with both', async () => {
  const { at } = await shared();
  const one = (id: string, role: string) => ({
    ...{ name: `labels/x/permissions/${id}`, role, email: 'twin@example.com' },
  });
  const meanwhile = ({ method, path }: { method: string; path: string }) =>
    method === 'GET' && /\/permissions(\?|$)/.test(path)
      ? { status: 200, json: { labelPermissions: [one('1', 'READER'), one('2', 'EDITOR')] } }
      : undefined;
  const argv = ['permissions', 'delete', 'A', 'twin@example.com', '--yes', '-o', 'json'];
  const ran = await at.run(argv, { meanwhile });
  expect([ran.code, ran.writes]).toEqual([2, []]);
  expect(ran.err).toEqual(naming('permissions/1', 'permissions/2'));
});
