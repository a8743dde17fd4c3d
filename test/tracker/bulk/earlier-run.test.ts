import { describe, expect, test } from 'vitest';
import { thisProcess } from '../../../src/platform/file-lock.ts';
import { type Host, NetworkError } from '../../../src/platform/host.ts';
import { fakeHost } from '../../support/fake-host.ts';
import { type InMemory, type RunOptions, trackerInMemory } from '../../support/in-memory.ts';
import { naming } from '../../support/facts.ts';
import { contextWith, partlyMade } from '../../support/context.ts';
import { refuseRepeat } from '../../../src/tracker/bulk/earlier-run.ts';
import type { ColumnMap } from '../../../src/tracker/bulk/column-map.ts';

const rowsOf = (count: number): string =>
  Array.from(
    { length: count },
    (_, i) => `${JSON.stringify({ op: 'create', resource: 'epics', name: `row ${i + 1}` })}\n`,
  ).join('');
const bulk = (at: InMemory, words: readonly string[] = [], options?: RunOptions) =>
  at.run(['bulk', '-f', 'rows.ndjson', '-o', 'json', ...words], options);
const lost = (): never => {
  throw new NetworkError('RESET', 'the connection was closed', true);
};
/** Disconnects the network at the nth create: that request may arrive, and no later request does. */
const endsAt = (at: InMemory, nth: number, arrives: boolean): RunOptions => {
  let [creates, isOver] = [0, false];
  return {
    meanwhile: ({ method, path, body }) => {
      if (isOver) lost();
      if (method !== 'POST') return;
      creates += 1;
      if (creates < nth) return;
      isOver = true;
      if (arrives) at.send(method, path, body);
      lost();
    },
  };
};
const names = (at: InMemory): string[] => at.send('GET', '/epics').map(({ name }: { name: string }) => name);

test('a run starts although two runs before it were killed while they took the lock', async () => {
  const at = trackerInMemory({ 'rows.ndjson': rowsOf(1) });
  const pid = 999_999;
  const change = (host: Host): Host => ({
    ...host,
    processes: { ...host.processes, isAlive: (one) => one !== pid && host.processes.isAlive(one) },
  });
  const gone = { ...thisProcess(change(fakeHost())), pid, nonce: 'gone' };
  await at.write('run.journal.lock', JSON.stringify(gone));
  // The second process was killed before it wrote its name.
  await at.write('run.journal.lock.claim-gone', '');
  const ran = await bulk(at, ['--journal', 'run.journal'], { change });
  expect([ran.code, names(at)]).toEqual([0, ['row 1']]);
  expect(await at.list('/place')).not.toContain('run.journal.lock');
});

test('an error of opsctl itself is not taken for a malformed row of standard input', async () => {
  const host = fakeHost();
  const journal = '/state/run.journal';
  await host.files.replace(journal, 'h 1\ns 1 mark\n', 0o600);
  const fault = new TypeError('a fault');
  const bytes = (async function* () {
    yield Buffer.from('name\na\n');
  })();
  const columns = partlyMade<ColumnMap>({
    fieldOf: () => {
      throw fault;
    },
  });
  const begun = refuseRepeat({
    ...{ context: contextWith({ host }), values: { file: '-' }, journal, target: '' },
    input: { bytes, columns, format: 'csv', sizeBytes: undefined, path: '-' },
    defaults: { resource: 'epics', op: 'create' },
  });
  await expect(begun).rejects.toBe(fault);
});

