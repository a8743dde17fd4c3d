import { describe, expect, test } from 'vitest';
import { lockFrom } from '../../src/labels/lock-file.ts';
import { type Asked, ORIGIN, labelsInMemory } from '../support/in-memory.ts';
import { naming } from '../support/facts.ts';

const apply = ['apply', '-f', 'labels', '-o', 'json'];
const make = (at: ReturnType<typeof labelsInMemory>, title: string): string =>
  at.send('POST', '/labels', { labelType: 'SHARED', properties: { title } }).id;
const reads = (requests: readonly Asked[], part: string): number =>
  requests.filter(({ path }) => path.includes(part)).length;

describe('selection of the label for a definition', () => {
  test('the definition of a lock file entry keeps its label after a rename', async () => {
    const at = labelsInMemory({ 'labels/a.yaml': 'title: A\n' });
    await at.run(apply);
    await at.run(['adopt', '-f', 'labels']);
    const id = at.id('A');
    at.edit('A', { title: 'Renamed' });
    const other = make(at, 'A');
    await at.write('labels/a.yaml', 'title: A\ndescription: ours\n');
    const ran = await at.run([...apply, '--take', 'ours']);
    expect([ran.code, ran.json()[0].id]).toEqual([0, id]);
    expect(other).not.toBe(id);
  });
  test('the one of its id, else of its title, else of the title before', async () => {
    const at = labelsInMemory();
    const [a, b] = [make(at, 'A'), make(at, 'B')];
    const meant = async (text: string) => {
      await at.write('labels/a.yaml', text);
      const ran = await at.run([...apply, '--dry-run']);
      return [ran.code, ran.code === 0 ? ran.json()[0].id : ran.error().code];
    };
    expect(await meant(`id: ${b}\ntitle: C\n`)).toEqual([0, b]);
    expect(await meant('id: elsewhere\ntitle: A\n')).toEqual([0, a]);
    expect(await meant('title: b\n')).toEqual([10, 'SIMILAR_TITLE']);
    expect(await meant('title: b\nwas: B\n')).toEqual([0, b]);
    expect(await meant('title: C\nwas: B\n')).toEqual([0, b]);
    expect(await meant('title: A\nwas: B\n')).toEqual([0, a]);
    expect(await meant('title: C\n')).toEqual([0, undefined]);
  });
  test('a definition never selects a label that is bound to another one', async () => {
    const at = labelsInMemory({ 'labels/a.yaml': 'title: A\n' });
    await at.run(apply);
    await at.run(['adopt', '-f', 'labels']);
    const id = at.id('A');
    await at.write('labels/a.yaml', 'key: a\ntitle: B\n');
    await at.write('labels/new.yaml', 'key: new\ntitle: A\n');
    const ran = await at.run(apply);
    expect([ran.code, ran.json().map((one: any) => one.action)]).toEqual([0, ['update', 'create']]);
    expect([at.id('B'), at.id('A') === id]).toEqual([id, false]);
  });
  test('the ID decides between two labels of one title', async () => {
    const at = labelsInMemory({ 'labels/a.yaml': '# two\ntitle: A\n' });
    const ids = [make(at, 'A'), make(at, 'A')];
    const ran = await at.run(apply);
    expect([ran.code, ran.writes, ran.error().problems[0].hint]).toEqual([2, [], naming('id:')]);
    expect(ran.error().message).toContain('2 labels have the title "A"');
    expect(ran.err).toContain('labels/a.yaml:2:1: title');
    await at.write('labels/a.yaml', `id: ${ids[1]}\ntitle: A\n`);
    expect((await at.run(apply)).json()[0].id).toBe(ids[1]);
  });
  test('two definitions that lead to one label are refused', async () => {
    const at = labelsInMemory({ 'labels/a.yaml': 'title: A\n', 'labels/b.yaml': 'title: B\nwas: A\n' });
    make(at, 'A');
    const ran = await at.run(apply);
    expect([ran.code, ran.writes]).toEqual([2, []]);
    expect(ran.error().problems).toMatchObject([
      { file: 'labels/b.yaml', message: naming('labels', 'labels/a.yaml', at.id('A')) },
    ]);
  });
  test('two definitions of one record of the lock file are refused', async () => {
    const at = labelsInMemory({ 'labels/a.yaml': 'title: A\n' });
    await at.run(apply);
    await at.run(['adopt', '-f', 'labels']);
    await at.write('labels/b.yaml', 'title: B\nwas: A\n');
    const ran = await at.run(apply);
    expect([ran.code, ran.requests.length > 0, ran.writes]).toEqual([2, false, []]);
    expect(ran.error().problems).toMatchObject([
      {
        file: 'labels/b.yaml',
        message: naming('labels/a.yaml', 'lock'),
        hint: 'write `key:` or `was:` in both files',
      },
    ]);
    // Two directories have separate records.
    await at.remove('labels/b.yaml');
    await at.write('other/b.yaml', 'key: a\ntitle: C\n');
    await at.write('other/labels.lock.yaml', at.read('labels/labels.lock.yaml') ?? '');
    const apart = await at.run(['diff', '-f', 'labels', '-f', 'other', '-o', 'json']);
    expect(apart.error().message).toContain('a label is defined twice');
    expect(apart.error().problems[0].message).toEqual(naming('labels', 'yaml'));
  });
  test('two new ones whose titles make one key get two', async () => {
    const at = labelsInMemory({
      ...{ 'labels/a.yaml': 'title: "A!"\n', 'labels/b.yaml': 'title: A?\n' },
      'labels/labels.lock.yaml': 'version: 1\nlabels: {}\n',
    });
    expect((await at.run(apply)).json().map(({ key }: any) => key)).toEqual(['a', 'a-2']);
    const records = lockFrom('l', at.read('labels/labels.lock.yaml') ?? '').labels;
    expect(Object.entries(records).map(([key, { file }]) => [key, file])).toEqual([
      ['a', 'a.yaml'],
      ['a-2', 'b.yaml'],
    ]);
  });
});

