import { expect, test } from 'vitest';
import { auditFiles, openAudit } from '../../src/api/audit.ts';
import { runProgram } from '../../src/cli/run.ts';
import { program } from '../../src/commands/program.ts';
import { loadSettings } from '../../src/config/load.ts';
import { fakeHost } from '../support/fake-host.ts';
import { trackerInMemory } from '../support/in-memory.ts';

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
