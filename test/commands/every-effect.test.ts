/** Commands whose engines have no test bed of their own: each of their effects fails once. */
import { test } from 'vitest';
import { nothingIsThereTwice, theEndIsWhatWasAskedFor } from '../simulator/invariants.ts';
import { expectEachEffectMayFail } from '../support/failing-effects.ts';
import { type InMemory, labelsInMemory, trackerInMemory } from '../support/in-memory.ts';
import { type Scene, programBed } from '../support/traced-program.ts';

const OWN = 'EDITOR me@example.com';
/** Two published labels. Their permissions are in the first file. */
const makeLabels = async (files: Record<string, string> = {}): Promise<InMemory> => {
  const people = `[{role: EDITOR, email: me@example.com}, {role: READER, email: old@example.com}]`;
  const world = labelsInMemory({
    'labels/a.yaml': `title: A\npermissions: ${people}\n`,
    'labels/b.yaml': `title: B\npermissions: ${people}\n`,
    ...files,
  });
  const { code, err } = await world.run(['apply', '-f', 'labels', '--publish', '--yes']);
  if (code !== 0) throw new Error(err);
  return world;
};
type Label = { readonly name: string; readonly properties: { readonly title: string } };
const permissionsOf = (world: InMemory, title: string): string[] => {
  const labels: readonly Label[] = world.send('GET', '/labels').labels;
  const name = labels.find(({ properties }) => properties.title === title)?.name;
  const given: readonly { readonly role: string; readonly email: string }[] = world.send(
    'GET',
    `/${name}/permissions`,
  ).labelPermissions;
  return given.map(({ role, email }) => `${role} ${email}`).sort();
};

const row = (title: string): string => `${title},EDITOR,me@example.com\n${title},APPLIER,new@example.com\n`;
const table = `title,role,email\n${row('A')}${row('B')}`;
const imported: Scene = {
  make: () => makeLabels({ 'p.csv': table }),
  argv: ['permissions', 'import', '-f', 'p.csv', '--yes'],
  broken: (world) =>
    ['A', 'B'].flatMap((title) => {
      const found = permissionsOf(world, title);
      return [
        ...nothingIsThereTwice('permission', found),
        ...theEndIsWhatWasAskedFor(`permissions of ${title}`, found, ['APPLIER new@example.com', OWN]),
      ];
    }),
};
const exported: Scene = {
  make: () => makeLabels(),
  argv: ['export', '--all', '-f', 'out/all.yml'],
  broken: (world) => {
    const text = world.read('out/all.yml') ?? '';
    const titles = [...text.matchAll(/^title: (.*)$/gm)].map(([, title]) => title ?? '');
    return [
      ...theEndIsWhatWasAskedFor('exported labels', titles.sort(), ['A', 'B']),
      ...(world.read('out/labels.schema.json') === undefined ? ['the schema is missing'] : []),
    ];
  },
};
const ensured: Scene = {
  make: () => trackerInMemory(),
  argv: ['labels', 'ensure', '--name', 'only one'],
  broken: (world) => {
    const names = world.send('GET', '/labels').map(({ name }: { readonly name: string }) => name);
    return [
      ...nothingIsThereTwice('label', names),
      ...theEndIsWhatWasAskedFor('labels', names, ['only one']),
    ];
  },
};

/** Undoes the change of a color. `make` sets the ID of the change. */
const undoArgv = ['undo', '', '--yes'];
const undone: Scene = {
  make: async () => {
    const world = trackerInMemory();
    world.send('POST', '/labels', { name: 'only one', color: '#000000' });
    const { code, err } = await world.run(['labels', 'update', 'only one', '--color', '#ffffff']);
    if (code !== 0) throw new Error(err);
    const [change] = (await world.run(['undo', '--list', '-o', 'json'], { isTopLevel: true })).json();
    undoArgv[1] = change.id;
    return world;
  },
  isTopLevel: true,
  argv: undoArgv,
  broken: (world) =>
    theEndIsWhatWasAskedFor(
      'colors',
      world.send('GET', '/labels').map(({ color }: { readonly color: string }) => color),
      ['#000000'],
    ),
};

/** The service reads a form with two files. Two requests would be possible after a lost response. */
const filesOf = (world: InMemory): string[] =>
  world.send('GET', '/files').map(({ filename }: { readonly filename: string }) => filename);
const uploadArgv = ['files', 'upload', 'a.log', 'b.log'];
const uploaded: Scene = {
  make: () => trackerInMemory({ 'a.log': 'first', 'b.log': 'second' }),
  argv: uploadArgv,
  // A lost response leaves a record of the request. The user decides whether opsctl sends it again.
  again: [...uploadArgv, '--send-again'],
  // The run that ended after it removed this record was complete.
  brokenByRepetition: (world, trace) =>
    /^remove \S+\.sent$/.test(trace.at(-2) ?? '') ? [] : nothingIsThereTwice('file', filesOf(world)),
  broken: (world) =>
    theEndIsWhatWasAskedFor('files', [...new Set(filesOf(world))].sort(), ['a.log', 'b.log']),
};

test.each<[string, Scene, number]>([
  ['labels permissions import', imported, 12],
  ['labels export', exported, 12],
  ['tracker labels ensure', ensured, 12],
  ['undo', undone, 12],
  ['tracker files upload', uploaded, 12],
])('%s survives the failure of each effect: a second run completes it', async (_, scene, count) => {
  await expectEachEffectMayFail(programBed(scene), count);
});
