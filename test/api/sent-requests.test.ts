import { describe, expect, test } from 'vitest';
import { type Host, type HttpRequest, NetworkError } from '../../src/platform/host.ts';
import { type InMemory, labelsInMemory, type RunOptions, trackerInMemory } from '../support/in-memory.ts';
import { naming } from '../support/facts.ts';

const DIRECTORY = '/home/user/opsctl/state/mock/sent';
const create = ['epics', 'create', '--name', 'Login', '-o', 'json'];
/** The service applies the request, and its response gets lost. */
const losing = (at: InMemory): RunOptions => ({
  meanwhile: ({ method, path, body }) => {
    if (method !== 'POST') return undefined;
    at.send(method, path, body);
    return { status: 503, json: {} };
  },
});
const countOf = (at: InMemory): number => at.send('GET', '/epics').length;
const filesOf = async (at: InMemory): Promise<readonly string[]> => at.list(DIRECTORY).catch(() => []);

describe('a create whose response was lost', () => {
  test('is not sent again without --send-again', async () => {
    const at = trackerInMemory();
    expect((await at.run(create, losing(at))).code).toBe(11);
    const again = await at.run(create);
    expect(again).toMatchObject({ code: 10, writes: [] });
    expect(again.error()).toMatchObject({ code: 'UNFINISHED_REQUEST', data: { applied: 'unknown' } });
    expect(again.err).toContain('opsctl tracker epics list');
    expect(again.error().hints).toContainEqual(
      expect.stringContaining('opsctl tracker epics create --name Login -o json --send-again'),
    );
    expect(countOf(at)).toBe(1);
  });
  test('is sent once with --send-again, and the next create is free', async () => {
    const at = trackerInMemory();
    await at.run(create, losing(at));
    expect((await at.run([...create, '--send-again'])).code).toBe(0);
    expect((await at.run(create)).code).toBe(0);
    expect(countOf(at)).toBe(3);
  });
  test.each([
    { answer: false, code: 10, count: 1 },
    { answer: true, code: 0, count: 2 },
  ])('asks a person, and the answer $answer ends with $code', async ({ answer, code, count }) => {
    const at = trackerInMemory();
    await at.run(create, losing(at));
    const asked = await at.run(create, { tty: ['stdin', 'stderr'], answers: [answer] });
    expect(asked.code).toBe(code);
    expect(asked.asked).toEqual(['Send it again?']);
    expect(asked.err.split('same request')).toHaveLength(2);
    expect(countOf(at)).toBe(count);
  });
  test('is not sent again because of --yes', async () => {
    const at = trackerInMemory();
    await at.run(create, losing(at));
    expect((await at.run([...create, '--yes'], { tty: ['stdin', 'stderr'] })).code).toBe(10);
  });
  test('does not hold up another body or another deployment', async () => {
    const at = trackerInMemory();
    await at.run(create, losing(at));
    expect((await at.run(['epics', 'create', '--name', 'Logout'])).code).toBe(0);
    expect((await at.run(create, { origin: 'https://other.example' })).code).toBe(0);
  });
  test('does not hold up a command that finds the record', async () => {
    const at = trackerInMemory();
    const ensure = ['epics', 'ensure', '--name', 'Login'];
    await at.run(ensure, losing(at));
    expect((await at.run(ensure)).code).toBe(0);
    expect(countOf(at)).toBe(1);
  });
  test('is refused by opsctl api as well', async () => {
    const at = trackerInMemory();
    const raw = ['api', 'tracker', 'POST', '/epics', '--body', '{"name":"Login"}', '-o', 'json'];
    await at.run(raw, { ...losing(at), isTopLevel: true });
    const again = await at.run(raw, { isTopLevel: true });
    expect(again.error()).toMatchObject({ code: 'UNFINISHED_REQUEST' });
    expect(countOf(at)).toBe(1);
  });
});

