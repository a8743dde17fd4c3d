import { expect, test } from 'vitest';
import { lockFrom } from '../../src/labels/lock-file.ts';
import { ORIGIN, labelsInMemory } from '../support/in-memory.ts';

const LOCK = 'labels/labels.lock.yaml';
const A = 'title: A\ndescription: ours\n';

/** Creates a label in the service, and its definition in a directory. */
const applied = async (text = A) => {
  const at = labelsInMemory({ 'labels/a.yaml': text });
  expect((await at.run(['apply', '-f', 'labels/a.yaml'])).code).toBe(0);
  return at;
};
const adopted = (at: ReturnType<typeof labelsInMemory>, ...more: string[]) =>
  at.run(['adopt', '-f', 'labels', '-o', 'json', ...more]);
const recordsIn = (text: string | undefined) => lockFrom(LOCK, text ?? '').labels;

test('adopt records an existing label, skips a known one, and reports a missing one', async () => {
  const at = await applied();
  const id = at.id('A');
  const row = { key: 'a', title: 'A', id, file: 'labels/a.yaml' };
  const first = await adopted(at);
  expect([first.code, first.json()]).toEqual([0, [{ ...row, status: 'adopted' }]]);
  expect(recordsIn(at.read(LOCK))).toMatchObject({
    a: { file: 'a.yaml', deployments: { [ORIGIN]: { id } } },
  });
  expect(first.writes).toEqual([]);
  await at.write('labels/b.yaml', 'title: B\n');
  expect((await adopted(at)).json()).toEqual([
    { ...row, status: 'known' },
    { key: 'b', title: 'B', id: null, file: 'labels/b.yaml', status: 'missing' },
  ]);
  expect(Object.keys(recordsIn(at.read(LOCK)))).toEqual(['a']);
});

test('a dry run of adopt prints the same result and writes no file', async () => {
  const at = await applied();
  const ran = await adopted(at, '--dry-run');
  expect([ran.json()[0].status, ran.written, at.read(LOCK)]).toEqual(['adopted', [], undefined]);
});

test('adopt records a recreated label again, under the same key', async () => {
  const at = await applied();
  await adopted(at);
  const old = at.id('A');
  at.send('DELETE', `/labels/${old}`);
  at.send('POST', '/labels', { labelType: 'SHARED', properties: { title: 'A' } });
  expect((await adopted(at)).json()).toMatchObject([{ key: 'a', id: at.id('A'), status: 'adopted' }]);
  expect(recordsIn(at.read(LOCK)).a?.deployments[ORIGIN]?.id).toBe(at.id('A'));
  expect(at.id('A')).not.toBe(old);
});

test('every directory has a separate lock file, and standard input has none of them', async () => {
  const at = labelsInMemory({ 'one/a.yaml': 'title: A\n', 'two/b.yaml': 'title: B\n' });
  await at.run(['apply', '-f', 'one/a.yaml', '-f', 'two/b.yaml']);
  const ran = await at.run(['adopt', '-f', 'one', '-f', 'two', '--deployment', 'test', '-o', 'json']);
  expect(ran.json()).toMatchObject([
    { key: 'a', status: 'adopted' },
    { key: 'b', status: 'adopted' },
  ]);
  for (const [directory, key] of [
    ['one', 'a'],
    ['two', 'b'],
  ]) {
    const records = recordsIn(at.read(`${directory}/labels.lock.yaml`));
    expect(Object.keys(records)).toEqual([key]);
    expect(Object.keys(records[key ?? '']?.deployments ?? {})).toEqual(['test']);
  }
  const piped = await at.run(['adopt', '-f', '-', '-o', 'json'], { stdin: 'title: A\nrevision: "1"\n' });
  expect([piped.code, piped.json(), piped.written]).toEqual([0, [], []]);
});

test('adopt records permissions if the file defines them', async () => {
  const at = await applied();
  const permission = { role: 'READER', email: 'reader@example.com' };
  at.send('POST', `/labels/${at.id('A')}/permissions`, permission);
  await adopted(at);
  expect(recordsIn(at.read(LOCK)).a?.deployments[ORIGIN]).not.toHaveProperty('permissions');
  await at.remove(LOCK);
  await at.write('labels/a.yaml', `${A}permissions: [{role: READER, email: reader@example.com}]\n`);
  await adopted(at);
  expect(recordsIn(at.read(LOCK)).a?.deployments[ORIGIN]?.permissions).toMatchObject({
    'reader@example.com': 'READER',
  });
});

test('adopt does not request the locks of an unchanged draft', async () => {
  const at = await applied('title: A\nfields: [{name: Kept, type: text}, {name: Note, type: text}]\n');
  await at.run(['publish', 'A', '--yes']);
  await at.write('labels/a.yaml', 'title: A\nfields: [{name: Kept, type: text}]\n');
  await at.run(['apply', '-f', 'labels', '--yes']);
  const ran = await adopted(at);
  expect(ran.requests.filter(({ path }) => path.includes('locks'))).toEqual([]);
});

test('a file that names its revision is protected from there, and loses that line', async () => {
  const at = await applied();
  await at.run(['publish', 'A', '--yes']);
  const id = at.id('A');
  at.edit('A', { description: 'theirs' });
  const named = (revision: string, more = `id: ${id}\n`) =>
    at.write('labels/a.yaml', `# by legal\n${more}revision: "${revision}"\n${A}`);
  const revisionAfter = async () => {
    await at.remove(LOCK);
    const ran = await adopted(at);
    return [recordsIn(at.read(LOCK)).a?.deployments[ORIGIN]?.revision, ran.written.includes('labels/a.yaml')];
  };
  expect(at.label('A').revisionId).toBe('3');
  await named('2');
  expect(await revisionAfter()).toEqual(['2', true]);
  expect(at.read('labels/a.yaml')).toBe(`# by legal\nid: ${id}\n${A}`);
  expect((await at.run(['diff', '-f', 'labels', '-o', 'json'])).json().labels[0].status).toBe('drifted');
  // The service has discarded that draft.
  await named('1');
  expect(await revisionAfter()).toEqual(['3', true]);
  // Without an id, the number may belong to another deployment.
  await named('2', '');
  expect(await revisionAfter()).toEqual(['3', true]);
  expect(await revisionAfter()).toEqual(['3', false]);
  const wire = JSON.stringify(at.label('A'));
  await at.remove('labels/a.yaml');
  await at.write('labels/a.json', wire);
  expect((await adopted(at)).written).not.toContain('labels/a.json');
});

test('--forget removes only the entry of a deleted definition', async () => {
  const at = labelsInMemory({ 'labels/a.yaml': 'title: A\n', 'labels/b.yaml': 'title: B\n' });
  expect((await at.run(['apply', '-f', 'labels'])).code).toBe(0);
  await at.remove('labels/b.yaml');
  const noted = await at.run(['apply', '-f', 'labels']);
  expect([noted.code, noted.writes, noted.err]).toEqual([
    0,
    [],
    expect.stringMatching(/adopt -f (?!\/)\S+ --forget b/),
  ]);
  const used = await adopted(at, '--forget', 'a', '--forget', 'nothing');
  expect([used.code, used.written]).toEqual([2, []]);
  const forgotten = await adopted(at, '--forget', 'b');
  expect([forgotten.code, forgotten.writes, forgotten.json()]).toMatchObject([
    0,
    [],
    [{ key: 'b', status: 'forgotten' }],
  ]);
  expect(Object.keys(recordsIn(at.read(LOCK)))).toEqual(['a']);
});