describe('reads before the first request', () => {
  test('locks are read only for changed labels, and permissions only for files with permissions', async () => {
    const at = labelsInMemory({ 'labels/a.yaml': 'title: A\n', 'labels/b.yaml': 'title: B\n' });
    const created = await at.run(apply);
    expect([reads(created.requests, '/locks'), reads(created.requests, 'capabilities')]).toEqual([0, 1]);
    await at.write('labels/b.yaml', 'title: B\ndescription: new\n');
    const ran = await at.run(apply);
    expect([reads(ran.requests, '/locks'), reads(ran.requests, 'capabilities')]).toEqual([1, 0]);
    expect([reads(ran.requests, 'permissions'), reads(ran.requests, '/limits')]).toEqual([0, 1]);
    await at.write('labels/b.yaml', 'title: B\ntype: ADMIN\n');
    expect((await at.run(apply)).code).toBe(10);
    expect(reads((await at.run(apply)).requests, '/locks')).toBe(1);
  });
  test('changes without the required permission are rejected', async () => {
    const at = labelsInMemory({ 'labels/a.yaml': 'title: A\n' });
    const ran = await at.run(apply, {
      meanwhile: ({ path }) =>
        path.includes('capabilities') ? { status: 200, json: { canCreateSharedLabels: false } } : undefined,
    });
    expect([ran.code, ran.writes]).toEqual([10, []]);
    expect(ran.error().problems[0].message).toEqual(naming('create', 'SHARED', 'labels', 'account'));
  });
  test('frozen values come from the published revision, which is read only if needed', async () => {
    // One field with a frozen value is enough to need the published revision.
    const people = (most: number) =>
      `title: A\nfields: [{name: Note, type: text}, {name: Who, type: user, maxEntries: ${most}}]\n`;
    const at = labelsInMemory({ 'labels/a.yaml': people(3) });
    const published = (requests: readonly Asked[]) => reads(requests, '@published');
    await at.run([...apply, '--publish']);
    await at.write('labels/a.yaml', people(9));
    expect(published((await at.run(apply)).requests)).toBe(0);
    await at.write('labels/a.yaml', people(4));
    const down = await at.run(apply);
    expect([down.code, published(down.requests)]).toEqual([0, 1]);
    await at.write('labels/a.yaml', people(2));
    expect((await at.run(apply)).error().problems[0].message).toContain('it cannot shrink to 2');
    const plain = labelsInMemory({ 'labels/a.yaml': 'title: A\nfields: [{name: Note, type: text}]\n' });
    await plain.run([...apply, '--publish']);
    plain.edit('A', { description: 'newer' });
    expect(published((await plain.run(apply)).requests)).toBe(0);
  });
});

