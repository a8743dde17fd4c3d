/** `kv check` of a cluster that already runs the target version. opsctl runs the health guards and writes the report. */
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { XMLValidator } from 'fast-xml-parser';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Program, program } from '../support/built-program.ts';

let home: Program;
let dir: string;
let report: string;
beforeAll(async () => {
  home = program();
  [dir, report] = [join(home.home, 'rehearsal'), join(home.home, 'check.xml')];
  await home.run(['mock', 'kv', 'start', '--version', '3.3.27', '--new-version', '3.3.27', '--dir', dir]);
});
afterAll(async () => {
  await home.run(['mock', 'kv', 'stop', '--dir', dir, '--kill']);
});
const check = async () => {
  rmSync(report, { force: true });
  const line = ['kv', 'check', '--cluster', join(dir, 'cluster.yaml'), '--to', '3.3'];
  const ran = await home.run([...line, '--report', `junit=${report}`, '-o', 'json']);
  const xml = existsSync(report) ? readFileSync(report, 'utf8') : '';
  expect(XMLValidator.validate(xml)).toBe(true);
  return { ran, data: JSON.parse(ran.stdout), xml };
};
const fault = (...args: string[]) => home.run(['mock', 'kv', 'fault', ...args, '--dir', dir]);

it('kv check passes for a healthy cluster, and its report lists the executed guards', async () => {
  const { ran, data, xml } = await check();
  expect([ran.code, data]).toMatchObject([0, { ok: true, outcome: 'done', fail: 0 }]);
  for (const name of ['all-members-healthy', 'leader-agreed', 'no-alarms', 'quota', 'data-agrees'])
    expect(xml).toContain(`name="${name}`);
});

it.each([
  ['an alarm is raised', 'no-alarms', ['nospace', '--member', 'n2']],
  ['a member is cut off', 'all-members-healthy', ['cut', '--member', 'n3']],
])('kv check fails when %s', { timeout: 600_000 }, async (_, guard, args) => {
  expect((await fault(...args)).code).toBe(0);
  const { ran, data, xml } = await check();
  expect([ran.code, data.ok]).toEqual([20, false]);
  expect(data.findings).toContainEqual(expect.objectContaining({ guard, level: 'fail' }));
  expect(xml).toMatch(/failures="[1-9]/);
});

it('kv check fails when a member is down', { timeout: 600_000 }, async () => {
  process.kill(Number(readFileSync(join(dir, 'n3.pid'), 'utf8').trim().split(/\s/)[0]), 'SIGKILL');
  const { ran, data } = await check();
  expect([ran.code, data.ok]).toEqual([20, false]);
  expect(data.findings).toContainEqual(
    expect.objectContaining({ guard: 'all-members-healthy', level: 'fail', member: 'n3' }),
  );
});
