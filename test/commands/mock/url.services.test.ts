import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { commands } from '../../../src/commands/mock/commands.ts';
import { type AuthServer, authServer } from '../../support/auth-server.ts';
import { opsctl } from '../../support/program.ts';
import { makeDirectory } from '../../support/directory.ts';

let home = '';
let server: AuthServer;
beforeAll(async () => {
  home = makeDirectory();
  server = await authServer();
});
const mock = (...words: string[]) => opsctl(['mock', ...words, '-o', 'json'], { home });

test('every command for a running server has the flag --url', () => {
  const own = ['serve', 'start', 'env', 'run', 'stop', 'record', 'kv', 'compare', 'replay'];
  const without = commands.filter(
    ({ path, flags = {} }) =>
      !own.includes(path[1] ?? '') && !('url' in flags) && path.join(' ') !== 'mock oauth console',
  );
  expect(without.map(({ path }) => path.join(' '))).toEqual([]);
});
test('--url selects the server', async () => {
  const advanced = await mock('clock', 'advance', '14m', '--url', server.origin);
  expect(advanced.code, advanced.stderr).toBe(0);
  const there = Date.parse((await mock('clock', 'show', '--url', server.origin)).json().time);
  const here = Date.parse((await mock('clock', 'show')).json().time);
  expect(there - here).toBeGreaterThan(13 * 60_000);
});
test('an invalid --url is a usage error', async () => {
  expect((await mock('clock', 'show', '--url', 'nonsense')).code).toBe(2);
});
test.each(['--debug', '--har', '--record'])('--url works together with %s', async (flag) => {
  const trace = flag === '--debug' ? [flag] : [flag, join(home, `trace${flag}`)];
  const shown = await mock('clock', 'show', '--url', server.origin, ...trace);
  expect(shown.code, shown.stderr).toBe(0);
  const gone = await mock('status', '--url', 'http://127.0.0.1:9', ...trace);
  expect(gone.stderr).not.toContain('unexpected');
  expect(gone.stderr).toContain('127.0.0.1:9');
});
