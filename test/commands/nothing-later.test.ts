/**
 * The effects of a command are sequential: each change of a file, request and pause is complete before the next begins, and
 * all are complete when the command ends.
 */
import { describe, expect, it } from 'vitest';
import { type Host, NetworkError } from '../../src/platform/host.ts';
import {
  type Asked,
  type InMemory,
  labelsInMemory,
  type RunOptions,
  trackerInMemory,
} from '../support/in-memory.ts';
import { brokenIfSlow, leftIfFails } from '../support/slow-host.ts';

type Scene = () => InMemory | Promise<InMemory>;
type Command = { readonly argv: readonly string[]; readonly options?: RunOptions; readonly code?: number };
/** Reads may overlap. The limits of the service are read at the beginning, and used by the first check that needs them. */
const MAY_OVERLAP = /^GET \S+ began before the end of GET | before the end of GET \S+\/limits\/label$/;
const brokenCommand = (make: Scene, { argv, options, code = 0 }: Command): Promise<string[]> =>
  brokenIfSlow(async (change) => {
    const ran = await (await make()).run(argv, { ...options, change });
    return ran.code === code ? [] : [`exit code ${ran.code}: ${ran.err.slice(-300)}`];
  }, MAY_OVERLAP);
/** Each effect fails once: the command ends, and none of its files and locks is left. */
const leftOpen = async (make: Scene, { argv, options, code = 0 }: Command): Promise<string[]> => {
  const left = await leftIfFails(async (change) => {
    const ran = await (await make()).run(argv, { ...options, change });
    return ran.code === code ? [] : [`exit code ${ran.code}: ${ran.err.slice(-300)}`];
  });
  // The record of the changes of a command belongs to the process.
  return left.filter((one) => !one.endsWith('.write is open'));
};
const definition = 'title: A\nfields: [{name: Note, type: text}]\n';

