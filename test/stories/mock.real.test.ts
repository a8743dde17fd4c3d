import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { type Program, program } from '../support/built-program.ts';
import { covers } from '../support/covers.ts';
import { errorOf } from '../support/facts.ts';

let home: Program;
beforeEach(() => {
  home = program();
});

const serve = (...flags: string[]) => home.start(['mock', 'serve', '-o', 'json', ...flags]);
const ask = async (url: string, path: string, token = 'mock-tracker-token', init: RequestInit = {}) => {
  const reply = await fetch(`${url}${path}`, {
    ...init,
    headers: { 'Tracker-Token': token, 'content-type': 'application/json', ...init.headers },
  });
  return { status: reply.status, headers: reply.headers, text: await reply.text() };
};
const labelNames = async (): Promise<string[]> =>
  (await home.json(['tracker', 'labels', 'list'])).map(({ name }: { name: string }) => name);
/** The error object that -o json writes on stderr, after the lines for users. */
const problemIn = (stderr: string) => errorOf({ stderr });

describe('opsctl mock serve', () => {
  it('mock serve prints all locations on its first line when it accepts connections', async () => {
    const serving = serve('--ephemeral', '--token', 'secret-of-mine');
    const ready = await serving.first;
    const url = ready.tracker.base_url;
    expect(ready).toEqual({
      ready: true,
      pid: serving.pid,
      tracker: { base_url: url, token: 'secret-of-mine' },
      labels: { base_url: url, token: expect.stringMatching(/./) },
      auth: {
        authorization_endpoint: `${url}/o/oauth2/v2/auth`,
        token_endpoint: `${url}/token`,
        revocation_endpoint: `${url}/revoke`,
        client_id: expect.stringMatching(/./),
      },
      media: { base_url: url },
      url,
    });
    expect((await ask(url, '/api/v3/labels', 'secret-of-mine')).status).toBe(200);
    expect((await ask(url, '/api/v3/labels', 'another')).status).toBe(401);
    serving.kill('SIGTERM');
    const { code, stdout, stderr } = await serving.ended;
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout.trim().split('\n').length).toBe(1);
  });

  it('ends cleanly on Ctrl-C and when it is asked to', async () => {
    for (const end of [
      async (s: ReturnType<typeof serve>) => s.kill('SIGINT'),
      () => home.run(['mock', 'stop']),
    ]) {
      const serving = serve();
      await serving.first;
      await end(serving);
      expect((await serving.ended).code).toBe(0);
    }
    expect((await home.run(['mock', 'stop'])).stderr).toContain('no mock server is running');
  });

  it('prints addresses for people without -o json', async () => {
    const serving = home.start(['mock', 'serve', '--ephemeral', '-o', 'table']);
    expect(await serving.first).toMatch(/^mock server at http:\/\/127\.0\.0\.1:\d+ \(process \d+\)$/);
    serving.kill('SIGTERM');
    const { stdout } = await serving.ended;
    for (const word of ['Tracker-Token', 'client_id', 'ada@demo.example', 'plain HTTP', 'not saved'])
      expect(stdout).toContain(word);
  });

  it('mock serve reports an occupied port', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => other.once('listening', resolve));
    const at = other.address();
    const port = typeof at === 'object' && at !== null ? at.port : 0;
    const { code, stderr, stdout } = await home.run(['mock', 'serve', '--port', String(port), '-o', 'json']);
    other.close();
    expect([code, stdout]).toEqual([3, '']);
    expect(problemIn(stderr)).toMatchObject({
      code: 'PORT_IN_USE',
      message: `port ${port} of 127.0.0.1 is in use`,
    });
    // The server has released the state directory.
    expect((await home.run(['mock', 'status'])).code).toBe(0);
  });

  it('mock serve is the only server of its state, and every command uses it', async () => {
    const serving = serve('--seed', 'empty');
    const { url } = await serving.first;
    const second = await home.run(['mock', 'serve', '-o', 'json']);
    expect([second.code, problemIn(second.stderr).code]).toEqual([3, 'MOCK_RUNNING']);
    const made = await home.run([
      'tracker',
      'labels',
      'create',
      '--name',
      'through the server',
      '-o',
      'json',
    ]);
    expect(made.stderr).toContain(`using the mock server at ${url}`);
    expect((await ask(url, '/api/v3/labels')).text).toContain('through the server');
    serving.kill('SIGTERM');
    await serving.ended;
    expect(await labelNames()).toEqual(['through the server']);
  });

  it('mock serve is replaced after a kill', async () => {
    const serving = serve('--seed', 'empty');
    await serving.first;
    await home.run(['tracker', 'labels', 'create', '--name', 'kept']);
    serving.kill('SIGKILL');
    await serving.ended;
    expect(await labelNames()).toEqual(['kept']);
  });

  it(
    'speaks TLS with a local authority, and refuses plain HTTP',
    covers('spec/program#choices-2'),
    async () => {
      const serving = serve('--tls', '--ephemeral');
      const { url, ca_file: caFile } = await serving.first;
      expect(url).toMatch(/^https:/);
      expect(readFileSync(caFile, 'utf8')).toContain('BEGIN CERTIFICATE');
      const env = { OPSCTL_TRACKER_URL: url, OPSCTL_TRACKER_TOKEN: 'mock-tracker-token' };
      expect((await home.run(['tracker', 'labels', 'list'], { env })).code).toBe(11);
      expect(
        (await home.run(['tracker', 'labels', 'list'], { env: { ...env, OPSCTL_CA_FILE: caFile } })).code,
      ).toBe(0);
      await expect(ask(url.replace('https:', 'http:'), '/o/oauth2/v2/auth')).rejects.toThrow();
      serving.kill('SIGTERM');
      await serving.ended;
      expect(() => readFileSync(caFile)).toThrow('ENOENT');
    },
  );

  it('mock serve starts its clock and repeats its identifiers on request', async () => {
    const made: string[] = [];
    for (let i = 0; i < 2; i++) {
      const serving = serve(
        '--ephemeral',
        '--seed',
        'empty',
        '--clock',
        '2031-02-03T04:05:06Z',
        '--seed-ids',
        'golden',
      );
      const { url } = await serving.first;
      const { text } = await ask(url, '/api/v3/groups', undefined, {
        method: 'POST',
        body: JSON.stringify({ name: 'g', mention_name: 'g' }),
      });
      made.push(JSON.parse(text).id);
      expect(
        (await ask(url, '/api/v3/labels', undefined, { method: 'POST', body: '{"name":"x"}' })).text,
      ).toContain('2031-02-03T04:05:');
      serving.kill('SIGTERM');
      await serving.ended;
    }
    expect(made[0]).toBe(made[1]);
  });

  it('keeps the rate limit, or not', async () => {
    const statuses = async (flags: string[], count: number) => {
      const serving = serve('--ephemeral', '--seed', 'empty', ...flags);
      const { url } = await serving.first;
      const replies = [];
      for (let i = 0; i < count; i++) replies.push(await ask(url, '/api/v3/labels?slim=true'));
      serving.kill('SIGTERM');
      await serving.ended;
      return replies;
    };
    const limited = await statuses(['--rate-limit', '3', '--rate-retry-after'], 4);
    expect(limited.map(({ status }) => status)).toEqual([200, 200, 200, 429]);
    expect(Number(limited[3]?.headers.get('retry-after'))).toBeGreaterThan(0);
    expect((await statuses([], 201)).map(({ status }) => status)).toEqual([...Array(200).fill(200), 429]);
    expect((await statuses(['--rate-limit', 'off'], 201)).every(({ status }) => status === 200)).toBe(true);
  });

  it.each([
    [['--port', '70000'], '--port'],
    [['--rate-limit', '0'], '--rate-limit'],
    [['--state-in', 'body'], '--state-in'],
    [['--clock', 'noon'], '--clock'],
    [['--seed', 'no-such-file'], '--seed'],
  ])('refuses %j', async (flags, named) => {
    const { code, stderr } = await home.run(['mock', 'serve', ...flags]);
    expect(code).toBe(2);
    expect(stderr).toContain(named);
  });

  it('describes itself', async () => {
    const serving = serve('--ephemeral');
    const { url } = await serving.first;
    const read = async (path: string) => JSON.parse((await ask(url, path)).text);
    expect((await read('/openapi.json')).openapi).toMatch(/^3\.1/);
    expect((await read('/swagger.json')).swagger).toBe('2.0');
    const discovery = await read('/discovery/labels/v2beta');
    expect(
      discovery.resources.labels.resources.revisions.resources.permissions.methods.batchDelete.path,
    ).toBe('v2beta/{+parent}/permissions:batchDelete');
    expect(await read('/$discovery/rest?version=v2beta')).toEqual(discovery);
    expect(await read('/discovery/v1/apis/labels/v2beta/rest')).toEqual(discovery);
    expect((await ask(url, '/v2beta')).text).toContain('"status": "UNAUTHENTICATED"');
    serving.kill('SIGTERM');
    await serving.ended;
  });
});

