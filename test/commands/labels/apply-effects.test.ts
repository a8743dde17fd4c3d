import { expect, test } from 'vitest';
import { nothingIsThereTwice, theEndIsWhatWasAskedFor } from '../../simulator/invariants.ts';
import { expectEachEffectMayFail } from '../../support/failing-effects.ts';
import { type InMemory, labelsInMemory } from '../../support/in-memory.ts';
import { expectInOrder } from '../../support/trace.ts';
import { programBed, runTraced } from '../../support/traced-program.ts';

const definition = (n: number, text: string, choices: string): string =>
  `title: Label ${n}\ndescription: ${text}\nstate: published\nfields:\n  - {name: Status, type: selection, choices: [${choices}]}\n`;
const argv = ['apply', '-f', 'labels', '--deployment', 'here', '--publish', '--yes'];
const make = async (): Promise<InMemory> => {
  const world = labelsInMemory({ 'labels/1.yaml': definition(1, 'Before', 'Open, Done') });
  for (const setup of [
    ['apply', '-f', 'labels', '--publish', '--yes'],
    ['adopt', '-f', 'labels', '--deployment', 'here', '--yes'],
  ]) {
    const { code, err } = await world.run(setup);
    if (code !== 0) throw new Error(err);
  }
  await world.write('labels/1.yaml', definition(1, 'After', 'Done, New'));
  await world.write('labels/2.yaml', definition(2, 'After', 'Open'));
  return world;
};
const titles = (world: InMemory): string[] =>
  world
    .send('GET', '/labels?pageSize=200&view=LABEL_VIEW_FULL')
    .labels.map(({ properties }: { readonly properties: { readonly title: string } }) => properties.title);
const broken = (world: InMemory): string[] => [
  ...nothingIsThereTwice('label', titles(world)),
  ...theEndIsWhatWasAskedFor('labels', titles(world).sort(), ['Label 1', 'Label 2']),
];

test('the lock file knows the labels before the first write, is held while it changes, and has the end', async () => {
  const { traced, result } = runTraced(await make(), argv);
  expect((await result).code).toBe(0);
  const { entries } = traced;
  const [id] = entries.flatMap((entry) => /^POST .*labels\/(\w+):delta$/.exec(entry)?.[1] ?? []);
  const held = [
    'create .labels.lock.yaml.held done',
    'replace labels.lock.yaml done',
    'remove .labels.lock.yaml.held',
  ];
  expectInOrder(
    entries,
    ...[...held, `POST /v2beta/labels/${id}:delta`, `POST /v2beta/labels/${id}:delta done`],
    ...[`POST /v2beta/labels/${id}:publish`, `POST /v2beta/labels/${id}:publish done`],
    ...['POST /v2beta/labels', 'POST /v2beta/labels done', ...held],
  );
});

test('a new label exists before it is published', async () => {
  const { traced, result } = runTraced(await make(), argv);
  await result;
  const published = traced.entries.filter((entry) => /^POST .*:publish$/.test(entry));
  expect(published).toHaveLength(2);
  expectInOrder(traced.entries, 'POST /v2beta/labels done', published[1] as string);
});

test('labels apply survives the failure of each effect: a second run completes it, and nothing is there twice', async () => {
  await expectEachEffectMayFail(programBed({ make, argv, broken }), 15);
});
