/** `kv top` of a simulated cluster: as data, as one snapshot, and on a terminal with its keyboard commands. */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { codeCache } from '../support/code-cache.ts';
import { type Program, program } from '../support/built-program.ts';

const BIN = process.env.OPSCTL_TEST_BIN ?? fileURLToPath(new URL('../../bin/opsctl.js', import.meta.url));
let home: Program;
let cluster: string;
beforeAll(async () => {
  home = program();
  cluster = join(home.home, 'sim', 'cluster.yaml');
  expect((await home.run(['mock', 'kv', 'start', '--dir', 'sim', '-q'])).code).toBe(0);
});
afterAll(async () => {
  await home.run(['mock', 'kv', 'stop', '--dir', 'sim', '-q']);
});

it('kv top without a terminal prints one snapshot, or with -o ndjson one object per refresh', async () => {
  const once = await home.run(['kv', 'top', '--cluster', cluster, '-o', 'table']);
  expect([once.code, once.stdout]).toEqual([0, expect.stringMatching(/n1 +(leader|follower) +3\.2/)]);
  const many = await home.run([
    'kv',
    'top',
    '--cluster',
    cluster,
    '-o',
    'ndjson',
    '--count',
    '2',
    '--interval',
    '200ms',
    '--canary',
  ]);
  const rows = many.stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect([many.code, rows.length, rows[1].members.length]).toEqual([0, 2, 3]);
  expect(rows[1].canary.failed).toBe(0);
  const keys = await home.run([
    'kv',
    'get',
    '--prefix',
    '',
    '--cluster',
    cluster,
    '--keys-only',
    '-o',
    'json',
  ]);
  expect(keys.stdout).not.toContain('top-');
});

/** Presses each key after the expected output before it has appeared. */
const onTerminal = (dialogue: readonly (readonly [string, string])[], size = 'cols 80 rows 24', env = {}) =>
  new Promise<{ screen: string; code: number | null }>((resolve, reject) => {
    const line = `stty ${size}; ${process.execPath} ${BIN} kv top --cluster ${cluster} --interval 300ms`;
    const child = spawn('script', ['-qec', line, '/dev/null'], {
      env: {
        PATH: process.env.PATH,
        ...codeCache,
        HOME: home.home,
        OPSCTL_HOME: home.home,
        TERM: 'xterm',
        LANG: 'C.UTF-8',
        OPSCTL_PAGER: 'cat',
        ...env,
      },
    });
    let screen = '';
    let from = 0;
    const rest = [...dialogue];
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      screen += chunk;
      for (;;) {
        const next = rest[0];
        const at = next === undefined ? -1 : screen.indexOf(next[0], from);
        if (next === undefined || at < 0) break;
        from = at + next[0].length;
        rest.shift();
        child.stdin.write(next[1]);
      }
    });
    child.once('error', reject);
    child.once('close', (code) => resolve({ screen, code }));
  });

it('kv top on a terminal draws, runs a check by a key, returns, and restores the terminal', async () => {
  const { screen, code } = await onTerminal([
    ['q quit', 'c'],
    ['press a key to go back', 'x'],
    ['q quit', 'h'],
    ['no run is in progress on this machine', 'q'],
  ]);
  expect(code).toBe(0);
  expect(screen).toContain('$ opsctl kv check --cluster');
  expect(screen).toContain('Ready for an upgrade');
  expect(screen.startsWith('\u001b[?1049h\u001b[?25l')).toBe(true);
  expect(screen.endsWith('\u001b[?25h\u001b[?1049l')).toBe(true);
});
it('at 40 columns, ? lists the keys and the hidden columns, and ? shows the table again', async () => {
  const { screen, code } = await onTerminal(
    [
      ['? more  q quit', '?'],
      ['too narrow for:', '?'],
      ['member', 'q'],
    ],
    'cols 40 rows 24',
  );
  expect(code).toBe(0);
  expect(screen).toContain('r rollback');
});
it('an upgrade asks for the name of the cluster, as without the view', async () => {
  const { screen } = await onTerminal([
    ['q quit', 'u'],
    [' to confirm:', 'no\r'],
    ['press a key to go back', 'x'],
    ['q quit', 'q'],
  ]);
  expect(screen).toContain('not confirmed; no changes were made');
});
it('kv top uses ASCII under LANG=C', async () => {
  const { screen } = await onTerminal([['q quit', 'q']], 'cols 60 rows 24', { LANG: 'C', LC_ALL: 'C' });
  expect([...screen].filter((char) => char.charCodeAt(0) > 127)).toEqual([]);
});
