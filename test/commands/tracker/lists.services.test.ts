import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import type { Host } from '../../../src/platform/host.ts';
import { type Ran, opsctl } from '../../support/program.ts';
import { TOKEN, type TrackerServer, startTracker } from '../../support/tracker-server.ts';
import { makeDirectory } from '../../support/directory.ts';

let server: TrackerServer;
let home: string;
beforeAll(async () => {
  server = await startTracker();
  home = makeDirectory();
});
const atTerminal = (host: Host): Host => ({
  ...host,
  terminal: { ...host.terminal, stderr: { ...host.terminal.stderr, isTty: true } },
});
const run = (...argv: string[]): Promise<Ran> => {
  const env = {
    OPSCTL_TRACKER_URL: new URL(server.base).origin,
    OPSCTL_TRACKER_TOKEN: TOKEN,
    OPSCTL_RATE_PER_MINUTE: 'off',
  };
  return opsctl(['tracker', ...argv], { home, env, host: atTerminal });
};

test('a column that lists omit is requested', async () => {
  const description = (await server.ask('GET', '/epics/106')).body.description;
  expect(description).not.toBe('');
  const named = await run('epics', 'list', '-o', 'csv', '--columns', 'id,description');
  expect([named.code, named.stdout, named.stderr]).toEqual([0, `id,description\n106,${description}\n`, '']);
  const refused = await run(
    'epics',
    'list',
    '-o',
    'ndjson',
    '--columns',
    'description',
    '--includes-description',
    'false',
  );
  expect(refused.stderr).toMatch(/--columns.*`description`/);
  expect((await run('epics', 'list', '-o', 'json')).json()[0]).not.toHaveProperty('description');
});

test('a list fills the names for completion, except names of several lines', async () => {
  const words = () => readFileSync(join(home, 'cache', 'mock', 'names', 'label'), 'utf8');
  await server.ask('POST', '/labels', { name: 'two\nlines' });
  await run('labels', 'list', '--slim');
  expect(words()).toBe('onboarding\n');
  await server.ask('POST', '/labels', { name: 'später 😀' });
  await run('labels', 'list');
  expect(words()).toBe('onboarding\nspäter 😀\n');
  await run('members', 'list', '--disabled', 'true');
  expect(() => readFileSync(join(home, 'cache', 'mock', 'names', 'member'))).toThrow('ENOENT');
  await run('members', 'list');
  expect(readFileSync(join(home, 'cache', 'mock', 'names', 'member'), 'utf8')).toBe('ana\nben\ncleo\n');
});