test('a create that succeeds or is rejected removes its file', async () => {
  const at = trackerInMemory();
  const label = ['labels', 'create', '--name', 'bug'];
  expect((await at.run(label)).code).toBe(0);
  expect((await at.run(label)).code).toBe(5);
  expect(await filesOf(at)).toEqual([]);
});
test('a create whose result could not be printed is not sent again', async () => {
  const at = trackerInMemory();
  const filtered = [...create.slice(0, -2), '--jq', '.name | error'];
  expect((await at.run(filtered)).code).not.toBe(0);
  const again = await at.run(create);
  expect(again.error()).toMatchObject({ code: 'UNFINISHED_REQUEST', data: { applied: true } });
  expect(countOf(at)).toBe(1);
});
test('an update and a search are sent again without a question', async () => {
  const at = trackerInMemory();
  const { id } = at.send('POST', '/epics', { name: 'Login' });
  const lost: RunOptions = { meanwhile: () => ({ status: 503, json: {} }) };
  for (const words of [
    ['epics', 'update', String(id), '--name', 'Sign-in'],
    ['stories', 'search'],
  ]) {
    await at.run(words, lost);
    expect((await at.run(words)).code).toBe(0);
  }
});
test('a killed command is in the audit log, and its torn last line is not a request', async () => {
  const at = trackerInMemory();
  await at.run(create, losing(at));
  const [name = ''] = await filesOf(at);
  const path = `${DIRECTORY}/${name}`;
  const [head = '', sent = ''] = (at.read(path) ?? '').split('\n');
  await at.write(path, `${head}\n${sent}\n{"ended":true}\n`);
  const shown = await at.run(['audit', '-o', 'json'], { isTopLevel: true });
  expect(shown.json().at(-1)).toMatchObject({ method: 'POST', outcome: 'unknown', status: null });
  await at.write(path, `${head}\n{"ended":true}\n${sent.slice(0, 40)}`);
  expect((await at.run(create)).code).toBe(0);
});

/** The network of this machine answers a change in this way before it reaches the service. */
const changing = (act: (request: HttpRequest, host: Host) => Promise<void>): RunOptions => ({
  change: (host) => ({
    ...host,
    network: {
      ...host.network,
      request: async (request) => {
        if (request.method === 'POST') await act(request, host);
        return host.network.request(request);
      },
    },
  }),
});
const failing = (code: NetworkError['code'], isSent: boolean): RunOptions =>
  changing(async () => {
    throw new NetworkError(code, `cannot reach tracker.example: ${code}`, isSent);
  });
const auditOf = async (at: InMemory) =>
  (await at.run(['audit', '-o', 'json'], { isTopLevel: true })).json().at(-1);
