import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { opsctl } from '../support/program.ts';
import { testInTurn } from '../support/slice.ts';
import { makeDirectory } from '../support/directory.ts';
import { errorOf } from '../support/facts.ts';

let home: string;
let dir: string;
beforeEach(async () => {
  home = makeDirectory();
  dir = join(home, 'c');
  await opsctl(['mock', 'kv', 'start', '--dir', dir, '--members', '3', '--monitor-ms', '200', '-o', 'json'], {
    home,
  });
});
afterEach(async () => {
  await opsctl(['mock', 'kv', 'stop', '--dir', dir, '--kill'], { home });
});
const kv = (...words: string[]) =>
  opsctl(['kv', ...words, '--cluster', join(dir, 'cluster.yaml'), '-o', 'json'], { home });

describe('a hold that is stored in the cluster', () => {
  it('no flag passes the point of no return before it is removed', async () => {
    expect((await kv('wait', '--for', 'healthy')).code).toBe(0);
    expect((await kv('hold', 'set', '--reason', 'soak')).code).toBe(0);
    const checked = (await kv('check')).json();
    expect(checked.findings.find(({ guard }: any) => guard === 'cluster-hold')).toMatchObject({
      level: 'warn',
      message: expect.stringContaining('soak'),
    });
    expect((await kv('status')).json().hold).toMatchObject({ reason: 'soak' });
    const consent = ['--yes', '--accept-point-of-no-return'];
    const held = await kv('upgrade', '--stable-for', '0', '--stable-before-last', '0', ...consent);
    expect([held.code, held.stderr.includes('soak')]).toEqual([8, true]);
    expect((await kv('wait', '--for', 'version=3.3', '--within', '0s')).code).toBe(20);
    const list = await opsctl(['kv', 'clusters', '-o', 'json'], { home });
    expect(list.json()).toMatchObject([{ cluster: 'c', state: 'held' }]);
    expect((await kv('advance')).code).toBe(10);
    const restored = await kv('restore', '--yes');
    expect([restored.code, restored.stderr.includes('CLUSTER_HELD')]).toEqual([10, true]);
    expect((await kv('hold', 'remove', '--yes')).json().was_held).toBe(true);
    expect((await kv('resume', ...consent)).code).toBe(0);
    expect((await kv('wait', '--for', 'version=3.3')).code).toBe(0);
    expect((await kv('wait', '--for', 'finished')).code).toBe(0);
    // The remaining steps of the runbook in `opsctl help upgrade`.
    expect((await kv('restart', '--yes')).code).toBe(10);
    const advanced = (await kv('advance')).json();
    expect(advanced.changes.filter((one: string) => one.includes('old_binary'))).toHaveLength(3);
    expect((await kv('restart', '--stable-for', '0', '--yes')).code).toBe(0);
    expect((await kv('report', '--out', join(home, 'upgrade.html'))).code).toBe(0);
    expect((await kv('advance')).json().changes).toEqual([]);
  });
});

