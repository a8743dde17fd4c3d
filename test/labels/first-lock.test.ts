import { expect, test } from 'vitest';
import { labelsInMemory } from '../support/in-memory.ts';
import { naming } from '../support/facts.ts';

const LOCK = 'labels/labels.lock.yaml';
const titles = (at: ReturnType<typeof labelsInMemory>): string[] =>
  at.send('GET', '/labels?pageSize=200&view=LABEL_VIEW_FULL').labels.map((one: any) => one.properties.title);

test('the first apply of a directory creates the lock file, so that a changed title renames the label', async () => {
  const at = labelsInMemory({ 'labels/one.yaml': 'title: One\nstate: published\n' });
  const first = await at.run(['apply', '-f', 'labels']);
  expect([first.code, first.err]).toEqual([0, expect.stringContaining(`${LOCK}: commit it`)]);
  await at.write('labels/one.yaml', 'title: Uno\nstate: published\n');
  const second = await at.run(['apply', '-f', 'labels']);
  expect([second.code, titles(at)]).toEqual([0, ['Uno']]);
});

test('a saved plan of a directory creates the lock file as well', async () => {
  const at = labelsInMemory({ 'labels/one.yaml': 'title: One\n' });
  expect((await at.run(['plan', '-f', 'labels', '--out', 'plan.json'])).code).toBe(0);
  expect(at.read(LOCK)).toBeUndefined();
  expect((await at.run(['apply', '--plan', 'plan.json'])).code).toBe(0);
  expect(at.read(LOCK)).toContain(at.id('One'));
});

test.each([
  ['diff', ['diff', '-f', 'labels'], 20],
  ['plan', ['plan', '-f', 'labels'], 0],
  ['dry run', ['apply', '-f', 'labels', '--dry-run'], 0],
])('a %s creates no lock file', async (_, words, code) => {
  const at = labelsInMemory({ 'labels/one.yaml': 'title: One\n' });
  expect([(await at.run(words)).code, at.read(LOCK)]).toEqual([code, undefined]);
});

test('an apply that the service rejects leaves a lock file without records', async () => {
  const at = labelsInMemory({ 'labels/one.yaml': 'title: One\n' });
  const failed = await at.run(['apply', '-f', 'labels'], {
    meanwhile: ({ method }) =>
      method === 'POST' ? { status: 403, json: { error: { code: 403 } } } : undefined,
  });
  expect(failed.code).toBe(5);
  expect((await at.run(['apply', '-f', 'labels'])).code).toBe(0);
  expect(titles(at)).toEqual(['One']);
});

test('a directory that cannot be written is applied with a warning', async () => {
  const at = labelsInMemory({ 'labels/one.yaml': 'title: One\n' });
  const ran = await at.run(['apply', '-f', 'labels'], {
    change: (host) => ({
      ...host,
      files: {
        ...host.files,
        replace: (path, ...rest) =>
          path.endsWith('labels.lock.yaml')
            ? Promise.reject(Object.assign(new Error('EROFS'), { code: 'EROFS' }))
            : host.files.replace(path, ...rest),
      },
    }),
  });
  expect([ran.code, titles(at), at.read(LOCK), ran.err]).toEqual([
    0,
    ['One'],
    undefined,
    naming('warning:', '/place/labels/labels.lock.yaml', 'read-only', 'One'),
  ]);
  // A message about a new file appears only after the file exists.
  expect(ran.err).not.toContain('created');
});

test('a single file gets no lock file, but the way to one', async () => {
  const at = labelsInMemory({ 'labels/one.yaml': 'title: One\n' });
  const ran = await at.run(['apply', '-f', 'labels/one.yaml']);
  expect([ran.code, at.read(LOCK), ran.err]).toEqual([
    0,
    undefined,
    expect.stringContaining('opsctl labels adopt -f labels/one.yaml'),
  ]);
});
