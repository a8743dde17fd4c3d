import { expect, test } from 'vitest';
import {
  ambiguousFields,
  inDeployment,
  labelKey,
  labelKeys,
  LockIndex,
  recordFrom,
} from '../../src/labels/lock-entries.ts';
import { lockFrom, lockText } from '../../src/labels/lock-file.ts';
import { ORIGIN, labelsInMemory } from '../support/in-memory.ts';
import { label, text } from '../support/live-labels.ts';

const LOCK = 'labels/labels.lock.yaml';

/** A lock file in which a second entry has the values of the first, except for these. */
const doubled = async (patch: object, file: string | undefined, definition = 'title: A\n') => {
  const at = labelsInMemory({ 'labels/a.yaml': definition });
  expect((await at.run(['apply', '-f', 'labels'])).code).toBe(0);
  const { a } = lockFrom(LOCK, at.read(LOCK) ?? '').labels;
  const record = a?.deployments[ORIGIN];
  if (record === undefined) throw new Error('no record');
  const other = {
    ...(file === undefined ? {} : { file }),
    deployments: { [ORIGIN]: { ...record, ...patch } },
  };
  const { file: _, ...first } = a ?? { deployments: {} };
  await at.write(LOCK, lockText({ labels: { a: first, b: other } }));
  return at;
};
const commands: string[][] = [['apply'], ['apply', '--dry-run'], ['diff'], ['plan'], ['adopt']];

test.each(commands)(
  '%j rejects a title of two lock entries, names both and sends no change',
  async (...words) => {
    for (const patch of [{ id: 'other' }, {}]) {
      const at = await doubled(patch, undefined);
      const more: readonly string[] = words[0] === 'plan' ? ['--out', 'plan.json'] : [];
      const ran = await at.run([...words, '-f', 'labels', ...more, '-o', 'json']);
      expect([ran.code, ran.writes, ran.written]).toEqual([2, [], []]);
      expect(ran.error()).toMatchObject({
        code: 'AMBIGUOUS_LOCK_ENTRY',
        problems: [{ path: 'title', message: expect.stringContaining('a, b') }],
      });
    }
  },
);

test('a key in the definition, or the file that one entry records, decides between two lock entries', async () => {
  const keyed = await doubled({ id: 'other' }, undefined);
  await keyed.write('labels/a.yaml', 'title: A\nkey: a\n');
  expect((await keyed.run(['apply', '-f', 'labels', '-o', 'json'])).json()).toMatchObject([
    { action: 'none' },
  ]);
  const filed = await doubled({ id: 'other' }, 'c.yaml');
  const { labels } = lockFrom(LOCK, filed.read(LOCK) ?? '');
  const index = new LockIndex({ labels }, ORIGIN);
  expect(labelKey(index, { title: 'A' }, 'c.yaml')).toBe('b');
  expect(labelKeys(index, { title: 'A' }, 'd.yaml')).toEqual(['a', 'b']);
});

test('adopt --forget removes one of two lock entries of a definition, but not both', async () => {
  const at = await doubled({}, undefined);
  const both = await at.run(['adopt', '-f', 'labels', '--forget', 'a', '--forget', 'b']);
  expect([both.code, both.written]).toEqual([2, []]);
  expect((await at.run(['adopt', '-f', 'labels', '--forget', 'b'])).code).toBe(0);
  expect((await at.run(['apply', '-f', 'labels', '-o', 'json'])).json()).toMatchObject([{ action: 'none' }]);
});

test('lint lists a definition that fits two lock entries', async () => {
  const at = await doubled({}, undefined);
  const ran = await at.run(['lint', '-f', 'labels', '-o', 'json']);
  expect(ran.out + ran.err).toContain('a, b');
  expect(ran.out + ran.err).not.toContain('has no definition');
});

test('an export records two labels with one title under two keys', async () => {
  const at = labelsInMemory({ [LOCK]: lockText({ labels: {} }) });
  for (let n = 0; n < 2; n += 1)
    at.send('POST', '/labels', { labelType: 'SHARED', properties: { title: 'Phase' } });
  for (let n = 0; n < 2; n += 1) {
    expect((await at.run(['export', '--all', '-f', 'labels'])).code).toBe(0);
    const { labels } = lockFrom(LOCK, at.read(LOCK) ?? '');
    expect(Object.keys(labels)).toEqual(['phase', 'phase-2']);
    expect(new Set(Object.values(labels).map(({ deployments }) => deployments[ORIGIN]?.id)).size).toBe(2);
  }
});

