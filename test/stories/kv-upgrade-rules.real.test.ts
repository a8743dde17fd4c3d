/** Rules of the upgrade document on a simulated cluster, with the built program. */
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type Program, program } from '../support/built-program.ts';
import { covers } from '../support/covers.ts';
import { errorOf } from '../support/facts.ts';

let home: Program;
let dir: string;
beforeEach(() => {
  home = program();
  dir = join(home.home, 'rehearsal');
});
afterEach(async () => {
  await home.run(['mock', 'kv', 'stop', '--dir', dir, '--kill']);
});
const start = (...args: string[]) => home.run(['mock', 'kv', 'start', '--dir', dir, ...args]);
const kv = (...args: string[]) => home.run(['kv', ...args, '--cluster', join(dir, 'cluster.yaml')]);
const finding = (stdout: string, guard: string) =>
  JSON.parse(stdout).findings.filter((one: { guard: string }) => one.guard === guard);

it('v2 data needs a copy or an acceptance that plan and report record', {
  ...covers('exit/unsafe', 'spec/store#procedure-2', 'spec/store#versions-2'),
  timeout: 600_000,
}, async () => {
  await start('--v2-size', '40000000');
  const check = await kv('check', '-o', 'json');
  expect(check.code).toBe(20);
  expect(finding(check.stdout, 'v2-backup')).toMatchObject([{ level: 'fail' }]);
  expect((await kv('plan')).code).toBe(10);
  const refused = await kv('upgrade', '--yes', '--accept-point-of-no-return');
  expect([refused.code, refused.stderr]).toEqual([10, expect.stringContaining('v2 data')]);

  const copied = await kv('plan', '--copy-data', '-o', 'json');
  expect(copied.code).toBe(0);
  const ids: string[] = JSON.parse(copied.stdout).steps.map(({ id }: { id: string }) => id);
  // Before any member runs the new version, the copy of the first member contains all data.
  for (const name of ['n1', 'n2', 'n3'])
    expect(ids.indexOf(`${name}.copy-data`)).toBe(ids.indexOf(`${name}.stop`) + 1);

  const accepted = await kv('plan', '--accept', 'v2-backup', '-o', 'json');
  expect(finding(accepted.stdout, 'v2-backup')).toMatchObject([
    { level: 'warn', message: expect.stringContaining('(accepted)') },
  ]);
  const ran = await kv('upgrade', '--yes', '--accept-point-of-no-return', '--accept', 'v2-backup');
  expect(ran.code).toBe(0);
  expect((await kv('report', '--as', 'markdown')).stdout).toContain('v2-backup');

  const back = await kv('rollback', '--yes', '-o', 'json');
  expect([back.code, errorOf(back)]).toMatchObject([
    10,
    {
      code: 'PAST_POINT_OF_NO_RETURN',
      message: 'the cluster runs 3.3, and 3.2 cannot start with its data',
      hint: expect.stringContaining('opsctl kv restore'),
    },
  ]);
});

it('a lease revoke avoids members of the new version while versions are mixed', {
  ...covers('exit/stopped'),
  timeout: 600_000,
}, async () => {
  await start('--auth');
  const check = await kv('check', '-o', 'json');
  expect(finding(check.stdout, 'auth-and-leases')).toContainEqual(
    expect.objectContaining({ level: 'warn', message: expect.stringContaining('lease revoke') }),
  );
  const grant = async (): Promise<string> =>
    JSON.parse((await kv('lease', 'grant', '600', '-o', 'json')).stdout).id;
  const id = await grant();
  expect((await kv('upgrade', '--yes', '--hold-after', '1')).code).toBe(8);
  const status = JSON.parse((await kv('version', '-o', 'json')).stdout);
  const fresh = status.find(({ kvserver }: { kvserver: string }) => kvserver.startsWith('3.3'));
  const password = join(dir, 'password');
  const revoke = (...args: string[]) => home.run(['kv', 'lease', 'revoke', id, '--yes', ...args]);
  const named = ['--user', 'root', '--password-file', password];
  const refused = await revoke('--endpoints', fresh.endpoint, ...named);
  expect([refused.code, refused.stderr]).toEqual([10, expect.stringContaining('the new version')]);
  expect((await kv('lease', 'timetolive', id)).code).toBe(0);
  const file = join(dir, 'cluster.yaml');
  expect((await revoke('--cluster', file)).code).toBe(0);
});
