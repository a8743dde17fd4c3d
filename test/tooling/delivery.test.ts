/** The Debian package and the formula that `npm run release` makes. */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { debianPackage, formula } from './delivery.mjs';

let directory: string;
let from: string;
const put = (name: string, text: string): void => {
  mkdirSync(join(from, name, '..'), { recursive: true });
  writeFileSync(join(from, name), text);
};
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'opsctl-delivery-'));
  from = join(directory, 'package');
  put(
    'package.json',
    JSON.stringify({
      ...{
        name: 'opsctl',
        version: '1.2.3-rc.1',
        description: 'One command line',
        author: 'The authors',
        type: 'module',
      },
      man: ['./dist/man/opsctl.1'],
    }),
  );
  put('bin/opsctl.js', '#!/usr/bin/env node\nimport { text } from "../dist/main.js";\nconsole.log(text);\n');
  put('dist/main.js', 'export const text = "it runs";\n');
  put('dist/man/opsctl.1', '.TH OPSCTL 1\n');
  put('completions/opsctl.bash', '# bash\n');
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

it('the package has the program, its manual and completion, and runs where it was unpacked', () => {
  const path = debianPackage(from, directory);
  expect(path).toBe(join(directory, 'opsctl_1.2.3~rc.1_all.deb'));
  const fields = execFileSync('dpkg-deb', ['-f', path], { encoding: 'utf8' });
  expect(fields).toMatch(/^Package: opsctl\nVersion: 1\.2\.3~rc\.1\nArchitecture: all$/m);
  expect(fields).toContain('Depends: nodejs (>= 20.19)');
  const list = execFileSync('dpkg-deb', ['-c', path], { encoding: 'utf8' });
  for (const name of [
    './usr/bin/opsctl ->',
    './usr/share/man/man1/opsctl.1.gz',
    './usr/share/bash-completion/completions/opsctl',
  ])
    expect(list).toContain(name);
  expect(list).not.toMatch(/(?<!root)\/(?!root)\w+ +\d+ \d{4}/);
  const root = join(directory, 'root');
  execFileSync('dpkg-deb', ['-x', path, root]);
  expect(execFileSync(join(root, 'usr/bin/opsctl'), { encoding: 'utf8' })).toBe('it runs\n');
});

/** A system of its own in a directory: dpkg keeps its status there. `nodejs` is the version that is installed in it. */
const systemWith = (name: string, nodejs: string): string[] => {
  const root = join(directory, name);
  for (const part of ['info', 'updates', 'triggers', 'parts'])
    mkdirSync(join(root, 'var/lib/dpkg', part), { recursive: true });
  writeFileSync(
    join(root, 'var/lib/dpkg/status'),
    `Package: nodejs\nStatus: install ok installed\nMaintainer: none\nArchitecture: all\nVersion: ${nodejs}\nDescription: Node\n\n`,
  );
  return ['--force-not-root', '--force-bad-path', `--root=${root}`, `--log=${join(root, 'log')}`];
};
const dpkg = (...args: string[]) => spawnSync('dpkg', args, { encoding: 'utf8' });

it('dpkg installs it beside Node 20.19, runs it, and removes every file of it', () => {
  const path = debianPackage(from, directory);
  const at = systemWith('installed', '20.19.0');
  const installed = dpkg(...at, '--install', path);
  expect(installed.status, installed.stderr).toBe(0);
  expect(dpkg(...at, '--status', 'opsctl').stdout).toContain('Status: install ok installed');
  const program = join(directory, 'installed/usr/bin/opsctl');
  expect(execFileSync(program, { encoding: 'utf8' })).toBe('it runs\n');
  expect(dpkg(...at, '--verify', 'opsctl').stdout).toBe('');
  expect(dpkg(...at, '--purge', 'opsctl').status).toBe(0);
  expect(existsSync(join(directory, 'installed/usr/lib/opsctl'))).toBe(false);
  expect(existsSync(program)).toBe(false);
});

it('dpkg refuses to configure it beside an older Node', () => {
  const refused = dpkg(...systemWith('old', '18.19.0'), '--install', debianPackage(from, directory));
  expect(refused.status).not.toBe(0);
  expect(refused.stderr).toContain('opsctl depends on nodejs (>= 20.19)');
});

it('the same package gives the same bytes', () => {
  const [one, other] = ['a', 'b'].map((name) => {
    const to = join(directory, name);
    mkdirSync(to);
    return readFileSync(debianPackage(from, to));
  });
  expect(one?.equals(other as Buffer)).toBe(true);
});

it('the formula names the tarball and its checksum', () => {
  const text = formula(
    { version: '1.2.3', description: 'x'.repeat(200), license: 'MIT' },
    'opsctl-1.2.3.tgz',
    'ab12',
  );
  expect(text).toContain('  url "opsctl-1.2.3.tgz"\n  version "1.2.3"\n  sha256 "ab12"\n');
  expect(text.split('\n')[1]?.length).toBeLessThan(90);
});