test('a definition whose id is not the label of its lock entry is rejected', async () => {
  const at = await doubled({ id: 'gone' }, undefined);
  at.send('POST', '/labels', { labelType: 'SHARED', properties: { title: 'B' } });
  await at.write('labels/a.yaml', `title: A\nkey: a\nid: ${at.id('B')}\n`);
  const ran = await at.run(['apply', '-f', 'labels', '-o', 'json']);
  expect([ran.code, ran.writes]).toEqual([2, []]);
  expect(ran.error().problems).toMatchObject([{ path: 'id', message: expect.stringContaining(at.id('A')) }]);
});

test('two lock entries with the name of a field are not chosen between', () => {
  const fields = (names: readonly [string, string][]) =>
    recordFrom(
      { title: 'T' },
      label({ fields: names.map(([id, name]) => text(name, { id })) }),
      undefined,
      'd',
    );
  const here = fields([['h1', 'Stage']]);
  const wanted = { title: 'T', fields: [{ name: 'Phase', type: 'text' as const }] };
  const twice = {
    deployments: {
      here: fields([
        ['h1', 'Phase'],
        ['h2', 'Phase'],
      ]),
    },
  };
  expect(inDeployment(wanted, twice, 'here').fields).toEqual(wanted.fields);
  const one = fields([['x', 'Phase']]).fields.phase;
  if (one === undefined) throw new Error('no field');
  const there = (key: string) => ({ ...here, fields: { [key]: one } });
  const deployments = { here, there: there('k1'), other: there('k2') };
  const live = label({ fields: [text('Stage', { id: 'h1' })] });
  expect(ambiguousFields(wanted, live, { deployments }, 'here')).toMatchObject([
    { path: 'fields[0].name', message: expect.stringContaining('k1, k2') },
  ]);
  const named = label({ fields: [text('Phase', { id: 'h1' })] });
  expect(ambiguousFields(wanted, named, { deployments }, 'here')).toEqual([]);
});

test('an export that fits one file to two labels, or two files to one label, is rejected', async () => {
  const two = labelsInMemory({ 'labels/a.yaml': 'title: Phase\n' });
  for (let n = 0; n < 2; n += 1)
    two.send('POST', '/labels', { labelType: 'SHARED', properties: { title: 'Phase' } });
  // A refused export changes nothing, so the same command is refused again.
  for (let n = 0; n < 2; n += 1) {
    const shared = await two.run(['export', '--all', '-f', 'labels', '-o', 'json']);
    expect([shared.code, shared.written, two.read('labels/a.yaml')]).toEqual([2, [], 'title: Phase\n']);
    expect(shared.error().problems).toMatchObject([
      { path: '--directory', message: expect.stringContaining('a.yaml') },
    ]);
  }
  const one = labelsInMemory({});
  one.send('POST', '/labels', { labelType: 'SHARED', properties: { title: 'Phase' } });
  for (const name of ['a', 'b'])
    await one.write(`labels/${name}.yaml`, `title: Phase\nid: ${one.id('Phase')}\n`);
  const doubled = await one.run(['export', '--all', '-f', 'labels', '-o', 'json']);
  expect([doubled.code, doubled.written]).toEqual([2, []]);
  expect(doubled.err).toContain('a.yaml and b.yaml');
});

test('an export that a later label makes impossible writes no file', async () => {
  const at = labelsInMemory({ 'labels/b.yaml': 'title: Z\n', 'labels/c.yaml': 'title: Z\n' });
  for (const title of ['A', 'Z']) at.send('POST', '/labels', { labelType: 'SHARED', properties: { title } });
  const ambiguous = await at.run(['export', '--all', '-f', 'labels']);
  expect([ambiguous.code, ambiguous.written]).toEqual([2, []]);
  const missing = await at.run(['export', 'A', 'missing', '-f', 'new']);
  expect([missing.code, missing.written]).toEqual([6, []]);
  const repeated = await at.run(['export', 'A', at.id('A'), '-f', 'new', '-o', 'json']);
  expect([repeated.code, repeated.written]).toEqual([2, []]);
  expect(repeated.error().problems).toMatchObject([{ path: '<label>', rule: 'rule' }]);
});