describe('keys of a snapshot', () => {
  testInTurn(0, 2)(
    'keys of a snapshot are compared with the cluster, and keys below a prefix are restored while it runs',
    async () => {
      await kv('put', '/app/a', '1');
      await kv('put', '/app/b', '1');
      await kv('put', '/other', '1');
      const file = join(home, 's.db');
      expect((await kv('snapshot', 'save', file)).code).toBe(0);
      const { revision } = (await kv('put', '/other', '2')).json();
      await kv('put', '/app/a', '2');
      await kv('del', '/app/b');
      await kv('put', '/app/c', '2');
      const diff = (await kv('snapshot', 'diff', file, '--prefix', '/app/')).json();
      expect(diff.map((row: any) => [row.change, row.key, row.before, row.after])).toEqual([
        ['changed', '/app/a', '1', '2'],
        ['removed', '/app/b', '1', null],
        ['added', '/app/c', null, '2'],
      ]);
      const plan = (await kv('restore', '--prefix', '/app/', '--at', file, '--dry-run')).json();
      expect(plan).toMatchObject({ added: 1, changed: 1, removed: 1 });
      expect((await kv('get', '/app/a')).json().value).toBe('2');
      // The same keys at a revision, without a file.
      const byRevision = (
        await kv('restore', '--prefix', '/app/', '--at', String(revision), '--dry-run')
      ).json();
      expect(byRevision.changes).toEqual(plan.changes);
      const restored = await kv('restore', '--prefix', '/app/', '--at', file, '--yes');
      expect(restored.code).toBe(0);
      // stderr of a pipeline is a log, and a value may be a secret.
      expect(restored.stderr).toContain('change /app/a: 1 byte → 1 byte');
      const after = await opsctl(
        ['kv', 'snapshot', 'diff', file, '--cluster', join(dir, 'cluster.yaml'), '-o', 'json'],
        {
          home,
        },
      );
      expect(after.json().map((row: any) => row.key)).toEqual(['/other']);
      const half = await kv('restore', '--prefix', '/app/');
      expect([half.code, errorOf(half).problems[0].path]).toEqual([2, '--at']);
      const named = await kv('snapshot', 'diff', file, 'cluster');
      expect([named.code, errorOf(named).code]).toEqual([6, 'NO_SNAPSHOT']);
      const clusterFile = join(dir, 'cluster.yaml');
      const byFile = await kv('snapshot', 'diff', file, clusterFile);
      for (const { stderr } of [named, byFile])
        expect(errorOf({ stderr }).hint).toContain(`--cluster ${clusterFile}`);
    },
  );
});

/** A member ID as a decimal number: the API has it, and no output does. */
const decimalId = /"[a-z_]*ids?": *\[?\s*"?\d{17,20}\b/;
describe('the IDs of members in JSON', () => {
  const lines = [
    ...['status', 'plan', 'upgrade --dry-run', 'defrag --dry-run', 'replace-member n2 --dry-run'],
    ...['member remove n2 --dry-run', 'member list', 'endpoint status', 'top'],
  ];
  it('every command prints them in hexadecimal', async () => {
    const { members } = (await kv('status')).json();
    for (const line of lines) {
      const { stdout } = await kv(...line.split(' '));
      expect([line, decimalId.exec(stdout)?.[0]]).toEqual([line, undefined]);
      expect([line, stdout.includes(`"${members[0].member_id}"`)]).toEqual([line, true]);
    }
  });
  testInTurn(1, 2)('kv plan --out and the events of an upgrade contain them in hexadecimal', async () => {
    const file = join(dir, 'plan.json');
    expect((await kv('plan', '--out', file)).code).toBe(0);
    const { members } = (await kv('status')).json();
    const plan = readFileSync(file, 'utf8');
    expect(plan).not.toMatch(decimalId);
    expect(plan).toContain(`"${members[0].member_id}"`);
    const words = ['--plan', file, '--yes', '--accept-point-of-no-return', '-o', 'ndjson'];
    const ran = await opsctl(['kv', 'upgrade', '--cluster', join(dir, 'cluster.yaml'), ...words], { home });
    expect(ran.code === 0 ? '' : ran.stderr).toBe('');
    expect(ran.stdout).not.toMatch(decimalId);
    expect(ran.stdout).toContain(`"${members[0].member_id}"`);
  });
});

describe('a run that is held', () => {
  testInTurn(0, 2)(
    'kv status prints the IDs of kv endpoint status, and the question of a resume names a rollback',
    async () => {
      const ids = (rows: any[], key: string) => rows.map((row) => row[key]).sort();
      const { members } = (await kv('status')).json();
      expect(ids(members, 'member_id')).toEqual(ids((await kv('endpoint', 'status')).json(), 'id'));
      expect((await kv('upgrade', '--stable-for', '0', '--hold-after', '1', '--yes')).code).toBe(8);
      const asked = async () => (await kv('resume', '--past-hold')).stderr;
      expect(await asked()).not.toContain('returns to');
      const upgraded = (await kv('status'))
        .json()
        .members.find(({ server_version }: any) => server_version.startsWith('3.3')).name;
      await opsctl(['mock', 'kv', 'stop', '--dir', dir, '--member', upgraded, '--kill'], { home });
      expect(await asked()).toContain(`First, ${upgraded} returns to 3.2`);
    },
  );
});
