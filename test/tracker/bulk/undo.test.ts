import { describe, expect, test } from 'vitest';
import { type Host, NetworkError } from '../../../src/platform/host.ts';
import { tracker } from '../../../src/api-specs/tracker/index.ts';
import { listWriteRecords } from '../../../src/api/audit.ts';
import { loadSettings } from '../../../src/config/load.ts';
import type { LooseInput, Operation } from '../../../src/core/operation.ts';
import { parseUndo, withWriteRecord } from '../../../src/tracker/bulk/journal.ts';
import { fakeHost } from '../../support/fake-host.ts';
import {
  type InMemory,
  labelsInMemory,
  type RunOptions,
  trackerInMemory,
  workWhileAsking,
} from '../../support/in-memory.ts';
import { AppError } from '../../../src/core/problem.ts';
import { contextWith } from '../../support/context.ts';
import { pause } from '../../support/slow-host.ts';
import { naming } from '../../support/facts.ts';

const ndjson = (...rows: readonly object[]): string => rows.map((row) => `${JSON.stringify(row)}\n`).join('');
const rowsOf = ({ out }: { readonly out: string }): any[] =>
  out
    .trim()
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));
const bulk = (at: InMemory, ...more: string[]) =>
  at.run(['bulk', '-f', 'rows.ndjson', '-o', 'ndjson', ...more]);
const lastRun = async (at: InMemory): Promise<string> => {
  const [run] = rowsOf(await at.run(['bulk', 'runs', '-o', 'ndjson']));
  return run.id;
};
const undo = async (at: InMemory, words: readonly string[] = ['--yes'], options?: RunOptions) =>
  at.run(['bulk', 'undo', await lastRun(at), '-o', 'ndjson', ...words], options);
const changesOf = ({ writes }: { readonly writes: readonly { path: string }[] }) =>
  writes.filter(({ path }) => !path.startsWith('/stories/search'));
const stateOf = (at: InMemory): number =>
  at.send('GET', '/workflows').flatMap(({ states }: { states: unknown[] }) => states)[0].id;
const storiesIn = (at: InMemory): any[] => at.send('POST', '/stories/search', {});

