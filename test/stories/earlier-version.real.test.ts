/** Files of an earlier version. Each command that reads such a file runs on a copy, as docs/reference/compatibility.md promises. */
import { cpSync, chmodSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { type Program, program } from '../support/built-program.ts';

const fixtures = new URL('../fixtures/', import.meta.url).pathname;
const versions = readdirSync(fixtures).filter((name) => /^\d+\.\d+\.\d+$/.test(name));

let opsctl: Program;
beforeEach(() => {
  opsctl = program();
});

/** Copies a file or directory of that version into the home of the program. Git does not keep private modes. */
const copy = (version: string, name: string, to = name): string => {
  const path = join(opsctl.home, to);
  cpSync(join(fixtures, version, name), path, { recursive: true });
  for (const entry of readdirSync(opsctl.home, { recursive: true, withFileTypes: true }))
    chmodSync(join(entry.parentPath, entry.name), entry.isDirectory() ? 0o700 : 0o600);
  return path;
};
const names = async (): Promise<string[]> =>
  (await opsctl.json(['tracker', 'labels', 'list'])).map(({ name }: { name: string }) => name);

test('the files of 0.1.0 are in the repository', () => expect(versions).toContain('0.1.0'));

describe.each(versions)('files of %s', (version) => {
  test('settings and accounts of the home are readable', async () => {
    copy(version, 'home', '.');
    const settings: { key: string; value: string }[] = await opsctl.json(['config', 'list']);
    expect(settings).toContainEqual(expect.objectContaining({ key: 'timeout', value: '20' }));
    expect(await opsctl.json(['auth', 'status'])).toMatchObject({
      account: 'ada@demo.example',
      server: 'mock',
    });
  });

  test('the journal of the embedded mock server keeps its records', async () => {
    copy(version, 'home', '.');
    expect(await names()).toEqual(expect.arrayContaining(['onboarding-fixture', 'row-1', 'row-6']));
  });

  test('the output of mock state seeds the embedded mock server', async () => {
    const { code, stderr } = await opsctl.run(['mock', 'seed', copy(version, 'mock-state.json')]);
    expect(code, stderr).toBe(0);
    expect(await names()).toContain('row-6');
  });

  test('journal and report of a complete upgrade appear in history and report', async () => {
    copy(version, 'home', '.');
    const cluster = ['--cluster', copy(version, 'cluster.yaml')];
    expect(await opsctl.json(['kv', 'history', ...cluster])).toMatchObject([
      { cluster: 'sim', from: '3.2', to: '3.3', outcome: 'done', members_upgraded: ['n2', 'n3', 'n1'] },
    ]);
    expect(await opsctl.json(['kv', 'report', ...cluster])).toMatchObject({ cluster: 'sim' });
  });

  test('a held upgrade is found and waits for its operator', async () => {
    copy(version, 'held-home', '.');
    const cluster = ['--cluster', copy(version, 'cluster.yaml')];
    expect(await opsctl.json(['kv', 'history', ...cluster])).toMatchObject([{ outcome: 'held' }]);
    const resumed = await opsctl.run(['kv', 'resume', '--yes', ...cluster]);
    expect([resumed.code, resumed.stderr]).toEqual([8, expect.stringContaining('--past-hold')]);
    // An abort checks the members. No member runs here, so the run stays unchanged.
    const aborted = await opsctl.run(['kv', 'abort', '--yes', ...cluster]);
    expect([aborted.code, aborted.stderr]).toEqual([10, expect.stringContaining('n1')]);
  });

  test('a plan of an upgrade is compared with its cluster', async () => {
    const cluster = ['--cluster', copy(version, 'cluster.yaml')];
    const plan = copy(version, 'kv-plan.json');
    const { code, stderr } = await opsctl.run(['kv', 'upgrade', '--plan', plan, ...cluster, '--yes']);
    // The command reads the plan. Then the guards find that no member responds.
    expect([code, stderr]).toEqual([10, expect.stringContaining('all-members-healthy')]);
  });

  test('a plan of labels is read, and not sent to another service', async () => {
    const path = copy(version, 'labels-plan.json');
    const plan = readFileSync(path, 'utf8');
    const elsewhere = await opsctl.run(['labels', 'apply', '--plan', path]);
    // The name of the service contains the directory of the mock server, which is different here.
    expect([elsewhere.code, elsewhere.stderr]).toEqual([
      10,
      expect.stringContaining(JSON.parse(plan).deployment),
    ]);
    writeFileSync(path, plan.replace('Contract status', 'Other'));
    expect((await opsctl.run(['labels', 'apply', '--plan', path])).code).toBe(2);
  });

  test('label files with a lock file keep their labels', async () => {
    copy(version, 'home', '.');
    copy(version, 'labels');
    const { code, stderr } = await opsctl.run(['labels', 'apply', '-f', 'labels/', '--publish']);
    expect(code, stderr).toBe(0);
    expect(await opsctl.json(['labels', 'get', 'Contract status'])).toMatchObject({
      id: 'mGMtIqIUak0jJY3VYYGxIeSc',
    });
  });

  test('a plan of a workspace is applied', async () => {
    copy(version, 'home', '.');
    const path = copy(version, 'tracker-plan.json');
    const { code, stderr } = await opsctl.run(['tracker', 'apply', '--plan', path, '--yes']);
    expect(code, stderr).toBe(0);
    expect(await names()).toContain('fixture-0.1.0');
  });

  test('a bulk run that was cut continues and repeats no row', async () => {
    copy(version, 'rows.ndjson');
    const journal = copy(version, 'bulk.journal');
    const lines = readFileSync(journal, 'utf8').split('\n');
    writeFileSync(journal, `${lines.slice(0, 5).join('\n')}\n`);
    const { code, stderr } = await opsctl.run([
      ...['tracker', 'bulk', '-f', 'rows.ndjson', '--resume', '--journal', journal],
    ]);
    expect([code, stderr]).toEqual([0, expect.stringContaining('4 done, 0 failed, 2 skipped')]);
    expect(await names()).toEqual(expect.arrayContaining(['row-3', 'row-6']));
  });

  test('recorded requests are replayed', async () => {
    const list = await opsctl.json([
      ...['tracker', 'labels', 'list', '--replay', copy(version, 'cassette.json')],
    ]);
    expect(list).toHaveLength(8);
  });
});
