/** --watch of every command that lists records: which commands have it, its rows, its formats, and its end. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { beforeAll, describe, expect, it } from 'vitest';
import { labelsService } from '../../src/api-specs/labels/labels.ts';
import { tracker } from '../../src/api-specs/tracker/index.ts';
import { isList, watchColumns } from '../../src/cli/command.ts';
import { toolsOf } from '../../src/cli/mcp/tools.ts';
import { rowOf } from '../../src/cli/list-commands.ts';
import { changesBetween, fieldChanges, snapshotOf } from '../../src/cli/watch-list.ts';
import { groups } from '../../src/commands/program.ts';
import { bare } from '../../src/core/field.ts';
import { type Operation, operations } from '../../src/core/operation.ts';
import { type Host, NetworkError } from '../../src/platform/host.ts';
import { type ProgramOptions, opsctl } from '../support/program.ts';
import { startTracker, TOKEN, type TrackerServer } from '../support/tracker-server.ts';
import { makeDirectory } from '../support/directory.ts';

const commands = (await Promise.all(groups.map((group) => group.load()))).flat();

describe('commands', () => {
  const returnsRows = ({ method, returns }: Operation): boolean => {
    const inner = returns && bare(returns);
    return (
      method === 'GET' &&
      (inner?.type === 'array' || (inner?.type === 'object' && 'nextPageToken' in inner.fields))
    );
  };
  it('every command of a row that returns a list has --watch', () => {
    const rows = [...operations(tracker.table), ...operations(labelsService.table)]
      .map(({ operation }) => operation)
      .filter(returnsRows);
    expect(rows.length).toBeGreaterThan(30);
    const missing = commands
      .filter(({ operation }) => operation !== undefined && rows.includes(operation.operation))
      .filter(({ flags }) => flags?.watch === undefined)
      .map(({ path }) => path.join(' '));
    expect(missing).toEqual([]);
  });
  it('a loaded command alone has the same flags as in the list of its group', async () => {
    const tracked = groups.find(({ name }) => name === 'tracker');
    for (const words of [
      ['tracker', 'labels', 'list'],
      ['tracker', 'epics', 'stories'],
      ['tracker', 'labels', 'get'],
    ]) {
      const [alone] = (await tracked?.load(words)) ?? [];
      const listed = commands.find(({ path }) => path.join(' ') === words.join(' '));
      expect(Object.keys(alone?.flags ?? {}), words.join(' ')).toEqual(Object.keys(listed?.flags ?? {}));
    }
  });
  it('a command that changes records or reads one record does not have --watch', () => {
    const wrong = commands
      .filter((command) => command.operation !== undefined && !isList(command))
      .filter(({ flags }) => flags?.watch !== undefined)
      .map(({ path }) => path.join(' '));
    expect(wrong).toEqual([]);
  });
  it('no tool for agents offers a flag that has no end', () => {
    const allowed = { mayWrite: true, groups: ['all'], mayReadFiles: true, forAll: {}, forTools: {} };
    const tools = toolsOf(commands, allowed).filter(({ command }) => command.flags?.watch !== undefined);
    expect(tools.length).toBeGreaterThan(30);
    const names = tools.flatMap(({ offered }) => offered.map(({ name }) => name));
    expect(names.filter((name) => name === 'watch' || name === 'interval')).toEqual([]);
  });
  it('no record has a field with the name of a column that --watch adds', () => {
    const taken = commands
      .filter(({ flags }) => flags?.watch !== undefined)
      .flatMap((command) => {
        const row = rowOf(command);
        const inner = row && bare(row);
        const names = inner?.type === 'object' ? Object.keys(inner.fields) : [];
        return watchColumns.filter((column) => names.includes(column)).map(() => command.path.join(' '));
      });
    expect(taken).toEqual([]);
  });
});

describe('differences', () => {
  it('a watch reports added, changed and removed records, and keeps records with the same key apart', () => {
    const before = snapshotOf([
      { id: 1, name: 'a' },
      { id: 2, name: 'b' },
      { id: 2, name: 'c' },
      { name: 'labels/x', title: 'X' },
      'text',
    ]);
    const now = snapshotOf([
      { id: 1, name: 'A' },
      { id: 2, name: 'b' },
      { id: 3, name: 'd' },
      { name: 'labels/x', title: 'Y' },
    ]);
    expect(changesBetween(before, now, 'T')).toEqual([
      { event: 'changed', at: 'T', changes: [{ field: 'name', from: 'a', to: 'A' }], id: 1, name: 'A' },
      { event: 'added', at: 'T', changes: [], id: 3, name: 'd' },
      {
        event: 'changed',
        at: 'T',
        changes: [{ field: 'title', from: 'X', to: 'Y' }],
        name: 'labels/x',
        title: 'Y',
      },
      { event: 'removed', at: 'T', changes: [], id: 2, name: 'c' },
      { event: 'removed', at: 'T', changes: [], value: 'text' },
    ]);
    expect(changesBetween(now, now, 'T')).toEqual([]);
  });
  it.each([
    [{ a: { b: 1, c: 2 } }, { a: { b: 1, c: 3 } }, [{ field: 'a.c', from: 2, to: 3 }]],
    [{ a: 1 }, {}, [{ field: 'a', from: 1, to: null }]],
    [{ a: null }, { a: { b: 1 } }, [{ field: 'a', from: null, to: { b: 1 } }]],
    [{ a: [1] }, { a: [1, 2] }, [{ field: 'a', from: [1], to: [1, 2] }]],
    [{ a: 1, updated_at: 'x' }, { a: 2, updated_at: 'y' }, [{ field: 'a', from: 1, to: 2 }]],
    [{ a: 1, updated_at: 'x' }, { a: 1, updated_at: 'y' }, [{ field: 'updated_at', from: 'x', to: 'y' }]],
  ])('the fields that differ between %j and %j', (before, now, changes) => {
    expect(fieldChanges(before, now)).toEqual(changes);
  });
});

const INTERVAL_MS = 7777;
/** A machine whose waits between two requests are the steps; after the last step it sends SIGINT. */
const stepping =
  (...steps: readonly (() => unknown)[]) =>
  (host: Host): Host => {
    const listeners: ((signal: 'SIGINT' | 'SIGTERM' | 'SIGHUP') => void)[] = [];
    const left = [...steps];
    return {
      ...host,
      onSignal: (listener) => {
        listeners.push(listener);
        return () => undefined;
      },
      sleep: async (ms, signal) => {
        if (ms !== INTERVAL_MS) return signal?.throwIfAborted(); // The waits before another try are over.
        const step = left.shift();
        if (step !== undefined) return void (await step());
        for (const listener of listeners) listener('SIGINT');
        return host.sleep(60_000, signal);
      },
    };
  };

