import { describe, expect, test } from 'vitest';
import { lockFrom, lockText } from '../../src/labels/lock-file.ts';
import { type Asked, labelsInMemory } from '../support/in-memory.ts';
import { naming } from '../support/facts.ts';

const LOCK = 'labels/labels.lock.yaml';
const diff = ['diff', '-f', 'labels', '-o', 'json'];
const text = (title: string, more = ''): string => `title: ${title}\n${more}`;
/** A and B are applied and adopted. */
const both = async () => {
  const at = labelsInMemory({
    'labels/a.yaml': text('A', 'description: ours\n'),
    'labels/b.yaml': text('B'),
  });
  await at.run(['apply', '-f', 'labels']);
  await at.run(['adopt', '-f', 'labels']);
  return at;
};
const statuses = (json: any): string[] => json.labels.map(({ status }: { status: string }) => status);

describe('labels diff of files', () => {
  test('labels diff reports for each file whether the label is equal, new, changed or drifted', async () => {
    const at = await both();
    const same = await at.run(diff);
    expect([same.code, statuses(same.json()), same.json().orphans]).toEqual([0, ['same', 'same'], []]);
    await at.write('labels/b.yaml', text('B', 'description: new\n'));
    await at.write('labels/c.yaml', text('C'));
    at.edit('A', { description: 'theirs' });
    const ran = await at.run(diff);
    expect([ran.code, statuses(ran.json()), ran.writes]).toEqual([20, ['drifted', 'changed', 'new'], []]);
    expect(ran.json().labels[0]).toMatchObject({
      ...{
        file: 'labels/a.yaml',
        title: 'A',
        key: 'a',
        id: at.id('A'),
        revision: '2',
        applied_revision: '1',
      },
      drift: [{ what: 'description of the label', was: 'ours', is: 'theirs', undone_by_file: true }],
      changed_by: [{ revision: '2', author: 'people/100000000000000000001', at: '2026-01-02T03:04:05.000Z' }],
    });
    expect(ran.json().labels[1]).not.toHaveProperty('changed_by');
    expect(ran.json().labels[2]).toMatchObject({ id: null, revision: null, applied_revision: null });
  });
  test('other permissions are a change', async () => {
    const at = await both();
    await at.write('labels/b.yaml', text('B', 'permissions: [{role: READER, email: r@example.com}]\n'));
    const ran = await at.run(diff);
    expect(statuses(ran.json())).toEqual(['same', 'changed']);
    expect((await at.run(diff.slice(0, 3), { tty: ['stdout'] })).out).toContain(
      '  + permission r@example.com READER',
    );
  });
  test('labels diff reports labels without a definition for whole directories only', async () => {
    const at = await both();
    await at.remove('labels/b.yaml');
    const orphan = { key: 'b', id: at.id('B'), title: 'B' };
    const orphans = async (...files: string[]) =>
      (await at.run(['diff', ...files.flatMap((file) => ['-f', file]), '-o', 'json'])).json().orphans;
    expect(await orphans('labels')).toEqual([orphan]);
    expect(await orphans('labels/a.yaml')).toEqual([]);
    await at.write('more/c.yaml', text('C'));
    expect(await orphans('labels', 'more')).toEqual([orphan]);
    expect(await orphans('labels', 'more/c.yaml')).toEqual([]);
    expect((await at.run([...diff, '--deployment', 'other'])).json().orphans).toEqual([]);
    const lines = (await at.run(diff.slice(0, 3), { tty: ['stdout'] })).out.replaceAll(/\s+/g, ' ');
    expect(lines).toContain(
      `label B (labels/${at.id('B')}) has no definition file any more; to delete it: opsctl labels retire labels/${at.id('B')}`,
    );
  });
  test('a new title next to a removed file names the label that it may rename', async () => {
    const at = await both();
    await at.write('labels/c.yaml', text('C'));
    const notes = async () => (await at.run(diff)).json().labels.map((one: any) => one.notes);
    expect(await notes()).toEqual([[], [], []]);
    await at.remove('labels/b.yaml');
    expect(await notes()).toEqual([[], [expect.stringContaining('`was: "B"`')]]);
    const plan = (await at.run(['apply', '-f', 'labels', '--dry-run', '-o', 'json'])).json();
    expect(plan.map(({ notes: [note] }: any) => note?.includes(at.id('B')))).toContain(true);
    await at.write('labels/c.yaml', text('C', 'was: B\n'));
    expect(await notes()).toEqual([[], []]);
    const [renamed] = [at.id('B'), await at.run(['apply', '-f', 'labels'])];
    expect(at.id('C')).toBe(renamed);
  });
  test('a second lock entry of a label with a definition is not a reason to delete the label', async () => {
    const at = await both();
    const lock = lockFrom('l', at.read(LOCK) ?? '');
    const { a } = lock.labels;
    if (a === undefined) throw new Error('no record');
    await at.write(LOCK, lockText({ labels: { ...lock.labels, again: { deployments: a.deployments } } }));
    expect((await at.run(diff)).json().orphans).toEqual([]);
    const [said, ...more] = (await at.run(['apply', '-f', 'labels'])).err
      .split('\n')
      .filter((line) => line.includes('entry again'));
    expect([said, more]).toEqual([naming(`labels/${at.id('A')}`, '--forget again'), []]);
    expect(said).not.toContain('retire');
  });
  test('text output of labels diff only counts equal labels', async () => {
    const at = await both();
    await at.write('labels/b.yaml', text('B', 'type: ADMIN\n'));
    await at.write('labels/c.yaml', text('C'));
    at.edit('A', { description: 'theirs' });
    const { out } = await at.run(diff.slice(0, 3), { tty: ['stdout'] });
    expect(out.trimEnd().split('\n')).toEqual([
      `label A (labels/${at.id('A')}, revision 2), labels/a.yaml: drifted`,
      '  ! changed in the service: description of the label: was "ours", is "theirs"',
      '  ! revision 2 by people/100000000000000000001, 2026-01-02T03:04:05Z',
      '  ~ label A changed: description "theirs" becomes "ours"',
      'label C, labels/c.yaml: new',
      '  + label C added: SHARED',
      expect.stringMatching(/: 1 new, 1 drifted, 1 same$/),
    ]);
    await at.write('labels/b.yaml', text('B', 'type: ADMIN\ndescription: new\n'));
    expect((await at.run(diff.slice(0, 3), { tty: ['stdout'] })).out).toContain(
      '\n  fail: type is SHARED and cannot become ADMIN\n',
    );
    const fixed = labelsInMemory({ 'labels/d.yaml': text('D') });
    await fixed.run(['apply', '-f', 'labels']);
    const noted = await fixed.run(['diff', '-f', 'labels', '--publish'], { tty: ['stdout'] });
    expect(noted.out).toContain('  note: revision 1 has changes that are not published yet');
  });
});