describe('tracker bulk undo', () => {
  test('deletes what the run created, in the reverse order', async () => {
    const at = trackerInMemory();
    await at.write(
      'rows.ndjson',
      ndjson(
        { op: 'create', resource: 'epics', name: 'Launch', external_id: 'E1' },
        {
          op: 'create',
          resource: 'stories',
          name: 's',
          epic_id: 'external:E1',
          workflow_state_id: stateOf(at),
        },
      ),
    );
    const ran = await bulk(at, '--concurrency', '1');
    expect(ran.err).toContain(`opsctl tracker bulk undo ${await lastRun(at)}`);
    const undone = await undo(at);
    expect([undone.code, undone.writes.map(({ method, path }) => `${method} ${path.split('/')[1]}`)]).toEqual(
      [0, ['DELETE stories', 'DELETE epics']],
    );
    expect([at.send('GET', '/epics'), storiesIn(at)]).toEqual([[], []]);
    const again = await undo(at);
    expect([again.code, again.writes]).toEqual([0, []]);
  });

  test('restores every field that a row replaced, and no other field', async () => {
    const at = trackerInMemory();
    const [a, b] = ['a', 'b'].map((name) => at.send('POST', '/labels', { name, color: '#112233' }));
    const [epic] = [
      at.send('POST', '/epics', { name: 'E', labels: [{ name: 'a' }], deadline: '2026-12-01T00:00:00Z' }),
    ];
    await at.write(
      'rows.ndjson',
      ndjson(
        { op: 'update', resource: 'labels', id: a.id, name: 'a2', color: null },
        { op: 'update', resource: 'labels', id: a.id, name: 'a3' },
        { op: 'update', resource: 'labels', id: b.id, archived: true },
        { op: 'update', resource: 'epics', id: epic.id, labels: ['b'], deadline: null, owner_ids: [] },
      ),
    );
    expect((await bulk(at, '--concurrency', '1')).code).toBe(0);
    at.send('PUT', `/labels/${a.id}`, { description: 'written by somebody else' });
    const undone = await undo(at);
    expect([undone.code, rowsOf(undone).map(({ status }) => status)]).toEqual([
      0,
      ['undone', 'undone', 'undone'],
    ]);
    expect(at.send('GET', `/labels/${a.id}`)).toMatchObject({
      ...{ name: 'a', color: '#112233', description: 'written by somebody else' },
    });
    expect(at.send('GET', `/labels/${b.id}`)).toMatchObject({ name: 'b', archived: false });
    expect(at.send('GET', `/epics/${epic.id}`)).toMatchObject({
      labels: [{ name: 'a' }],
      deadline: '2026-12-01T00:00:00Z',
    });
  });

  test.each<readonly [string, readonly string[], RunOptions]>([
    ['an undo', ['--yes'], {}],
    ['a dry run', ['--dry-run'], {}],
    ['an undo whose question is answered with no', [], { tty: ['stdin', 'stderr'], answers: [false] }],
  ])('%s ends after it has released the journal', async (_, words, options) => {
    const at = trackerInMemory({
      'rows.ndjson': ndjson({ op: 'create', resource: 'labels', name: 'a' }),
    });
    expect((await bulk(at)).code).toBe(0);
    const released: string[] = [];
    const change = (host: Host): Host => ({
      ...host,
      files: {
        ...host.files,
        remove: async (path) => {
          await pause(50);
          await host.files.remove(path);
          if (path.endsWith('.lock')) released.push(path);
        },
      },
    });
    await undo(at, words, { ...options, change });
    expect(released.filter((path) => path.includes('/bulk/'))).toHaveLength(1);
  });

  test('the question shows the present and the restored value of each field', async () => {
    const at = trackerInMemory();
    const label = at.send('POST', '/labels', { name: 'before-run', color: '#112233' });
    await at.write(
      'rows.ndjson',
      ndjson({ op: 'update', resource: 'labels', id: label.id, name: 'after-run', color: null }),
    );
    await bulk(at);
    const run = await lastRun(at);
    const { code, err } = await at.run(
      ['bulk', 'undo', run],
      workWhileAsking(() => undefined),
    );
    const shown = err.split('\n').map((line) => line.trim());
    expect([code, shown]).toEqual([0, expect.arrayContaining(['- after-run', '+ before-run', '+ #112233'])]);
    expect(shown.indexOf('- after-run')).toBeLessThan(shown.indexOf('+ before-run'));
  });

  test('undo names the fields that another user changed since the run, and rejects those rows', async () => {
    const at = trackerInMemory();
    const [a, b] = ['a', 'b'].map((name) => at.send('POST', '/labels', { name }));
    await at.write(
      'rows.ndjson',
      ndjson(
        { op: 'update', resource: 'labels', id: a.id, description: 'one' },
        { op: 'update', resource: 'labels', id: b.id, description: 'two' },
        { op: 'create', resource: 'labels', name: 'c' },
      ),
    );
    expect((await bulk(at)).code).toBe(0);
    const made = at.send('GET', '/labels').find(({ name }: { name: string }) => name === 'c');
    at.send('PUT', `/labels/${b.id}`, { description: 'edited' });
    at.send('PUT', `/labels/${made.id}`, { color: '#445566' });
    const undone = await undo(at);
    const refused = rowsOf(undone).filter(({ status }) => status === 'refused');
    expect([undone.code, undone.writes.length, refused.map(({ line }) => line).toSorted()]).toEqual([
      9,
      1,
      [2, 3],
    ]);
    expect(refused.find(({ line }) => line === 2).reason).toContain('description');
    const forced = await undo(at, ['--yes', '--force']);
    expect(forced.code).toBe(0);
    expect(
      at.send('GET', '/labels').map(({ name, description }: any) => [name, description || null]),
    ).toEqual([
      ['a', null],
      ['b', null],
    ]);
  });

  test('keeps a created record that others comment on or use', async () => {
    const at = trackerInMemory();
    const state = stateOf(at);
    await at.write(
      'rows.ndjson',
      ndjson(
        { op: 'create', resource: 'labels', name: 'used' },
        { op: 'create', resource: 'labels', name: 'on a kept story' },
        { op: 'create', resource: 'labels', name: 'free' },
        {
          op: 'create',
          resource: 'stories',
          name: 's',
          workflow_state_id: state,
          labels: ['on a kept story'],
        },
        { op: 'create', resource: 'stories', name: 't', workflow_state_id: state, labels: ['free'] },
      ),
    );
    expect((await bulk(at, '--concurrency', '1')).code).toBe(0);
    const story = storiesIn(at).find(({ name }) => name === 's');
    at.send('POST', `/stories/${story.id}/comments`, { text: 'keep this' });
    at.send('POST', '/stories', { name: 'other', workflow_state_id: state, labels: [{ name: 'used' }] });
    const undone = await undo(at);
    expect([undone.code, rowsOf(undone).map(({ line, status }) => [line, status])]).toEqual([
      9,
      [
        [5, 'undone'],
        [4, 'refused'],
        [3, 'undone'],
        [2, 'refused'],
        [1, 'refused'],
      ],
    ]);
    const [kept] = storiesIn(at).filter(({ id }) => id === story.id);
    expect(kept.labels.map(({ name }: { name: string }) => name)).toEqual(['on a kept story']);
  });

  test('a long undo does not count its own changes as those of other users', async () => {
    const at = trackerInMemory();
    const state = stateOf(at);
    const old = at.send('POST', '/epics', { name: 'old' });
    const story = at.send('POST', '/stories', { name: 's', workflow_state_id: state, epic_id: old.id });
    const resource = 'stories';
    await at.write(
      'rows.ndjson',
      ndjson(
        { op: 'create', resource: 'epics', name: 'E', external_id: 'E' },
        { op: 'create', resource, name: 'made', workflow_state_id: state, epic_id: 'external:E' },
        { op: 'update', resource, id: story.id, epic_id: 'external:E' },
        { op: 'update', resource: 'epics', id: 'external:E', description: 'last' },
      ),
    );
    expect((await bulk(at, '--concurrency', '1')).code).toBe(0);
    let elapsed = 0;
    const meanwhile: RunOptions['meanwhile'] = ({ method }) => {
      if (['PUT', 'DELETE'].includes(method)) elapsed += 6000;
    };
    const change = (host: Host): Host => ({ ...host, now: () => host.now() + elapsed });
    const undone = await undo(at, ['--yes'], { meanwhile, change });
    expect([undone.code, at.send('GET', `/stories/${story.id}`).epic_id]).toEqual([0, old.id]);
    expect(storiesIn(at).map(({ name }) => name)).toEqual(['s']);
  });

  test('a long undo reads the remaining records again and keeps changes that others make while it runs', async () => {
    const at = trackerInMemory();
    const labels = [1, 2, 3, 4].map((n) => at.send('POST', '/labels', { name: `l${n}`, color: '#111111' }));
    await at.write(
      'rows.ndjson',
      ndjson(...labels.map(({ id }) => ({ op: 'update', resource: 'labels', id, color: '#222222' })), {
        op: 'create',
        resource: 'labels',
        name: 'made',
      }),
    );
    expect((await bulk(at, '--concurrency', '1')).code).toBe(0);
    let elapsed = 0;
    const meanwhile: RunOptions['meanwhile'] = ({ method }) => {
      if (!['PUT', 'DELETE'].includes(method)) return;
      // After the first write, the limit of the service makes the next one wait, and another user works.
      if (elapsed === 0) at.send('PUT', `/labels/${labels[0].id}`, { color: '#333333' });
      elapsed += 6000;
    };
    const change = (host: Host): Host => ({ ...host, now: () => host.now() + elapsed });
    const undone = await undo(at, ['--yes'], { meanwhile, change });
    expect(rowsOf(undone).map(({ line, status }) => [line, status])).toEqual([
      [5, 'undone'],
      [4, 'undone'],
      [3, 'undone'],
      [2, 'undone'],
      [1, 'refused'],
    ]);
    const colors = at.send('GET', '/labels').map(({ color }: { color: string }) => color);
    expect(colors.toSorted()).toEqual(['#111111', '#111111', '#111111', '#333333']);
  });

  test('reports deleted records, and creates them again on request', async () => {
    const at = trackerInMemory();
    const epic = at.send('POST', '/epics', { name: 'E', description: 'text', labels: [{ name: 'l' }] });
    const story = at.send('POST', '/stories', {
      name: 's',
      workflow_state_id: stateOf(at),
      epic_id: epic.id,
    });
    await at.write(
      'rows.ndjson',
      ndjson(
        { op: 'delete', resource: 'stories', id: story.id },
        { op: 'delete', resource: 'epics', id: epic.id },
      ),
    );
    expect((await bulk(at, '--concurrency', '1')).code).toBe(0);
    const reported = await undo(at);
    expect([reported.code, reported.writes, rowsOf(reported).map(({ status }) => status)]).toEqual([
      10,
      [],
      ['refused', 'refused'],
    ]);
    expect(rowsOf(reported)[0].reason).toContain('--recreate');
    const made = await undo(at, ['--yes', '--recreate']);
    expect(made.code).toBe(0);
    const [now] = at.send('GET', '/epics?includes_description=true');
    expect(now).toMatchObject({ name: 'E', description: 'text', labels: [{ name: 'l' }] });
    expect(storiesIn(at)).toMatchObject([{ name: 's', epic_id: now.id }]);
  });

  test('undoes an upsert that created one record and changed another', async () => {
    const at = trackerInMemory();
    const workflow_state_id = stateOf(at);
    const known = at.send('POST', '/stories', { name: 'old', external_id: 'P-1', workflow_state_id });
    await at.write(
      'rows.ndjson',
      ndjson(
        { op: 'upsert', resource: 'stories', external_id: 'P-1', name: 'new', workflow_state_id },
        { op: 'upsert', resource: 'stories', external_id: 'P-2', name: 'made', workflow_state_id },
      ),
    );
    expect((await at.run(['sync', '-f', 'rows.ndjson'])).code).toBe(0);
    // A second run sends no requests, and the first run can still be undone.
    expect(changesOf(await at.run(['sync', '-f', 'rows.ndjson']))).toEqual([]);
    expect((await undo(at)).code).toBe(0);
    expect(storiesIn(at)).toMatchObject([{ id: known.id, name: 'old' }]);
    expect(changesOf(await at.run(['sync', '-f', 'rows.ndjson'])).length).toBe(2);
  });

  test('undo sends no request in a dry run, without --yes, or on another account', async () => {
    const at = trackerInMemory({ 'rows.ndjson': ndjson({ op: 'create', resource: 'labels', name: 'a' }) });
    await bulk(at);
    const dry = await undo(at, ['--dry-run']);
    expect([dry.code, dry.writes, rowsOf(dry)[0]]).toEqual([
      0,
      [],
      expect.objectContaining({ status: 'would', action: 'delete', name: 'a' }),
    ]);
    const unasked = await undo(at, []);
    expect([unasked.code, unasked.writes]).toEqual([2, []]);
    const other = await undo(at, ['--yes'], { origin: 'https://other.example' });
    expect([other.code, other.writes]).toEqual([10, []]);
    expect((await at.run(['bulk', 'undo', 'nothing'])).code).toBe(6);
  });

  test('continues after an interruption', async () => {
    const at = trackerInMemory();
    await at.write(
      'rows.ndjson',
      ndjson(...['a', 'b', 'c'].map((name) => ({ op: 'create', resource: 'labels', name }))),
    );
    await bulk(at, '--concurrency', '1');
    let deletes = 0;
    const cut = await undo(at, ['--yes'], {
      meanwhile: ({ method }) => {
        if (method === 'DELETE') deletes += 1;
        return method === 'DELETE' && deletes === 2 ? { status: 401, json: { message: 'no' } } : undefined;
      },
    });
    expect(cut.code).toBe(4);
    const rest = await undo(at);
    expect([rest.code, at.send('GET', '/labels')]).toEqual([0, []]);
  });

  test('undoes a creation that was found after a lost connection, after the run read the list', async () => {
    const at = trackerInMemory();
    const ids = Array.from({ length: 27 }, (_, i) => at.send('POST', '/labels', { name: `l${i}` }).id);
    const updates = ids.map((id) => ({ op: 'update', resource: 'labels', id, description: 'new' }));
    await at.write('rows.ndjson', ndjson(...updates, { op: 'create', resource: 'labels', name: 'late' }));
    let lost = 0;
    const ran = await at.run(['bulk', '-f', 'rows.ndjson', '-o', 'ndjson', '--concurrency', '1'], {
      meanwhile: ({ method, path, body }) => {
        if (method !== 'POST' || path !== '/labels' || lost > 0) return;
        lost += 1;
        at.send(method, path, body);
        throw new NetworkError('RESET', 'the connection was closed', true);
      },
    });
    expect([ran.code, lost, rowsOf(ran).at(-1)?.status]).toEqual([0, 1, 'found']);
    const undone = await undo(at);
    expect([undone.code, undone.err.match(/\d+ refused/)?.[0]]).toEqual([0, '0 refused']);
    expect(at.send('GET', '/labels').filter(({ name }: { name: string }) => name === 'late')).toEqual([]);
  });
  test('removes a torn last line of the journal before it notes what it undid', async () => {
    const at = trackerInMemory();
    await at.write('rows.ndjson', ndjson({ op: 'create', resource: 'labels', name: 'x' }));
    await bulk(at, '--journal', 'run.journal');
    await at.write('run.journal', `${at.read('run.journal')}d 1`);
    expect((await at.run(['bulk', 'undo', 'run.journal', '--yes'])).code).toBe(0);
    const again = await at.run(['bulk', 'undo', 'run.journal', '--yes']);
    expect([again.code, again.writes]).toEqual([0, []]);
    expect(parseUndo(at.read('run.journal') ?? '', 'run.journal').undone).toBe(1);
  });
  test('a damaged journal is named and does not block the undo of another run', async () => {
    const at = trackerInMemory();
    await at.write('rows.ndjson', ndjson({ op: 'create', resource: 'labels', name: 'x' }));
    await bulk(at);
    const damaged = '/home/user/opsctl/state/mock/bulk/damaged.journal';
    await at.write(damaged, 'h 5\nnonsense\n');
    expect((await at.run(['bulk', 'runs'])).err).toContain(`${damaged}:2 is damaged`);
    expect((await at.run(['undo', '--yes'], { isTopLevel: true })).code).toBe(0);
    expect(at.send('GET', '/labels')).toEqual([]);
  });
  test('a record stays as it is if the journal misses the previous values of one of its rows', async () => {
    const at = trackerInMemory();
    const { id } = at.send('POST', '/labels', { name: 'a' });
    const update = (description: string) => ({ op: 'update', resource: 'labels', id, description });
    await at.write('rows.ndjson', ndjson(update('one'), update('two')));
    expect((await bulk(at, '--concurrency', '1')).code).toBe(0);
    const bulkDirectory = '/home/user/opsctl/state/mock/bulk';
    const [name] = (await at.list(bulkDirectory)).filter((one) => one.endsWith('.journal'));
    const path = `${bulkDirectory}/${name}`;
    const text = at.read(path) ?? '';
    const damaged = text.replace(/^b 2 (.*)$/m, (_, before) => {
      const { values: _values, ...rest } = JSON.parse(before);
      return `b 2 ${JSON.stringify(rest)}`;
    });
    expect(damaged).not.toBe(text);
    await at.write(path, damaged);
    const undone = await undo(at, ['--yes', '--force']);
    expect([undone.writes, rowsOf(undone)]).toMatchObject([[], [{ action: 'none', status: 'refused' }]]);
  });
  test('sends a deletion again after a lost connection', async () => {
    const at = trackerInMemory();
    const rows = ['a', 'b', 'c'].map((name) => ({ op: 'create', resource: 'labels', name }));
    await at.write('rows.ndjson', ndjson(...rows));
    await bulk(at);
    let deletes = 0;
    const ran = await undo(at, ['--yes'], {
      meanwhile: ({ method, path }) => {
        if (method !== 'DELETE') return;
        deletes += 1;
        if (deletes === 1) at.send(method, path);
        if (deletes <= 2) throw new NetworkError('RESET', 'the connection was closed', true);
      },
    });
    expect([ran.code, at.send('GET', '/labels')]).toEqual([0, []]);
  });

  test('undoes an interrupted run, and names the rows whose outcome is unknown', async () => {
    const at = trackerInMemory();
    await at.write(
      'rows.ndjson',
      ndjson(...['a', 'b'].map((name) => ({ op: 'create', resource: 'labels', name }))),
    );
    let posts = 0;
    const run = await at.run(['bulk', '-f', 'rows.ndjson', '--concurrency', '1'], {
      meanwhile: ({ method }) => {
        if (method === 'POST') posts += 1;
        return method === 'POST' && posts === 2 ? { status: 401, json: { message: 'no' } } : undefined;
      },
    });
    expect(run.code).toBe(4);
    const undone = await undo(at);
    expect([undone.code, rowsOf(undone).map(({ line, status }) => [line, status])]).toEqual([
      9,
      [
        [2, 'refused'],
        [1, 'undone'],
      ],
    ]);
  });
});

