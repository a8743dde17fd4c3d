import { describe, expect, test } from 'vitest';
import type { Line } from '../../../src/tracker/bulk/csv.ts';
import type { Journal, Past } from '../../../src/tracker/bulk/journal.ts';
import { lineMark, PastLines } from '../../../src/tracker/bulk/previous.ts';
import {
  type Counts,
  Lost,
  type Outcome,
  type Run,
  count,
  runLine,
  createCounts,
} from '../../../src/tracker/bulk/run.ts';
import { AppError } from '../../../src/core/problem.ts';
import { type InMemory, type RunOptions, trackerInMemory } from '../../support/in-memory.ts';
import { RecordKeys } from '../../../src/tracker/bulk/external-keys.ts';
import { naming } from '../../support/facts.ts';
import { contextWith, partlyMade } from '../../support/context.ts';
import { pause } from '../../support/slow-host.ts';
import { type Host, NetworkError } from '../../../src/platform/host.ts';

const ndjson = (...rows: readonly object[]): string => rows.map((row) => `${JSON.stringify(row)}\n`).join('');
const label = (name: string, more: object = {}) => ({ op: 'create', resource: 'labels', name, ...more });
/** The service rejects the token from the nth create on. */
const refusedAt = (nth: number): RunOptions['meanwhile'] => {
  let count = 0;
  return ({ method }) => {
    if (method === 'POST') count += 1;
    return method === 'POST' && count >= nth ? { status: 401, json: { message: 'no' } } : undefined;
  };
};
const run = (at: InMemory, ...more: (string | RunOptions)[]) => {
  const words = more.filter((one) => typeof one === 'string');
  const [options] = more.filter((one) => typeof one !== 'string');
  return at.run(['bulk', '-f', 'rows.ndjson', '-o', 'ndjson', ...words], options);
};
const rowsOf = ({ out }: { readonly out: string }) =>
  out
    .trim()
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))
    .toSorted((a, b) => a.line - b.line);

describe('a lookup after a lost connection', () => {
  test('runs alone: it follows the running requests, and later requests and lookups follow it', async () => {
    const lost = new Lost();
    const entries: string[] = [];
    const ends = new Map<string, () => void>();
    const work = (name: string) => (): Promise<string> => {
      entries.push(name);
      return new Promise((resolve) => {
        ends.set(name, () => {
          entries.push(`${name} done`);
          resolve(name);
        });
      });
    };
    const end = async (name: string): Promise<void> => {
      ends.get(name)?.();
      await pause();
    };
    const all = [lost.call(work('request 1')), lost.alone(work('lookup 1'))];
    await pause();
    all.push(lost.call(work('request 2')), lost.alone(work('lookup 2')));
    await pause();
    for (const name of ['request 1', 'lookup 1', 'request 2', 'lookup 2']) await end(name);
    expect(await Promise.all(all)).toEqual(['request 1', 'lookup 1', 'request 2', 'lookup 2']);
    expect(entries).toEqual([
      ...['request 1', 'request 1 done', 'lookup 1', 'lookup 1 done'],
      ...['request 2', 'request 2 done', 'lookup 2', 'lookup 2 done'],
    ]);
  });
  test('never overlaps with another lookup or a request, even if all of them wait for the same lookup', async () => {
    const lost = new Lost();
    const [active, overlaps]: [Set<string>, string[]] = [new Set(), []];
    const work = (name: string) => async (): Promise<string> => {
      const others = [...active].filter((other) => `${other}${name}`.includes('lookup'));
      if (others.length > 0) overlaps.push(`${name} with ${others.join(' and ')}`);
      active.add(name);
      await pause();
      active.delete(name);
      return name;
    };
    const names = ['lookup 1', 'request 1', 'lookup 2', 'request 2', 'lookup 3', 'lookup 4', 'request 3'];
    const all = names.map((name) =>
      name.startsWith('lookup') ? lost.alone(work(name)) : lost.call(work(name)),
    );
    expect(await Promise.all(all)).toEqual(names);
    expect(overlaps).toEqual([]);
  });
  test('is reported before its pause', async () => {
    const at = trackerInMemory({ 'rows.ndjson': ndjson(label('a')) });
    let said = 'no pause';
    let creates = 0;
    const ran = await at.run(['bulk', '-f', 'rows.ndjson', '-o', 'table'], {
      meanwhile: ({ method }) => {
        creates += method === 'POST' ? 1 : 0;
        if (method === 'POST' && creates === 1)
          throw new NetworkError('RESET', 'the connection was closed', true);
      },
      change: (host) => {
        let err = '';
        const { stderr } = host.terminal;
        const write: typeof stderr.write = (text) => {
          err += String(text);
          return stderr.write(text);
        };
        const sleep: Host['sleep'] = (ms, signal) => {
          if (ms === 100) said = err;
          return host.sleep(ms, signal);
        };
        return { ...host, sleep, terminal: { ...host.terminal, stderr: { ...stderr, write } } };
      },
    });
    expect([ran.code, creates, said]).toEqual([0, 2, expect.stringContaining('row 1: ')]);
  });
});

