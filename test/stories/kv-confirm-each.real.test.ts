/** `--confirm-each` at a real terminal: an upgrade, its rollback, and an operation on a simulated cluster. */
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { atTerminal } from '../support/at-terminal.ts';
import { type Program, program } from '../support/built-program.ts';

let home: Program;
let cluster: string;
beforeAll(async () => {
  home = program();
  cluster = join(home.home, 'sim', 'cluster.yaml');
  const started = await home.run(['mock', 'kv', 'start', '--dir', 'sim', '-q']);
  expect([started.code, started.stderr]).toEqual([0, '']);
});
afterAll(async () => {
  await home.run(['mock', 'kv', 'stop', '--dir', 'sim', '-q']);
});
const kv = (...words: string[]): string[] => ['kv', ...words, '--cluster', cluster];
const name = async (): Promise<string> => (await home.json(kv('status'))).cluster;

it('--confirm-each asks before each member: yes continues, no holds the run; a rollback asks too', async () => {
  const cluster = await name();
  const held = await atTerminal(home.home, kv('upgrade', '--confirm-each', '--stable-for', '0'), [
    [' to confirm:', `${cluster}\r`],
    ['[y/N]', 'y\r'],
    ['[y/N]', 'n\r'],
  ]);
  // The output before the first prompt fits on a screen of 24 lines together with the prompt.
  const before = held.screen.slice(0, held.screen.indexOf(' to confirm:')).trim().split('\n');
  expect(before.length, held.screen).toBeLessThanOrEqual(24);
  expect(before.every((line) => line.length <= 80)).toBe(true);
  for (const text of ['point of no return', '-v shows every step and command'])
    expect(before.join('\n')).toContain(text);
  expect(held.screen.match(/Continue with n\d\? \[y\/N\]/g)?.length).toBeGreaterThanOrEqual(2);
  expect(held.screen).toContain('it was not confirmed');
  expect(held.code).toBe(8);
  const window = await home.run([...kv('rollback'), '--until', '04:00', '--yes']);
  expect([window.code, window.stderr]).toEqual([2, expect.stringContaining('--until')]);
  const back = await atTerminal(home.home, kv('rollback', '--confirm-each'), [
    [' to confirm:', `${cluster}\r`],
    ['[y/N]', 'y\r'],
  ]);
  expect([back.code, back.screen.includes('again (1 rolled back)')], back.screen).toEqual([12, true]);
});

it('an operation asks before each change; no stops it, and the same command continues', async () => {
  const cluster = await name();
  const unasked = await home.run([...kv('defrag'), '--confirm-each', '--yes']);
  expect([unasked.code, unasked.stderr]).toEqual([2, expect.stringContaining('--confirm-each')]);
  const stopped = await atTerminal(home.home, kv('defrag', '--confirm-each', '--no-canary'), [
    [' to confirm:', `${cluster}\r`],
    ['(y/N)', 'y\r'],
    ['(y/N)', 'n\r'],
  ]);
  expect([stopped.code, stopped.screen], stopped.screen).toEqual([
    8,
    expect.stringContaining('it was not confirmed'),
  ]);
  // A health check makes no changes, so it has no prompt.
  expect(stopped.screen).not.toMatch(/check that .*\? \(y\/N\)/);
  const ended = await home.run([...kv('defrag'), '--yes', '--no-canary', '-o', 'json']);
  expect([ended.code, ended.code === 0 ? '' : ended.stderr]).toEqual([0, '']);
  const report = await home.json(kv('report'));
  expect(report).toMatchObject({ operation: 'defrag', outcome: 'done', resumes: 1 });
  const { stdout } = await home.run([...kv('report'), '--as', 'markdown']);
  expect(stdout).toMatch(/^# Defragment \S+: done\n/);
  expect((await home.run([...kv('report'), '--as', 'html'])).code).toBe(2);
});
