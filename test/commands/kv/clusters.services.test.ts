/** `kv clusters` with simulated clusters whose files are damaged, of another user, or named like a real cluster. */
import { chownSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { rehearsalOf } from '../../../src/etcd-sim/cluster/layout.ts';
import { makeDirectory } from '../../support/directory.ts';
import { opsctl } from '../../support/program.ts';

let home = '';
beforeEach(() => {
  home = makeDirectory();
});
const options = {
  ...{
    members: 3,
    version: '3.2.32',
    newVersion: '3.3.27',
    word: 'kv' as const,
    monitorMs: 1,
    heartbeatMs: 100,
  },
  ...{ electionMs: 1000, v2Bytes: 0, quotaBytes: undefined, auth: false, configFiles: false },
} as const;
const ports = [10_001, 10_002, 10_003, 10_004, 10_005, 10_006];
const addresses = [10_001, 10_003, 10_005].map((port) => `http://127.0.0.1:${port}`);
/** Creates the files that `mock kv start` leaves, without processes, and returns the directory. */
const simulate = (name: string): string => {
  const directory = join(home, name);
  const records = join(home, 'state', 'mock', 'simulated-clusters');
  for (const one of [directory, records]) mkdirSync(one, { recursive: true });
  writeFileSync(join(records, name), `${directory}\n`);
  writeFileSync(join(directory, 'rehearsal.json'), JSON.stringify(rehearsalOf(directory, options, ports)));
  return directory;
};
/** Writes the journal of a run of a cluster with these addresses. */
const run = (cluster: string, urls: readonly string[]): void => {
  const id = '20260401T120000Z-0002';
  const directory = join(home, 'state', 'kv-clusters', cluster, id);
  mkdirSync(directory, { recursive: true });
  const at = '2026-04-01T12:00:00.000Z';
  const members = urls.map((client_url, i) => ({ name: `n${i}`, client_url }));
  const order = members.map(({ name }) => name);
  const observation = { taken_at: at, members };
  const plan = {
    ...{ format: 1, id, cluster, from: '3.4', to: '3.5', made_at: at, digest: 'a', order, steps: [] },
    ...{ findings: [], observation, options: { accept: [] } },
  };
  const owner = { user: 'u', host: 'h', pid: 1, boot: 'b', started: 1, id: 'x' };
  const entry = { kind: 'opened', at, run: id, action: 'upgrade', plan, owner, cluster_file: '/c.yaml' };
  writeFileSync(join(directory, 'journal.jsonl'), `${JSON.stringify(entry)}\n`);
};
const list = async () => {
  const ended = await opsctl(['kv', 'clusters', '-o', 'json'], { home });
  expect([ended.code, ended.stderr]).toEqual([0, expect.any(String)]);
  const rows = JSON.parse(ended.stdout) as Record<string, unknown>[];
  return { rows: rows.map(({ cluster, version, simulated }) => [cluster, version, simulated]), ...ended };
};

test.each<[string, (directory: string) => void]>([
  ['a directory as a PID file', (directory) => mkdirSync(join(directory, 'n3.pid'))],
  [
    'a directory as a marker',
    () => mkdirSync(join(simulate('third'), '..', 'fourth', 'rehearsal.json'), { recursive: true }),
  ],
  ['a damaged marker', (directory) => writeFileSync(join(directory, 'rehearsal.json'), '{')],
])('a simulated cluster with %s is left out with a warning', async (_, damage) => {
  simulate('first');
  const directory = simulate('second');
  damage(directory);
  writeFileSync(join(home, 'state', 'mock', 'simulated-clusters', 'fourth'), `${home}/fourth\n`);
  const { rows, stderr } = await list();
  expect(rows).toContainEqual(['first', '3.2', 'stopped']);
  expect(stderr).toContain(home);
});
test('a record that cannot be read and a list that cannot be read leave the real clusters', async () => {
  run('orders', addresses);
  mkdirSync(join(home, 'state', 'mock', 'simulated-clusters', 'x'), { recursive: true });
  expect((await list()).rows).toEqual([['orders', '3.4 or 3.5', null]]);
  home = makeDirectory();
  run('orders', addresses);
  mkdirSync(join(home, 'state', 'mock'), { recursive: true });
  writeFileSync(join(home, 'state', 'mock', 'simulated-clusters'), '');
  expect((await list()).rows).toEqual([['orders', '3.4 or 3.5', null]]);
});
test.skipIf(process.getuid?.() !== 0)('the marker of another user is ignored', async () => {
  chownSync(join(simulate('first'), 'rehearsal.json'), 54_321, 54_321);
  expect((await list()).rows).toEqual([]);
});
test('a real cluster keeps its row next to a simulated cluster of the same name', async () => {
  simulate('orders');
  run('orders', ['https://10.0.0.1:2379']);
  expect((await list()).rows).toEqual([
    ['orders', '3.4 or 3.5', null],
    ['orders', '3.2', 'stopped'],
  ]);
});
test('the run of a simulated cluster is part of its row', async () => {
  simulate('orders');
  run('orders', addresses);
  const { rows, json } = await list();
  expect(rows).toEqual([['orders', '3.2', 'stopped']]);
  expect(json()).toMatchObject([{ state: 'unfinished', action: 'upgrade' }]);
});

test('an error about a missing cluster names the files of the known clusters', async () => {
  run('orders', ['https://10.0.0.1:2379']);
  const directory = simulate('shop');
  const none = await opsctl(['kv', 'status'], { home });
  const simulated = `${directory}/cluster.yaml`;
  expect([none.code, none.stderr]).toEqual([3, expect.stringContaining('--cluster /c.yaml ')]);
  expect(none.stderr).toContain(`--cluster ${simulated} `);
  const named = await opsctl(['kv', 'status', '--cluster', 'orders'], { home });
  expect([named.code, named.stderr]).toEqual([3, expect.stringContaining('--cluster /c.yaml ')]);
  expect(named.stderr).not.toContain(simulated);
  const unknown = await opsctl(['kv', 'status', '--cluster', 'billing'], { home });
  expect([unknown.code, unknown.stderr]).toEqual([3, expect.not.stringContaining('/c.yaml')]);
});