/** The least body that creates a record, by resource. */
const bodies: Readonly<Record<string, (i: number, at: InMemory) => object>> = {
  categories: (i) => ({ name: `c${i}` }),
  documents: (i) => ({ title: `d${i}`, content: 'x', content_format: 'markdown' }),
  'entity-templates': (i) => ({ name: `t${i}`, story_contents: { name: 'x' } }),
  epics: (i) => ({ name: `e${i}` }),
  iterations: (i) => ({ name: `i${i}`, start_date: '2026-12-01', end_date: '2026-12-08' }),
  labels: (i) => ({ name: `l${i}` }),
  'linked-files': (i) => ({ name: `f${i}`, type: 'url', url: 'https://files.example' }),
  milestones: (i) => ({ name: `m${i}` }),
  objectives: (i) => ({ name: `o${i}` }),
  projects: (i) => ({ name: `p${i}`, team_id: 1 }),
  stories: (i, at) => ({ name: `s${i}`, workflow_state_id: stateOf(at), description: 'a\nb' }),
};
const listsOf = (resource: string): Readonly<Record<string, Operation | undefined>> =>
  (tracker.table as Readonly<Record<string, Readonly<Record<string, Operation>>>>)[resource] ?? {};
const undoable = Object.keys(tracker.table).filter((resource) => {
  const { create, delete: remove, list, search } = listsOf(resource);
  const isSent = create !== undefined && create.params === undefined && create.encoding !== 'multipart';
  return isSent && remove !== undefined && (list ?? search) !== undefined;
});
describe.each(undoable)('a run with more %s than an undo reads one by one', (resource) => {
  const create = async (count: number) => {
    const at = trackerInMemory();
    const rows = Array.from({ length: count }, (_, i) => ({
      ...{ op: 'create', resource },
      body: bodies[resource]?.(i, at),
    }));
    await at.write('rows.ndjson', ndjson(...rows));
    const ran = await bulk(at);
    expect(ran.code, ran.out).toBe(0);
    return { at, ids: rowsOf(ran).map(({ id }) => id) };
  };
  test('is undone as a whole', async () => {
    const { at } = await create(30);
    const undone = await undo(at);
    expect([undone.code, undone.err]).toEqual([0, expect.stringContaining('30 undone')]);
  });
  test('keeps the record whose description another user changed', async () => {
    const { get, update } = listsOf(resource);
    if (update?.body?.description === undefined || get === undefined) return;
    const { at, ids } = await create(30);
    const kept = ids.at(2);
    at.send('PUT', get.path.replace(/\{.*\}/, String(kept)), { description: 'changed by another user' });
    const undone = await undo(at);
    expect(rowsOf(undone).flatMap(({ id, status }) => (status === 'refused' ? [id] : []))).toEqual([
      String(kept),
    ]);
    expect([undone.code, undone.err]).toEqual([9, expect.stringContaining('29 undone')]);
  });
});
test.each([3, 30])('keeps a created story with commits of other users, of %i stories', async (count) => {
  const at = trackerInMemory();
  const row = { op: 'create', resource: 'stories', workflow_state_id: stateOf(at) };
  await at.write(
    'rows.ndjson',
    ndjson(...Array.from({ length: count }, (_, i) => ({ ...row, name: `s${i}` }))),
  );
  const id = rowsOf(await bulk(at, '--concurrency', '1'))[0].id;
  // The mock server has no version control. Each save of a real service changes the time.
  at.advance(60_000);
  for (const name of ['other', 's0']) at.send('PUT', `/stories/${id}`, { name });
  const undone = await undo(at, ['--yes'], {
    meanwhile: ({ method, path }) =>
      method === 'GET' && path === `/stories/${id}`
        ? { status: 200, json: { ...at.send('GET', path), commits: [{ id: 7 }] } }
        : undefined,
  });
  expect(rowsOf(undone).filter(({ status }) => status === 'refused')).toEqual([
    expect.objectContaining({ id: String(id), reason: naming('1', 'commit') }),
  ]);
  expect([undone.code, storiesIn(at).map((one) => one.id)]).toEqual([9, [id]]);
});
test('undoes sub-tasks, whose lists leave out the parent', async () => {
  const at = trackerInMemory();
  const workflow_state_id = stateOf(at);
  const parent = at.send('POST', '/stories', { name: 'parent', workflow_state_id });
  const row = { op: 'create', resource: 'stories', workflow_state_id, parent_story_id: parent.id };
  await at.write('rows.ndjson', ndjson(...Array.from({ length: 30 }, (_, i) => ({ ...row, name: `s${i}` }))));
  await bulk(at);
  expect([(await undo(at)).code, storiesIn(at).map(({ name }) => name)]).toEqual([0, ['parent']]);
});

