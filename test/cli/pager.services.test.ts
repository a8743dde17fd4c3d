/** The pager, by the rules of git, and symbols in a locale that has only ASCII. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { beforeAll, expect, test } from 'vitest';
import type { Host } from '../../src/platform/host.ts';
import { opsctl } from '../support/program.ts';
import { makeDirectory } from '../support/directory.ts';

let home = '';
beforeAll(() => {
  home = makeDirectory();
});

/** Runs the command on a terminal of four lines and returns the commands of the started pagers. */
const pagersOf = async (
  argv: readonly string[],
  env: Readonly<Record<string, string | undefined>> = {},
): Promise<string[]> => {
  const started: string[] = [];
  const onTerminal = (host: Host): Host => {
    const stdout = { ...host.terminal.stdout, isTty: true, rows: 4 };
    const stdin = { ...host.terminal.stdin, isTty: true };
    const page = async (command: string): Promise<boolean> => started.push(command) > 0;
    return { ...host, terminal: { ...host.terminal, stdout, stdin, page } };
  };
  const given = { CI: undefined, TERM: 'xterm', LANG: 'C.UTF-8', ...env };
  const { code, stderr } = await opsctl(argv, { home, env: given, host: onTerminal });
  expect(code, stderr).toBe(0);
  return started;
};
const long = ['config', 'list'];

test.each<[string, Record<string, string>, string[]]>([
  ['less where nothing is named', {}, ['less']],
  ['PAGER', { PAGER: 'more' }, ['more']],
  ['OPSCTL_PAGER before PAGER', { PAGER: 'more', OPSCTL_PAGER: 'most -s' }, ['most -s']],
  ['none: cat', { PAGER: 'cat' }, []],
  ['none: empty', { OPSCTL_PAGER: '' }, []],
  ['none in CI', { CI: '1' }, []],
  ['none on a terminal that cannot move its cursor', { TERM: 'dumb' }, []],
])('a long response goes through %s', async (_, env, expected) => {
  expect(await pagersOf(long, env)).toEqual(expected);
});

test('a pager shows reading output: never with --no-pager, for short output or after a change', async () => {
  expect(await pagersOf([...long, '--no-pager'])).toEqual([]);
  expect(await pagersOf(['version'])).toEqual([]);
  expect(await pagersOf(['tracker', 'labels', 'create', '--help'])).toEqual(['less']);
  expect(await pagersOf(['tracker', 'members', 'me', '--all-fields'])).toEqual(['less']);
  expect(await pagersOf(['tracker', 'labels', 'create', '--name', 'paged', '--all-fields'])).toEqual([]);
  expect(await pagersOf(['labels', 'export', '--all', '-f', 'defs'])).toEqual([]);
  expect(await pagersOf(['labels', 'adopt', '-f', 'defs'])).toEqual([]);
});

/** Runs a list on a terminal of two lines; `show` is the pager. */
const listOn = async (
  show: (texts: AsyncIterable<string>) => Promise<boolean>,
  more: Readonly<Record<string, string>> = {},
) => {
  let started = 0;
  const onTerminal = (host: Host): Host => {
    const stdout = Object.assign(Object.create(host.terminal.stdout), { isTty: true, rows: 2 });
    const stdin = { ...host.terminal.stdin, isTty: true };
    const page = async (_command: string, text: string | AsyncIterable<string>): Promise<boolean> => {
      started++;
      expect(typeof text).toBe('object');
      return show(text as AsyncIterable<string>);
    };
    return { ...host, terminal: { ...host.terminal, stdout, stdin, page } };
  };
  const env = { CI: undefined, TERM: 'xterm', LANG: 'C.UTF-8', ...more };
  const ran = await opsctl(['tracker', 'members', 'list', '-o', 'ndjson'], { home, env, host: onTerminal });
  return { ...ran, started };
};
test('a list goes to the pager while it arrives, and is written if no pager starts', async () => {
  const { stdout: expected } = await opsctl(['tracker', 'members', 'list', '-o', 'ndjson'], { home });
  expect(expected.split('\n').length).toBeGreaterThan(3);
  let shown = '';
  const paged = await listOn(async (texts) => {
    for await (const text of texts) shown += text;
    return true;
  });
  expect([paged.code, paged.started, paged.stdout, shown]).toEqual([0, 1, '', expected]);
  const unpaged = await listOn(async () => false);
  expect([unpaged.code, unpaged.started, unpaged.stdout]).toEqual([0, 1, expected]);
});
test('a page that is being read does not hold the embedded server', async () => {
  const settings = { home, env: { OPSCTL_MAX_TIME: '20s' } };
  let other = -1;
  const paged = await listOn(async (texts) => {
    for await (const _ of texts);
    other = (await opsctl(['tracker', 'members', 'list'], settings)).code;
    return true;
  });
  expect([paged.code, paged.started, other]).toEqual([0, 1, 0]);
});
test('a reader who leaves the pager early ends a list without an error', async () => {
  const left = await listOn(async (texts) => {
    for await (const _ of texts) break;
    return true;
  });
  expect([left.code, left.stdout, left.stderr]).toEqual([0, '', expect.not.stringContaining('error')]);
});

