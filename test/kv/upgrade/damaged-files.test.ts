/**
 * Files next to the journal of a run. opsctl tolerates and reports a truncated last line. For corruption, it
 * reports the file and the line instead of an unexpected error.
 */
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { readRehearsal } from '../../../src/etcd-sim/cluster/layout.ts';
import { historyRow } from '../../../src/kv/operations/record.ts';
import { findRuns } from '../../../src/kv/engine/journal.ts';
import { readFaults } from '../../../src/etcd-sim/forms.ts';
import { placementOf, recordPlacement } from '../../../src/kv/upgrade/placement.ts';
import { migrateConfig } from '../../../src/kv/upgrade/configuration/migrate.ts';
import { findOperations } from '../../../src/kv/operations/journal.ts';
import { readReport } from '../../../src/kv/upgrade/present/report.ts';
import { readRestore } from '../../../src/kv/upgrade/restore/execute.ts';
import { opsctl } from '../../support/program.ts';
import { type RealHost, realHost } from '../../support/real-host.ts';
import { covers } from '../../support/covers.ts';

let real: RealHost;
let directory: string;
beforeEach(async () => {
  real = await realHost();
  directory = join(real.directory, 'clusters', 'shop', '20260102T030405Z-0001');
  await real.host.files.makeDirectory(directory);
});
const put = (name: string, text: string) => real.host.files.replace(join(directory, name), text);
const report = JSON.stringify({
  run: 'r',
  cluster: 'shop',
  from: '3.2',
  to: '3.3',
  outcome: 'done',
  message: 'done',
  started_at: '2026-01-01T00:00:00Z',
  finished_at: '2026-01-01T00:01:00Z',
  owner: { host: 'bastion', pid: 1 },
  findings: [],
  members: [],
  steps: [],
  snapshots: [],
  unexpected_log_lines: [],
});
const damaged = (where: string) => ({
  category: 'config',
  message: expect.stringContaining(where),
  detail: { code: 'FILE_DAMAGED' },
});

test('an incomplete last event is dropped and reported', covers('defect/D5-1', 'defect/R-6'), async () => {
  await put('report.json', report);
  await put('events.ndjson', '{"event":"note"}\n{"event":"no');
  expect(await readReport(real.host, directory)).toMatchObject({ events: [{ event: 'note' }], isTorn: true });
});
test.each([
  ['events.ndjson', '{"event":"note"}\nxx\n{"event":"note"}\n', 'events.ndjson:2 is damaged'],
  ['events.ndjson', '{"event":"step-started"}\n', 'events.ndjson:1 is damaged: `step` is missing'],
  ['events.ndjson', '{"event":"observed","observation":null}\n', '`observation` must be an object'],
  ['report.json', report.slice(0, -5), 'report.json is damaged'],
  ['report.json', '{}', '`run` is missing'],
  ['report.json', report.replace('"to"', '"two"'), '`to` is missing'],
])('%s that is damaged', covers('defect/D5-2'), async (name, text, where) => {
  await put('report.json', report);
  await put(name, text);
  await expect(readReport(real.host, directory)).rejects.toMatchObject(damaged(where));
});

test('a damaged journal names its file and line', async () => {
  await put('journal.jsonl', '{"kind":"opened"}\nxx\n{"kind":"closed"}\n');
  await expect(findRuns(real.host, join(real.directory, 'clusters'), 'shop')).rejects.toMatchObject({
    message: `line 2 of ${directory}/journal.jsonl cannot be read`,
  });
});

test.each(['5', 'null', '{}', '{"kind":"end"}'])(
  'an invalid line of a run journal is damage: %s',
  async (line) => {
    await put('journal.jsonl', `{"kind":"opened"}\n${line}\n`);
    await expect(findRuns(real.host, join(real.directory, 'clusters'), 'shop')).rejects.toMatchObject({
      detail: { code: 'JOURNAL_DAMAGED' },
    });
  },
);
test.each(['null', 'name: &a n1\n<<: {auto-compaction-retention: 1}\n'])(
  'a configuration file that can be read and not written: %j',
  async (text) => {
    await expect(migrateConfig(text, '3.4')).rejects.toMatchObject({ detail: { code: 'CONFIG_BROKEN' } });
  },
);

test('a damaged record of what a member ran is neither taken for empty nor written over', async () => {
  const path = join(real.directory, 'clusters', 'shop', 'placements', 'n1.json');
  await real.host.files.makeDirectory(join(real.directory, 'clusters', 'shop', 'placements'));
  await real.host.files.replace(path, '{"3.2": {');
  const owner = { host: real.host, directory };
  await expect(placementOf(owner, 'n1', '3.2')).rejects.toMatchObject(damaged('n1.json is damaged'));
  const placement = { member: 'n1', previous: { minor: '3.2' }, next: { minor: '3.3' } } as const;
  const journal = { entries: [], write: () => {} } as never;
  await expect(recordPlacement({ ...owner, journal }, placement)).rejects.toMatchObject(damaged('n1.json'));
  expect(await real.host.files.read(path)).toBe('{"3.2": {');
});

