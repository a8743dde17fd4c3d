import { beforeEach, expect, it } from 'vitest';
import { configLint, configMigrate } from '../../../src/commands/kv/config.ts';
import { type Program, program } from '../../support/built-program.ts';

let home: Program;
beforeEach(() => {
  home = program();
});
const input = 'name: n1\nauto-compaction-retention: 5\n';

it('config lint and migrate read standard input, and name it as the place', async () => {
  const found = await home.run(['kv', 'config', 'lint', '-', '--to', '3.5', '-o', 'json'], { input });
  expect(found.code).toBe(20);
  expect(JSON.parse(found.stdout)).toMatchObject([
    { place: 'standard input:2', key: 'auto-compaction-retention' },
  ]);
  const moved = await home.run(['kv', 'config', 'migrate', '-', '--to', '3.5'], { input });
  expect([moved.code, moved.stdout]).toEqual([0, expect.stringContaining('auto-compaction-retention: "5"')]);
});
it('config migrate does not replace standard input', () => {
  expect(configMigrate.check?.({ file: '-', 'in-place': true }).map(({ path }) => path)).toEqual([
    '--in-place',
  ]);
  expect(configMigrate.check?.({ file: 'a', 'in-place': true })).toEqual([]);
});
it('config lint does not pass a command line that it cannot read', async () => {
  const paths = (command: string) => configLint.check?.({ file: '-', command }).map(({ path }) => path);
  expect(paths('etcd --nosuch "x')).toEqual(['--command']);
  expect(paths('etcd --name "x"')).toEqual([]);
  expect((await home.run(['kv', 'config', 'lint', '-', '--command', ''], { input })).code).toBe(2);
});
it('config lint names a command line without flags of the server', async () => {
  const keys = async (command: string): Promise<string[]> => {
    const found = await home.json(['kv', 'config', 'lint', '-', '--command', command], {
      input: 'snapshot-count: 100\n',
    });
    return found.map(({ key }: { key: string }) => key);
  };
  expect(await keys('sh start.sh')).toEqual(['--command']);
  expect([await keys('/usr/bin/etcd'), await keys('etcd --name n1')]).toEqual([[], []]);
});
