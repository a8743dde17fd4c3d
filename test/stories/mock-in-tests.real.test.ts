import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Program, program } from '../support/built-program.ts';
import { makeDirectory } from '../support/directory.ts';

const root = new URL('../../', import.meta.url).pathname;
let home: Program;
beforeEach(() => {
  home = program();
});
afterEach(async () => {
  await home.run(['mock', 'stop']);
});

describe('a server in the background', () => {
  it('a server in the background starts, is found by later commands and by a shell, reports its requests, and stops', async () => {
    const started = await home.run([
      'mock',
      'start',
      '--seed',
      'empty',
      '--token',
      'of-the-job',
      '-o',
      'json',
    ]);
    expect(started.code, started.stderr).toBe(0);
    const ready = JSON.parse(started.stdout);
    const env = await home.run(['mock', 'env']);
    expect(env.stdout).toContain(`export OPSCTL_TRACKER_TOKEN='of-the-job'`);
    const dotenv = await home.run(['mock', 'env', '--form', 'dotenv']);
    expect(dotenv.stdout).toContain(`OPSCTL_TRACKER_URL=${ready.url}\n`);
    expect((await home.run(['tracker', 'labels', 'create', '--name', 'bug'])).code).toBe(0);

    const creates = ['mock', 'requests', '--method', 'POST', '--path', '/api/v3/labels'];
    expect((await home.run([...creates, '--body', '{"name":"bug"}', '--expect', '1'])).code).toBe(0);
    const failed = await home.run([...creates, '--expect', '2']);
    expect([failed.code, failed.stderr]).toEqual([
      20,
      expect.stringContaining('1 request matches; expected 2'),
    ]);
    expect((await home.run([...creates, '--body', '{"name":"other"}', '--expect', '0'])).code).toBe(0);
    expect((await home.run([...creates, '--expect', '1-'])).code).toBe(2);

    const again = await home.run(['mock', 'start']);
    expect([again.code, again.stderr]).toEqual([3, expect.stringContaining('already')]);
    expect((await home.run(['mock', 'stop'])).code).toBe(0);
    await expect.poll(async () => (await home.run([...creates, '--expect', '0'])).code).toBe(3);
  });
  it('a server in the background reports why it did not start', async () => {
    const first = await home.run(['mock', 'start', '-o', 'json']);
    const port = new URL(JSON.parse(first.stdout).url).port;
    const other = program();
    const refused = await other.run(['mock', 'start', '--port', port]);
    expect([refused.code, refused.stderr]).toEqual([
      3,
      expect.stringContaining(`port ${port} of 127.0.0.1 is in use`),
    ]);
    await other.close();
  });
  it('keeps snapshots by name', async () => {
    await home.run(['mock', 'start', '--seed', 'empty']);
    await home.run(['mock', 'snapshot', 'save', 'before']);
    await home.run(['tracker', 'labels', 'create', '--name', 'later']);
    expect((await home.run(['mock', 'snapshot', 'restore', 'before'])).code).toBe(0);
    expect(await home.json(['tracker', 'labels', 'list'])).toEqual([]);
    expect(await home.json(['mock', 'snapshot', 'list'])).toMatchObject([{ name: 'before' }]);
    expect((await home.run(['mock', 'snapshot', 'restore', 'none'])).code).toBe(6);
    expect((await home.run(['mock', 'snapshot', 'save', '../x'])).code).toBe(2);
  });
  it('takes its faults from a file', async () => {
    await home.run(['mock', 'start', '--seed', 'empty']);
    const file = join(home.home, 'profile.yaml');
    writeFileSync(file, '- method: POST\n  path: /api/v3/labels\n  status: 422\n  skip: 1\n  count: 1\n');
    expect((await home.run(['mock', 'faults', 'load', file])).code).toBe(0);
    const codes: number[] = [];
    for (const name of ['a', 'b', 'c'])
      codes.push((await home.run(['tracker', 'labels', 'create', '--name', name])).code ?? -1);
    expect(codes).toEqual([0, 5, 0]);
    writeFileSync(file, '- statuss: 422\n');
    const wrong = await home.run(['mock', 'faults', 'load', file]);
    expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining('statuss')]);
  });
});

describe('webhooks of a running server', () => {
  it('webhooks are triggered, listed and sent again', async () => {
    await home.run(['mock', 'start', '--seed', 'empty']);
    const hooks = ['mock', 'webhooks'];
    expect((await home.run([...hooks, 'trigger', 'story.update'])).code).toBe(6);
    // The URL has no listener, so the delivery fails, as this test requires.
    await home.run(['tracker', 'webhooks', 'create', '--webhook-url', 'http://127.0.0.1:9/in']);
    const sent = await home.json([...hooks, 'trigger', 'story.update']);
    expect(sent).toMatchObject([{ number: 1, event: 'story.update' }]);
    expect(await home.json([...hooks, 'resend', '1'])).toMatchObject([{ number: 2, resend_of: 1 }]);
    expect(await home.json([...hooks, 'deliveries'])).toHaveLength(2);
    expect((await home.run([...hooks, 'resend', '7'])).code).toBe(6);
    expect((await home.run([...hooks, 'trigger', 'story.updat'])).code).toBe(2);
  });
});