describe('tracker bulk', () => {
  test('a dry run lists rows without lookups in the order of the file', async () => {
    const rows = Array.from({ length: 24 }, (_, i) =>
      label(`row ${i}`, i % 3 === 0 ? {} : { color: '#112233' }),
    );
    const at = trackerInMemory({ 'rows.ndjson': ndjson(...rows) });
    const { out } = await run(at, '--dry-run', '--concurrency', '8');
    const lines = out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).line);
    expect(lines).toEqual(rows.map((_, i) => i + 1));
  });
  test('bulk executes each row and prints its ID', async () => {
    const at = trackerInMemory({ 'rows.ndjson': ndjson(label('a'), label('b')) });
    const ran = await run(at);
    const made = at.send('GET', '/labels');
    expect(ran.code).toBe(0);
    expect(rowsOf(ran)).toEqual(
      ['a', 'b'].map((name, i) => ({
        ...{ line: i + 1, status: 'done', op: 'create', resource: 'labels' },
        id: made.find((one: any) => one.name === name).id,
      })),
    );
    expect(ran.err).toContain('2 done, 0 failed, 0 skipped');
  });

  test('an update and a delete select the record by the ID or name of the row', async () => {
    const at = trackerInMemory();
    const [a, b] = ['a', 'b'].map((name) => at.send('POST', '/labels', { name }));
    await at.write(
      'rows.ndjson',
      ndjson(
        { op: 'update', resource: 'labels', id: a.id, description: 'new' },
        { op: 'delete', resource: 'labels', id: 'b' },
        { op: 'update', resource: 'labels', id: 'nothing', description: 'x' },
      ),
    );
    const ran = await run(at);
    const [first, second, third] = rowsOf(ran);
    expect([ran.code, first.id, second.id]).toEqual([9, a.id, b.id]);
    expect(third).toMatchObject({ line: 3, status: 'failed', op: 'update', resource: 'labels' });
    expect(third.error.message).toContain('nothing');
    expect(at.send('GET', '/labels')).toMatchObject([{ name: 'a', description: 'new' }]);
  });

  test('names stand for ids in the body as well, alone and in lists', async () => {
    const at = trackerInMemory();
    const epic = at.send('POST', '/epics', { name: 'Launch' });
    const [{ id: stateId, name: state }] = at
      .send('GET', '/workflows')
      .flatMap(({ states }: { states: unknown[] }) => states);
    await at.write(
      'rows.ndjson',
      ndjson({ op: 'create', resource: 'stories', name: 's', epic_id: 'Launch', workflow_state_id: state }),
    );
    const ran = await run(at);
    expect([ran.code, ran.code === 0 ? '' : ran.out]).toEqual([0, '']);
    expect(ran.writes.at(-1)?.body).toMatchObject({
      name: 's',
      epic_id: epic.id,
      workflow_state_id: stateId,
    });
  });

  test('a bare name in the body is looked up, and so is each name in a list', async () => {
    const at = trackerInMemory();
    const epic = at.send('POST', '/epics', { name: 'Launch' });
    const [{ id: workflow_state_id }] = at
      .send('GET', '/workflows')
      .flatMap(({ states }: { states: unknown[] }) => states);
    const story = at.send('POST', '/stories', { name: 's', workflow_state_id });
    const [member] = at.send('GET', '/members');
    await at.write(
      'rows.ndjson',
      ndjson(
        { op: 'update', resource: 'stories', id: story.id, epic_id: 'Launch' },
        { op: 'update', resource: 'stories', id: story.id, owner_ids: [member.profile.mention_name] },
      ),
    );
    const ran = await run(at, '--concurrency', '1');
    expect([ran.code, ran.writes.map(({ body }) => body)]).toEqual([
      0,
      [{ epic_id: epic.id }, { owner_ids: [member.id] }],
    ]);
  });

  test('a list of IDs and names, in either order, becomes a list of IDs', async () => {
    const at = trackerInMemory();
    const [a, b] = ['A', 'B'].map((name) => at.send('POST', '/objectives', { name }).id);
    const [first, second] = ['E', 'F'].map((name) => at.send('POST', '/epics', { name }).id);
    const update = { op: 'update', resource: 'epics' };
    const [one, two] = [
      { ...update, id: first, objective_ids: [a, 'B'] },
      { ...update, id: second, objective_ids: ['A', b] },
    ];
    await at.write('rows.ndjson', ndjson(one, two));
    const ran = await run(at, '--concurrency', '1');
    const both = { objective_ids: [a, b] };
    expect([ran.code, ran.writes.map(({ body }) => body)]).toEqual([0, [both, both]]);
  });

  test('a dry run shows a part of a record that an earlier row would create', async () => {
    const epic = { op: 'create', resource: 'epics', name: 'E', external_id: 'K' };
    const comment = {
      op: 'update',
      resource: 'epic-comments',
      'epic-public-id': 'external:K',
      id: 7,
      text: 't',
    };
    const at = trackerInMemory({ 'rows.ndjson': ndjson(epic, comment) });
    const ran = await run(at, '--dry-run');
    expect([ran.code, rowsOf(ran).map(({ status }) => status)]).toEqual([0, ['would', 'would']]);
  });

  test('names are read again, because cached names may belong to other records', async () => {
    const at = trackerInMemory({
      'rows.ndjson': ndjson({ op: 'update', resource: 'labels', id: 'a', color: '#112233' }),
    });
    const first = at.send('POST', '/labels', { name: 'a' });
    expect((await at.run(['labels', 'get', 'a', '-o', 'json'])).json().id).toBe(first.id);
    at.send('DELETE', `/labels/${first.id}`);
    const second = at.send('POST', '/labels', { name: 'a' });
    const ran = await run(at);
    expect([ran.code, rowsOf(ran)[0].id]).toEqual([0, second.id]);
    // The next command looks up the records that the run renamed or created.
    await at.write('rows.ndjson', ndjson({ op: 'delete', resource: 'labels', id: 'a' }, label('b')));
    expect((await run(at, '--concurrency', '1')).code).toBe(0);
    expect((await at.run(['labels', 'get', 'b', '-o', 'json'])).json().name).toBe('b');
    expect((await at.run(['labels', 'get', 'a'])).code).toBe(6);
  });

  test('a rejected row fails with its problems, and the exit code summarizes all rows', async () => {
    const at = trackerInMemory({
      'rows.ndjson': ndjson(label('a'), label('a'), { op: 'create', resource: 'labels' }),
    });
    const some = await run(at, '--concurrency', '1');
    const [, second, third] = rowsOf(some);
    expect([some.code, second.status, third.error.code]).toEqual([9, 'failed', 'INVALID_ROW']);
    expect(second).toMatchObject({ op: 'create', resource: 'labels' });
    expect(third.error).toMatchObject({ message: 'name is required', problems: [{ path: 'name' }] });
    expect(some.err).toContain('1 done, 2 failed, 0 skipped');
    await at.write('rows.ndjson', ndjson({ op: 'create', resource: 'labels' }, label('a')));
    expect((await run(at)).code).toBe(5);
    await at.write('rows.ndjson', `{"a"\n${ndjson({ op: 'create', resource: 'lables' })}`);
    const wrong = await run(at);
    expect([wrong.code, wrong.writes]).toEqual([2, []]);
    expect(rowsOf(wrong)[0]).toEqual({
      ...{ line: 1, status: 'failed' },
      error: expect.objectContaining({
        code: 'INVALID_ROW',
        message: naming('JSON', 'column'),
      }),
    });
  });

  test('an error that also affects the next rows stops the run with the command to resume', async () => {
    const at = trackerInMemory({ 'rows.ndjson': ndjson(label('a'), label('b'), label('c')) });
    const ran = await run(at, '--concurrency', '1', '--journal', 'j', {
      meanwhile: refusedAt(2),
    });
    expect([ran.code, rowsOf(ran).map(({ status }) => status)]).toEqual([4, ['done']]);
    const again = await run(at, '--resume', '--journal', 'j');
    expect([again.code, rowsOf(again).map(({ status }) => status)]).toEqual([0, ['skipped', 'done', 'done']]);
    expect(rowsOf(again)[0].id).toBe(String(rowsOf(ran)[0].id));
    expect(again.err).toContain('2 done, 0 failed, 1 skipped');
    expect(at.send('GET', '/labels')).toHaveLength(3);
    const { err } = await at.run(['bulk', '-f', 'rows.ndjson', '--journal', 'k', '-o', 'table'], {
      meanwhile: ({ method }) => (method === 'POST' ? { status: 401, json: { message: 'no' } } : undefined),
    });
    expect(err).toEqual(
      naming(
        'opsctl tracker bulk',
        'rows.ndjson',
        '--journal',
        'k',
        '--resume',
        'account',
        'workspace',
        'origin',
      ),
    );
  });

  test('a create without a response is looked up, and repeated only if the record is missing', async () => {
    const at = trackerInMemory({ 'rows.ndjson': ndjson(label('a'), label('b')) });
    // The first request arrives and its response is lost; the second request is not sent.
    const lost = await run(at, '--concurrency', '1', '--journal', 'j', {
      meanwhile: ({ method, path, body }) => {
        if (method !== 'POST') return undefined;
        at.send('POST', path, body);
        return { status: 401, json: {} };
      },
    });
    expect([lost.code, rowsOf(lost)]).toEqual([4, []]);
    const again = await run(at, '--resume', '--journal', 'j');
    expect(rowsOf(again).map(({ line, status, op, resource }) => [line, status, op, resource])).toEqual([
      [1, 'found', 'create', 'labels'],
      [2, 'done', 'create', 'labels'],
    ]);
    expect(at.send('GET', '/labels')).toHaveLength(2);
    expect(again.err).toContain('2 done, 0 failed, 0 skipped');
    const third = await run(at, '--resume', '--journal', 'j');
    expect(rowsOf(third).map(({ status }) => status)).toEqual(['skipped', 'skipped']);
    expect([third.writes, third.code]).toEqual([[], 0]);
  });

  test('a record that belongs to a row matches no other row', async () => {
    const row = { op: 'create', resource: 'epics', name: 'same' };
    const at = trackerInMemory({ 'rows.ndjson': ndjson(row, row) });
    await run(at, '--concurrency', '1', '--journal', 'j', {
      meanwhile: refusedAt(2),
    });
    const again = await run(at, '--resume', '--journal', 'j');
    expect(rowsOf(again).map(({ status }) => status)).toEqual(['skipped', 'done']);
    expect(at.send('GET', '/epics')).toHaveLength(2);
  });

  test('a delete without a response counts as done if the record is missing; an unsent one failed', async () => {
    const at = trackerInMemory();
    const { id } = at.send('POST', '/labels', { name: 'a' });
    await at.write('rows.ndjson', ndjson({ op: 'delete', resource: 'labels', id }));
    const none = trackerInMemory({ 'rows.ndjson': at.read('rows.ndjson') ?? '' });
    expect(rowsOf(await run(none))[0].status).toBe('failed');
    await run(at, '--journal', 'j', {
      meanwhile: ({ method, path }) => {
        if (method !== 'DELETE') return undefined;
        at.send('DELETE', path);
        return { status: 401, json: {} };
      },
    });
    const again = await run(at, '--resume', '--journal', 'j');
    expect([again.code, rowsOf(again)]).toEqual([
      0,
      [{ line: 1, status: 'found', op: 'delete', resource: 'labels' }],
    ]);
    expect(rowsOf(await run(at, '--resume', '--journal', 'j'))[0].status).toBe('skipped');
  });

  test('a changed file cannot be resumed', async () => {
    const at = trackerInMemory({ 'rows.ndjson': ndjson(label('a')) });
    await run(at, '--journal', 'j');
    await at.write('rows.ndjson', ndjson(label('b')));
    const ran = await run(at, '--resume', '--journal', 'j');
    expect([ran.code, ran.writes]).toEqual([10, []]);
    expect(ran.error()).toMatchObject({ code: 'INPUT_CHANGED' });
    expect(ran.error().message).toContain('line 1 is not what it was');
    expect(ran.err).not.toContain('continue with');
    // Without --resume, opsctl starts a new run.
    expect((await run(at, '--journal', 'j')).code).toBe(0);
  });

  test('a dry run shows the requests, sends none, and keeps no journal', async () => {
    const at = trackerInMemory({
      'rows.ndjson': ndjson(label('a'), { op: 'delete', resource: 'labels', id: 7 }, label('a')),
    });
    const ran = await run(at, '--dry-run', '--journal', 'j');
    expect([ran.code, ran.writes, at.read('j')]).toEqual([9, [], undefined]);
    expect(rowsOf(ran).slice(0, 2)).toEqual([
      {
        ...{ line: 1, status: 'would', op: 'create', resource: 'labels' },
        request: { method: 'POST', path: '/api/v3/labels', body: { name: 'a' } },
      },
      {
        ...{ line: 2, status: 'would', op: 'delete', resource: 'labels' },
        request: { method: 'DELETE', path: '/api/v3/labels/7' },
      },
    ]);
    expect(rowsOf(ran)[2].error).toMatchObject({ message: naming('1', 'created') });
    expect(ran.err).toEqual(naming('2', '1', 'invalid', 'delete'));
  });

  test('names of labels that do not exist are refused, unless a flag lets them be made', async () => {
    const story = { op: 'create', resource: 'stories', name: 's', labels: ['new'] };
    const epic = { op: 'create', resource: 'epics', name: 'e', categories: ['fresh'] };
    const at = trackerInMemory({ 'rows.ndjson': ndjson(story) });
    const messages = async (...flags: string[]) =>
      rowsOf(await run(at, '--dry-run', ...flags)).map(({ error }) => error?.message);
    expect(await messages()).toEqual(['labels names "new", which does not exist; --create-labels makes it']);
    expect(await messages('--create-labels')).toEqual([undefined]);
    expect(await messages('--create-categories')).toEqual([expect.stringContaining('--create-labels')]);
    await at.write('rows.ndjson', ndjson(epic));
    const [said] = await messages('--create-labels');
    if (said !== undefined && said.includes('categories'))
      expect(await messages('--create-categories')).not.toEqual([said]);
  });

  test('an update of a name invalidates the cached names of later rows', async () => {
    const at = trackerInMemory();
    const { id } = at.send('POST', '/labels', { name: 'old' });
    await at.write(
      'rows.ndjson',
      ndjson(
        { op: 'update', resource: 'labels', id: 'old', name: 'new' },
        { op: 'update', resource: 'labels', id: 'new', description: 'later' },
      ),
    );
    const ran = await run(at, '--concurrency', '1');
    expect([ran.code, rowsOf(ran).map((one) => one.id)]).toEqual([0, [id, id]]);
  });

  test('every failure is a line of a CI report, with its file and line', async () => {
    const bad = Array.from({ length: 120 }, () => ({ op: 'create', resource: 'labels' }));
    const at = trackerInMemory({ 'rows.ndjson': ndjson(...bad) });
    const resultsOf = (text: string | undefined) => JSON.parse(text ?? '').runs[0].results;
    expect((await run(at, '--report', 'sarif=out.json')).code).toBe(2);
    const results = resultsOf(at.read('out.json'));
    expect(results).toHaveLength(120);
    expect(results[0]).toMatchObject({ ruleId: 'INVALID_ROW', message: { text: 'name is required' } });
    const [{ physicalLocation }] = results[119].locations;
    expect([physicalLocation.artifactLocation.uri, physicalLocation.region.startLine]).toEqual([
      'rows.ndjson',
      120,
    ]);
    await at.run(['bulk', '-f', '-', '--report', 'sarif=piped.json'], {
      stdin: ndjson({ resource: 'labels' }),
    });
    expect(at.read('piped.json')).not.toContain('"uri": "-"');
    expect(resultsOf(at.read('piped.json'))).toHaveLength(1);
  });

  test('a run from standard input is resumed with the named journal', async () => {
    const at = trackerInMemory();
    const stdin = ndjson(label('a'));
    const none = await at.run(['bulk', '-f', '-', '--resume'], { stdin });
    expect([none.code, none.err]).toEqual([2, naming('--journal', 'invalid', 'arguments', 'required')]);
    expect((await at.run(['bulk', '-f', '-', '--journal', '/j'], { stdin })).code).toBe(0);
    expect((await at.run(['bulk', '-f', '-', '--journal', '/j', '--resume'], { stdin })).writes).toEqual([]);
    expect(at.read('/j')).toMatch(/^h \d+\nm \{.*\}\nb 1 \{.*\}\ns 1 \S+\nd 1 \S+ \d+ \S+\n(e\n)+$/);
  });

  test.each([
    ['nothing', 'names nothing, which does not exist'],
    ['directory', 'names directory, which is a directory'],
  ])('the file %s is refused', async (file, why) => {
    const at = trackerInMemory({ 'directory/x': '' });
    const ran = await at.run(['bulk', '-f', file]);
    expect([ran.code, ran.err]).toEqual([2, expect.stringContaining(why)]);
  });
});