describe('opsctl mock run', () => {
  const script = (code: string) => ['mock', 'run', '--seed', 'empty', '--', process.execPath, '-e', code];

  it('gives the command a server, and takes its exit code', async () => {
    const code = `fetch(process.env.OPSCTL_TRACKER_URL + '/api/v3/labels', { headers: { 'Tracker-Token': process.env.OPSCTL_TRACKER_TOKEN } })
      .then(async (reply) => { console.log(reply.status, await reply.text()); process.exitCode = 7; })`;
    expect(await home.run(script(code))).toMatchObject({ code: 7, stdout: '200 []\n' });
  });
  it('hands over standard input, output and words as they are', async () => {
    const code = `process.stdin.pipe(process.stdout); process.stderr.write(JSON.stringify(process.argv.slice(1)))`;
    const {
      stdout,
      stderr,
      code: exit,
    } = await home.run([...script(code), '--', '--flag', 'a b', '*'], { input: 'in and out' });
    expect([stdout, stderr, exit]).toEqual(['in and out', '["--flag","a b","*"]', 0]);
  });
  it('sets every name that commands read', async () => {
    const { stdout } = await home.run(script('console.log(JSON.stringify(process.env))'));
    const env = JSON.parse(stdout);
    for (const name of 'TRACKER_URL TRACKER_TOKEN LABELS_URL LABELS_TOKEN AUTH_URL TOKEN_URL REVOKE_URL CLIENT_ID API_URL'.split(
      ' ',
    )) {
      expect(env[`OPSCTL_${name}`], name).toMatch(/./);
    }
  });
  it('mock run leaves no files behind, and does not change the saved state', async () => {
    const code = `fetch(process.env.OPSCTL_TRACKER_URL + '/api/v3/labels', { method: 'POST', body: '{"name":"x"}', headers: { 'Tracker-Token': process.env.OPSCTL_TRACKER_TOKEN } })`;
    await home.run(['mock', 'seed', 'empty']);
    expect((await home.run(script(code))).code).toBe(0);
    expect(await labelNames()).toEqual([]);
    await home.run(['mock', 'run', '--keep', '--', process.execPath, '-e', code]);
    expect(await labelNames()).toEqual(['x']);
  });
  it('mock run exits with 128 plus the signal of the command', async () => {
    expect((await home.run(script(`process.kill(process.pid, 'SIGKILL')`))).code).toBe(137);
  });
  it('mock run reports a missing command', async () => {
    const { code, stderr } = await home.run(['mock', 'run', '--', 'no-such-command']);
    expect(code).toBe(127);
    expect(stderr).toContain('no-such-command');
  });
});

