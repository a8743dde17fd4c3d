import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  realpathSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { directoriesOf } from '../../src/config/settings.ts';
import { fakeHost } from '../support/fake-host.ts';
import { type Program, program } from '../support/built-program.ts';
import { makeDirectory } from '../support/directory.ts';
import { covers } from '../support/covers.ts';

let opsctl: Program;
let directory = '';
beforeEach(() => {
  opsctl = program({ NODE_COMPILE_CACHE: '' });
  directory = join(opsctl.home, 'cache', 'code');
});

/** Help for which the program is loaded. The answer to `--help` without a terminal is a page of the build. */
const helpLine = ['help', 'tracker', 'labels', 'create'];
const help = async (env: Record<string, string> = {}): Promise<void> => {
  const { code, stdout, stderr } = await opsctl.run(helpLine, { env });
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout).toContain('opsctl tracker labels create --name <text>');
};
/** Maps each file name to its inode. A rewritten file has a different inode. */
const files = (): Record<string, number> =>
  Object.fromEntries(readdirSync(directory).map((name) => [name, statSync(join(directory, name)).ino]));
const mode = (path: string): number => statSync(path).mode & 0o777;

test('compiled code is kept privately, and the next start uses it', async () => {
  await help();
  const first = files();
  expect(Object.keys(first)).toContainEqual(expect.stringMatching(/^core-.*\.bin$/));
  expect(mode(directory)).toBe(0o700);
  for (const name of Object.keys(first)) expect(mode(join(directory, name))).toBe(0o600);
  await help();
  expect(files()).toEqual(first);
});

test("compiled code is kept in Node's own cache if that is configured", async () => {
  const place = join(opsctl.home, 'of-a-job');
  await help({ NODE_COMPILE_CACHE: place });
  expect(existsSync(directory)).toBe(false);
  const names = readdirSync(join(place, 'opsctl'));
  expect(names).toContainEqual(expect.stringMatching(/^core-.*\.bin$/));
  expect(mode(join(place, 'opsctl'))).toBe(0o700);
});