describe('processing of one row', () => {
  const context = contextWith({ log: {} });
  const runOf = (more: Partial<Run> = {}): Run => ({
    ...{ context, source: 'ndjson', defaults: { resource: 'labels', op: 'create' } },
    ...{ names: new Map(), callers: new Map(), known: { problems: async () => [] } },
    keys: new RecordKeys(context),
    ...more,
  });
  const line = (n: number, row: Record<string, unknown>): Line => ({ line: n, bytes: 1, text: `${n}`, row });

  test('a dry run remembers names up to a limit', async () => {
    const most = 200_000;
    const labels = new Map(Array.from({ length: most - 1 }, (_, i) => [`n${i}`, i + 1] as const));
    const run = runOf({ names: new Map([['labels', labels]]) });
    for (const [n, status] of [
      [1, 'would'],
      [2, 'failed'],
    ] as const)
      expect(await runLine(run, line(n, { name: 'last' }))).toMatchObject({ status });
    for (const n of [3, 4])
      expect(await runLine(run, line(n, { name: 'beyond' }))).toMatchObject({ status: 'would' });
    expect(labels.size).toBe(most);
  });
  test('a dry run counts a created name in its resource only', async () => {
    const run = runOf();
    const statuses = async (...rows: Record<string, unknown>[]) => {
      const found: string[] = [];
      for (const [i, row] of rows.entries()) found.push((await runLine(run, line(i, row))).status);
      return found;
    };
    expect(
      await statuses(
        { name: 'a' },
        { resource: 'categories', name: 'a' },
        { resource: 'stories', name: 'a' },
        { resource: 'stories', name: 'a' },
        { op: 'update', id: 1, name: 'a' },
        { name: 'a' },
        { resource: 'categories', name: 'a' },
      ),
    ).toEqual(['would', 'would', 'would', 'would', 'would', 'failed', 'failed']);
  });
  test('problems of a row are reported first, in the terms of the table', async () => {
    const wrong = {
      line: 7,
      bytes: 1,
      text: '',
      problem: { path: '', rule: 'type', message: 'no' } as never,
    };
    expect(await runLine(runOf(), wrong)).toEqual({
      ...{ line: 7, status: 'failed' },
      error: { code: 'INVALID_ROW', message: 'no', problems: [wrong.problem] },
    });
    expect(await runLine(runOf(), { line: 8, bytes: 1, text: '' })).toMatchObject({
      error: { problems: [] },
    });
    const known = { problems: async () => [{ path: 'labels', rule: 'rule', message: 'is new' } as never] };
    expect(await runLine(runOf({ known }), line(1, { name: 'a' }))).toMatchObject({
      ...{ status: 'failed', op: 'create', resource: 'labels' },
      error: { code: 'INVALID_ROW', message: 'labels is new' },
    });
    const failing = (error: Error) =>
      runLine(runOf({ known: { problems: () => Promise.reject(error) } }), line(1, { name: 'a' }));
    expect(await failing(new AppError('not-found', 'gone'))).toMatchObject({
      error: { code: 'NOT_FOUND', message: 'gone', problems: [] },
    });
    for (const category of [
      'auth',
      'network',
      'config',
      'interrupted',
      'terminated',
      'rate-limit',
      'unsafe',
    ] as const)
      await expect(failing(new AppError(category, 'ends'))).rejects.toThrow('ends');
    await expect(failing(new Error('bug'))).rejects.toThrow('bug');
  });
  test.each<readonly [Outcome['status'], readonly string[]]>([
    ['done', ['journal sent 1', 'send', 'journal done 1', 'index labels']],
    ['found', ['journal done 1', 'index labels']],
  ])('a row that is %s is in the journal before it waits for a list of records', async (status, order) => {
    const effects: string[] = [];
    const note = (entry: string): void => void effects.push(entry);
    let readList = (): void => undefined;
    const list = new Promise<void>((resolve) => {
      readList = resolve;
    });
    const keys = Object.assign(new RecordKeys(context), {
      forUndo: async () => undefined,
      note: (resource: string) => {
        note(`index ${resource}`);
        return list;
      },
    });
    const past = new PastLines();
    if (status === 'found') past.set(1, { state: 'sent', hash: lineMark('1') });
    const journal = partlyMade<Journal>({
      past: partlyMade<Past>({ lines: past }),
      noteSent: async (n: number) => note(`journal sent ${n}`),
      noteDone: (n: number) => note(`journal done ${n}`),
    });
    const caller = async () => async () => {
      note('send');
      return { id: 7 };
    };
    const observe = Object.assign(async () => 7, { take: () => undefined });
    const sends = contextWith({ log: {}, caller });
    const outcome = runLine(runOf({ context: sends, keys, journal, observe }), line(1, { name: 'a' }));
    await pause(5);
    expect(effects).toEqual(order);
    readList();
    expect(await outcome).toMatchObject({ status, id: 7 });
  });
  test('a run reads a record for its undo unless it knows every field that the row changes', async () => {
    const readFor = async (shown: object): Promise<unknown[]> => {
      const reads: unknown[] = [];
      const keys = Object.assign(new RecordKeys(context), {
        find: async () => ({ row: { id: 7, external_id: 'K', archived: false } }),
        read: async () => shown,
        forUndo: async (...given: unknown[]) => void reads.push(given),
      });
      const journal = partlyMade<Journal>({
        ...{ past: partlyMade<Past>({ lines: new PastLines() }), noteSent: async () => undefined },
        noteDone: () => undefined,
      });
      const sends = contextWith({
        ...{ log: {}, caller: async () => async () => ({ id: 7 }) },
        host: { files: { list: async () => [] } },
      });
      const run = runOf({ context: sends, keys, journal, defaults: { resource: 'epics', op: 'upsert' } });
      const outcome = await runLine(run, line(1, { external_id: 'K', archived: true, description: 'd' }));
      expect(outcome).toMatchObject({ status: 'done', id: 7 });
      return reads;
    };
    expect(await readFor({ description: 'before' })).toEqual([]);
    expect(await readFor({})).toEqual([['epics', { 'epic-public-id': 7 }, ['archived', 'description']]]);
  });
  test('a row is counted by its outcome', () => {
    const counts: Counts = createCounts();
    const outcome = (status: Outcome['status'], code?: string): void =>
      count(counts, {
        line: 1,
        status,
        ...(code === undefined ? {} : { error: { code, message: '', problems: [] } }),
      });
    for (const status of ['done', 'found', 'would', 'skipped', 'failed'] as const) outcome(status);
    outcome('failed', 'INVALID_ROW');
    outcome('failed', 'OTHER');
    expect(counts).toEqual({ ...createCounts(), done: 3, failed: 3, skipped: 1, invalid: 1 });
  });
});
