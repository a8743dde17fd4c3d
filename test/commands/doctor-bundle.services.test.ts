/** One archive for a bug report: it contains the useful data, and no secret. */
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { beforeAll, expect, it } from 'vitest';
import { limits } from '../../src/core/limits.ts';
import { parseTarGzip } from 'nanotar';
import { opsctl } from '../support/program.ts';
import { covers } from '../support/covers.ts';
import { makeDirectory } from '../support/directory.ts';

const planted = {
  OPSCTL_TRACKER_TOKEN: 'planted-tracker-4711',
  OPSCTL_LABELS_TOKEN: 'planted-labels-4712',
  OPSCTL_CLIENT_SECRET: 'planted-client-4713',
  HTTPS_PROXY: 'http://ann:planted-proxy-4714@127.0.0.1:9',
};
let home: string;
beforeAll(() => {
  home = makeDirectory();
});

it('holds versions, origins, both doctors and the last crash, and none of the secrets that were planted', async () => {
  mkdirSync(join(home, 'state', 'crashes'), { recursive: true });
  writeFileSync(join(home, 'state', 'crashes', 'crash-2026-01-01T000000.000Z-1.txt'), 'older\n');
  writeFileSync(
    join(home, 'state', 'crashes', 'crash-2026-01-02T000000.000Z-1.txt'),
    `TypeError\n    at x (${planted.OPSCTL_TRACKER_TOKEN}.js:1:1)\n`,
  );
  const env = {
    ...planted,
    OPSCTL_TRACKER_URL: 'http://127.0.0.1:9',
    OPSCTL_LABELS_URL: 'http://127.0.0.1:9',
  };
  const { code, json } = await opsctl(['doctor', '--bundle', 'report.tar.gz', '-o', 'json'], { home, env });
  expect(code).toBe(0);
  const path = join(home, 'report.tar.gz');
  expect([json().file, statSync(path).mode & 0o777]).toEqual([path, 0o600]);
  const bytes = readFileSync(path);
  const files = await parseTarGzip(bytes);
  expect(files.map(({ name }) => name)).toEqual([
    'opsctl-bundle/versions.json',
    'opsctl-bundle/configuration.json',
    'opsctl-bundle/doctor.json',
    'opsctl-bundle/doctor-auth.json',
    'opsctl-bundle/crash-2026-01-02T000000.000Z-1.txt',
  ]);
  expect(JSON.parse(files[1]?.text ?? '').settings).toEqual(
    expect.arrayContaining([
      { key: 'tracker.token', origin: 'environment OPSCTL_TRACKER_TOKEN', value: '***' },
      { key: 'tracker.url', origin: 'environment OPSCTL_TRACKER_URL', value: 'http://127.0.0.1:9' },
    ]),
  );
  expect(JSON.parse(files[2]?.text ?? '')).toEqual(
    expect.arrayContaining([expect.objectContaining({ check: 'tracker service', state: 'fail' })]),
  );
  expect(gunzipSync(bytes).toString('latin1')).not.toMatch(/planted-/);
});

it.each([
  [limits.crashReportBytes, 1],
  [limits.crashReportBytes + 1, 0],
])('a crash report of %i bytes: %i in the archive', covers('limit/crashReportBytes'), async (size, count) => {
  mkdirSync(join(home, 'state', 'crashes'), { recursive: true });
  writeFileSync(join(home, 'state', 'crashes', 'crash-2026-01-03T000000.000Z-1.txt'), 'x'.repeat(size));
  expect((await opsctl(['doctor', '--bundle', 'sized.tar.gz'], { home })).code).toBe(0);
  const files = await parseTarGzip(readFileSync(join(home, 'sized.tar.gz')));
  expect(files.filter(({ name }) => name.includes('crash-'))).toHaveLength(count);
});