/** Starts a tracker whose list of labels has this many rows, and returns the settings that name it. */
const trackerWith = async (rows: number) => {
  const list = JSON.stringify(
    Array.from({ length: rows }, (_, id) => ({ id, name: `bug ${id}`, entity_type: 'label' })),
  );
  const server = createServer((_, reply) => reply.end(list)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const env = { OPSCTL_TRACKER_URL: `http://127.0.0.1:${port}`, OPSCTL_TRACKER_TOKEN: 'made-up' };
  return { env, close: () => server.close() };
};

test('compiled code of a run with changed V8 flags is reused', async () => {
  // A long list changes the flags; 10,000 rows have more than 200 kB.
  const { env, close } = await trackerWith(10_000);
  const { code } = await opsctl.run(['tracker', 'labels', 'list'], { env });
  close();
  expect(code).toBe(0);
  const first = files();
  await help();
  expect(files()).toMatchObject(first);
});

test('a bulk run reuses the compiled code of its parts', async () => {
  const server = createServer((asked, reply) => {
    asked.resume().on('end', () => {
      reply.writeHead(201, { 'content-type': 'application/json' }).end('{"id":7,"name":"bug"}');
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const env = { OPSCTL_TRACKER_URL: `http://127.0.0.1:${port}`, OPSCTL_TRACKER_TOKEN: 'made-up' };
  const rows = join(opsctl.home, 'rows.ndjson');
  writeFileSync(rows, '{"op":"create","resource":"labels","name":"bug"}\n');
  const bulk = () => opsctl.run(['tracker', 'bulk', '-f', rows, '--restart', '-o', 'ndjson'], { env });
  const before = await bulk();
  const first = files();
  const after = await bulk();
  server.close();
  expect([before.code, after.code, before.stderr]).toEqual([0, 0, expect.stringContaining('1 done')]);
  expect(Object.keys(first)).toContainEqual(expect.stringMatching(/^undo-/));
  expect(files()).toEqual(first);
});

/** Runs the program, and lists the modules of Node that it loaded. */
const runWatched = async (words: readonly string[], env: Record<string, string> = {}) => {
  const loaded = join(opsctl.home, 'loaded.json');
  const hook = join(opsctl.home, 'hook.cjs');
  writeFileSync(
    hook,
    `process.on('exit', () => require('fs').writeFileSync(${JSON.stringify(loaded)}, JSON.stringify(process.moduleLoadList)));`,
  );
  const ended = await opsctl.run([...words], {
    env: { ...env, NODE_OPTIONS: `--require=${JSON.stringify(hook)}` },
  });
  return { ...ended, modules: JSON.parse(readFileSync(loaded, 'utf8')) as string[] };
};

test.skipIf(process.platform !== 'linux')(
  'a short list loads none of the modules of Node that hash, compress, speak HTTP or use threads',
  covers('spec/program#startup-1'),
  async () => {
    const { env, close } = await trackerWith(1);
    const list = ['tracker', 'labels', 'list'];
    // The first run compiles, writes the cache and the names for completion, and starts the file of tickets.
    expect((await opsctl.run(list, { env })).code).toBe(0);
    const { code, modules } = await runWatched(list, env);
    close();
    expect(code).toBe(0);
    expect(modules).toContain('NativeModule net');
    const costly =
      /^NativeModule (?:crypto|internal\/crypto\/.*|internal\/fs\/promises|tty|v8|zlib|_?http\w*|tls|dns)$/;
    expect(modules.filter((name) => costly.test(name))).toEqual([]);
    const names = readFileSync(join(opsctl.home, 'cache', 'mock', 'records', 'label'), 'utf8');
    expect(names).toContain('bug 0');
  },
);

test.skipIf(process.platform !== 'linux')('the page of help loads no stream and no socket', async () => {
  const { code, stdout, modules } = await runWatched(['--help']);
  expect([code, stdout]).toEqual([0, expect.stringContaining('Usage')]);
  expect(modules.filter((name) => /^NativeModule (?:tty|net|stream|http)$/.test(name))).toEqual([]);
});

test.skipIf(process.platform !== 'linux')(
  'the help of a command, if the program makes it, loads no code of requests, no rows of other resources, and no node:zlib',
  async () => {
    const { code, stdout, modules } = await runWatched(helpLine);
    expect([code, stdout]).toEqual([0, expect.stringContaining('--name')]);
    expect(modules.filter((name) => /^NativeModule (?:crypto|http|zlib)$/.test(name))).toEqual([]);
    const chunks = Object.keys(files()).map((name) => name.replace(/-[\w-]{8}\.js.*$/, ''));
    expect(chunks).toContain('core');
    expect(chunks.filter((name) => /^(?:request|extension|stories)$/.test(name))).toEqual([]);
  },
);

test.each([
  ['a command', ['tracker', 'labels', 'create', '--help']],
  ['a group that is a topic', ['mock', '-h']],
  ['a group of commands', ['kv', 'member', '--help']],
])('help without a terminal loads no program and prints what the program prints: %s', async (_, words) => {
  const ready = await opsctl.run(words);
  expect(existsSync(directory)).toBe(false);
  const made = await opsctl.run(words, { env: { COLUMNS: '80' } });
  expect(existsSync(directory)).toBe(true);
  expect([ready.code, ready.stdout, ready.stderr]).toEqual([0, made.stdout, made.stderr]);
});

test.each([
  ['a wrong flag', ['tracker', 'labels', 'create', '--no-such-flag', '--help'], 2],
  ['an unknown command', ['tracker', 'no-such-group', '--help'], 2],
  ['a name that is a path', ['..', '--help'], 2],
])('help answers from a page only if the line is its name: %s', async (_, words, code) => {
  const ended = await opsctl.run(words);
  expect([ended.code, ended.stdout]).toEqual([code, '']);
});

test.skipIf(process.platform === 'win32')(
  'a directory that others can write to is neither used nor written',
  async () => {
    mkdirSync(directory, { recursive: true });
    chmodSync(directory, 0o777);
    await help();
    expect(readdirSync(directory)).toEqual([]);
  },
);

/** Flips one bit in the middle. The length and all data that V8 checks stay unchanged. */
const flipBit = (path: string): void => {
  const bytes = readFileSync(path);
  const middle = bytes.length >> 1;
  bytes[middle] = (bytes[middle] ?? 0) ^ 1;
  writeFileSync(path, bytes);
};

test.each([
  ['cut off', (path: string) => truncateSync(path, 100)],
  ['one bit flipped', flipBit],
])('a damaged file is compiled again: %s', async (_, damage) => {
  await help();
  const first = files();
  for (const name of Object.keys(first)) damage(join(directory, name));
  await help();
  const second = files();
  expect(Object.keys(second)).toEqual(Object.keys(first));
  for (const [name, inode] of Object.entries(second)) {
    expect(inode).not.toBe(first[name]);
    expect(statSync(join(directory, name)).size).toBeGreaterThan(100);
  }
});

test('an unwritable or disabled cache has no effect', async () => {
  await help({ NODE_DISABLE_COMPILE_CACHE: '1' });
  expect(existsSync(directory)).toBe(false);
  mkdirSync(join(opsctl.home, 'cache'));
  writeFileSync(directory, 'no directory');
  await help();
});

/** Root in a separate user namespace (as in the offline stories) has no other users. */
const mayBeOthers = spawnSync('true', { uid: 54_321 }).status === 0;

test.skipIf(!mayBeOthers)('root stores no files in the home of another user', async () => {
  mkdirSync(join(opsctl.home, 'cache'));
  chownSync(join(opsctl.home, 'cache'), 1, 1);
  await help();
  expect(existsSync(directory)).toBe(false);
});

test.skipIf(process.platform === 'win32').each(['/dev/null/x', '/proc/opsctl-nothing', '/dev/full'])(
  'a home that accepts no files has no effect: %s',
  async (home) => {
    await help({ OPSCTL_HOME: home });
  },
);

test.skipIf(!mayBeOthers)('a user without a home stores no files', () => {
  const place = makeDirectory();
  chmodSync(place, 0o755);
  for (const name of ['bin', 'dist', 'package.json'])
    cpSync(new URL(`../../${name}`, import.meta.url), join(place, name), { recursive: true });
  const line = [join(place, 'bin/opsctl.js'), ...helpLine];
  // No entry in /etc/passwd and no HOME, as in a container with an arbitrary user id.
  const ended = spawnSync(process.execPath, line, { uid: 54_321, env: {}, encoding: 'utf8', cwd: '/' });
  expect([ended.status, ended.stderr]).toEqual([0, '']);
});

test('only outdated code is removed from the cache', async () => {
  await help();
  const core = Object.keys(files()).find((name) => name.startsWith('core-'));
  const old = 'core-AAAAAAAA.js-v20.19.0-x64.bin';
  for (const name of [old, `${old}.4711`, 'labels.json']) {
    writeFileSync(join(directory, name), '');
    utimesSync(join(directory, name), 0, 0);
  }
  // Only a start that stores code checks for old files.
  truncateSync(join(directory, core as string), 100);
  await help();
  const left = Object.keys(files());
  expect(left).toContain('labels.json');
  expect(left.filter((name) => name.startsWith(old))).toEqual([]);
});

test.each<[string, Record<string, string>]>([
  ['one directory', { OPSCTL_HOME: '/made/up' }],
  ['a relative one', { OPSCTL_HOME: 'made/up' }],
  ['its own place', { HOME: '/home/of/one', XDG_CACHE_HOME: '/made/up' }],
  ['a relative place, which is ignored', { HOME: '/home/of/one', XDG_CACHE_HOME: 'made/up' }],
  ['the home', { HOME: '/home/of/one' }],
])('the cache directory is that of the settings: %s', (_, env) => {
  const cwd = realpathSync(tmpdir());
  const loader = new URL('../../bin/load.js', import.meta.url).pathname;
  const line = ['-p', `require(${JSON.stringify(loader)}).directory`];
  const { stdout } = spawnSync(process.execPath, line, { cwd, env, encoding: 'utf8' });
  const host = { env, cwd, platform: process.platform, files: fakeHost().files };
  expect(stdout.trim()).toBe(directoriesOf(host, 'code').cache);
});