test('a journal of a resent row keeps the values of the first attempt', () => {
  const b = (name: string) =>
    `b 1 {"resource":"labels","op":"update","params":{"label-public-id":7},"values":{"name":"${name}"}}`;
  const valuesOf = (...entries: string[]) =>
    parseUndo(`h 5\n${entries.join('\n')}\n`, '/j').effects.map(({ before }) => before.values?.name);
  expect(valuesOf(b('first'), 's 1 aa', b('second'), 's 1 aa', 'd 1 aa 7')).toEqual(['first']);
  expect(valuesOf(b('first'), 's 1 aa', 'f 1 aa', b('second'), 's 1 aa', 'd 1 aa 7')).toEqual(['second']);
  expect(valuesOf(b('first'), 's 1 aa', 'f 1 aa')).toEqual([]);
  expect(valuesOf(b('first'), 's 1 aa', 'd 1 aa 7', 'u 1')).toEqual([]);
});

test('a command that changes many records records each as its own earlier changes left it', async () => {
  const host = fakeHost({ env: { HOME: '/home/user', OPSCTL_HOME: '/home/user/opsctl' } });
  const labels = new Map(
    Array.from({ length: 30 }, (_, id) => [id, { id, name: `l${id}`, description: '' }]),
  );
  const ops = tracker.table.labels;
  const call = async (_: unknown, operation: Operation, { params = {}, body = {} }: LooseInput) => {
    const id = operation.method === 'POST' ? labels.size : Number(Object.values(params)[0]);
    const row = { id, name: '', description: '', ...labels.get(id), ...body };
    if (operation.method !== 'GET') labels.set(id, row);
    return row;
  };
  const rows = async () =>
    (async function* () {
      yield [...labels.values()].map((row) => Buffer.from(JSON.stringify(row)));
    })();
  const settings = loadSettings(host, {});
  const target = async () => ({ baseUrl: 'https://tracker.example', headers: {}, isMock: false });
  const context = contextWith({
    host,
    settings,
    target,
    call,
    rows,
    lookups: { call, rows },
    isDryRun: false,
    onEnd: () => {},
  });
  const recorded = withWriteRecord(context, 'tracker test');
  const update = (id: number, description: string) =>
    recorded.call(tracker, ops.update, { params: { 'label-public-id': id }, body: { description } });
  for (let id = 0; id < 27; id += 1) await update(id, 'first');
  await update(0, 'second');
  await update(26, 'second');
  await recorded.call(tracker, ops.create, { body: { name: 'new', description: 'made' } });
  await update(30, 'changed');
  const [{ path } = { path: '' }] = await listWriteRecords({ host, settings });
  const { effects } = parseUndo((await host.files.read(path)) ?? '', path);
  const values = effects.map(({ before }) => before.values);
  expect([values[27], values[28], values[30]]).toEqual([
    { description: 'first' },
    { description: 'first' },
    { description: 'made' },
  ]);
});

