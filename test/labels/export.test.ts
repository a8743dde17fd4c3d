import { describe, expect, test } from 'vitest';
import { lockFrom } from '../../src/labels/lock-file.ts';
import { schemaText } from '../../src/labels/read-files.ts';
import { ORIGIN, labelsInMemory } from '../support/in-memory.ts';
import { pause } from '../support/slow-host.ts';

const SCHEMA_LINE = '# yaml-language-server: $schema=./labels.schema.json\n';
const note = 'fields: [{name: Note, type: text}]\n';
/** Labels A (published, with a newer draft) and B (a draft). */
const two = async () => {
  const at = labelsInMemory({ 'a.yaml': `title: A\n${note}`, 'b.yaml': 'title: B\n' });
  await at.run(['apply', '-f', 'a.yaml', '--publish']);
  await at.run(['apply', '-f', 'b.yaml']);
  at.edit('A', { description: 'newer' });
  await at.remove('a.yaml');
  await at.remove('b.yaml');
  return at;
};
const titles = (text: string) => [...text.matchAll(/^title: (.*)$/gm)].map(([, title]) => title);

describe('labels as documents', () => {
  test('documents contain the newest or the published revision as the service returns it', async () => {
    const at = await two();
    const newest = await at.run(['export', 'A', 'B']);
    const [first, second] = newest.out.split('---\n');
    expect(first).toMatch(
      new RegExp(
        `^# labels/${at.id('A')}, revision 3, published with unpublished changes\nid: .*\ntitle: A\n`,
      ),
    );
    expect(first).toContain('description: newer');
    expect(second).toMatch(new RegExp(`^# labels/${at.id('B')}, revision 1, unpublished draft\nid: `));
    const { out } = await at.run(['export', 'A', '--published']);
    expect(out).toMatch(/, revision 2, published\n/);
    expect(out).not.toContain('newer');
    expect(out).not.toContain('permissions');
    expect(titles((await at.run(['export', '--all'])).out)).toEqual(['A', 'B']);
    expect(titles((await at.run(['export', '--all', '--published'])).out)).toEqual(['A']);
  });

  test('an unpublished label has no published revision, and a missing one is not found', async () => {
    const at = await two();
    const never = await at.run(['export', 'B', '--published', '-o', 'json']);
    expect([never.code, never.error().code]).toEqual([6, 'NEVER_PUBLISHED']);
    expect(never.error().message).toContain('label B was never published');
    const none = await at.run(['export', 'labels/nothing', '--published', '-o', 'json']);
    expect(none.code).toBe(6);
    expect(none.error().code).not.toBe('NEVER_PUBLISHED');
    const broken = await at.run(['export', 'A', '--published', '-o', 'json'], {
      meanwhile: ({ path }) => (path.includes('@published') ? { status: 401, json: {} } : undefined),
    });
    expect(broken.code).toBe(4);
  });

  test('documents contain permissions only on request', async () => {
    const at = await two();
    at.send('POST', `/labels/${at.id('A')}/permissions`, { role: 'READER', email: 'r@example.com' });
    const ran = await at.run(['export', 'A', '--permissions', '-o', 'json']);
    expect(ran.json()).toMatchObject([{ permissions: [{ role: 'READER', email: 'r@example.com' }] }]);
    const plain = await at.run(['export', 'A', '-o', 'json']);
    expect(plain.json()[0]).not.toHaveProperty('permissions');
    expect(plain.requests.filter(({ path }) => path.includes('permissions'))).toEqual([]);
  });

  test("documents omit the provider's labels", async () => {
    const at = await two();
    const own = at.label('A');
    const ran = await at.run(['export', '--all', '-o', 'json'], {
      meanwhile: ({ path }) =>
        path.startsWith('/labels?')
          ? {
              status: 200,
              json: {
                labels: [
                  { ...own, labelType: 'GOOGLE_APP', properties: { title: 'Theirs' } },
                  { ...own, labelType: 'ADMIN', properties: { title: 'By admins' } },
                  own,
                ],
              },
            }
          : undefined,
    });
    expect(ran.json().map(({ title }: { title: string }) => title)).toEqual(['By admins', 'A']);
    expect(ran.err).toContain(`Theirs (labels/${at.id('A')}) is left out: it is a GOOGLE_APP label`);
  });

  test('documents have the requested format; a file is always YAML', async () => {
    const at = await two();
    expect((await at.run(['export', 'A', '-o', 'yaml'])).out).toMatch(/^# labels\//);
    expect((await at.run(['export', 'B', '-o', 'json'])).json()).toMatchObject([{ title: 'B', fields: [] }]);
  });
});

describe('labels as files of a directory', () => {
  const exported = (at: Awaited<ReturnType<typeof two>>, ...more: string[]) =>
    at.run(['export', '--all', '-f', 'labels', '-o', 'json', ...more]);

  test('files are named after their titles, next to the schema, which is written once', async () => {
    const at = await two();
    const first = await exported(at);
    expect(first.json()).toEqual([
      { id: at.id('A'), title: 'A', revision: '3', file: 'labels/a.yaml' },
      { id: at.id('B'), title: 'B', revision: '1', file: 'labels/b.yaml' },
    ]);
    expect((await at.list('labels')).toSorted()).toEqual(['a.yaml', 'b.yaml', 'labels.schema.json']);
    expect(at.read('labels/labels.schema.json')).toBe(schemaText());
    expect(at.read('labels/b.yaml')).toBe(`${SCHEMA_LINE}${(await at.run(['export', 'B'])).out}`);
    expect(first.written.filter((path) => path.includes('schema'))).toHaveLength(1);
    const again = await exported(at);
    expect(again.written.toSorted()).toEqual(['labels/a.yaml', 'labels/b.yaml']);
    expect(again.json()[0]).not.toHaveProperty('moved_from');
  });

  test('an empty export leaves the schema, and a dry run leaves no file', async () => {
    const empty = labelsInMemory();
    expect((await exported(empty)).json()).toEqual([]);
    expect(await empty.list('labels')).toEqual(['labels.schema.json']);
    const at = await two();
    const dry = await exported(at, '--dry-run');
    expect([dry.json().length, dry.written, await at.list('labels')]).toEqual([2, [], []]);
  });

  test('files of equal titles contain the ID; a title without a letter becomes its ID', async () => {
    const at = labelsInMemory();
    for (const title of ['Same', 'same', '日本'])
      at.send('POST', '/labels', { labelType: 'SHARED', properties: { title } });
    await exported(at);
    const names = (await at.list('labels')).filter((name) => name.endsWith('.yaml'));
    expect(names.toSorted()).toEqual(
      ['same.yaml', `same-${at.id('same')}.yaml`, `${at.id('日本')}.yaml`].toSorted(),
    );
  });

  test('existing files are found by ID, by the lock file, or by their title', async () => {
    const at = await two();
    await at.write('labels/chosen.yaml', `id: ${at.id('A')}\ntitle: Anything\n`);
    await at.write('labels/other.yaml', 'title: B\n');
    const files = (await exported(at)).json().map(({ file }: { file: string }) => file);
    expect(files).toEqual(['labels/chosen.yaml', 'labels/other.yaml']);
    // A file with the id of another label does not match by its title.
    await at.write('labels/other.yaml', 'id: elsewhere\ntitle: B\n');
    expect((await exported(at)).json()[1].file).toBe('labels/b.yaml');

    const locked = await two();
    await locked.write('labels/mine.yaml', `title: B\n`);
    await locked.run(['adopt', '-f', 'labels']);
    locked.edit('B', { title: 'C' });
    expect((await exported(locked)).json().map((one: { file: string }) => one.file)).toEqual([
      'labels/a.yaml',
      'labels/mine.yaml',
    ]);
  });

  test('files named after the old title follow a new title, including under the key of the lock file', async () => {
    const at = await two();
    await exported(at);
    at.edit('A', { title: 'New' });
    const moved = await exported(at);
    expect(moved.json()[0]).toMatchObject({ file: 'labels/new.yaml', moved_from: 'labels/a.yaml' });
    expect(await at.list('labels')).not.toContain('a.yaml');
    await at.run(['adopt', '-f', 'labels']);
    at.edit('New', { title: 'Newer' });
    await at.write('labels/new.yaml', (at.read('labels/new.yaml') ?? '').replace('title: New', 'title: Own'));
    expect((await exported(at)).json()[0]).toMatchObject({
      file: 'labels/newer.yaml',
      moved_from: 'labels/new.yaml',
    });
    at.edit('Newer', { title: 'Newest' });
    const dry = await exported(at, '--dry-run');
    expect(dry.json()[0].moved_from).toBe('labels/newer.yaml');
    expect(await at.list('labels')).toContain('newer.yaml');
  });

  test('keep the keys that a person gave, of the label and of its fields', async () => {
    const at = await two();
    await at.write('labels/a.yaml', `key: mine\ntitle: A\nfields: [{name: Note, key: note, type: text}]\n`);
    await exported(at);
    const text = at.read('labels/a.yaml') ?? '';
    expect([text.includes('\nkey: mine\n'), text.includes('key: note')]).toEqual([true, true]);
    await at.write('labels/a.yaml', `title: A\n${note}`);
    await exported(at);
    expect(at.read('labels/a.yaml')).not.toContain('key:');
  });

  test('files with several documents and invalid definitions are not touched', async () => {
    const at = await two();
    const both = 'title: A\n---\ntitle: B\n';
    await at.write('labels/all.yaml', both);
    await at.write('labels/none.yaml', '# nothing\n');
    await exported(at);
    expect(at.read('labels/all.yaml')).toBe(both);
    expect((await at.list('labels')).filter((name) => /^[ab]\.yaml$/.test(name))).toHaveLength(2);
  });

  test('an export updates the lock file, with permissions on request', async () => {
    const at = await two();
    const LOCK = 'labels/labels.lock.yaml';
    await exported(at);
    expect(at.read(LOCK)).toBeUndefined();
    await at.run(['adopt', '-f', 'labels']);
    at.edit('A', { description: 'later' });
    at.send('POST', `/labels/${at.id('A')}/permissions`, { role: 'READER', email: 'r@example.com' });
    at.send('POST', '/labels', { labelType: 'SHARED', properties: { title: 'C' } });
    const before = at.read(LOCK);
    await exported(at, '--dry-run');
    expect(at.read(LOCK)).toBe(before);
    await exported(at);
    const records = () => lockFrom(LOCK, at.read(LOCK) ?? '').labels;
    expect(records()).toMatchObject({
      a: { file: 'a.yaml', deployments: { [ORIGIN]: { revision: '4', title: 'A' } } },
      b: { file: 'b.yaml' },
      c: { file: 'c.yaml', deployments: { [ORIGIN]: { id: at.id('C') } } },
    });
    expect(records().a?.deployments[ORIGIN]).not.toHaveProperty('permissions');
    await exported(at, '--permissions', '--deployment', 'own');
    expect(records().a?.deployments['own']?.permissions).toMatchObject({ 'r@example.com': 'READER' });
    expect((await at.run(['diff', '-f', 'labels'])).code).toBe(0);
  });
});

test('a single file contains all documents below the schema line; a dry run writes no file', async () => {
  const at = await two();
  const dry = await at.run(['export', '--all', '-f', 'out/all.yml', '--dry-run', '-o', 'json']);
  expect([dry.json().length, dry.written]).toEqual([2, []]);
  const ran = await at.run(['export', '--all', '-f', 'out/all.yml', '-o', 'json']);
  expect(ran.json()).toEqual([
    { id: at.id('A'), title: 'A', revision: '3', file: 'out/all.yml' },
    { id: at.id('B'), title: 'B', revision: '1', file: 'out/all.yml' },
  ]);
  expect(at.read('out/all.yml')).toBe(`${SCHEMA_LINE}${(await at.run(['export', '--all'])).out}`);
  // The schema is of no use without the file, so a failure leaves at most the file.
  expect(ran.written).toEqual(['out/all.yml', 'out/labels.schema.json']);
  await at.write('odd.yaml/keep', '');
  expect((await at.run(['export', 'B', '-f', 'odd.yaml', '-o', 'json'])).json()[0].file).toBe(
    'odd.yaml/b.yaml',
  );
});

test('an export keeps its memory small, however many labels there are', async () => {
  const at = await two();
  let isSmall = false;
  const keepMemorySmall = (): void => {
    isSmall = true;
  };
  await at.run(['export', '--all'], { change: (host) => ({ ...host, keepMemorySmall }) });
  expect(isSmall).toBe(true);
});

describe('a directory whose second file is a link that leads out of it', () => {
  test('is refused before the first write', async () => {
    const at = await two();
    const ran = await at.run(['export', '--all', '-o', 'json', '--directory', 'out'], {
      change: (host) => {
        // The check of a link needs longer than the write of the first file.
        const info: typeof host.files.info = async (path) => {
          if (!path.endsWith('b.yaml')) return host.files.info(path);
          await pause(50);
          const found = await host.files.info('/place');
          return found && { ...found, kind: 'link' };
        };
        const realPath: typeof host.files.realPath = async (path) =>
          path.endsWith('b.yaml') ? '/etc/b.yaml' : path;
        return { ...host, files: { ...host.files, info, realPath } };
      },
    });
    expect([ran.code, ran.error().code]).toEqual([10, 'LINK_OUTSIDE']);
    expect(ran.written).toEqual([]);
  });
});
