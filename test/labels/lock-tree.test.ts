import { expect, test } from 'vitest';
import { labelsInMemory } from '../support/in-memory.ts';

const text = `title: A
fields:
  - {name: Note, type: text}
  - {name: Status, type: selection, choices: [Open, Done]}
  - {name: Kind, type: selection, choices: [Big]}
`;
const treeOf = async (locks: (id: (name: string) => string) => readonly object[], ...more: string[]) => {
  const at = labelsInMemory({ 'a.yaml': text });
  await at.run(['apply', '-f', 'a.yaml']);
  const { fields } = at.label('A');
  const parts = fields.flatMap((field: any) => [field, ...(field.selectionOptions?.choices ?? [])]);
  const id = (name: string): string => parts.find((one: any) => one.properties.displayName === name).id;
  return at.run(['locks', 'A', ...more], {
    tty: ['stdout'],
    meanwhile: ({ path }) =>
      path.includes('/locks') ? { status: 200, json: { labelLocks: locks(id) } } : undefined,
  });
};
const linesOf = async (...given: Parameters<typeof treeOf>) =>
  (await treeOf(...given)).out.trimEnd().split('\n');

test('a label without locks has its fields alone, and choices only of a field with choices', async () => {
  expect(await linesOf(() => [])).toEqual(['label A', '├─ field Note', '├─ field Status', '└─ field Kind']);
});

test('a lock on a choice shows only that choice', async () => {
  const lock = (id: (name: string) => string) => [
    { name: 'labels/x/locks/l1', fieldId: id('Status'), choiceId: id('Done'), state: 'ACTIVE' },
  ];
  expect(await linesOf(lock)).toEqual([
    'label A',
    '├─ field Note',
    '├─ field Status',
    '│  └─ choice Done  locked: l1 (active)',
    '└─ field Kind',
  ]);
});

test('a lock on a field holds its choices, and no other field', async () => {
  const ran = await treeOf(
    (id) => [{ name: 'locks/l2', fieldId: id('Kind'), choiceId: '', state: 'ACTIVE' }],
    '-o',
    'json',
  );
  const facts = ({ what, lock, held, inside }: any): unknown => [what, lock, held, ...inside.map(facts)];
  expect(facts(ran.json())).toEqual([
    ...['label A', null, false],
    ['field Note', null, false],
    ['field Status', null, false, ['choice Open', null, false], ['choice Done', null, false]],
    ['field Kind', 'l2 (active)', false, ['choice Big', null, true]],
  ]);
});

test('a lock on the label holds everything in it', async () => {
  expect(await linesOf(() => [{ name: 'locks/l3', state: 'ACTIVE' }])).toEqual([
    'label A  locked: l3 (active)',
    '├─ field Note  held by the lock above',
    '├─ field Status  held by the lock above',
    '└─ field Kind  held by the lock above',
  ]);
  const ran = await treeOf(() => [{ name: 'locks/l3', state: 'ACTIVE' }], '-o', 'json');
  expect(ran.json().inside[1].inside.map(({ held }: { held: boolean }) => held)).toEqual([true, true]);
});

test('inside the last field lines have no bar', async () => {
  const lock = (id: (name: string) => string) => [
    { name: 'locks/l4', fieldId: id('Kind'), choiceId: id('Big'), state: 'ACTIVE' },
  ];
  expect((await linesOf(lock)).slice(-2)).toEqual(['└─ field Kind', '   └─ choice Big  locked: l4 (active)']);
});

test('two locks on one part are both shown', async () => {
  const lock = (name: string, fieldId?: string) => ({ name: `locks/${name}`, fieldId, state: 'ACTIVE' });
  const lines = await linesOf((id) => [
    lock('l6', id('Note')),
    lock('l7', id('Note')),
    lock('l8'),
    lock('l9'),
  ]);
  expect(lines.slice(0, 2)).toEqual([
    'label A  locked: l8 (active), l9 (active)',
    '├─ field Note  locked: l6 (active), l7 (active)',
  ]);
});