test('restores an epic although the list of epics shows only one of the fields that the row wrote', async () => {
  const at = trackerInMemory();
  const epic = at.send('POST', '/epics', { name: 'E', description: 'before' });
  const row = { op: 'update', resource: 'epics', id: epic.id, name: 'E2', description: 'after' };
  await at.write('rows.ndjson', ndjson(row));
  expect((await bulk(at)).code).toBe(0);
  expect((await undo(at)).code).toBe(0);
  expect(at.send('GET', `/epics/${epic.id}`)).toMatchObject({ name: 'E', description: 'before' });
});
test('deletes a label of the run that only a story of the run uses, next to a label of another user', async () => {
  const at = trackerInMemory();
  at.send('POST', '/labels', { name: 'old' });
  await at.write(
    'rows.ndjson',
    ndjson(
      { op: 'create', resource: 'labels', name: 'fresh' },
      {
        ...{ op: 'create', resource: 'stories', name: 's', labels: [{ name: 'fresh' }, { name: 'old' }] },
        workflow_state_id: stateOf(at),
      },
    ),
  );
  expect((await bulk(at, '--concurrency', '1')).code).toBe(0);
  expect((await undo(at)).code).toBe(0);
  expect([storiesIn(at), at.send('GET', '/labels').map(({ name }: { name: string }) => name)]).toEqual([
    [],
    ['old'],
  ]);
});
test.each([
  ['done', undefined, /^d 1 - 1( |$)/m],
  ['rejected', new AppError('usage', 'no'), /^f 1 -$/m],
])(
  'the entry of a change that is %s is in its record before the command continues',
  async (_, failure, entry) => {
    const host = fakeHost({ env: { HOME: '/home/user', OPSCTL_HOME: '/home/user/opsctl' } });
    const settings = loadSettings(host, {});
    const target = async () => {
      await pause();
      return { baseUrl: 'https://tracker.example', headers: {}, isMock: false };
    };
    const call = async () => {
      if (failure !== undefined) throw failure;
      return { id: 1, name: 'made' };
    };
    const context = contextWith({ host, settings, target, call, isDryRun: false, onEnd: () => {} });
    const { create } = tracker.table.labels;
    await withWriteRecord(context, 'tracker test')
      .call(tracker, create, { body: { name: 'made' } })
      .catch(() => {});
    const [{ path } = { path: '' }] = await listWriteRecords({ host, settings });
    expect(host.files.readNow(path)).toMatch(entry);
  },
);

