import { describe, expect, test } from 'vitest';
import { type AuditEntry, type AuditLog, auditFiles, auditSender, openAudit } from '../../src/api/audit.ts';
import { runProgram } from '../../src/cli/run.ts';
import { program } from '../../src/commands/program.ts';
import { loadSettings } from '../../src/config/load.ts';
import type { HttpReply } from '../../src/platform/host.ts';
import { fakeHost, replyFrom } from '../support/fake-host.ts';
import { trackerInMemory } from '../support/in-memory.ts';
import { pause } from '../support/slow-host.ts';

const FILE = '/home/user/opsctl/state/mock/audit/audit.jsonl';
const env = { HOME: '/home/user', OPSCTL_HOME: '/home/user/opsctl' };
const entriesOf = (text: string | undefined): any[] =>
  (text ?? '').split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line)]));

test('the audit log has one entry for each change, and none for reads and dry runs', async () => {
  const at = trackerInMemory();
  await at.run(['labels', 'create', '--name', 'bug']);
  await at.run(['labels', 'list']);
  await at.run(['labels', 'create', '--name', 'x', '--dry-run']);
  await at.run(['stories', 'search', '--archived', 'false']);
  await at.run(['labels', 'create', '--name', 'bug']);
  expect(entriesOf(at.read(FILE))).toMatchObject([
    { command: 'tracker labels create', service: 'tracker', method: 'POST', outcome: 'done', status: 201 },
    { command: 'tracker labels create', outcome: 'rejected' },
  ]);
});
test('the audit log contains no secret of a request', async () => {
  const at = trackerInMemory({ 'hook.txt': 'marker-77aa' });
  const create = [
    'webhooks',
    'create',
    '--webhook-url',
    'https://u:marker-88bb@hooks.example/in?token=marker-99cc',
  ];
  await at.run([...create, '--secret-file', 'hook.txt']);
  const text = at.read(FILE) ?? '';
  expect(entriesOf(text)).toHaveLength(1);
  expect(text).not.toMatch(/marker-/);
});
test('a change without a response is unknown in the audit log', async () => {
  const at = trackerInMemory();
  await at.run(['labels', 'create', '--name', 'bug'], { meanwhile: () => ({ status: 503, json: {} }) });
  expect(entriesOf(at.read(FILE))).toMatchObject([{ outcome: 'unknown', status: 503 }]);
});
test('the audit log keeps at most two files', async () => {
  const host = fakeHost({ env });
  const settings = loadSettings(host, {});
  const [older = '', current = ''] = auditFiles(settings);
  const log = openAudit(
    host,
    settings,
    () => {},
    (text) => text,
  );
  const entry = { body: 'x'.repeat(100_000) } as never;
  for (let i = 0; i < 100; i++) await log.write(entry);
  await log.close();
  const sizes = [older, current].map((path) => host.files.readNow(path)?.length ?? 0);
  expect(Math.max(...sizes)).toBeLessThan(4.3 * 1024 * 1024);
  expect(Math.min(...sizes)).toBeGreaterThan(0);
});
test('opsctl audit filters by service and time, and skips a line that a crash cut', async () => {
  const line = (at: string, service: string): string =>
    JSON.stringify({ at, command: 'x', service, outcome: 'done', method: 'POST', url: '/', status: 200 });
  const text = [
    line('2026-01-01T00:00:00.000Z', 'tracker'),
    line('2026-01-02T03:00:00.000Z', 'labels'),
    line('2026-01-02T03:01:00.000Z', 'tracker'),
    '{"at":"2026-01-02T03:0',
  ].join('\n');
  const run = async (...args: string[]): Promise<any[]> => {
    const host = fakeHost({ env, files: { [FILE]: text } });
    expect(await runProgram(host, ['audit', ...args, '-o', 'json'], program)).toBe(0);
    return JSON.parse(host.out());
  };
  expect(await run()).toHaveLength(3);
  expect(await run('--service', 'labels')).toHaveLength(1);
  expect(await run('--since', '1h')).toHaveLength(2);
  expect(await run('--since', '1h', '--limit', '1')).toMatchObject([{ service: 'tracker' }]);
});
test('opsctl audit names the changed record on a terminal of 80 columns', async () => {
  const entry = {
    ...{ at: '2026-01-02T03:00:00.123Z', command: 'tracker stories move', service: 'tracker' },
    ...{ outcome: 'done', method: 'PUT', status: 200 },
    url: 'https://tracker.example.com/api/v3/stories/107',
  };
  const host = fakeHost({
    ...{ env: { ...env, NO_COLOR: '1' }, tty: ['stdout', 'stderr'], columns: 80 },
    files: { [FILE]: `${JSON.stringify(entry)}\n` },
  });
  expect(await runProgram(host, ['audit'], program)).toBe(0);
  expect(host.out().split('\n')[1]?.split(/ {2,}/)).toEqual([
    ...['2026-01-02T03:00:00Z', 'tracker stories move', 'done', '/api/v3/stories/107', '200'],
  ]);
});
test('opsctl audit keeps the origin of each URL in a requested format and for several servers', async () => {
  const entry = (url: string): string =>
    JSON.stringify({
      ...{ at: '2026-01-02T03:00:00.123Z', command: 'x', service: 'tracker', outcome: 'done' },
      ...{ method: 'PUT', url: `https://${url}.example/stories/1`, status: 200 },
    });
  const shown = async (servers: readonly string[], ...args: string[]): Promise<string> => {
    const files = { [FILE]: `${servers.map(entry).join('\n')}\n` };
    const host = fakeHost({ env: { ...env, NO_COLOR: '1' }, tty: ['stdout'], columns: 200, files });
    expect(await runProgram(host, ['audit', ...args], program)).toBe(0);
    return host.out();
  };
  for (const args of [
    ['-o', 'wide'],
    ['-o', 'table'],
    ['--columns', 'url'],
  ])
    expect(await shown(['a'], ...args), args.join(' ')).toContain('https://a.example/stories/1');
  const both = await shown(['a', 'b']);
  for (const server of ['a', 'b']) expect(both).toContain(`https://${server}.example/stories/1`);
  expect(await shown(['a', 'b'], '--limit', '1')).not.toContain('https://');
});
test('the audit log has every entry of parallel requests when its file is replaced', async () => {
  const host = fakeHost({ env });
  const settings = loadSettings(host, {});
  const [older = '', current = ''] = auditFiles(settings);
  let open = 0;
  const append: typeof host.files.append = (path, mode) => {
    const file = host.files.append(path, mode);
    let isOpen = true;
    open += 1;
    const close = (): void => {
      if (!isOpen) throw new Error('EBADF: bad file descriptor, close');
      isOpen = false;
      open -= 1;
      file.close();
    };
    return { ...file, close };
  };
  const warnings: string[] = [];
  const log = openAudit(
    { ...host, files: { ...host.files, append } },
    settings,
    (text) => warnings.push(text),
    (text) => text,
  );
  for (let i = 0; i < 15; i++)
    await Promise.all(
      [0, 1, 2, 3].map((j) => log.write({ id: 4 * i + j, body: 'x'.repeat(100_000) } as never)),
    );
  await log.close();
  const written = [older, current].flatMap((path) => entriesOf(host.files.readNow(path)?.toString()));
  expect([warnings, open, written.map(({ id }) => id).sort((a, b) => a - b)]).toEqual([
    [],
    0,
    Array.from({ length: 60 }, (_, i) => i),
  ]);
});