describe('a bulk run that is started again without a flag', () => {
  test('a restarted run creates no row twice, wherever the first run was interrupted', async () => {
    for (let i = 0; i < 40; i += 1) {
      const count = i < 5 ? 300 : 50;
      const place = 1 + ((i * 7919 + 104_729) % count);
      const at = trackerInMemory({ 'rows.ndjson': rowsOf(count) });
      const first = await bulk(at, [], endsAt(at, place, i % 2 === 0));
      expect([place, first.code]).toEqual([place, 11]);
      const isAnySent = names(at).length > 0 || i % 2 === 1;
      const second = await bulk(at);
      expect([place, second.code, second.writes]).toEqual([place, isAnySent ? 10 : 0, []]);
      expect(second.error()).toMatchObject({ code: 'UNFINISHED_RUN', retryable: false });
      expect(second.error().message).toMatch(/--resume .*--restart/);
      expect(second.error().hint).toEqual(naming('opsctl tracker bulk', 'rows.ndjson', '--resume'));
      expect((await bulk(at, ['--resume'])).code).toBe(0);
      expect([place, names(at).length, new Set(names(at)).size]).toEqual([place, count, count]);
    }
  });

  test('a restarted run is rejected under another path with the same content, and names the journal', async () => {
    const at = trackerInMemory({ 'rows.ndjson': rowsOf(5), 'copy.ndjson': rowsOf(5) });
    await bulk(at, [], endsAt(at, 3, true));
    const copy = await at.run(['bulk', '-f', 'copy.ndjson', '-o', 'json']);
    expect([copy.code, copy.error().code, copy.writes]).toEqual([10, 'UNFINISHED_RUN', []]);
    const words = copy.error().hint.replace('opsctl tracker ', '').split(' ');
    expect((await at.run(words)).code).toBe(0);
    expect(names(at)).toHaveLength(5);
    // The resumed run has finished. Its content is known under both paths.
    const again = await at.run(['bulk', '-f', 'copy.ndjson', '-o', 'json']);
    expect([again.code, again.error().code, again.writes]).toEqual([10, 'REPEATED_RUN', []]);
  });

  test('a restarted run is rejected if unsent rows were edited, and --resume continues', async () => {
    const at = trackerInMemory({ 'rows.ndjson': rowsOf(5) });
    await bulk(at, ['--concurrency', '1'], endsAt(at, 3, true));
    await at.write('rows.ndjson', rowsOf(5).replace('row 5', 'row five'));
    expect((await bulk(at)).code).toBe(10);
    expect((await bulk(at, ['--resume'])).code).toBe(0);
    expect(names(at)).toEqual(expect.arrayContaining(['row 1', 'row five']));
    expect(names(at)).toHaveLength(5);
  });

  test('runs when the file has other rows, and with --restart', async () => {
    const at = trackerInMemory({ 'rows.ndjson': rowsOf(3) });
    await bulk(at, [], endsAt(at, 2, true));
    expect((await bulk(at, ['--resume', '--restart'])).code).toBe(2);
    expect((await bulk(at, ['--restart'])).code).toBe(0);
    const other = trackerInMemory({ 'rows.ndjson': rowsOf(3) });
    await bulk(other, [], endsAt(other, 2, true));
    await other.write('rows.ndjson', rowsOf(3).replaceAll('row', 'item'));
    expect((await bulk(other)).code).toBe(0);
  });

  test('a restarted run from standard input is rejected if its first rows were sent', async () => {
    const at = trackerInMemory();
    const piped = (words: readonly string[], options: RunOptions) =>
      at.run(['bulk', '-f', '-', '--journal', 'j', '-o', 'json', ...words], { stdin: rowsOf(5), ...options });
    // One row at a time, so the last rows of the first batch were not sent.
    const first = await piped(['--concurrency', '1'], endsAt(at, 3, true));
    expect(first.writes.filter(({ method }) => method === 'POST')).toHaveLength(3);
    expect((await piped([], {})).error()).toMatchObject({ code: 'UNFINISHED_RUN' });
    expect((await piped(['--resume'], {})).code).toBe(0);
    expect(names(at)).toHaveLength(5);
  });

  test('a restarted run is rejected while the first run is in progress', async () => {
    const at = trackerInMemory({ 'rows.ndjson': rowsOf(2) });
    let second: Promise<{ code: number; writes: readonly unknown[] }> | undefined;
    const first = await bulk(at, ['--concurrency', '1'], {
      meanwhile: ({ method }) => {
        if (method === 'POST') second ??= bulk(at);
      },
    });
    const { code, writes } = (await second) ?? { code: -1, writes: [] };
    expect([first.code, code, writes]).toEqual([0, 10, []]);
    expect(names(at)).toHaveLength(2);
  });
});