test('a run whose journal lacks the earlier values of one of two changes restores neither', async () => {
  const at = trackerInMemory();
  at.send('POST', '/labels', { name: 'a', description: 'before' });
  const update = { op: 'update', resource: 'labels', id: 'a' };
  await at.write('rows.ndjson', ndjson({ ...update, description: 'x' }, { ...update, color: '#112233' }));
  const words = ['--concurrency', '1', '--journal', 'run.journal'];
  expect((await bulk(at, ...words)).code).toBe(0);
  const text = at.read('run.journal') ?? '';
  expect(text.match(/"values":\{[^}]*\}/g)).toHaveLength(2);
  await at.write('run.journal', text.replace(/,"values":\{[^}]*\}/, ''));
  const undone = await at.run(['bulk', 'undo', 'run.journal', '-o', 'ndjson', '--yes']);
  expect([rowsOf(undone).map(({ status }) => status), changesOf(undone)]).toEqual([['refused'], []]);
  expect(at.send('GET', '/labels')).toMatchObject([{ description: 'x', color: '#112233' }]);
});

test('a change is in its record although another change still waits for the list of records', async () => {
  const host = fakeHost({ env: { HOME: '/home/user', OPSCTL_HOME: '/home/user/opsctl' } });
  const settings = loadSettings(host, {});
  let list = (): void => {};
  const rows = async () => {
    await new Promise<void>((resolve) => {
      list = resolve;
    });
    return (async function* () {
      yield [Buffer.from('{"id":1,"name":"l1"}')];
    })();
  };
  const call = async (_: unknown, { method }: Operation, { params = {}, body = {} }: LooseInput) => ({
    ...{ id: method === 'POST' ? 99 : Number(Object.values(params)[0]), name: 'made', ...body },
  });
  const target = async () => ({ baseUrl: 'https://tracker.example', headers: {}, isMock: false });
  const more = { call, rows, lookups: { call, rows }, isDryRun: false, onEnd: () => {} };
  const recorded = withWriteRecord(contextWith({ host, settings, target, ...more }), 'tracker test');
  const { create, update } = tracker.table.labels;
  const change = (id: number) =>
    recorded.call(tracker, update, { params: { 'label-public-id': id }, body: { description: 'new' } });
  for (let id = 0; id < 25; id += 1) await change(id);
  const waiting = change(1);
  await pause();
  let isMade = false;
  const making = recorded.call(tracker, create, { body: { name: 'made' } }).then(() => {
    isMade = true;
  });
  await pause(20);
  const [{ path } = { path: '' }] = await listWriteRecords({ host, settings });
  expect(host.files.readNow(path)).toMatch(/^d 27 - 99( |$)/m);
  // Its values belong to the list, which later changes read.
  expect(isMade).toBe(false);
  list();
  await Promise.all([waiting, making]);
  expect(isMade).toBe(true);
});