test('the audit log writes the entries of one turn together, each before its request ends', async () => {
  const host = fakeHost({ env });
  const settings = loadSettings(host, {});
  const [, current = ''] = auditFiles(settings);
  const writes: string[] = [];
  const append: typeof host.files.append = (path, mode) => {
    const file = host.files.append(path, mode);
    return { ...file, write: (text) => void (writes.push(String(text)), file.write(text)) };
  };
  const log = openAudit(
    { ...host, files: { ...host.files, append } },
    settings,
    () => {},
    (text) => text.replace('secret', '***'),
  );
  const lines = ['{"id":1,"body":"***"}\n', '{"id":2,"body":"***"}\n'];
  const first = log.write({ id: 1, body: 'secret' } as never);
  await Promise.all([first, log.write({ id: 2, body: 'secret' } as never)]);
  expect([writes, host.files.readNow(current)?.toString()]).toEqual([[lines.join('')], lines.join('')]);
});

const entryOf = (url: string): AuditEntry => ({
  ...{ at: '2026-01-01T00:00:00.000Z', command: 'tracker bulk', profile: 'default', service: 'tracker' },
  ...{ mock: false, method: 'POST', url, body: null, outcome: 'done', status: 200, duration_ms: 1 },
});
test('the audit log closes its file after the entries that no request waited for', async () => {
  const host = fakeHost({ env });
  const effects: string[] = [];
  let open = (): void => {};
  const isOpened = new Promise<void>((resolve) => {
    open = resolve;
  });
  const append: typeof host.files.append = (path, mode) => {
    const file = host.files.append(path, mode);
    const write: typeof file.write = (text) => {
      effects.push(...entriesOf(String(text)).map(({ url }) => url));
      file.write(text);
    };
    const close = (): void => {
      effects.push('close');
      file.close();
    };
    return { ...file, write, close };
  };
  const makeDirectory: typeof host.files.makeDirectory = async (path, mode) => {
    await isOpened;
    return host.files.makeDirectory(path, mode);
  };
  const log = openAudit(
    { ...host, files: { ...host.files, append, makeDirectory } },
    loadSettings(host, {}),
    () => {},
    (text) => text,
  );
  void log.write(entryOf('/1'));
  await pause();
  void log.write(entryOf('/2'));
  const closed = log.close().then(() => effects.push('closed'));
  await pause();
  expect(effects).toEqual([]);
  open();
  await closed;
  expect(effects).toEqual(['/1', '/2', 'close', 'closed']);
});