describe('a create that did not leave the machine', () => {
  test.each(['REFUSED', 'DNS', 'TLS', 'PROXY', 'CONNECT_TIMEOUT', 'ABORTED'] as const)(
    'after %s the same command is sent without a question',
    async (code) => {
      const at = trackerInMemory();
      expect((await at.run(create, failing(code, false))).code).not.toBe(0);
      expect(await filesOf(at)).toEqual([]);
      expect(await auditOf(at)).toMatchObject({ method: 'POST', outcome: 'rejected', status: null });
      expect((await at.run(create)).code).toBe(0);
      expect(countOf(at)).toBe(1);
    },
  );
  test.each(['RESET', 'TIMEOUT', 'ABORTED'] as const)(
    'after %s of a sent request it is refused',
    async (code) => {
      const at = trackerInMemory();
      await at.run(create, failing(code, true));
      expect(await auditOf(at)).toMatchObject({ method: 'POST', outcome: 'unknown' });
      expect((await at.run(create)).error()).toMatchObject({ code: 'UNFINISHED_REQUEST' });
    },
  );
});
describe('a command that ends while it waits', () => {
  /** Keeps what a command killed during a wait leaves on disk. */
  const killedWhileWaiting = (at: InMemory, left: Record<string, string>): RunOptions => ({
    meanwhile: ({ method }) => (method === 'POST' ? { status: 429, json: {} } : undefined),
    change: (host) => ({
      ...host,
      sleep: async (ms, signal) => {
        for (const name of await filesOf(at)) left[name] = at.read(`${DIRECTORY}/${name}`) ?? '';
        return host.sleep(ms, signal);
      },
    }),
  });
  test('for the rate limit has no open request', async () => {
    const at = trackerInMemory();
    const left: Record<string, string> = {};
    const ran = await at.run(create, killedWhileWaiting(at, left));
    expect(ran.writes.length).toBeGreaterThan(1);
    expect(Object.keys(left)).toHaveLength(1);
    for (const [name, text] of Object.entries(left))
      await at.write(`${DIRECTORY}/${name}`, `${text}{"ended":true}\n`);
    expect((await at.run(create)).code).toBe(0);
    expect(await filesOf(at)).toEqual([]);
  });
  test('and is interrupted can be repeated', async () => {
    const at = trackerInMemory();
    const ran = await at.run(create, {
      meanwhile: ({ method }) => (method === 'POST' ? { status: 429, json: {} } : undefined),
      change: (host) => ({
        ...host,
        sleep: async (ms, signal) => {
          if (signal !== undefined) throw new Error('stopped');
          return host.sleep(ms);
        },
      }),
    });
    expect(ran.code).not.toBe(0);
    expect(await auditOf(at)).toMatchObject({ outcome: 'rejected' });
    expect((await at.run(create)).code).toBe(0);
  });
});