test('a damaged journal of a restore never causes a restore from the start', async () => {
  const clusters = join(real.directory, 'clusters');
  const path = join(clusters, 'shop', 'restore.jsonl');
  const opened = { kind: 'opened', to: '3.3', snapshot: '/s', file_sha256: 'a', members: ['n1'] };
  await real.host.files.replace(path, `${JSON.stringify(opened)}\n{"kind":"bu`);
  expect(await readRestore(real.host, clusters, 'shop')).toEqual([opened]);
  await real.host.files.replace(path, `${JSON.stringify(opened)}\n\0\0\n{"kind":"swapped"}\n`);
  await expect(readRestore(real.host, clusters, 'shop')).rejects.toMatchObject(damaged('restore.jsonl:2'));
});

test.each(['', '{"directory":', '{}'])('a damaged rehearsal directory: %j', async (text) => {
  await put('rehearsal.json', text);
  await expect(readRehearsal(real.host, directory)).rejects.toMatchObject(
    damaged('rehearsal.json is damaged'),
  );
  const shown = await opsctl(['mock', 'kv', 'status', '--dir', directory], { home: real.directory });
  expect([shown.code, shown.stderr]).toEqual([3, expect.stringContaining('is damaged')]);
});

test.each([
  '{"format":1,"digest":"d","options":{}}',
  '{"format":1,"digest":"d","options":{"accept":5,"copy_data":true,"hold_last":true,"stable_seconds":1}}',
  '{"format":1,"digest":"d","options":null}',
  '[]',
  'null',
])('a plan that was changed by hand: %s', covers('defect/R-7'), async (text) => {
  const plan = join(real.directory, 'p.json');
  await real.host.files.replace(plan, text);
  const { code, stderr } = await opsctl(
    ['kv', 'upgrade', '--endpoints', 'http://127.0.0.1:1', '--plan', plan, '--yes'],
    { home: real.directory },
  );
  expect([code, stderr]).toEqual([2, expect.not.stringContaining('unexpected')]);
});

test.each(['null', '5', '{}', '{"kind":"end","at":"2026-01-01T00:00:00Z"}', '{"kind":"constructor"}'])(
  'an invalid line of an operation journal is damage: %s',
  async (line) => {
    const plan = { id: 'x', operation: 'defrag', cluster: 'shop', steps: [], observation: {} };
    const opened = { kind: 'opened', at: '2026-01-01T00:00:00Z', plan, owner: { host: 'a' } };
    const path = join(real.directory, 'clusters', 'shop', 'operations', '20260102T030405Z-0001');
    await real.host.files.makeDirectory(path);
    const put = (text: string) => real.host.files.replace(join(path, 'journal.jsonl'), text);
    const found = () => findOperations(real.host, join(real.directory, 'clusters'), 'shop');
    await put(`${JSON.stringify(opened)}\n`);
    expect(await found()).toHaveLength(1);
    await put(`${JSON.stringify(opened)}\n${line}\n`);
    await expect(found()).rejects.toMatchObject({ category: 'config', detail: { code: 'JOURNAL_DAMAGED' } });
    await put(`${JSON.stringify({ ...opened, plan: { ...plan, observation: null } })}\n`);
    await expect(found()).rejects.toMatchObject({ detail: { code: 'JOURNAL_DAMAGED' } });
  },
);
test.each([
  ['"members":null', '`members` must be a list'],
  ['"members":[{"name":"n1"}]', '`members[0].clientUrl` is missing'],
  ['"members":[null]', '`members[0]` must be an object'],
])('the record of a simulated cluster with %s', async (members, why) => {
  const options = '{"version":"3.2.32","newVersion":"3.3.27","word":"kv","members":1}';
  await put('rehearsal.json', `{"directory":"/d","options":${options},${members}}`);
  await expect(readRehearsal(real.host, directory)).rejects.toMatchObject(damaged(why));
});

test.each(['{"kind":"opened"}', '{"kind":"opened","plan":{"order":null},"owner":{"host":"a"}}'])(
  'the history of a run whose first line lacks a part: %s',
  async (line) => {
    await put('journal.jsonl', `${line}\n`);
    const [run] = await findRuns(real.host, join(real.directory, 'clusters'), 'shop');
    expect(() => run && historyRow(run)).toThrow(/^line 1 of .* cannot be read: `plan/);
  },
);
test.each(['', '{', 'null', '[5]', '[{"kind":5}]'])(
  'an invalid fault file of a simulated member is an error: %j',
  async (text) => {
    await put('n1.json', text);
    await expect(readFaults(real.host, join(directory, 'n1.json'))).rejects.toMatchObject(damaged('n1.json'));
  },
);

test.each([
  ['{"kind":"opened","to":"3.3","snapshot":"/s","file_sha256":"a"}', '`members` is missing'],
  ['{"kind":"swapped","member":"n1"}', '`kept` is missing'],
])('a line of the journal of a restore that lacks a part: %s', async (line, why) => {
  const state = join(real.directory, 'clusters');
  await real.host.files.replace(join(state, 'shop', 'restore.jsonl'), `${line}\n`);
  await expect(readRestore(real.host, state, 'shop')).rejects.toMatchObject(damaged(why));
});