test('a reader who leaves the pager ends a list whose next row has not arrived', async () => {
  let hasGone = (): void => {};
  const gone = new Promise<void>((resolve) => (hasGone = resolve));
  const rows = Array.from({ length: 20_000 }, (_, id) => JSON.stringify({ id, kind: 'member' }));
  // The response is longer than the buffers of the client, and stays open: it is the client that ends it.
  const server = createServer((_, reply) => {
    reply.on('close', hasGone);
    reply.writeHead(200, { 'content-type': 'application/json' }).write(`[${rows.join(',')},`);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  try {
    const read = async (texts: AsyncIterable<string>): Promise<boolean> => {
      for await (const _ of texts) break;
      return true;
    };
    const url = `http://127.0.0.1:${port}`;
    const left = await listOn(read, { OPSCTL_TRACKER_URL: url, OPSCTL_TRACKER_TOKEN: 'token-of-the-test' });
    expect([left.code, left.started, left.stdout]).toEqual([0, 1, '']);
    expect(left.stderr).not.toContain('error');
    await gone;
  } finally {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});

test.each([
  ['C', /^[\n -~]*$/],
  ['POSIX', /^[\n -~]*$/],
  ['C.UTF-8', /[^\n -~]/],
])('signs of a check in the locale %s', async (LANG, signs) => {
  const env = { LANG, LC_ALL: undefined, LC_CTYPE: undefined, TERM: 'xterm' };
  const narrow = (host: Host): Host => {
    const stdout = { ...host.terminal.stdout, isTty: true, columns: 50 };
    return { ...host, terminal: { ...host.terminal, stdout } };
  };
  const { stdout } = await opsctl(['doctor', '-o', 'table', '--no-pager', '--color', 'never'], {
    home,
    env,
    host: narrow,
  });
  expect(stdout.length).toBeGreaterThan(100);
  expect(stdout).toMatch(signs);
});

test('COLUMNS gives the width of tables in a pipe', async () => {
  const widest = async (isWidthGiven: boolean): Promise<number> => {
    const inPipe = (host: Host): Host => {
      const stdout = Object.assign(Object.create(host.terminal.stdout), { columns: 50, isWidthGiven });
      return { ...host, terminal: { ...host.terminal, stdout } };
    };
    const { stdout } = await opsctl(['tracker', 'stories', 'list', '-o', 'table'], { home, host: inPipe });
    return Math.max(...stdout.split('\n').map((line) => line.length));
  };
  expect(await widest(true)).toBeLessThanOrEqual(50);
  expect(await widest(false)).toBeGreaterThan(50);
});

test('COLUMNS in a pipe: a line on stderr says how many columns did not fit', async () => {
  const hintsAt = async (columns: number | undefined, format: string): Promise<string> => {
    const inPipe = (host: Host): Host => {
      const given = columns === undefined ? {} : { columns, isWidthGiven: true };
      const stdout = Object.assign(Object.create(host.terminal.stdout), given);
      return { ...host, terminal: { ...host.terminal, stdout } };
    };
    const { stderr } = await opsctl(['tracker', 'stories', 'list', '-o', format], { home, host: inPipe });
    return stderr;
  };
  expect(await hintsAt(30, 'table')).toMatch(/^\d more columns?: -o wide$/m);
  expect(await hintsAt(undefined, 'table')).not.toContain('-o wide');
  expect(await hintsAt(30, 'json')).not.toContain('-o wide');
});