const later = (ms: number): RunOptions => ({
  change: (host) => ({ ...host, now: () => host.now() + ms }),
});
const HOUR_MS = 60 * 60_000;
describe('a note of an earlier command', () => {
  test('no longer refuses after 24 hours: a warning names the earlier request', async () => {
    const at = trackerInMemory();
    await at.run(create, losing(at));
    expect((await at.run(create, later(23 * HOUR_MS))).code).toBe(10);
    const [first, second] = [
      await at.run(create, later(25 * HOUR_MS)),
      await at.run(create, later(26 * HOUR_MS)),
    ];
    expect(first).toMatchObject({ code: 0 });
    expect(first.err).toContain('tracker epics create');
    expect(second).toMatchObject({ code: 0, err: '' });
  });
  test('is removed after a week, also if its file names no process or is damaged', async () => {
    const at = trackerInMemory();
    await at.run(create, losing(at));
    const [name = ''] = await filesOf(at);
    await at.write(`${DIRECTORY}/${name.replace('-', '-1')}`, '');
    await at.write(`${DIRECTORY}/${name.replace('-', '-2')}`, 'no JSON\n');
    await at.run(create, later(2 * 24 * HOUR_MS));
    expect(await filesOf(at)).toHaveLength(2);
    await at.run(create, later(8 * 24 * HOUR_MS));
    expect(await filesOf(at)).toEqual([]);
  });
  test.each([
    { status: 422, code: 0 },
    { status: 429, code: 10 },
    { status: 503, code: 10 },
  ])(
    'after --send-again and the status $status, the next create ends with $code',
    async ({ status, code }) => {
      const at = trackerInMemory();
      await at.run(create, losing(at));
      const meanwhile: RunOptions['meanwhile'] = ({ method }) =>
        method === 'POST' ? { status, json: {} } : undefined;
      await at.run([...create, '--send-again'], { meanwhile });
      expect((await at.run(create)).code).toBe(code);
    },
  );
  test('refuses the request with another opaque token, which may be of the same account', async () => {
    const at = trackerInMemory();
    await at.run(create, losing(at));
    const change = (host: Host): Host => ({
      ...host,
      env: { ...host.env, OPSCTL_TRACKER_TOKEN: 'other-token' },
    });
    expect((await at.run(create, { change })).code).toBe(10);
  });
  test('refuses a renewed token of one account, and does not hold up an account that is another one', async () => {
    const tokenOf = (claims: object): string =>
      ['{"alg":"none"}', JSON.stringify(claims), 'x']
        .map((part) => Buffer.from(part).toString('base64url'))
        .join('.');
    const as =
      (claims: object) =>
      (host: Host): Host => ({ ...host, env: { ...host.env, OPSCTL_LABELS_TOKEN: tokenOf(claims) } });
    const ada = { iss: 'https://a.example', sub: 'ada' };
    const label = ['create', '--label-type', 'SHARED', '--title', 'A', '-o', 'json'];
    for (const [second, code] of [
      [{ ...ada, exp: 2 }, 10],
      [{ ...ada, sub: 'bob' }, 0],
    ] as const) {
      const at = labelsInMemory();
      await at.run(label, { ...losing(at), change: as({ ...ada, exp: 1 }) });
      expect((await at.run(label, { change: as(second) })).code).toBe(code);
    }
  });
  test('is not made for a mock server, whose data can be reset', async () => {
    const at = trackerInMemory();
    const change = (host: Host): Host => ({
      ...host,
      env: { ...host.env, OPSCTL_MOCK_URL: 'https://tracker.example' },
    });
    await at.run(create, { ...losing(at), change });
    expect((await at.run(create, { change })).code).toBe(0);
  });
  test('of another container refuses when its request must have ended', async () => {
    const at = trackerInMemory();
    await at.run(create, losing(at));
    const [name = ''] = await filesOf(at);
    const path = `${DIRECTORY}/${name}`;
    const running = (at.read(path) ?? '').replace(/\{"answered.*/s, '');
    await at.write(path, running.replace(/"machine":"[^"]*"/, '"machine":"container"'));
    expect((await at.run(create, later(HOUR_MS / 2))).code).toBe(10);
    expect((await at.run(create)).code).toBe(0);
  });
});
test('a record that cannot be read is reported as damaged, once for a command', async () => {
  const at = trackerInMemory();
  await at.run(create, losing(at));
  const [name = ''] = await filesOf(at);
  await at.write(`${DIRECTORY}/${name}`, 'no JSON\n');
  const { code, err } = await at.run(create);
  expect(code).toBe(0);
  expect(err.split('damaged')).toHaveLength(2);
});

test('a dry run names the earlier command and sends nothing', async () => {
  const at = trackerInMemory();
  await at.run(create, losing(at));
  const shown = await at.run([...create, '--dry-run']);
  expect(shown).toMatchObject({ code: 0, writes: [] });
  expect(shown.json()).toMatchObject({ dry_run: true, sent_before: expect.stringContaining('epics create') });
  expect(
    (await at.run(['epics', 'create', '--name', 'Logout', '--dry-run', '-o', 'json'])).json(),
  ).not.toHaveProperty('sent_before');
});

test('a state directory that cannot be written costs one warning', async () => {
  const at = trackerInMemory();
  const change = (host: Host): Host => ({
    ...host,
    files: {
      ...host.files,
      makeDirectory: async () => {
        throw new Error('read-only file system');
      },
    },
  });
  const { code, err } = await at.run(['epics', 'create', '--name', 'Login'], { change });
  expect(code).toBe(0);
  expect(err.match(/^warning:/gm)).toHaveLength(1);
});
test('a part of an upload that is repeated names the rest', async () => {
  const names = ['1', '2', '3', '4', '5'].map((name) => `${name}.txt`);
  const at = trackerInMemory(Object.fromEntries(names.map((name) => [name, name])));
  let posts = 0;
  const meanwhile: RunOptions['meanwhile'] = ({ method }) => {
    if (method !== 'POST') return undefined;
    posts += 1;
    if (posts > 1) return { status: 503, json: {} };
    return { status: 201, json: names.slice(0, 4).map((name, at) => ({ id: at + 1, name })) };
  };
  const upload = ['files', 'upload', ...names, '-o', 'json'];
  expect((await at.run(upload, { meanwhile })).code).toBe(9);
  const { hints } = (await at.run(upload, { meanwhile })).error();
  expect(hints).toContainEqual(naming('upload'));
});