test('entries of one millisecond have the method, the address and the body of their own request', async () => {
  const entries: AuditEntry[] = [];
  const write = async (entry: AuditEntry | string): Promise<void> =>
    void entries.push(typeof entry === 'string' ? JSON.parse(entry) : entry);
  const host = { now: () => 0, elapsed: () => 0 };
  const target = { baseUrl: 'https://tracker.example', headers: {}, isMock: true, origin: 'test' };
  const who = { command: 'tracker "bulk"', profile: 'p' };
  const replies = [201, 409, 503];
  const request = auditSender(
    { write, close: async () => {} },
    host,
    who,
    { service: 'tracker', target },
    async () => replyFrom({ status: replies.shift() ?? 0 }),
  );
  const sent = [
    { method: 'POST', url: 'https://tracker.example/a', body: '{"name":"a \\"b\\" \\u2028"}' },
    { method: 'PUT', url: 'https://tracker.example/a', body: '{}' },
    { method: 'PUT', url: 'https://tracker.example/b' },
  ];
  for (const one of sent) await request({ ...one, transport: 'bulk' });
  const outcomes = [
    { outcome: 'done', status: 201 },
    { outcome: 'rejected', status: 409 },
    { outcome: 'unknown', status: 503 },
  ];
  expect(entries).toEqual(
    sent.map(({ body = null, ...asked }, at) => ({
      ...{ at: '1970-01-01T00:00:00.000Z', ...who, service: 'tracker', mock: true },
      ...{ ...asked, body, ...outcomes[at], duration_ms: 0 },
    })),
  );
});

describe('the response of a change', () => {
  const bed = (send: () => Promise<HttpReply> = async () => replyFrom({})) => {
    const ends: (() => void)[] = [];
    const write = (): Promise<void> => new Promise((resolve) => ends.push(resolve));
    const log: AuditLog = { write, close: async () => {} };
    const host = fakeHost({ env });
    const target = { baseUrl: 'https://tracker.example', headers: {}, isMock: false, origin: 'test' };
    const place = { service: 'tracker', target };
    const request = auditSender(log, host, { command: 'tracker bulk', profile: 'p' }, place, send);
    const ask = async (transport?: 'bulk'): Promise<string> => {
      let state = 'waits';
      const asked = { method: 'POST', url: 'https://tracker.example/labels', body: '{}' };
      void request({ ...asked, ...(transport && { transport }) }).then(
        () => (state = 'responded'),
        () => (state = 'failed'),
      );
      await pause();
      return state;
    };
    const writeAll = async (): Promise<void> => {
      for (const end of ends.splice(0)) end();
      await pause();
    };
    return { ask, writeAll, waiting: () => ends.length };
  };
  test('waits for its audit entry, unless it is a row of a bulk run after the first', async () => {
    const { ask, writeAll, waiting } = bed();
    expect([await ask('bulk'), waiting()]).toEqual(['waits', 1]);
    await writeAll();
    expect([await ask('bulk'), await ask(), waiting()]).toEqual(['responded', 'waits', 2]);
  });
  test('that fails waits for its audit entry, including in a bulk run', async () => {
    let isLost = false;
    const { ask, writeAll } = bed(async () => {
      if (isLost) throw new Error('the connection was closed');
      return replyFrom({});
    });
    await ask('bulk');
    await writeAll();
    isLost = true;
    expect(await ask('bulk')).toBe('waits');
  });
});