describe('remote changes since the last apply', () => {
  test('a deleted label is reported, and recreated only if ours wins', async () => {
    const at = labelsInMemory({ 'labels/a.yaml': 'title: A\n' });
    await at.run(apply);
    await at.run(['adopt', '-f', 'labels']);
    const id = at.id('A');
    at.send('DELETE', `/labels/${id}`);
    const ran = await at.run(apply);
    expect([ran.code, ran.error().code]).toEqual([10, 'CHANGED_MEANWHILE']);
    expect(ran.error().message).toContain(`label A was changed in ${ORIGIN} since revision 1 was applied`);
    expect(ran.error().message).toContain(`would undo: labels/${id} (deleted)`);
    const theirs = await at.run([...apply, '--take', 'theirs']);
    expect([theirs.code, theirs.error().message]).toEqual([
      10,
      expect.stringContaining('label A was deleted'),
    ]);
    const again = await at.run([...apply, '--take', 'ours']);
    expect([again.code, again.json()[0].action]).toEqual([0, 'create']);
  });
  test('changes are unknown if the service deleted the base revision', async () => {
    const at = labelsInMemory({ 'labels/a.yaml': 'title: A\n' });
    await at.run([...apply, '--publish']);
    await at.remove('labels/labels.lock.yaml');
    at.edit('A', { description: 'theirs' });
    const file = (revision: number): string => `id: ${at.id('A')}\nrevision: ${revision}\ntitle: A\n`;
    await at.write('labels/a.yaml', file(1));
    const gone = await at.run(apply);
    expect([gone.code, gone.error().message]).toEqual([
      10,
      expect.stringContaining('that revision was deleted'),
    ]);
    await at.write('labels/a.yaml', `${file(2)}description: ours\n`);
    expect((await at.run(apply)).error().message).toContain(
      'since revision 2 was exported, and is now at revision 3 (by people/100000000000000000001, 2026-01-02T03:04:05Z), and labels/a.yaml would undo: description of the label',
    );
    await at.write('labels/a.yaml', `${file(3)}description: ours\n`);
    expect((await at.run(apply)).code).toBe(0);
  });
  test('new permissions of others are a drift of a file with permissions', async () => {
    const file = 'title: A\npermissions: [{role: EDITOR, email: e@example.com}]\n';
    const at = labelsInMemory({ 'labels/a.yaml': file });
    await at.run([...apply, '--yes']);
    await at.run(['adopt', '-f', 'labels']);
    at.send('POST', `/labels/${at.id('A')}/permissions`, { role: 'READER', email: 'r@example.com' });
    const ran = await at.run([...apply, '--yes']);
    expect([ran.code, ran.error().message]).toEqual([
      10,
      naming('r@example.com', 'changed', 'applied', 'permission'),
    ]);
  });
});

