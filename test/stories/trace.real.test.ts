/** --debug, --har and --template from the perspective of a user. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { type Program, program } from '../support/built-program.ts';

let home: Program;
beforeAll(() => {
  home = program();
});

test('--debug shows method, headers, bodies, time and a curl line, and no secret', async () => {
  const traced = await home.run(['tracker', 'labels', 'create', '--name', 'traced', '--debug']);
  expect(traced.code).toBe(0);
  expect(traced.stderr).toMatch(/> POST http:\/\/127\.0\.0\.1:\d+\/api\/v3\/labels/);
  expect(traced.stderr).toMatch(/> \{"name":"traced"\}/);
  expect(traced.stderr).toMatch(/< 201 in \d+ ms/);
  expect(traced.stderr).toMatch(/ {2}curl -i -X POST .*'http:\/\/127/);
  expect(traced.stderr).toContain('> tracker-token: ***');
  expect(JSON.parse(traced.stdout).name).toBe('traced');
});

test('a service that cannot be reached is in the trace too, with the token hidden', async () => {
  const token = 'super-secret-token-4711';
  const { stderr, code } = await home.run(['tracker', 'labels', 'list', '--debug', '--timeout', '2s'], {
    env: { OPSCTL_TRACKER_URL: 'http://127.0.0.1:9', OPSCTL_TRACKER_TOKEN: token },
  });
  expect(code).toBe(11);
  expect(stderr).toContain('> GET http://127.0.0.1:9/api/v3/labels');
  expect(stderr).not.toContain(token);
});

test('--har writes what a browser can read', async () => {
  const path = join(home.home, 'trace.har');
  expect((await home.run(['tracker', 'labels', 'list', '--har', path])).code).toBe(0);
  const { log } = JSON.parse(readFileSync(path, 'utf8'));
  expect(log.entries[0]).toMatchObject({
    request: { method: 'GET' },
    response: { status: 200 },
  });
  expect(readFileSync(path, 'utf8')).not.toMatch(/"tracker-token",\s*"value": "(?!\*\*\*)/i);
});

test('--template prints each row as text; a broken one is refused before anything is sent', async () => {
  const { stdout } = await home.run(['tracker', 'labels', 'list', '--template', '{{name}} <{{id}}>']);
  expect(stdout).toMatch(/^onboarding <\d+>\n/m);
  const one = await home.run([
    'tracker',
    'labels',
    'get',
    'onboarding',
    '--template',
    '{{name}}\\t{{stats.num_stories_total}}',
  ]);
  expect(one.stdout).toBe('onboarding\t3\n');
  const broken = await home.run(['tracker', 'labels', 'create', '--name', 'never', '--template', '{{name']);
  expect([broken.code, broken.stdout]).toEqual([2, '']);
  expect(broken.stderr).toMatch(/^error: opsctl tracker labels create: .*\n {2}--template .*Mustache/);
  expect(
    (await home.json(['tracker', 'labels', 'list'])).map(({ name }: { name: string }) => name),
  ).not.toContain('never');
  expect((await home.run(['tracker', 'labels', 'list', '--template', 'x', '--jq', '.'])).code).toBe(2);
});

test('an unwritable trace and unknown columns are rejected before any request', async () => {
  for (const wrong of [
    ['--har', 'nowhere/t.har'],
    ['--record', 'nowhere/t.json'],
    ['--columns', ','],
  ]) {
    const refused = await home.run(['tracker', 'labels', 'create', '--name', 'never', ...wrong]);
    expect([refused.code, refused.stdout]).toEqual([2, '']);
    expect(refused.stderr).toContain(wrong[0] ?? '');
  }
  expect((await home.run(['tracker', 'labels', 'list', '-o', 'name'])).stdout).not.toContain('never');
});
