/** The built-in documentation of the program: explain, the registry, and the manual. */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { beforeAll, expect, test } from 'vitest';
import { guards } from '../../src/kv/upgrade/guards/all.ts';
import { type Program, program } from '../support/built-program.ts';
import { errorOf } from '../support/facts.ts';

let home: Program;
beforeAll(() => {
  home = program();
});
const root = fileURLToPath(new URL('../../', import.meta.url));

test('every guard, exit code and error code has a page, and a wrong name the nearest one', async () => {
  const all: { name: string; kind: string; summary: string }[] = await home.json(['explain']);
  const named = (kind: string): string[] => all.filter((one) => one.kind === kind).map(({ name }) => name);
  expect(named('guard').sort()).toEqual(expect.arrayContaining(guards.map(({ id }) => id)));
  expect(named('error')).toEqual(expect.arrayContaining(['NO_TOKEN', 'PROFILE_UNKNOWN', 'JOURNAL_DAMAGED']));
  expect(named('exit code')).toContain('20');
  for (const { summary } of all) expect(summary).not.toBe('');
  const wrong = await home.run(['explain', 'quorum-survive']);
  expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining('did you mean quorum-survives?')]);
});

test.each([
  ['quorum-survives', ['Reason', 'Possible causes', 'Fix', 'Example']],
  ['NO_TOKEN', ['opsctl config set tracker.token --stdin', 'Exit code 4']],
  ['11', ['unreachable', 'opsctl doctor', 'Possible causes']],
  ['tracker.url', ['OPSCTL_TRACKER_URL']],
  ['tracker labels create name', ['at most', '128 characters', 'required']],
])('explain %s', async (name, texts) => {
  const { code, stdout } = await home.run(['explain', ...name.split(' '), '-o', 'table']);
  expect(code).toBe(0);
  for (const text of texts) expect(stdout).toContain(text);
});

test('the docs of an error name a working command', async () => {
  for (const line of [
    ['tracker', 'labels', 'get', '--nosuch'],
    ['config', 'use', 'nosuch'],
    ['explain', 'nosuch'],
  ]) {
    const { stderr } = await home.run([...line, '-o', 'json']);
    const { docs } = errorOf({ stderr });
    expect(docs).toMatch(/^opsctl explain [A-Z_]+$/);
    expect((await home.run(docs.split(' ').slice(1))).code).toBe(0);
  }
});

test('commands -o json is the complete registry', async () => {
  const all: any[] = await home.json(['commands']);
  const create = all.find(({ command }) => command === 'tracker labels create');
  expect(create.flags.find(({ name }: { name: string }) => name === 'name').schema).toMatchObject({
    type: 'string',
    maxLength: 128,
  });
  expect(create.endpoint).toEqual({
    service: 'tracker',
    method: 'POST',
    path: '/api/v3/labels',
    success: 201,
  });
  for (const { flags, args, exit_codes } of all) {
    for (const one of [...flags, ...args]) expect(typeof one.schema).toBe('object');
    expect(exit_codes.length).toBeGreaterThan(10);
  }
});

test('man accepts every manual page, and there is one for each command and group', async (context) => {
  const pages = readdirSync(`${root}dist/man`).sort();
  const { man } = JSON.parse(readFileSync(`${root}package.json`, 'utf8'));
  expect(man, 'npm run docs writes the list').toEqual(pages.map((name) => `./dist/man/${name}`));
  const all: { command: string }[] = await home.json(['commands']);
  for (const { command } of all) expect(pages).toContain(`opsctl-${command.replaceAll(' ', '-')}.1`);
  if (!existsSync('/usr/bin/man')) return context.skip('man is not installed');
  const paths = pages.map((name) => `${root}dist/man/${name}`);
  // The commands that man starts for a page, run once for all of about 450 pages.
  const groff = ['groff', '-K', 'utf8', '-mandoc', '-ww', '-z', '-Tutf8', ...paths];
  const { status, stderr } = spawnSync('/usr/bin/env', groff, { encoding: 'utf8' });
  expect([status, stderr]).toEqual([0, '']);
  const line = `MANWIDTH=80 LC_ALL=C.UTF-8 man --warnings -l ${root}dist/man/opsctl.1 2>&1`;
  const text = execFileSync('sh', ['-c', line], { encoding: 'utf8' });
  expect(text).toContain('OPSCTL(1)');
  expect(text).not.toMatch(/^\S*:\d+: (?:warning|error)|^troff/m);
});