describe('the end of a command of labels', () => {
  const permissions = '- {role: APPLIER, email: rea@example.com}\n- {role: READER, email: new@example.com}\n';
  const more = `${definition.replace('Note', 'Text')}permissions: [{role: READER, email: r@example.com}]\n`;
  const all = ['apply', '-f', 'labels', '--yes'];
  const scenes: readonly (readonly [string, readonly string[], Readonly<Record<string, string>>?])[] = [
    ['adopt', ['adopt', '-f', 'labels']],
    ['export to a new directory', ['export', '--all', '-f', 'new/deep/']],
    ['export to a file', ['export', '--all', '-f', 'all.yaml']],
    ['list', ['list']],
    ['retire', ['retire', 'A', '--yes', '--title', 'A']],
    ['publish', ['publish', 'A', '--yes']],
    ['a repeated apply', all],
    ['an apply with a publish', [...all, '--publish']],
    ['a plan', ['plan', '-f', 'labels', '--out', 'plan.json'], { 'labels/a.yaml': more }],
    ['an apply of a change', [...all, '--prune'], { 'labels/a.yaml': more, 'labels/b.yaml': 'title: B\n' }],
    ['an apply that takes their change', [...all, '--take', 'theirs'], { theirs: 'yes' }],
    ['an apply that overwrites their change', [...all, '--take', 'ours'], { theirs: 'yes' }],
    ['permissions sync', ['permissions', 'sync', 'A', '-f', 'p.yaml', '--yes'], { 'p.yaml': permissions }],
  ];
  it.each(scenes.map(([name, argv, files = {}]) => ({ name, argv, files })))(
    '$name leaves no effect behind',
    async ({ argv, files }) => {
      const make = async (): Promise<InMemory> => {
        const at = labelsInMemory({ 'labels/a.yaml': definition });
        expect((await at.run(all)).code).toBe(0);
        for (const [path, text] of Object.entries(files)) await at.write(path, text);
        if ('theirs' in files) at.edit('A', { description: 'theirs' });
        return at;
      };
      expect(await brokenCommand(make, { argv })).toEqual([]);
    },
  );
  it.each([
    ['a first apply', all],
    ['a first apply with a publish', [...all, '--publish']],
    ['the plan of an apply', [...all, '--dry-run']],
  ])('%s leaves no effect behind', async (_, argv) => {
    const make = (): InMemory => labelsInMemory({ 'labels/a.yaml': definition });
    expect(await brokenCommand(make, { argv })).toEqual([]);
  });
  it('adopt of a file with a revision leaves no effect behind', async () => {
    const make = async (): Promise<InMemory> => {
      const at = labelsInMemory({ 'labels/a.yaml': definition });
      expect((await at.run(all)).code).toBe(0);
      const { id, revisionId } = at.label('A');
      await at.write('old/a.yaml', `id: ${id}\nrevision: "${revisionId}"\n${definition}`);
      return at;
    };
    expect(await brokenCommand(make, { argv: ['adopt', '-f', 'old'] })).toEqual([]);
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

describe('an undo of labels that stops', () => {
  const change = (host: Host): Host => ({ ...host, now: () => host.now() - 60_000 });
  const both = (description: string): string =>
    ['A', 'B'].map((title) => `title: ${title}\ndescription: ${description}\n`).join('---\n');
  const make = async (): Promise<InMemory> => {
    const at = labelsInMemory({ 'labels/a.yaml': both('First') });
    const apply = ['apply', '-f', 'labels', '--publish', '--yes'];
    expect((await at.run(apply, { change })).code).toBe(0);
    await at.write('labels/a.yaml', both('Second'));
    expect((await at.run(apply)).code).toBe(0);
    return at;
  };
  let edits = 0;
  /** The service accepts the edit of the first label. */
  const meanwhile = ({ method, path }: Asked) => {
    if (method !== 'POST' || !path.includes(':delta')) return undefined;
    edits += 1;
    return edits === 1 ? undefined : { status: 401, json: { error: { code: 401, message: 'no' } } };
  };
  it('marks the labels that it restored before it ends, as a complete undo does', async () => {
    const undo = { argv: ['undo', '--yes'], options: { isTopLevel: true, meanwhile }, code: 8 };
    const fresh = (): Promise<InMemory> => {
      edits = 0;
      return make();
    };
    expect(await brokenCommand(fresh, undo)).toEqual([]);
    expect(await leftOpen(fresh, undo)).toEqual([]);
    const complete = { argv: ['undo', '--yes'], options: { isTopLevel: true } };
    expect(await leftOpen(make, complete)).toEqual([]);
  });
});

const rows = (...list: readonly object[]): string => list.map((row) => `${JSON.stringify(row)}\n`).join('');
describe('the end of a command of the tracker', () => {
  const scene = (): InMemory => {
    const at = trackerInMemory();
    for (const name of ['a', 'b']) at.send('POST', '/labels', { name });
    return at;
  };
  it('a repeated bulk run keeps the journal of the run before, removes the oldest one, and leaves no effect behind', async () => {
    const bulkDirectory = '/home/user/opsctl/state/mock/bulk';
    const argv = ['bulk', '-f', 'rows.ndjson', '--yes', '--restart'];
    const keptIn = async (at: InMemory): Promise<string[]> =>
      (await at.list(bulkDirectory)).filter((name) => name.endsWith('.run'));
    const make = async (): Promise<InMemory> => {
      const at = scene();
      await at.write('rows.ndjson', rows({ op: 'update', resource: 'labels', id: 'a', description: 'new' }));
      expect((await at.run(argv)).code).toBe(0);
      const [name = ''] = (await at.list(bulkDirectory)).filter((one) => one.endsWith('.journal'));
      const text = at.read(`${bulkDirectory}/${name}`) ?? '';
      for (let i = 1; i <= 50; i += 1)
        await at.write(`${bulkDirectory}/${i}.run`, text.replace(/^h \d+/, `h ${i}`));
      return at;
    };
    const at = await make();
    expect((await at.run(argv)).code).toBe(0);
    const kept = await keptIn(at);
    expect([kept.length, kept.includes('1.run'), kept.includes('2.run')]).toEqual([50, false, true]);
    expect(await brokenCommand(make, { argv })).toEqual([]);
  });
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
    expect(await leftOpen(make, { argv })).toEqual([]);
    expect(await leftOpen(afterRun, undo)).toEqual([]);
  });
  it('a bulk run and an undo that are refused leave no effect behind', async () => {
    const argv = ['bulk', '-f', 'rows.ndjson', '--yes'];
    const afterRun = async (): Promise<InMemory> => {
      const at = scene();
      await at.write('rows.ndjson', rows({ op: 'create', resource: 'labels', name: 'c' }));
      expect((await at.run(argv)).code).toBe(0);
      return at;
    };
    const isTopLevel = { isTopLevel: true };
    expect(await brokenCommand(afterRun, { argv: ['undo'], options: isTopLevel, code: 2 })).toEqual([]);
    expect(await brokenCommand(afterRun, { argv: ['undo', '--dry-run'], options: isTopLevel })).toEqual([]);
    const make = async (): Promise<InMemory> => {
      const at = scene();
      await at.write('rows.ndjson', rows({ op: 'create', resource: 'labels', name: 'c' }));
      const meanwhile = ({ method }: Asked): undefined => {
        if (method === 'POST') throw new NetworkError('RESET', 'the connection was closed', true);
      };
      expect((await at.run(argv, { meanwhile })).code).toBe(11);
      return at;
    };
    expect(await brokenCommand(make, { argv, code: 10 })).toEqual([]);
  });
  it('a continued bulk run that finds a row which arrived leaves no effect behind', async () => {
    const argv = ['bulk', '-f', 'rows.ndjson', '--yes'];
    const make = async (): Promise<InMemory> => {
      const at = scene();
      await at.write('rows.ndjson', rows({ op: 'create', resource: 'labels', name: 'c' }));
      let isOver = false;
      const meanwhile = ({ method, path, body }: Asked): undefined => {
        if (method === 'POST') at.send(method, path, body);
        isOver ||= method === 'POST';
        if (isOver) throw new NetworkError('RESET', 'the connection was closed', true);
      };
      expect((await at.run(argv, { meanwhile })).code).toBe(11);
      return at;
    };
    expect(await brokenCommand(make, { argv: [...argv, '--resume'] })).toEqual([]);
  });
  it('an undo that repeats a deletion after a lost connection waits before each attempt', async () => {
    let [count, at] = [0, scene()];
    const make = async (): Promise<InMemory> => {
      [count, at] = [0, scene()];
      await at.write('rows.ndjson', rows({ op: 'create', resource: 'labels', name: 'c' }));
      expect((await at.run(['bulk', '-f', 'rows.ndjson', '--yes'])).code).toBe(0);
      return at;
    };
    const meanwhile = ({ method }: Asked): undefined => {
      count += method === 'DELETE' ? 1 : 0;
      if (method === 'DELETE' && count < 3)
        throw new NetworkError('RESET', 'the connection was closed', true);
    };
    const undo = { argv: ['undo', '--yes'], options: { isTopLevel: true, meanwhile } };
    expect(await brokenCommand(make, undo)).toEqual([]);
    expect(count).toBe(3);
    expect(at.send('GET', '/labels')).toHaveLength(2);
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
