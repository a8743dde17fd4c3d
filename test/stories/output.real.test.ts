import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { type Server, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { type Program, program } from '../support/built-program.ts';
import { errorOf } from '../support/facts.ts';

const BIN = fileURLToPath(new URL('../../bin/opsctl.js', import.meta.url));
const label = (id: number) => ({
  id,
  name: `label ${id} \u001b[31m`,
  color: '#ff0000',
  stats: { num_stories_total: id },
});
let server: Server;
let url = '';
const seen: string[] = [];
beforeAll(async () => {
  server = createServer((request, response) => {
    seen.push(String(request.headers['tracker-token']));
    const status = request.url?.endsWith('/labels/9') ? 404 : 200;
    const body =
      status === 404
        ? { message: `no label; your token is ${request.headers['tracker-token']}` }
        : [label(1), label(2)];
    response
      .writeHead(status, { 'content-type': 'application/json', 'x-request-id': 'req-7' })
      .end(JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => void server.close());

let opsctl: Program;
beforeEach(() => {
  opsctl = program({ OPSCTL_TRACKER_URL: url, OPSCTL_TRACKER_TOKEN: 'very-secret-1' });
});
const list = (...more: string[]) => opsctl.run(['tracker', 'labels', 'list', ...more]);
const ended = (child: ChildProcess): Promise<number | null> =>
  new Promise((resolve) => child.once('close', resolve));

describe('one list in every format', () => {
  test('every format can be read back with equal data', async () => {
    const json = JSON.parse((await list('-o', 'json')).stdout);
    expect(json.map(({ id }: { id: number }) => id)).toEqual([1, 2]);
    expect(JSON.parse((await list()).stdout)).toEqual(json);
    expect(parse((await list('-o', 'yaml')).stdout)).toEqual(json);
    expect(
      (await list('-o', 'ndjson')).stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line)),
    ).toEqual(json);
    expect((await list('-o', 'name')).stdout).toBe(
      json.map(({ name }: { name: string }) => `${name.replace('\u001b', '\\u001b')}\n`).join(''),
    );
    expect((await list('-o', 'csv', '--columns', 'id,stats.num_stories_total')).stdout).toBe(
      'id,stats.num_stories_total\n1,1\n2,2\n',
    );
    expect((await list('-o', 'csv', '--no-header', '--columns', 'id')).stdout).toBe('1\n2\n');
    expect((await list('--jq', '.[] | select(.id > 1) | .color')).stdout).toBe('#ff0000\n');
    expect((await list('-o', 'table', '--columns', 'id,name')).stdout).toBe(
      'ID  NAME\n1   label 1 \\u001b[31m\n2   label 2 \\u001b[31m\n',
    );
  });

  test('conflicting flags are rejected before any request', async () => {
    const before = seen.length;
    for (const flags of [
      ['--jq', '.', '-o', 'yaml'],
      ['--jq', '.['],
      ['-o', 'xml'],
      ['--color', 'blue'],
    ])
      expect((await list(...flags)).code, flags.join(' ')).toBe(2);
    expect(seen).toHaveLength(before);
  });
});

describe('errors', () => {
  test('errors are available as text and as one JSON object, without the token', async () => {
    const text = await opsctl.run(['tracker', 'labels', 'get', '9', '-o', 'table']);
    expect(text).toMatchObject({ code: 6, stdout: '', stderr: expect.stringContaining('error: ') });
    expect(text.stderr).toContain('your token is ***');
    const json = await opsctl.run(['tracker', 'labels', 'get', '9', '-o', 'json']);
    expect(json).toMatchObject({ code: 6, stdout: '' });
    expect(errorOf(json)).toMatchObject({
      http_status: 404,
      exit_code: 6,
      request_id: 'req-7',
      message: expect.stringContaining('***'),
    });
  });

  test('--verbose and --dry-run show requests without the token', async () => {
    for (const flags of [['--verbose'], ['--dry-run'], ['--dry-run', '-o', 'table']]) {
      const { stdout, stderr, code } = await list(...flags);
      expect(code).toBe(0);
      expect(stdout + stderr).toContain(`${url}/api/v3/labels`);
      expect(stdout + stderr).not.toContain('very-secret-1');
    }
  });
});

test('a reader that takes one line ends the program quietly', async () => {
  const shell = spawn(
    'sh',
    ['-c', `(${process.execPath} ${BIN} commands -o ndjson; echo "exit $?" >&2) | head -1`],
    {
      env: { PATH: process.env.PATH, OPSCTL_HOME: opsctl.home },
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
  let [out, err] = ['', ''];
  shell.stdout.setEncoding('utf8').on('data', (chunk: string) => (out += chunk));
  shell.stderr.setEncoding('utf8').on('data', (chunk: string) => (err += chunk));
  await ended(shell);
  expect(out.trim().split('\n')).toHaveLength(1);
  expect(err).toBe('exit 0\n');
});

describe('settings', () => {
  test('a profile is created, used, and shown with its origin and a hidden secret', async () => {
    const plain = { OPSCTL_TRACKER_URL: undefined, OPSCTL_TRACKER_TOKEN: undefined };
    const run = (...args: string[]) => opsctl.run(args, { env: plain });
    expect((await run('config', 'set', 'tracker.url', url, '--profile', 'work')).code).toBe(0);
    expect(
      (
        await opsctl.run(['config', 'set', 'tracker.token', '--stdin', '--profile', 'work'], {
          env: plain,
          input: 'kept-secret-2\n',
        })
      ).code,
    ).toBe(0);
    expect((await run('config', 'use', 'work')).code).toBe(0);
    expect((await run('tracker', 'labels', 'list', '-o', 'name')).stdout).toMatch(
      /^label 1 .*\nlabel 2 .*\n$/,
    );
    expect(seen.at(-1)).toBe('kept-secret-2');
    const shown = await run('config', 'list', '--show-origin', '-o', 'table');
    expect(shown.stdout).toMatch(/tracker\.url +http.* +profile work/);
    expect(shown.stdout).toMatch(/tracker\.token +\*\*\*/);
    expect(shown.stdout + shown.stderr).not.toContain('kept-secret-2');
    expect(readFileSync(join(opsctl.home, 'config', 'config.json'), 'utf8')).toContain('kept-secret-2');
  });

  test.each<[string, Record<string, string | undefined>, string[], number]>([
    ['a token without a URL', { OPSCTL_TRACKER_URL: undefined }, [], 3],
    [
      'a profile that is not there',
      { OPSCTL_TRACKER_URL: undefined, OPSCTL_TRACKER_TOKEN: undefined, OPSCTL_PROFILE: 'prod' },
      [],
      3,
    ],
    [
      'the same by flag',
      { OPSCTL_TRACKER_URL: undefined, OPSCTL_TRACKER_TOKEN: undefined },
      ['--profile', 'prod'],
      3,
    ],
    [
      'the mock switched off',
      { OPSCTL_TRACKER_URL: undefined, OPSCTL_TRACKER_TOKEN: undefined, OPSCTL_MOCK: 'never' },
      [],
      3,
    ],
    ['plain HTTP to another machine', { OPSCTL_TRACKER_URL: 'http://tracker.example.com' }, [], 3],
    ['a URL that is none', { OPSCTL_TRACKER_URL: 'tracker' }, [], 3],
    ['no token', { OPSCTL_TRACKER_TOKEN: undefined }, [], 4],
    ['nothing listens', { OPSCTL_TRACKER_URL: 'http://127.0.0.1:9' }, ['--timeout', '1s'], 11],
  ])('%s', async (_, env, flags, code) => {
    const before = seen.length;
    const result = await opsctl.run(['tracker', 'labels', 'list', ...flags], { env });
    expect(result, result.stderr).toMatchObject({ code, stdout: '' });
    expect(seen).toHaveLength(before);
  });
});

describe.runIf(existsSync('/usr/bin/script') && process.platform === 'linux')('output on a terminal', () => {
  const onTerminal = async (args: string, env: Record<string, string>): Promise<string> => {
    const settings = {
      PATH: process.env.PATH,
      OPSCTL_HOME: opsctl.home,
      OPSCTL_TRACKER_URL: url,
      OPSCTL_TRACKER_TOKEN: 'very-secret-1',
      TERM: 'xterm',
      ...env,
    };
    const child = spawn('script', ['-qec', `stty cols 60; ${process.execPath} ${BIN} ${args}`, '/dev/null'], {
      env: settings,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let screen = '';
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => (screen += chunk));
    await ended(child);
    return screen;
  };

  test('a table with bold headings, data without its escapes, cut at the edge', async () => {
    const screen = await onTerminal('tracker labels list', {});
    expect(screen).toContain('\u001b[1mID');
    expect(screen).not.toContain('\u001b[31m');
    for (const line of screen.split('\r\n')) expect(line.length).toBeLessThanOrEqual(60 + 12);
  });

  test.each<[string, string, Record<string, string>]>([
    ['NO_COLOR', '', { NO_COLOR: '1' }],
    ['--color never', '--color never', { FORCE_COLOR: '1' }],
    ['TERM=dumb', '', { TERM: 'dumb' }],
  ])('no color with %s', async (_, flags, env) => {
    expect(await onTerminal(`tracker labels list ${flags}`, env)).not.toContain('\u001b');
    expect(await onTerminal(`tracker labels get 9 ${flags}`, env)).not.toContain('\u001b');
  });
});
