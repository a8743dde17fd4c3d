import { expect, test } from 'vitest';
import { nothingIsThereTwice, theEndIsWhatWasAskedFor } from '../../simulator/invariants.ts';
import { expectEachEffectMayFail } from '../../support/failing-effects.ts';
import { type InMemory, trackerInMemory } from '../../support/in-memory.ts';
import { expectInOrder } from '../../support/trace.ts';
import { programBed, runTraced } from '../../support/traced-program.ts';

const workspace = `version: 1
labels:
  - {name: bug, color: "#aa0000"}
  - {name: chore}
categories:
  - {name: platform}
objectives:
  - {name: Faster, categories: [platform]}
epics:
  - {name: Cache, objectives: [Faster], labels: [chore]}
`;
const make = (): InMemory => trackerInMemory({ 'workspace.yaml': workspace });
const argv = ['apply', '-f', 'workspace.yaml', '--yes'];
const expected = {
  labels: ['bug', 'chore'],
  categories: ['platform'],
  objectives: ['Faster'],
  epics: ['Cache'],
};
const broken = (world: InMemory): string[] =>
  Object.entries(expected).flatMap(([kind, names]) => {
    const found = world.send('GET', `/${kind}`).map(({ name }: { readonly name: string }) => name);
    return [...nothingIsThereTwice(kind, found), ...theEndIsWhatWasAskedFor(kind, found.sort(), names)];
  });

test('a record is created before the records that refer to it', async () => {
  const { traced, result } = runTraced(make(), argv);
  expect((await result).code).toBe(0);
  expectInOrder(
    traced.entries,
    ...['POST /api/v3/categories done', 'POST /api/v3/objectives', 'POST /api/v3/objectives done'],
    'POST /api/v3/epics',
  );
  const labels = traced.entries.lastIndexOf('POST /api/v3/labels done');
  expect(labels).toBeLessThan(traced.entries.indexOf('POST /api/v3/epics'));
});

test('tracker apply survives the failure of each effect: a second run completes it, and nothing is there twice', async () => {
  await expectEachEffectMayFail(programBed({ make, argv, broken }), 15);
});
