import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  exportedKey,
  labelKeys,
  LockIndex,
  newLabelKey,
  recordFrom,
  slugOf,
} from '../../src/labels/lock-entries.ts';
import {
  type DeploymentRecord,
  type LabelRecord,
  type LockFile,
  lockText,
} from '../../src/labels/lock-file.ts';
import { labelsInMemory } from '../support/in-memory.ts';
import { label } from '../support/live-labels.ts';

const HERE = 'here';
type Wanted = { readonly key?: string; readonly id?: string; readonly title: string; readonly was?: string };

/** The definition of a search: it reads the whole lock file for each label. */
const expectedKeys = (
  lock: LockFile,
  wanted: Wanted,
  deployment: string,
  file: string | undefined,
): readonly string[] => {
  if (wanted.key !== undefined) return [wanted.key];
  const keys = Object.keys(lock.labels);
  const ofFile = (found: readonly string[]): readonly string[] => {
    const own = file === undefined ? [] : found.filter((key) => lock.labels[key]?.file === file);
    return own.length === 1 ? own : found;
  };
  const find = (is: (one: DeploymentRecord) => boolean): readonly string[] => {
    const here = keys.filter((key) => {
      const record = lock.labels[key]?.deployments[deployment];
      return record !== undefined && is(record);
    });
    const anywhere = keys.filter((key) => Object.values(lock.labels[key]?.deployments ?? {}).some(is));
    return ofFile(here.length > 0 ? here : anywhere);
  };
  const byId = wanted.id === undefined ? [] : find(({ id }) => id === wanted.id);
  if (byId.length > 0) return byId;
  const byTitle = find(({ title }) => title === wanted.title);
  if (byTitle.length > 0) return byTitle;
  const byOldTitle = wanted.was === undefined ? [] : find(({ title }) => title === wanted.was);
  if (byOldTitle.length > 0) return byOldTitle;
  return file === undefined ? [] : keys.filter((key) => lock.labels[key]?.file === file);
};
/** An exported label never means an entry that has another ID in this deployment. */
const expectedExportedKeys = (lock: LockFile, wanted: Wanted, deployment: string, file: string) => {
  const possible = Object.entries(lock.labels).filter(([, { deployments }]) => {
    const here = deployments[deployment];
    return here === undefined || here.id === wanted.id;
  });
  return expectedKeys({ labels: Object.fromEntries(possible) }, wanted, deployment, file);
};
const expectedNewKey = (lock: LockFile, { title, id }: Wanted, taken: ReadonlySet<string>): string => {
  const wish = slugOf(title) || (id ?? 'label');
  const isTaken = (key: string): boolean => Object.hasOwn(lock.labels, key) || taken.has(key);
  if (!isTaken(wish)) return wish;
  let n = 2;
  while (isTaken(`${wish}-${n}`)) n += 1;
  return `${wish}-${n}`;
};
const expectedLock = (
  { labels }: LockFile,
  key: string,
  file: string | undefined,
  record: DeploymentRecord,
): LockFile => {
  const known = labels[key];
  const where = file ?? known?.file;
  const entry: LabelRecord = {
    ...(where === undefined ? {} : { file: where }),
    deployments: { ...known?.deployments, [HERE]: record },
  };
  return { labels: { ...labels, [key]: entry } };
};

const base = recordFrom({ title: 'x' }, label(), undefined, HERE);
const id = fc.constantFrom('1', '2', '3', '4');
/** Few values, so that several entries share them. Keys that are whole numbers come first in an object. */
const title = fc.constantFrom('A', 'B', 'C', '7', '12', '!');
const key = fc.constantFrom('b', 'a', '12', '7', 'a-2', 'c', '07', 'label');
const file = fc.option(fc.constantFrom('a.yaml', 'b.yaml', 'c.yaml'), { nil: undefined });
const optional = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });
const record = fc.record({ id, title }).map((one): DeploymentRecord => ({ ...base, ...one }));
const lockFile = fc
  .array(
    fc.tuple(
      key,
      file,
      fc.dictionary(fc.constantFrom(HERE, 'there', 'yonder', ''), record, { noNullPrototype: true }),
    ),
    { maxLength: 8 },
  )
  .map(
    (all): LockFile => ({
      labels: Object.fromEntries(
        all.map(([name, at, deployments]) => [
          name,
          { ...(at === undefined ? {} : { file: at }), deployments },
        ]),
      ),
    }),
  );
