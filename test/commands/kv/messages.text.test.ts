import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { type Ran, opsctl } from '../../support/program.ts';
import { makeDirectory } from '../../support/directory.ts';

/** The messages for mistyped kv commands, all without a cluster. */
describe('error messages of kv', () => {
  let home: string;
  beforeEach(() => {
    home = makeDirectory();
  });
  const kv = (...words: string[]): Promise<Ran> => opsctl(['kv', ...words], { home });

  it.each([
    [['status', '--endpoints', 'a:b:c'], 'opsctl kv status', '--endpoints must be host:port or a URL'],
    [
      ['put', 'a', 'b', '--lease', 'zz', '--endpoints', '127.0.0.1:1'],
      'opsctl kv put',
      '--lease must be a hexadecimal ID',
    ],
    [
      ['lease', 'timetolive', 'zz', '--endpoints', '127.0.0.1:1'],
      'opsctl kv lease timetolive',
      '<lease-id> must be a hexadecimal ID',
    ],
    [
      ['snapshot', 'save', 's.db', '--endpoints', '127.0.0.1:1,127.0.0.1:2'],
      'opsctl kv snapshot save',
      '--endpoints must name exactly one member',
    ],
  ])('%j names the command, the flag and where to read on', async (words, command, problem) => {
    const { code, stderr } = await kv(...words);
    expect(code).toBe(2);
    expect(stderr.split('\n')[0]).toBe(`error: ${command}: invalid arguments`);
    expect(stderr).toContain(`  ${problem}`);
    expect(stderr).toContain(`try: ${command} --help`);
  });
  it('a suggested command contains the cluster file as typed', async () => {
    writeFileSync(
      join(home, 'my cluster.yaml'),
      'name: shop\nmembers:\n  - { name: n1, client_url: "http://127.0.0.1:1" }\n',
    );
    const { code, stderr } = await kv('report', '--cluster', 'my cluster.yaml');
    expect(code).toBe(6);
    expect(stderr).toContain("try: opsctl kv upgrade --cluster 'my cluster.yaml'");
  });
  it('an error about a cluster file lists all problems by line', async () => {
    writeFileSync(join(home, 'c.yaml'), 'name: shop\nto: 3.9\nmembers:\n  - name: n1\n    client_url: x\n');
    const { code, stderr } = await kv('check', '--cluster', 'c.yaml');
    expect(code).toBe(3);
    for (const line of [
      'line 2: to must be one of',
      'line 5: members[0].client_url must be a URL',
      'line 4: members[0].pid_file is required',
    ])
      expect(stderr).toContain(line);
  });
});