test('drift has an author and a time for each revision since the last apply', async () => {
  const at = await both();
  for (const description of ['one', 'two', 'three']) at.edit('A', { description });
  const rows = (await at.run(diff)).json().labels[0].changed_by;
  expect(rows.map(({ revision }: { revision: string }) => revision)).toEqual(['2', '3', '4']);
  const refused = await at.run(['apply', '-f', 'labels']);
  expect([refused.code, refused.writes]).toEqual([10, []]);
  expect(refused.err).toMatch(
    /is now at revision 4 \(by people\/100000000000000000001, 2026-[^)]*\), and labels\/a\.yaml would undo: description of the label\./,
  );
});

describe('a change that makes no revision', () => {
  const file = `${text('A')}copyMode: COPY_APPLIABLE\npermissions: [{role: EDITOR, email: e@example.com}]\n`;
  const applied = async () => {
    const at = labelsInMemory({ 'labels/a.yaml': file });
    const ran = await at.run(['apply', '-f', 'labels', '--yes']);
    expect(ran.code, ran.err).toBe(0);
    await at.run(['adopt', '-f', 'labels']);
    return at;
  };
  type At = Awaited<ReturnType<typeof applied>>;
  const changes = {
    permission: (at: At) =>
      at.send('POST', `/labels/${at.id('A')}/permissions`, { role: 'READER', email: 'r@example.com' }),
    settings: (at: At) =>
      at.send('POST', `/labels/${at.id('A')}:updateLabelCopyMode`, { copyMode: 'DO_NOT_COPY' }),
  };
  const whats: Readonly<Record<keyof typeof changes, readonly [string, string]>> = {
    permission: ['permission', 'r@example.com'],
    settings: ['copyMode', 'label'],
  };
  test.each(['permission', 'settings'] as const)('a change of %s names no author', async (kind) => {
    const at = await applied();
    changes[kind](at);
    const [row] = (await at.run(diff)).json().labels;
    expect(row.drift.map(({ what }: { what: string }) => what)).toEqual([naming(...whats[kind])]);
    expect(row).not.toHaveProperty('changed_by');
    const refused = await at.run(['apply', '-f', 'labels', '-o', 'json']);
    expect([refused.code, refused.writes]).toEqual([10, []]);
    expect(refused.error().message).toEqual(
      naming('revision', 'applied', 'labels/a.yaml', 'undo', ...whats[kind], 'No', 'request'),
    );
    expect(JSON.stringify(refused.error())).not.toContain('people/1000');
  });
  test('an author of a revision is not named as the author of a permission', async () => {
    const at = await applied();
    changes.permission(at);
    at.edit('A', { title: 'A', description: 'not in the file' });
    const [row] = (await at.run(diff)).json().labels;
    expect(row).not.toHaveProperty('changed_by');
    await at.write('labels/a.yaml', `${file}description: ours\n`);
    const refused = await at.run(['apply', '-f', 'labels', '-o', 'json']);
    expect(refused.error().message).toMatch(/is now at revision \d \(last revision by people\/10+1, 2026-/);
    const { out } = await at.run(diff.slice(0, 3), { tty: ['stdout'] });
    expect(out).toContain(
      '  ! a change of permissions or settings makes no revision; its author is unknown\n',
    );
  });
});

describe('a service that does not tell the author of a revision', () => {
  const refusing = (status: number) => (asked: Asked) =>
    /@\d+\?/.test(asked.path) && asked.path.includes('revisionCreator')
      ? { status, json: { error: { code: status, message: 'on purpose', status: 'X', details: [] } } }
      : undefined;
  test.each([403, 429, 500, 404])('status %i does not replace the report or the refusal', async (status) => {
    const at = await both();
    at.edit('A', { description: 'theirs' });
    const meanwhile = refusing(status);
    const ran = await at.run(diff, { meanwhile });
    expect([ran.code, statuses(ran.json())], ran.err).toEqual([20, ['drifted', 'same']]);
    expect(ran.json().labels[0]).not.toHaveProperty('changed_by');
    const refused = await at.run(['apply', '-f', 'labels', '-o', 'json'], { meanwhile });
    expect([refused.code, refused.error().code]).toEqual([10, 'CHANGED_MEANWHILE']);
    expect(refused.error().message).toContain('is now at revision 2, and');
  });
});
