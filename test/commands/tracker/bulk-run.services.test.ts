import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import type { Host } from '../../../src/platform/host.ts';
import { opsctl } from '../../support/program.ts';
import { TOKEN, type TrackerServer, startTracker } from '../../support/tracker-server.ts';
import { makeDirectory } from '../../support/directory.ts';

let server: TrackerServer;
let home: string;
beforeAll(async () => {
  server = await startTracker();
  home = makeDirectory();
});
const run = async (name: string, rows: readonly object[], ...argv: string[]) => {
  const file = join(home, name);
  writeFileSync(file, rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
  const env = {
    OPSCTL_TRACKER_URL: new URL(server.base).origin,
    OPSCTL_TRACKER_TOKEN: TOKEN,
    OPSCTL_RATE_PER_MINUTE: 'off',
  };
  const words = ['-f', file, '--concurrency', '1', '--journal', `${file}.journal`, '-o', 'ndjson', ...argv];
  const lists: string[] = [];
  const noted = (host: Host): Host => ({
    ...host,
    network: {
      ...host.network,
      request: (request) => {
        if (request.method === 'GET') lists.push(new URL(request.url).pathname);
        return host.network.request(request);
      },
    },
  });
  const ran = await opsctl(['tracker', 'bulk', ...words], { home, env, host: noted });
  const outcomes = ran.stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  return { code: ran.code, outcomes, lists, journal: `${file}.journal` };
};
const made = async (path: string, name: string): Promise<number> =>
  (await server.ask('POST', path, { name })).body.id;

test('a record that the journal assigns to one row is not used for another uncertain row', async () => {
  const rows = [1, 2].map(() => ({ op: 'create', resource: 'epics', name: 'Same' }));
  const { outcomes, journal } = await run('same.ndjson', rows);
  // Simulates a kill before the second row arrived: the journal records the row as sent, without an outcome.
  await server.ask('DELETE', `/epics/${outcomes[1].id}`);
  writeFileSync(journal, readFileSync(journal, 'utf8').replace(/^d 2 .*\n/m, ''));
  const again = await run('same.ndjson', rows, '--resume');
  expect(again.outcomes.map(({ status }) => status)).toEqual(['skipped', 'done']);
  const epics = (await server.ask('GET', '/epics')).body;
  expect(epics.filter(({ name }: { name: string }) => name === 'Same')).toHaveLength(2);
});

test('a name that an earlier row removed is invalid, although it was cached', async () => {
  const id = await made('/objectives', 'One');
  const { outcomes } = await run('renamed.ndjson', [
    { op: 'update', resource: 'objectives', id: 'One', description: 'reads the names' },
    { op: 'update', resource: 'objectives', id, name: 'Renamed' },
    { op: 'update', resource: 'objectives', id: 'One', description: 'would be another one by now' },
  ]);
  expect(outcomes.map(({ status }) => status)).toEqual(['done', 'done', 'failed']);
  expect(outcomes[2].error.code).toBe('NO_SUCH_NAME');
});

test('names are read once for rows that change no name', async () => {
  await made('/objectives', 'Kept');
  const row = { op: 'update', resource: 'objectives', id: 'Kept', description: 'new' };
  const { outcomes, lists } = await run('kept.ndjson', [row, row, row]);
  expect(outcomes.map(({ status }) => status)).toEqual(['done', 'done', 'done']);
  // Each row also reads the record that it changes, for `bulk undo`.
  expect(lists.filter((path: string) => !/\d$/.test(path))).toEqual(['/api/v3/objectives']);
});

test('rows with unknown IDs send one request each once the run has read the complete list', async () => {
  const rows = Array.from({ length: 60 }, (_, at) => ({
    op: 'delete',
    resource: 'labels',
    id: 900_000 + at,
  }));
  const { outcomes, lists } = await run('gone.ndjson', rows, '--yes');
  expect(outcomes.every(({ status }) => status === 'failed')).toBe(true);
  // 25 single reads and one list; the list shows that the other records do not exist.
  expect(lists).toHaveLength(26);
});

test('rows that move their records read the records together as well', async () => {
  const ids: number[] = [];
  for (let at = 0; at < 30; at += 1) ids.push(await made('/objectives', `moved ${at}`));
  const rows = ids.map((id) => ({
    op: 'update',
    resource: 'objectives',
    id,
    name: `n${id}`,
    after_id: ids[0],
  }));
  const { outcomes, lists } = await run('moved.ndjson', rows.slice(1));
  expect(outcomes.every(({ status }) => status === 'done')).toBe(true);
  expect(lists).toHaveLength(26);
});