const wanted = fc
  .record({ key: fc.option(key, { nil: undefined, freq: 8 }), id: optional(id), title, was: optional(title) })
  .map((one): Wanted => JSON.parse(JSON.stringify(one)) as Wanted);
const outcomeOf = (find: () => unknown): unknown => {
  try {
    return find();
  } catch {
    return 'ambiguous';
  }
};
const oneOf = (keys: readonly string[]): unknown => (keys.length > 1 ? 'ambiguous' : keys[0]);

test('an index of a lock file finds the entries that a full search finds', () => {
  const step = fc.record({
    wanted,
    file,
    record,
    action: fc.constantFrom('search', 'put', 'put new', 'reserve'),
  });
  fc.assert(
    fc.property(lockFile, fc.array(step, { maxLength: 12 }), (first, steps) => {
      let lock = first;
      const index = new LockIndex(lock, HERE);
      const taken = new Set<string>();
      const files = ['a.yaml', 'b.yaml', 'c.yaml'];
      for (const { wanted: said, file: at, record: added, action } of steps) {
        const keys = labelKeys(index, said, at);
        expect(keys).toEqual(expectedKeys(lock, said, HERE, at));
        const place = at ?? 'a.yaml';
        const { was: _, ...exported } = { id: '1', ...said };
        expect(outcomeOf(() => exportedKey(index, exported, place))).toBe(
          oneOf(expectedExportedKeys(lock, exported, HERE, place)),
        );
        const fresh = newLabelKey(index, said);
        expect(fresh).toBe(expectedNewKey(lock, said, taken));
        if (action === 'reserve') {
          index.reserve(fresh);
          taken.add(fresh);
        }
        if (action === 'search' || action === 'reserve') continue;
        const target = action === 'put new' ? fresh : (keys[0] ?? fresh);
        index.put(target, at, added);
        lock = expectedLock(lock, target, at, added);
        expect(index.entry(target)).toEqual(lock.labels[target]);
        const keysOf = (name: string) =>
          Object.keys(lock.labels).filter((one) => lock.labels[one]?.file === name);
        expect(files.map((name) => index.keysOfFile(name))).toEqual(files.map(keysOf));
      }
      expect(index.toLock()).toEqual(lock);
      expect(Object.keys(index.toLock().labels)).toEqual(Object.keys(lock.labels));
      expect(lockText(index.toLock())).toBe(lockText(lock));
    }),
    { numRuns: 500 },
  );
});

test('a label whose key is the name of a member of every object is adopted and planned', async () => {
  const at = labelsInMemory({});
  at.send('POST', '/labels', { labelType: 'SHARED', properties: { title: 'Constructor' } });
  expect((await at.run(['export', '--all', '-f', 'labels'])).code).toBe(0);
  expect((await at.run(['adopt', '-f', 'labels', '-o', 'json'])).json()).toMatchObject([
    { key: 'constructor', status: 'adopted' },
  ]);
  expect((await at.run(['apply', '-f', 'labels', '-o', 'json'])).json()).toMatchObject([{ action: 'none' }]);
});

test('a dry run notes a removed definition for each new label', async () => {
  const at = labelsInMemory({ 'labels/a.yaml': 'title: A\n' });
  expect((await at.run(['apply', '-f', 'labels'])).code).toBe(0);
  const id = at.id('A');
  await at.remove('labels/a.yaml');
  for (const title of ['B', 'C']) await at.write(`labels/${title}.yaml`, `title: ${title}\n`);
  const ran = await at.run(['apply', '-f', 'labels', '--dry-run', '-o', 'json']);
  const note = expect.stringContaining(`labels/${id}`);
  expect(ran.json()).toMatchObject([{ notes: [note] }, { notes: [note] }]);
});