describe('a finished run of the same file', () => {
  const again = async (at: InMemory, words: readonly string[] = []) => {
    const { code, error, writes } = await bulk(at, words);
    return [code, code === 0 ? undefined : error().code, writes.length];
  };
  test('prevents a second run that would create each row again, and names the run and --restart', async () => {
    const at = trackerInMemory({ 'rows.ndjson': rowsOf(3), 'copy.ndjson': rowsOf(3) });
    expect((await bulk(at)).code).toBe(0);
    const second = await bulk(at);
    const runs = (await at.run(['bulk', 'runs', '-o', 'json'])).json();
    expect([second.code, second.writes]).toEqual([10, []]);
    expect(second.error()).toMatchObject({ code: 'REPEATED_RUN', retryable: false });
    expect(second.error().message).toEqual(naming(runs[0].id, runs[0].started_at.slice(0, 10), 3));
    expect(second.error().data).toMatchObject({ run: runs[0].id, completed: 3, creates: 3 });
    expect(second.error().hint).toEqual(naming('opsctl tracker bulk', 'rows.ndjson', '--restart'));
    const copy = await at.run(['bulk', '-f', 'copy.ndjson', '-o', 'json']);
    expect([copy.code, copy.error().code, copy.writes]).toEqual([10, 'REPEATED_RUN', []]);
    expect((await bulk(at, ['--dry-run'])).code).toBe(0);
    expect((await bulk(at, ['--restart'])).code).toBe(0);
    expect(names(at)).toHaveLength(6);
  });
  test('counts only the rows that create a record again, and ends its journal with an entry of all versions', async () => {
    const at = trackerInMemory({});
    const { id } = at.send('POST', '/epics', { name: 'old' });
    const head = 'op,resource,id,external_id,name\n';
    const rows = ['create,epics,,,new', `update,epics,${id},,changed`, 'upsert,epics,,E-1,kept'];
    await at.write('rows.csv', `${head}${rows.join('\n')}\n`);
    const run = () => at.run(['bulk', '-f', 'rows.csv', '--journal', '/j', '-o', 'json']);
    expect((await run()).code).toBe(0);
    expect(at.read('/j')).toMatch(/\ne\n$/);
    const second = await run();
    expect([second.code, second.writes]).toEqual([10, []]);
    expect(second.error()).toMatchObject({ code: 'REPEATED_RUN', data: { completed: 3, creates: 1 } });
  });
  test('prevents a second run after a resumed run, and with a journal of the user', async () => {
    const at = trackerInMemory({ 'rows.ndjson': rowsOf(3) });
    await bulk(at, ['--concurrency', '1'], endsAt(at, 3, true));
    expect((await bulk(at, ['--resume'])).code).toBe(0);
    expect(await again(at)).toEqual([10, 'REPEATED_RUN', 0]);
    const other = trackerInMemory({ 'rows.ndjson': rowsOf(3) });
    expect(await again(other, ['--journal', 'j'])).toEqual([0, undefined, 3]);
    expect(await again(other, ['--journal', 'j'])).toEqual([10, 'REPEATED_RUN', 0]);
  });
  test('permits a second run of changed rows, of updates and upserts, and of standard input', async () => {
    const at = trackerInMemory({ 'rows.ndjson': rowsOf(2) });
    await bulk(at);
    await at.write('rows.ndjson', rowsOf(3));
    expect(await again(at)).toEqual([0, undefined, 3]);
    const [{ id }] = at.send('GET', '/epics');
    for (const row of [
      { op: 'update', resource: 'epics', id, name: 'new' },
      { op: 'upsert', resource: 'epics', external_id: 'E-1', name: 'new' },
    ]) {
      await at.write('rows.ndjson', `${JSON.stringify(row)}\n`);
      expect((await bulk(at)).code).toBe(0);
      expect((await bulk(at)).code).toBe(0);
    }
    const piped = () => at.run(['bulk', '-f', '-', '-o', 'json'], { stdin: rowsOf(2) });
    expect([(await piped()).code, (await piped()).code]).toEqual([0, 0]);
  });
  test('permits a second run once its records are gone', async () => {
    const at = trackerInMemory({ 'rows.ndjson': rowsOf(3) });
    await bulk(at);
    const remove = (row: number) => {
      const epic = at.send('GET', '/epics').find(({ name }: { name: string }) => name === `row ${row}`);
      at.send('DELETE', `/epics/${epic.id}`);
    };
    remove(1);
    expect(await again(at)).toEqual([10, 'REPEATED_RUN', 0]);
    for (const row of [2, 3]) remove(row);
    expect(await again(at)).toEqual([0, undefined, 3]);
    const undone = trackerInMemory({ 'rows.ndjson': rowsOf(3) });
    await bulk(undone);
    const [{ id }] = (await undone.run(['bulk', 'runs', '-o', 'json'])).json();
    expect((await undone.run(['bulk', 'undo', id, '--yes'])).code).toBe(0);
    expect(await again(undone)).toEqual([0, undefined, 3]);
  });
});

describe('a connection that is lost while a row is sent', () => {
  test.each([true, false])('does not end the run (the row arrived: %s)', async (arrives) => {
    const at = trackerInMemory({ 'rows.ndjson': rowsOf(30) });
    // Each third row is lost, and its repetition is not: which request is the third depends on the order of the rows.
    const sent = new Set<string>();
    const ran = await bulk(at, [], {
      meanwhile: ({ method, path, body }) => {
        const row = JSON.stringify(body);
        if (method !== 'POST' || sent.has(row)) return;
        sent.add(row);
        if (sent.size % 3 !== 0) return;
        if (arrives) at.send(method, path, body);
        lost();
      },
    });
    expect(ran.code).toBe(0);
    expect([names(at).length, new Set(names(at)).size]).toEqual([30, 30]);
    const again = await bulk(at);
    expect([again.code, again.error().code, again.writes]).toEqual([10, 'UNFINISHED_RUN', []]);
    expect(again.error().message).toEqual(naming(30, '--restart'));
    expect(again.error().hint).toEqual(naming('opsctl tracker bulk', 'rows.ndjson', '--restart'));
  });

  test('leaves rows of the same content their own records', async () => {
    const row = `${JSON.stringify({ op: 'create', resource: 'epics', name: 'same' })}\n`;
    const at = trackerInMemory({ 'rows.ndjson': row.repeat(12) });
    let creates = 0;
    const ran = await bulk(at, [], {
      meanwhile: ({ method, path, body }) => {
        if (method !== 'POST') return;
        creates += 1;
        if (creates % 4 !== 0) return;
        if (creates % 8 === 0) at.send(method, path, body);
        lost();
      },
    });
    expect([ran.code, names(at).length]).toEqual([0, 12]);
  });
});