describe('the module opsctl/testing', () => {
  const project = (): string => {
    const directory = makeDirectory();
    writeFileSync(join(directory, 'package.json'), '{"type":"module","name":"user"}');
    return directory;
  };
  const body = (framework: string): string => `
import { startMock } from '${root}dist/testing.js';
${framework}
let mock;
const post = (name) => fetch(mock.tracker.baseUrl + '/api/v3/labels', { method: 'POST', body: JSON.stringify({ name }),
  headers: { 'Tracker-Token': mock.tracker.token, 'content-type': 'application/json' } });
const check = (isTrue, what) => { if (!isTrue) throw new Error(what); };
before(async () => { mock = await startMock({ seed: 'empty', clock: '2030-01-01T00:00:00Z' }); });
after(() => mock.close());
it('counts requests', async () => {
  await post('bug');
  await mock.expectRequests({ method: 'POST', body: { name: 'bug' } }, 1);
  const wrong = await mock.expectRequests({ method: 'DELETE' }, 1).then(() => '', (error) => error.message);
  check(wrong.includes('received 0') && wrong.includes('POST /api/v3/labels 201'), wrong);
});
it('goes back to a snapshot', async () => {
  const saved = await mock.snapshot();
  const made = await (await post('later')).json();
  check(made.created_at.startsWith('2030-01-01'), made.created_at);
  await mock.restore(saved);
  check((await post('later')).status === 201, 'restored');
});
it('makes requests fail', async () => {
  await mock.addFault({ method: 'POST', status: 503, count: 1 });
  check((await post('x')).status === 503, 'fault');
  check((await post('x')).status === 201, 'after the fault');
});
`;
  const runs: readonly [string, string, (file: string) => [string, string[]]][] = [
    [
      'node:test',
      `import { it, before, after } from 'node:test';`,
      (file) => [process.execPath, ['--test', file]],
    ],
    [
      'vitest',
      `import { it, beforeAll as before, afterAll as after } from 'vitest';`,
      (file) => [
        process.execPath,
        [
          join(root, 'node_modules/vitest/vitest.mjs'),
          'run',
          '--root',
          join(file, '..'),
          '--config',
          'none.js',
        ],
      ],
    ],
  ];
  it.each(runs)('works in %s', (name, imports, commandFor) => {
    const directory = project();
    const file = join(directory, 'labels.test.mjs');
    writeFileSync(file, body(imports));
    writeFileSync(join(directory, 'none.js'), 'export default {};');
    const [command, args] = commandFor(file);
    const { NODE_TEST_CONTEXT, VITEST, ...env } = process.env;
    const done = spawnSync(command, args, { cwd: directory, encoding: 'utf8', env });
    expect(done.status, `${name}\n${done.stdout}\n${done.stderr}`).toBe(0);
    expect(done.stdout).toMatch(/(pass 3|3 passed)/);
  });
  it('one server serves 200 parallel tests, each with its own workspace', async () => {
    const { startMock } = await import(`${root}dist/testing.js`);
    const mock = await startMock({ seed: 'empty', workspacePerToken: true });
    const counts = await Promise.all(
      Array.from({ length: 200 }, async (_, i) => {
        const { baseUrl, token, expectRequests } = mock.workspace();
        const headers = { 'Tracker-Token': token, 'content-type': 'application/json' };
        await fetch(`${baseUrl}/api/v3/labels`, { method: 'POST', headers, body: `{"name":"n${i}"}` });
        await expectRequests({ method: 'POST' }, 1);
        const labels: any = await (await fetch(`${baseUrl}/api/v3/labels`, { headers })).json();
        return labels.map(({ name }: { name: string }) => name).join();
      }),
    );
    await mock.close();
    expect(counts).toEqual(Array.from({ length: 200 }, (_, i) => `n${i}`));
    const single = await startMock({ seed: 'empty' });
    expect(() => single.workspace()).toThrow('workspacePerToken');
    await single.close();
  });
  it('the module serves 200 parallel tests, each with its own records', async () => {
    const { startMock } = await import(`${root}dist/testing.js`);
    const counts = await Promise.all(
      Array.from({ length: 200 }, async (_, i) => {
        const mock = await startMock({ seed: 'empty' });
        const headers = { 'Tracker-Token': mock.tracker.token, 'content-type': 'application/json' };
        await fetch(`${mock.url}/api/v3/labels`, { method: 'POST', headers, body: `{"name":"n${i}"}` });
        const labels: any = await (await fetch(`${mock.url}/api/v3/labels`, { headers })).json();
        await mock.close();
        return labels.map(({ name }: { name: string }) => name).join();
      }),
    );
    expect(counts).toEqual(Array.from({ length: 200 }, (_, i) => `n${i}`));
  });
});