test('two commands that start their records in one millisecond get two IDs', async () => {
  const host = fakeHost({ env: { HOME: '/home/user', OPSCTL_HOME: '/home/user/opsctl' } });
  const settings = loadSettings(host, {});
  const target = async () => ({ baseUrl: 'https://tracker.example', headers: {}, isMock: false });
  const call = async () => ({ id: 1, name: 'made' });
  const create = (pid: number, files = host.files) => {
    const context = contextWith({
      host: Object.assign(Object.create(host), { pid, files, now: () => 1_000_000 }),
      ...{ settings, target, call, isDryRun: false, onEnd: () => {} },
    });
    const { create: operation } = tracker.table.labels;
    return withWriteRecord(context, 'tracker test').call(tracker, operation, { body: { name: 'made' } });
  };
  let looks = 0;
  const list = async (path: string) => {
    const names = await host.files.list(path);
    looks += 1;
    // The other command runs between the look for the ID and the creation of the record.
    if (looks === 2) await create(8);
    return names;
  };
  await create(7, Object.assign(Object.create(host.files), { list }));
  const records = await listWriteRecords({ host, settings });
  expect(records).toHaveLength(2);
  expect(new Set(records.map(({ startedAt }) => startedAt)).size).toBe(2);
});

const label = 'title: Case\ntype: SHARED\nstate: published\n';
const refused = { status: 400, json: { message: 'no' } };
test.each<[string, () => InMemory, string, RunOptions['meanwhile']]>([
  ['a change', trackerInMemory, 'labels create --name n', undefined],
  ['a refused change', trackerInMemory, 'labels create --name n', () => refused],
  ['a bulk run', trackerInMemory, 'bulk -f rows.ndjson --yes', undefined],
  ['label definitions', labelsInMemory, 'apply -f label.yaml --yes', undefined],
])('the end of the command closes each file that it appends to: %s', async (_, make, line, meanwhile) => {
  const at = make();
  await at.write('rows.ndjson', '{"op":"create","resource":"labels","name":"b"}\n');
  await at.write('label.yaml', label);
  const [opened, closed]: [string[], string[]] = [[], []];
  const change = (host: Host): Host => {
    const append: Host['files']['append'] = (path, ...more) => {
      opened.push(path);
      const file = host.files.append(path, ...more);
      return { ...file, close: () => void closed.push(path) };
    };
    return { ...host, files: { ...host.files, append } };
  };
  await at.run(line.split(' '), { change, ...(meanwhile && { meanwhile }) });
  expect(opened.some((path) => /\.(write|journal)$/.test(path))).toBe(true);
  expect(closed.toSorted()).toEqual(opened.toSorted());
});
test('the question shows names in place of IDs, reads each kind once, and keeps the IDs without names', async () => {
  const at = trackerInMemory();
  const [{ states }] = at.send('GET', '/workflows');
  const [first, second] = states;
  const epic = at.send('POST', '/epics', { name: 'Big epic' });
  const rows = ['a', 'b'].map((name) => {
    const body = { name, workflow_state_id: first.id, epic_id: epic.id };
    const { id } = at.send('POST', '/stories', body);
    return { op: 'update', resource: 'stories', id, workflow_state_id: second.id, epic_id: null };
  });
  await at.write('rows.ndjson', ndjson(...rows));
  await bulk(at);
  const run = await lastRun(at);
  const ask = (options: RunOptions = {}) =>
    at.run(['bulk', 'undo', run], { tty: ['stdin', 'stderr'], answers: [false], ...options });
  const shown = (err: string): string[] => err.split('\n').map((line) => line.trim());
  const unnamed = await ask({
    meanwhile: ({ path }) => (path === '/workflows' ? { status: 403, json: { message: 'no' } } : undefined),
  });
  expect(shown(unnamed.err)).toEqual(expect.arrayContaining([`- ${second.id}`, `+ ${first.id}`]));
  const named = await ask();
  expect(named.code).toBe(10);
  expect(shown(named.err)).toEqual(
    expect.arrayContaining([`- ${second.name}`, `+ ${first.name}`, '+ Big epic']),
  );
  for (const path of ['/workflows', '/epics'])
    expect(named.requests.filter((asked) => asked.path === path).length).toBeLessThanOrEqual(1);
});
