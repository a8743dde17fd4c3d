/** When a command ends, all of its effects are complete: no change of a file and no request is still in progress. */
import { describe, expect, it } from 'vitest';
import type { Host } from '../../src/platform/host.ts';
import { type InMemory, labelsInMemory, type RunOptions, trackerInMemory } from '../support/in-memory.ts';
import { brokenIfSlow } from '../support/slow-host.ts';

type Scene = () => InMemory | Promise<InMemory>;
type Command = { readonly argv: readonly string[]; readonly options?: RunOptions; readonly code?: number };
const brokenCommand = (make: Scene, { argv, options, code = 0 }: Command): Promise<string[]> =>
  brokenIfSlow(async (change) => {
    const ran = await (await make()).run(argv, { ...options, change });
    return ran.code === code ? [] : [`exit code ${ran.code}: ${ran.err.slice(-300)}`];
  });
const definition = 'title: A\nfields: [{name: Note, type: text}]\n';

describe('the end of a command of labels', () => {
  it.each([
    ['export to a new directory', ['export', '--all', '-f', 'new/deep/']],
    ['export to a file', ['export', '--all', '-f', 'all.yaml']],
    ['apply', ['apply', '-f', 'labels', '--yes']],
    ['apply with a publish', ['apply', '-f', 'labels', '--publish', '--yes']],
    ['adopt', ['adopt', '-f', 'labels']],
    ['the plan of an apply', ['apply', '-f', 'labels', '--dry-run']],
    ['list', ['list']],
    ['retire', ['retire', 'A', '--yes', '--title', 'A']],
    ['publish', ['publish', 'A', '--yes']],
  ])('%s leaves no effect behind', async (_, argv) => {
    const make = async (): Promise<InMemory> => {
      const at = labelsInMemory({ 'labels/a.yaml': definition });
      if (argv[0] !== 'apply') expect((await at.run(['apply', '-f', 'labels', '--yes'])).code).toBe(0);
      return at;
    };
    expect(await brokenCommand(make, { argv })).toEqual([]);
  });
  it('undo leaves no effect behind', async () => {
    // The name of a record contains the time, which is the same in all programs here.
    const change = (host: Host): Host => ({ ...host, now: () => host.now() - 60_000 });
    const make = async (): Promise<InMemory> => {
      const at = labelsInMemory({ 'labels/a.yaml': definition });
      expect((await at.run(['apply', '-f', 'labels', '--yes'], { change })).code).toBe(0);
      await at.write('labels/a.yaml', definition.replace('Note', 'Text'));
      expect((await at.run(['apply', '-f', 'labels', '--prune', '--yes'])).code).toBe(0);
      return at;
    };
    expect(await brokenCommand(make, { argv: ['undo', '--yes'], options: { isTopLevel: true } })).toEqual([]);
  });
});

const rows = (...list: readonly object[]): string => list.map((row) => `${JSON.stringify(row)}\n`).join('');
describe('the end of a command of the tracker', () => {
  const scene = (): InMemory => {
    const at = trackerInMemory();
    for (const name of ['a', 'b']) at.send('POST', '/labels', { name });
    return at;
  };
  it.each<readonly [string, readonly object[], number]>([
    ['creates', [{ op: 'create', resource: 'labels', name: 'c' }], 0],
    ['updates', [{ op: 'update', resource: 'labels', id: 'a', description: 'new' }], 0],
    ['renames', [{ op: 'update', resource: 'labels', id: 'a', name: 'z' }], 0],
    // No request creates a deleted label again.
    ['deletes', [{ op: 'delete', resource: 'labels', id: 'a' }], 10],
  ])('a bulk run of %s and its undo leave no effect behind', async (_, list, undoCode) => {
    const make = async (): Promise<InMemory> => {
      const at = scene();
      await at.write('rows.ndjson', rows(...list));
      return at;
    };
    const argv = ['bulk', '-f', 'rows.ndjson', '--yes'];
    expect(await brokenCommand(make, { argv })).toEqual([]);
    const afterRun = async (): Promise<InMemory> => {
      const at = await make();
      expect((await at.run(argv)).code).toBe(0);
      return at;
    };
    const undo = { argv: ['undo', '--yes'], options: { isTopLevel: true }, code: undoCode };
    expect(await brokenCommand(afterRun, undo)).toEqual([]);
  });
  it.each([
    ['list', ['labels', 'list']],
    ['create', ['labels', 'create', '--name', 'c']],
    ['update', ['labels', 'update', 'a', '--description', 'new']],
    ['delete', ['labels', 'delete', 'a', '--yes']],
  ])('%s leaves no effect behind', async (_, argv) => {
    expect(await brokenCommand(scene, { argv })).toEqual([]);
  });
});