describe('the lock file after an apply', () => {
  const LOCK = 'labels/labels.lock.yaml';
  const record = (at: ReturnType<typeof labelsInMemory>) =>
    lockFrom(LOCK, at.read(LOCK) ?? '').labels['a']?.deployments[ORIGIN];
  const adopted = async (text = 'title: A\n') => {
    const at = labelsInMemory({ 'labels/a.yaml': text });
    await at.run([...apply, '--publish', '--yes']);
    await at.run(['adopt', '-f', 'labels']);
    return at;
  };
  test('the lock file is not written if its record is equal', async () => {
    const at = await adopted();
    expect((await at.run(apply)).written).toEqual([]);
  });
  test.each([
    ['description', 'title: A\ndescription: new\n', { revision: '3' }],
    ['copy mode', 'title: A\ncopyMode: ALWAYS_COPY\n', { copyMode: 'ALWAYS_COPY', revision: '2' }],
    ['apps', 'title: A\nenabledApps: [MAIL]\n', { enabledApps: ['MAIL'], revision: '2' }],
    ['state', 'title: A\nstate: disabled\n', { state: 'DISABLED' }],
  ])('the lock file contains the new %s', async (_, text, said) => {
    const at = await adopted();
    await at.write('labels/a.yaml', text);
    const ran = await at.run(apply);
    expect([ran.code, record(at)]).toMatchObject([0, said]);
    expect(record(at)).not.toHaveProperty('applying');
    expect((await at.run(apply)).written).toEqual([]);
  });
  test.each([
    [
      'copy mode',
      (id: string) => [`/labels/${id}:updateLabelCopyMode`, { copyMode: 'ALWAYS_COPY' }],
      'copyMode',
    ],
    ['state', (id: string) => [`/labels/${id}:disable`, {}], 'state'],
  ] as const)(
    'the lock file gets the %s that others set, if the file does not define it',
    async (_, of, member) => {
      const at = await adopted();
      const before = record(at)?.[member];
      const [path, body] = of(at.id('A'));
      at.send('POST', path as string, body);
      expect((await at.run(apply)).code).toBe(0);
      expect(record(at)?.[member]).not.toBe(before);
    },
  );
  test('gets the apps and the content that others gave', async () => {
    const at = await adopted();
    const enabledAppSettings = { enabledApps: [{ app: 'MAIL' }] };
    at.send('POST', `/labels/${at.id('A')}:updateLabelEnabledAppSettings`, { enabledAppSettings });
    await at.run(apply);
    expect(record(at)?.enabledApps).toEqual(['MAIL']);
    at.edit('A', { description: 'theirs' });
    await at.run(apply);
    expect(record(at)).toMatchObject({ revision: '3' });
  });
  test('follows the file when that is renamed', async () => {
    const at = await adopted('key: a\ntitle: A\n');
    await at.write('labels/b.yaml', at.read('labels/a.yaml') ?? '');
    await at.remove('labels/a.yaml');
    await at.run(apply);
    expect(lockFrom(LOCK, at.read(LOCK) ?? '').labels['a']?.file).toBe('b.yaml');
  });
  test('the lock file has the permissions of a file that defines them', async () => {
    const at = await adopted('title: A\npermissions: [{role: EDITOR, email: e@example.com}]\n');
    await at.write('labels/a.yaml', 'title: A\npermissions: []\n');
    expect((await at.run([...apply, '--yes'])).code).toBe(0);
    expect(record(at)?.permissions).toEqual({});
  });
  test('the lock file records the intended state before a delta, so that a crash causes no drift', async () => {
    const at = await adopted();
    await at.write('labels/a.yaml', 'title: A\ndescription: new\n');
    const seen: unknown[] = [];
    const crashed = await at.run(apply, {
      meanwhile: ({ path, body }) => {
        if (!path.endsWith(':delta')) return undefined;
        seen.push(record(at)?.applying, record(at)?.revision);
        at.send('POST', path, body);
        return { status: 401, json: {} };
      },
    });
    expect([crashed.code, seen]).toEqual([4, [expect.stringMatching(/^[0-9a-f]{12}$/), '2']]);
    expect(record(at)).toHaveProperty('applying');
    await at.write('labels/a.yaml', 'title: A\ndescription: newer\n');
    const next = await at.run(apply);
    expect([next.code, next.code === 0 ? '' : next.err]).toEqual([0, '']);
    expect(record(at)).toMatchObject({ revision: '4' });
    expect(record(at)).not.toHaveProperty('applying');
  });
  test('a change of settings only is not recorded in advance', async () => {
    const at = await adopted();
    await at.write('labels/a.yaml', 'title: A\ncopyMode: ALWAYS_COPY\n');
    const seen: boolean[] = [];
    await at.run(apply, {
      meanwhile: ({ method }) => {
        if (method !== 'GET') seen.push('applying' in (record(at) ?? {}));
      },
    });
    expect(seen).toEqual([false]);
  });
  test('a label that failed keeps its record, and the one that was done has a new one', async () => {
    const at = labelsInMemory({ 'labels/a.yaml': 'title: A\n', 'labels/b.yaml': 'title: B\n' });
    await at.run(apply);
    await at.run(['adopt', '-f', 'labels']);
    for (const name of ['a', 'b'])
      await at.write(`labels/${name}.yaml`, `title: ${name.toUpperCase()}\ndescription: new\n`);
    const bad = { error: { code: 400, message: 'on purpose', status: 'INVALID_ARGUMENT', details: [] } };
    const ran = await at.run(apply, {
      meanwhile: ({ path }) =>
        path.endsWith(`${at.id('B')}:delta`) ? { status: 400, json: bad } : undefined,
    });
    expect(ran.code).toBe(9);
    const records = lockFrom(LOCK, at.read(LOCK) ?? '').labels;
    expect(records['a']?.deployments[ORIGIN]?.revision).toBe('2');
    expect(records['b']?.deployments[ORIGIN]?.revision).toBe('1');
  });
});