let home = '';
let server: TrackerServer;
beforeAll(async () => {
  home = makeDirectory();
  server = await startTracker();
});
const around = (host: NonNullable<ProgramOptions['host']>): ProgramOptions => ({
  home,
  host,
  env: { OPSCTL_TRACKER_URL: server.mock.origin, OPSCTL_TRACKER_TOKEN: TOKEN },
});
const watch = (line: string, ...steps: readonly (() => unknown)[]) =>
  opsctl([...line.split(' '), '--watch', '--interval', `${INTERVAL_MS}ms`], around(stepping(...steps)));
const rowsIn = (text: string): any[] =>
  text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));
const create = (path: string, body: object) => async () => server.ask('POST', path, body);

describe('the tracker', () => {
  it('a program reads one JSON object for each record, and Ctrl-C ends the command', async () => {
    const made: { id?: number } = {};
    const ran = await watch(
      'tracker labels list',
      async () => Object.assign(made, (await server.ask('POST', '/labels', { name: 'seen' })).body),
      () => {},
      () => server.ask('PUT', `/labels/${made.id}`, { color: '#123456' }),
      () => server.ask('DELETE', `/labels/${made.id}`),
    );
    expect(ran.code, ran.stderr).toBe(130);
    const rows = rowsIn(ran.stdout).filter(({ event }) => event !== 'current');
    expect(rows.map(({ event, id, color }) => [event, id, color])).toEqual([
      ['added', made.id, null],
      ['changed', made.id, '#123456'],
      ['removed', made.id, '#123456'],
    ]);
    expect(rowsIn(ran.stdout).filter(({ event }) => event === 'current')).toHaveLength(1);
  });
  it.each([
    ['tracker stories list', '/stories', { name: 'watched', workflow_state_id: 11 }],
    ['tracker stories list is:unstarted', '/stories', { name: 'watched', workflow_state_id: 11 }],
    ['tracker stories mine', '/stories', { name: 'watched', workflow_state_id: 11 }],
    ['tracker stories search', '/stories', { name: 'watched', workflow_state_id: 11 }],
    ['tracker search watched', '/stories', { name: 'watched', workflow_state_id: 11 }],
    ['tracker epics list', '/epics', { name: 'watched' }],
    ['tracker epics paginated', '/epics', { name: 'watched' }],
    ['tracker epics paginated --page 1 --page-size 250', '/epics', { name: 'watched' }],
  ])('%s reports a new record', async (line, path, body) => {
    const me = (await server.ask('GET', '/member')).body.id;
    const owned = path === '/stories' ? { ...body, owner_ids: [me] } : body;
    const ran = await watch(line, create(path, owned));
    expect(ran.code, ran.stderr).toBe(130);
    const added = rowsIn(ran.stdout).filter(({ event }) => event === 'added');
    expect(added.map(({ name }) => name)).toEqual(['watched']);
  });
  it('--columns, --jq, --template and -o csv show the columns of the watch', async () => {
    const ran = await watch(
      'tracker labels list -o csv --columns event,name',
      create('/labels', { name: 'csv' }),
    );
    expect(ran.stdout.split('\n').slice(0, 1)).toEqual(['event,name']);
    expect(ran.stdout).toContain('added,csv\n');
    const table = await watch('tracker labels list -o table', create('/labels', { name: 'tab' }));
    expect(table.stdout).toMatch(/^EVENT +ID +NAME/);
    expect(table.stdout).toMatch(/^added +\d+ +tab/m);
    const templated = await watch(
      'tracker labels list --template {{event}}:{{name}}!',
      create('/labels', { name: 'tpl' }),
    );
    expect(templated.stdout, templated.stderr).toContain('added:tpl!');
  });
  it('a failed request does not end the watch, and a rejected one does', async () => {
    let isDown = false;
    const machine = stepping(
      () => {
        isDown = true;
      },
      async () => {
        isDown = false;
        await server.ask('POST', '/labels', { name: 'later' });
      },
      () => {},
    );
    const failing = (host: Host): Host => {
      const stepped = machine(host);
      const request: Host['network']['request'] = async (given) => {
        if (isDown) throw new NetworkError('REFUSED', 'connection refused', true);
        return stepped.network.request(given);
      };
      return { ...stepped, sleep: stepped.sleep, network: { ...stepped.network, request } };
    };
    const line = ['tracker', 'labels', 'list', '--watch', '--interval', `${INTERVAL_MS}ms`];
    const ran = await opsctl(line, around(failing));
    expect(ran.code, ran.stderr).toBe(130);
    expect(rowsIn(ran.stdout).filter(({ event }) => event === 'added')).toMatchObject([{ name: 'later' }]);
    expect(ran.stderr).toMatch(/connection refused.*; trying again in 7.777 s/);
    const refused = await opsctl(line, {
      ...around(stepping()),
      env: { OPSCTL_TRACKER_URL: server.mock.origin, OPSCTL_TRACKER_TOKEN: 'wrong' },
    });
    expect([refused.code, refused.stdout]).toEqual([4, '']);
  });
  it.each([
    ['csv', /^event,at,.*\bname\b/, /^added,.*,late/m],
    ['table', /^EVENT +ID +NAME/, /^added +\d+ +late/m],
  ])('a list that is empty at first has its columns with -o %s', async (format, header, row) => {
    const empty = JSON.stringify([]);
    let isEmpty = true;
    const machine = stepping(async () => {
      isEmpty = false;
    });
    const emptied = (host: Host): Host => {
      const stepped = machine(host);
      const request: Host['network']['request'] = async (given) => {
        const reply = await stepped.network.request(given);
        const body = Buffer.from(isEmpty ? empty : JSON.stringify([{ id: 1, name: 'late' }]));
        return {
          ...reply,
          headers: { 'content-type': 'application/json' },
          bytes: async () => body,
          text: async () => body.toString(),
          async *stream() {
            yield body;
          },
        };
      };
      return { ...stepped, network: { ...stepped.network, request } };
    };
    const line = `tracker labels list --watch --interval ${INTERVAL_MS}ms -o ${format}`.split(' ');
    const ran = await opsctl(line, around(emptied));
    expect(ran.code, ran.stderr).toBe(130);
    expect(ran.stdout).toMatch(header);
    expect(ran.stdout).toMatch(row);
  });
  it('a warning is written before the next request, even if no stream is a terminal', async () => {
    let isDown = false;
    let stderr = '';
    const seen: string[] = [];
    const machine = stepping(
      () => {
        isDown = true;
      },
      async () => {
        await new Promise(setImmediate);
        seen.push(stderr);
      },
      () => {},
    );
    const failing = (host: Host): Host => {
      const stepped = machine(host);
      const request: Host['network']['request'] = async (given) => {
        if (isDown) throw new NetworkError('REFUSED', 'connection refused', true);
        return stepped.network.request(given);
      };
      const errors = stepped.terminal.stderr;
      const write = async (text: string | Uint8Array): Promise<void> => {
        stderr += String(text);
        await errors.write(text);
      };
      const terminal = { ...stepped.terminal, stderr: { ...errors, write } };
      return { ...stepped, terminal, network: { ...stepped.network, request } };
    };
    const line = ['tracker', 'labels', 'list', '--watch', '--interval', `${INTERVAL_MS}ms`];
    const ran = await opsctl(line, around(failing));
    expect(ran.code, ran.stderr).toBe(130);
    expect(seen).toEqual([expect.stringContaining('trying again in 7.777 s')]);
  });
  it('a page that was asked for keeps exact numbers and reports a change in their last digit', async () => {
    let last = 3;
    const machine = stepping(() => {
      last = 5;
    });
    const numbered = (host: Host): Host => {
      const stepped = machine(host);
      const request: Host['network']['request'] = async (given) => {
        const reply = await stepped.network.request(given);
        const text = await reply.text();
        const body = Buffer.from(text.replace(/"id":(\d+)/, `"size":1234567890123456789${last},"id":$1`));
        return {
          ...reply,
          bytes: async () => body,
          text: async () => body.toString(),
          async *stream() {
            yield body;
          },
        };
      };
      return { ...stepped, network: { ...stepped.network, request } };
    };
    const line = `tracker epics paginated --page 1 --watch --interval ${INTERVAL_MS}ms`.split(' ');
    const ran = await opsctl(line, around(numbered));
    expect(ran.code, ran.stderr).toBe(130);
    expect(ran.stdout).toMatch(/^\{"event":"current".*"size":12345678901234567893\b/m);
    expect(ran.stdout).toMatch(/^\{"event":"changed".*"size":12345678901234567895\b/m);
  });
  it.each([
    [['--watch', '-o', 'json'], 2, '-o ndjson'],
    [['--interval', '3s'], 2, 'requires --watch'],
    [['--watch', '--interval', 'soon'], 2, '--interval'],
  ])('%j is rejected with the right way', async (flags, code, way) => {
    const ran = await opsctl(['tracker', 'labels', 'list', ...flags], around(stepping()));
    expect([ran.code, ran.stdout]).toEqual([code, '']);
    expect(ran.stderr).toContain(way);
  });
  it('a warning of the list is printed once', async () => {
    const ran = await watch(
      'tracker labels list --limit 1',
      () => {},
      () => {},
    );
    expect(ran.stderr.match(/ shown;/g) ?? []).toHaveLength(1);
  });
  it('the server of one command alone cannot change, so the watch names the command that starts one', async () => {
    const ran = await opsctl(['tracker', 'labels', 'list', '--watch'], { home });
    expect(ran.code).toBe(3);
    expect(ran.stderr).toContain('opsctl mock start');
  });
});

it('the label service: the pages of a list are one snapshot', async () => {
  let title = 'Old';
  const labels = createServer((request, response) => {
    const isSecond = request.url?.includes('pageToken=p2') === true;
    const one = { name: 'labels/a@1', id: 'a', revisionId: '1', labelType: 'SHARED', properties: { title } };
    const two = { ...one, name: 'labels/b@1', id: 'b', properties: { title: 'Other' } };
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(isSecond ? { labels: [two] } : { labels: [one], nextPageToken: 'p2' }));
  });
  await new Promise<void>((done) => labels.listen(0, '127.0.0.1', done));
  const { port } = labels.address() as AddressInfo;
  try {
    const ran = await opsctl(['labels', 'list', '--watch', '--interval', `${INTERVAL_MS}ms`], {
      home,
      host: stepping(() => {
        title = 'New';
      }),
      env: { OPSCTL_LABELS_URL: `http://127.0.0.1:${port}`, OPSCTL_LABELS_TOKEN: 'token' },
    });
    expect(ran.code, ran.stderr).toBe(130);
    expect(rowsIn(ran.stdout).map(({ event, id, properties }) => [event, id, properties.title])).toEqual([
      ['current', 'a', 'Old'],
      ['current', 'b', 'Other'],
      ['changed', 'a', 'New'],
    ]);
  } finally {
    labels.close();
  }
});
