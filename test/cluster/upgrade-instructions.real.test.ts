import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { opsctl } from '../support/program.ts';

let home: string;
let dir: string;
beforeEach(async () => {
  home = mkdtempSync(join(tmpdir(), 'kv-guide-'));
  dir = join(home, 'c');
  const start = ['mock', 'kv', 'start', '--dir', dir, '--monitor-ms', '200', '--config-files', '--auth'];
  await opsctl([...start, '--v2-size', '60000000', '-o', 'json'], { home });
});
afterEach(async () => {
  await opsctl(['mock', 'kv', 'stop', '--dir', dir, '--kill'], { home });
  rmSync(home, { recursive: true, force: true });
});
const kv = (...words: string[]) =>
  opsctl(['kv', ...words, '--cluster', join(dir, 'cluster.yaml'), '-o', 'json'], { home });
type Entry = { readonly kind: string; readonly step?: string };

// docs/reference/upgrade-instructions.md
it('the checks of the upgrade guide run before the first member is stopped', async () => {
  const check = await kv('check');
  const report = check.json();
  const level = (guard: string) => report.findings.find((one: any) => one.guard === guard)?.level;
  // Without a copy of the data directories, v2 data prevents the upgrade before any change.
  expect([check.code, level('v2-backup')]).toEqual([20, 'fail']);
  for (const guard of ['all-members-healthy', 'version-path', 'least-versions', 'quorum-survives'])
    expect([guard, level(guard)]).toEqual([guard, 'pass']);
  for (const guard of ['auth-and-leases', 'configuration-fits', 'v2-settle', 'restore-possible'])
    expect([guard, level(guard) !== undefined]).toEqual([guard, true]);
  expect(report.notes.join(' ')).toMatch(/staging.*expected.*gRPC.*registry/);
  expect((await kv('upgrade', '--yes')).code).toBe(10);
  const plan = (await kv('plan', '--copy-data')).json();
  // With more than 50 MB of v2 data, the run waits two minutes between members.
  expect(plan.steps.find((one: any) => one.kind === 'settle').title).toMatch(/120|2 min|two minutes/);
});
it('each member is saved before its stop, checked after its start, and the next one comes afterwards', async () => {
  const fast = ['--stable-for', '0', '--stable-before-last', '0', '--yes'];
  await opsctl(['mock', 'kv', 'stop', '--dir', dir, '--remove'], { home });
  const start = ['mock', 'kv', 'start', '--dir', dir, '--monitor-ms', '200', '--config-files', '--auth'];
  await opsctl([...start, '-o', 'json'], { home });
  expect((await kv('upgrade', '--copy-data', '--hold-last', ...fast)).code).toBe(8);
  // One member still runs 3.2, so a rollback is possible.
  expect((await kv('rollback', '--yes')).code).toBe(12);
  const done = await kv('upgrade', '--copy-data', '--accept-point-of-no-return', ...fast);
  expect(done.code === 0 ? '' : done.stderr).toBe('');
  const { journal, order } = { journal: done.json().journal as string, order: done.json().members };
  const entries = readFileSync(journal, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Entry);
  const at = (kind: string, step: string) =>
    entries.findIndex((entry) => entry.kind === kind && entry.step === step);
  const names = (order as { name: string }[]).map(({ name }) => name);
  for (const name of names) {
    const steps = ['snapshot', 'stop', 'copy-data', 'configure', 'start', 'gate'];
    const begins = steps.map((step) => at('begin', `${name}.${step}`));
    expect(begins).not.toContain(-1);
    expect(begins).toEqual(begins.toSorted((a, b) => a - b));
    expect(at('end', `${name}.snapshot`)).toBeLessThan(at('begin', `${name}.stop`));
    for (const other of names)
      if (at('begin', `${other}.stop`) > at('begin', `${name}.stop`))
        expect(at('end', `${name}.gate`)).toBeLessThan(at('begin', `${other}.stop`));
    expect(at('end', `${name}.gate`)).toBeLessThan(at('begin', 'confirm'));
  }
  expect((await kv('status')).json().cluster_version).toBe('3.3.0');
  expect((await kv('rollback', '--yes')).code).toBe(10);
});
