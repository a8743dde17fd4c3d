import { chmodSync, readdirSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
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
afterAll(() => {
  chmodSync(home, 0o700);
});
const run = (argv: readonly string[], host?: (real: Host) => Host): Promise<Ran> => {
  const env = {
    OPSCTL_TRACKER_URL: new URL(server.base).origin,
    OPSCTL_TRACKER_TOKEN: TOKEN,
    OPSCTL_RATE_PER_MINUTE: 'off',
  };
  return opsctl(['tracker', ...argv, '-o', 'json'], { home, env, ...(host ? { host } : {}) });
};
const named = async (name: string) =>
  (await server.ask('GET', '/groups')).body.filter((group: { name: string }) => group.name === name);

test.each(['ensure', 'upsert'])(
  'only one of many processes that %s the same record creates it if duplicates are allowed',
  async (verb) => {
    const argv = ['groups', verb, '--name', `Once ${verb}`, '--mention-name', `once-${verb}`];
    const ran = await Promise.all(Array.from({ length: 8 }, () => run(argv)));
    expect(ran.map(({ code, stderr }) => (code === 0 ? 0 : stderr))).toEqual(Array(8).fill(0));
    const [group, ...others] = await named(`Once ${verb}`);
    expect(others).toEqual([]);
    expect(new Set(ran.map((one) => one.json().id))).toEqual(new Set([group.id]));
    expect(readdirSync(home, { recursive: true }).filter((path) => String(path).endsWith('.lock'))).toEqual(
      [],
    );
  },
);

test('ensure works with an unwritable home', async () => {
  const readOnly = (real: Host): Host => ({
    ...real,
    files: {
      ...real.files,
      create: () =>
        Promise.reject(Object.assign(new Error('EROFS: read-only file system'), { code: 'EROFS' })),
    },
  });
  const ran = await run(['groups', 'ensure', '--name', 'Anyway', '--mention-name', 'anyway'], readOnly);
  expect([ran.code, await named('Anyway')]).toEqual([
    0,
    [expect.objectContaining({ mention_name: 'anyway' })],
  ]);
});

test('a dry run shows the create and takes no lock', async () => {
  const ran = await run(['groups', 'ensure', '--name', 'Dry', '--mention-name', 'dry', '--dry-run']);
  expect([ran.code, ran.json().method, await named('Dry')]).toEqual([0, 'POST', []]);
});
