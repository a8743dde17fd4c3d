import { expect, test } from 'vitest';
import { groups } from '../../src/cli/manifest.ts';
import { runProgram } from '../../src/cli/run.ts';
import { realHost } from '../support/real-host.ts';

/** Commands written by hand that only look, so that --dry-run changes nothing about them. */
const looks = [
  ...[
    'auth status',
    'auth list',
    'auth conformance',
    'auth inspect',
    'media get',
    'config list',
    'config get',
    'config path',
    'config profiles',
  ],
  ...[
    'doctor',
    'doctor auth',
    'completion',
    'reference',
    'explain',
    'commands',
    'api',
    'tracker export',
    'tracker diff',
    'tracker webhooks listen',
  ],
  ...[
    'labels diff',
    'labels validate',
    'labels lint',
    'labels schema',
    'labels locks',
    'mock status',
    'mock env',
    'mock snapshot list',
    'mock state',
    'mock requests',
    'mock env',
    'mock snapshot list',
    'mock clock show',
    'mock faults list',
    'mock features show',
  ],
  ...[
    'mock kv status',
    'mock kv log',
    'kv schema',
    'kv status',
    'kv check',
    'kv plan',
    'kv health',
    'kv version',
    'kv endpoint health',
  ],
  ...[
    'kv endpoint status',
    'kv endpoint hashkv',
    'kv get',
    'kv lease timetolive',
    'kv lease list',
    'kv member list',
    'kv alarm list',
  ],
  ...['kv snapshot verify', 'kv snapshot status', 'kv config lint', 'kv report'],
];
/** Commands written by hand that show what they would do. */
const shows = [
  ...[
    'logout',
    'auth logout',
    'auth refresh',
    'auth revoke',
    'tracker bulk',
    'tracker apply',
    'labels apply',
    'labels plan',
    'labels adopt',
    'labels export',
  ],
  ...['labels retire', 'labels permissions sync', 'kv upgrade', 'kv restore'],
];

test('every command looks only, shows what it would do, or refuses --dry-run', async () => {
  const all = (await Promise.all(groups.map((group) => group.load()))).flat();
  const silent = all
    .filter(({ operation, noDryRun }) => operation === undefined && noDryRun === undefined)
    .map(({ path }) => path.join(' '))
    // Made from the table of the console, where one place shows the request.
    .filter((name) => !name.startsWith('mock oauth ') && !looks.includes(name) && !shows.includes(name));
  expect(silent).toEqual([]);
  const both = all.filter(
    ({ path, noDryRun }) => noDryRun !== undefined && [...looks, ...shows].includes(path.join(' ')),
  );
  expect(both).toEqual([]);
});

test.each([
  [['config', 'set', 'timeout', '5s'], 'config set has no dry run; nothing was done'],
  [['login'], 'login has no dry run; nothing was done'],
  [['kv', 'fleet', 'nothing.yaml', '--hold-last'], 'kv fleet has no dry run; nothing was done'],
  [['mock', 'reset', '--yes'], 'mock reset has no dry run; nothing was done'],
])('%j with --dry-run is a usage error and does nothing', async (argv, text) => {
  const said: string[] = [];
  const real = await realHost();
  const stderr = {
    isTty: false,
    columns: 80,
    write: async (part: string | Uint8Array) => void said.push(String(part)),
  };
  const host = { ...real.host, hostname: real.host.hostname, terminal: { ...real.host.terminal, stderr } };
  expect(await runProgram(host, [...argv, '--dry-run'])).toBe(2);
  expect(said.join('')).toContain(text);
  await real.close();
});
