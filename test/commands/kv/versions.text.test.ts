import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { versionTable } from '../../../src/api-specs/etcd/versions.ts';
import { opsctl } from '../../support/program.ts';
import { makeDirectory } from '../../support/directory.ts';
import { covers } from '../../support/covers.ts';

const home = makeDirectory();
const run = (argv: readonly string[], env: Readonly<Record<string, string>> = {}) =>
  opsctl(['kv', 'versions', ...argv], { home, env });
const file = (name: string, content: unknown): string => {
  const path = join(home, name);
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
  return path;
};

describe('kv versions', () => {
  it(
    'prints one row for each minor, with the day of the data',
    covers('spec/program#choices-12'),
    async () => {
      const rows = (await run(['-o', 'json'])).json();
      const row = rows.find(({ minor }: { minor: string }) => minor === '3.5');
      expect(row).toMatchObject({
        latest: '3.5.33',
        refused: ['3.5.0-3.5.2', '3.5.3'],
        leave_from: '3.5.26',
        leave_from_recommended: '3.5.32',
        data_of: versionTable.data_of,
      });
      expect((await run(['-o', 'table'])).stdout).toContain('LEAVE FROM');
    },
  );
  it('prints every rule of one minor with its reason and link', async () => {
    const { stdout } = await run(['3.6', '-o', 'csv']);
    expect(stdout).toContain('https://github.com/etcd-io/etcd/issues/20387');
    expect((await run(['4.0'])).code).toBe(6);
  });
  it('the output of --as-file is valid input for the flag and the setting', async () => {
    const table = { ...JSON.parse((await run(['--as-file'])).stdout), data_of: '2027-01-01' };
    const path = file('newer.json', table);
    const byFlag = (await run(['--versions-file', path, '-o', 'json'])).json();
    const bySetting = (await run(['-o', 'json'], { OPSCTL_KV_VERSIONS_FILE: path })).json();
    expect([byFlag[0].data_of, bySetting[0].data_of]).toEqual(['2027-01-01', '2027-01-01']);
  });
  it.each([
    ['--versions-file', 'file not found: nowhere.yaml', 'nowhere.yaml'],
    [
      '--versions-file',
      'line 1',
      file('old.yaml', 'data_of: 2020-01-01\nminors: [{minor: "3.4", latest: 3.4.1}]\nrules: []\n'),
    ],
  ])('a bad file is refused by the name of the flag (%s: %s)', async (flag, message, path) => {
    const { code, stdout, stderr } = await run([flag, path]);
    expect(code).toBe(3);
    expect(stdout).toBe('');
    expect(stderr).toContain(flag);
    expect(stderr).toContain(message);
  });
});