describe('twenty parallel commands', () => {
  it('all succeed on the kept state', async () => {
    await home.run(['mock', 'seed', 'empty']);
    const names = Array.from({ length: 20 }, (_, i) => `label ${i}`);
    const ended = await Promise.all(
      names.map((name) => home.run(['tracker', 'labels', 'create', '--name', name])),
    );
    expect(ended.filter(({ code }) => code !== 0)).toEqual([]);
    expect((await labelNames()).sort()).toEqual(names.sort());
  });
});

describe('the data of the mock', () => {
  it('can be seeded, saved, thrown away and restored', async () => {
    await home.run(['mock', 'seed', 'empty']);
    await home.run(['tracker', 'labels', 'create', '--name', 'mine']);
    const { stdout } = await home.run(['mock', 'state']);
    const file = join(home.home, 'saved.json');
    writeFileSync(file, stdout);
    const refused = await home.run(['mock', 'reset']);
    expect([refused.code, refused.stderr.includes('--yes')]).toEqual([2, true]);
    await home.run(['mock', 'reset', '--yes']);
    expect(await labelNames()).not.toContain('mine');
    expect((await home.run(['mock', 'seed', file])).code).toBe(0);
    expect(await labelNames()).toEqual(['mine']);
    const serving = serve('--ephemeral', '--seed', file);
    const { url } = await serving.first;
    expect((await ask(url, '/api/v3/labels')).text).toContain('mine');
  });

  it('can be thrown away unread when it is damaged', async () => {
    await home.run(['tracker', 'labels', 'create', '--name', 'mine']);
    const { state_directory: directory } = await home.json(['mock', 'status']);
    const journal = join(directory, 'journal-1');
    writeFileSync(journal, readFileSync(journal, 'utf8').replace('mine', 'mIne'));
    const { code, stderr } = await home.run(['tracker', 'labels', 'list']);
    expect(code).toBe(3);
    expect(stderr).toContain('opsctl mock reset --discard');
    expect((await home.run(['mock', 'reset', '--discard', '--yes'])).code).toBe(0);
    expect((await home.run(['tracker', 'labels', 'list'])).code).toBe(0);
  });

  it('the mock has its own clock, faults and request log', async () => {
    const serving = serve();
    await serving.first;
    expect((await home.json(['mock', 'clock', 'set', '2030-01-01T00:00:00Z', '--freeze'])).time).toBe(
      '2030-01-01T00:00:00.000Z',
    );
    expect((await home.json(['mock', 'clock', 'advance', '31d'])).time).toBe('2030-02-01T00:00:00.000Z');
    const label = await home.json(['tracker', 'labels', 'create', '--name', 'dated']);
    expect(label.created_at).toBe('2030-02-01T00:00:00Z');
    await home.run([
      'mock',
      'faults',
      'add',
      '--method',
      'GET',
      '--path',
      '/api/v3/labels/*',
      '--status',
      '422',
      '--count',
      '1',
    ]);
    expect((await home.run(['tracker', 'labels', 'get', String(label.id)])).code).toBe(5);
    expect((await home.run(['tracker', 'labels', 'get', String(label.id)])).code).toBe(0);
    const requests = await home.json(['mock', 'requests', '--limit', '3']);
    expect(
      requests.map(({ method, status }: { method: string; status: number }) => [method, status]),
    ).toEqual([
      ['POST', 201],
      ['GET', 422],
      ['GET', 200],
    ]);
    expect(JSON.stringify(requests)).not.toContain('mock-tracker-token');
    expect((await home.run(['mock', 'faults', 'add'])).code).toBe(2);
    expect((await home.run(['mock', 'faults', 'clear', '7'])).code).toBe(6);
  });
});
