/** Tests the Debian, RPM and Alpine packages of nfpm.yaml with a small program: their content, and that the tools accept them. */
import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import { missingTool } from '../support/tools.ts';
import { alpinePackage, debianPackage, packagers, rpmPackage } from './delivery.mjs';
import { makeDirectory } from '../support/directory.ts';

let directory: string;
let from: string;
const put = (name: string, text: string): void => {
  mkdirSync(join(from, name, '..'), { recursive: true });
  writeFileSync(join(from, name), text);
};
const options = { maintainer: 'A. Packager <packager@debian.org>', seconds: 1_764_547_200 };
const facts = {
  ...{ name: 'opsctl', version: '1.2.3-rc.1', description: 'One command line', author: 'The authors' },
  ...{ license: 'MIT', type: 'module' },
};
const long = `dist/reference/${'a-long-name-'.repeat(4)}of-a-file-that-needs-two-fields-of-it.md`;
beforeAll(() => {
  directory = makeDirectory();
  from = join(directory, 'package');
  put('package.json', JSON.stringify(facts));
  put('bin/opsctl.js', '#!/usr/bin/env node\nimport { text } from "../dist/main.js";\nconsole.log(text);\n');
  put('bin/load.js', 'export {};\n');
  put('dist/main.js', 'export const text = "it runs";\n');
  put('dist/man/opsctl.1', '.TH OPSCTL 1 2026-12-01 "opsctl 1.2.3" opsctl\n.SH NAME\nopsctl \\- run\n');
  put(long, 'long\n');
  put('docs/README.md', '# Documentation\n');
  for (const name of ['opsctl.bash', 'opsctl.fish', '_opsctl', 'opsctl.ps1'])
    put(`completions/${name}`, '# completion\n');
  put('LICENSE', 'MIT License\n\nCopyright (c) 2026 The authors\n\nPermission is granted.\n');
});

const newDirectory = (name: string): string => {
  const path = join(directory, name);
  mkdirSync(path, { recursive: true });
  return path;
};
/** Files that every package contains, regardless of their location in the system. */
const common = [
  '/usr/bin/opsctl',
  '/usr/lib/opsctl/bin/opsctl.js',
  '/usr/lib/opsctl/dist/main.js',
  '/usr/lib/opsctl/package.json',
  `/usr/lib/opsctl/${long}`,
  '/usr/lib/opsctl/docs/README.md',
  '/usr/share/man/man1/opsctl.1.gz',
  '/usr/share/bash-completion/completions/opsctl',
];

it.each(Object.entries(packagers))('the same input gives the same %s', (name, { make, file }) => {
  if (name === 'rpm' && missingTool('rpmbuild') !== undefined) return;
  const [one, other] = ['a', 'b'].map((place) => make(from, newDirectory(`${name}-${place}`), options));
  expect(one).toBe(join(directory, `${name}-a`, file(facts.version)));
  expect(readFileSync(one as string).equals(readFileSync(other as string))).toBe(true);
});

describe('deb', () => {
  const read = (path: string) => execFileSync('dpkg-deb', ['-f', path], { encoding: 'utf8' });

  it('states package, version, dependency, size and a description of several lines', () => {
    const fields = read(debianPackage(from, directory, options));
    expect(fields).toMatch(/^Package: opsctl\nVersion: 1\.2\.3~rc\.1\nArchitecture: all$/m);
    expect(fields).toContain('Maintainer: A. Packager <packager@debian.org>');
    expect(fields).toContain('Depends: nodejs (>= 20.19)');
    expect(fields).toMatch(/^Installed-Size: \d+$/m);
    expect(fields).toMatch(/^Description: .{10,79}\n .+\n .+/m);
    // If package.json has no homepage, the field is absent instead of empty.
    expect(fields).not.toContain('Homepage');
  });

  it('contains program, manual, completions, copyright and changelog, owned by root', () => {
    const list = execFileSync('dpkg-deb', ['-c', debianPackage(from, directory, options)], {
      encoding: 'utf8',
    });
    for (const name of [...common, '/usr/share/doc/opsctl/copyright', '/usr/share/doc/opsctl/changelog.gz'])
      expect(list).toContain(` .${name}`);
    const modes = [...list.matchAll(/^(\S+) (\S+) .* \.(\/\S*)/gm)].map(([, mode, owner, path]) => [
      mode,
      owner,
      path,
    ]);
    expect(modes.filter(([, owner]) => owner !== 'root/root')).toEqual([]);
    expect(modes[0]).toEqual(['drwxr-xr-x', 'root/root', '/']);
    expect(modes.filter(([mode]) => mode === '-rwxr-xr-x').map(([, , path]) => path)).toEqual([
      '/usr/lib/opsctl/bin/opsctl.js',
    ]);
  });

  it('passes lintian without errors and warnings', ({ skip }) => {
    const missing = missingTool('lintian');
    if (missing !== undefined) skip(missing);
    const path = debianPackage(from, newDirectory('lint'), options);
    const { stdout, status } = spawnSync('lintian', ['--fail-on', 'error,warning', path], {
      encoding: 'utf8',
    });
    expect([status, stdout]).toEqual([0, '']);
  });

  /** Creates a separate system in a directory, where dpkg stores its status. `nodejs` is the version that is installed in it. */
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

  it('the deb is installed next to Node 20.19, runs, and is removed completely', () => {
    const at = systemWith('installed', '20.19.0');
    const installed = dpkg(...at, '--install', debianPackage(from, directory, options));
    expect(installed.status, installed.stderr).toBe(0);
    expect(dpkg(...at, '--status', 'opsctl').stdout).toContain('Status: install ok installed');
    const program = join(directory, 'installed/usr/bin/opsctl');
    expect(execFileSync(program, { encoding: 'utf8' })).toBe('it runs\n');
    expect(dpkg(...at, '--verify', 'opsctl').stdout).toBe('');
    writeFileSync(join(directory, 'installed/usr/lib/opsctl/dist/main.js'), 'changed');
    expect(dpkg(...at, '--verify', 'opsctl').stdout).toContain('/usr/lib/opsctl/dist/main.js');
    expect(dpkg(...at, '--purge', 'opsctl').status).toBe(0);
    expect(existsSync(join(directory, 'installed/usr/lib/opsctl'))).toBe(false);
    expect(existsSync(program)).toBe(false);
  });

  it('the deb is not configured next to an older Node', () => {
    const refused = dpkg(
      ...systemWith('old', '18.19.0'),
      '--install',
      debianPackage(from, directory, options),
    );
    expect(refused.status).not.toBe(0);
    expect(refused.stderr).toContain('opsctl depends on nodejs (>= 20.19)');
  });
});

describe('rpm', () => {
  it('the rpm is intact, contains the files, and is installed, used and removed by rpm', ({ skip }) => {
    const missing = missingTool('rpmbuild') ?? missingTool('rpm');
    if (missing !== undefined) skip(missing);
    const path = rpmPackage(from, directory, options);
    const rpm = (...args: string[]) => spawnSync('rpm', args, { encoding: 'utf8' });
    expect(rpm('-K', path).stdout).toContain('digests OK');
    const list = rpm('-qpl', path).stdout.split('\n');
    expect(list).toEqual(
      expect.arrayContaining([...common, '/usr/share/licenses/opsctl/LICENSE', '/usr/lib/opsctl']),
    );
    // Directories of the system belong to other packages.
    expect(list).not.toContain('/usr/bin');
    expect(rpm('-qp', '--requires', path).stdout).toContain('nodejs >= 20.19');
    expect(rpm('-qp', '--qf', '%{version} %{release} %{arch} %{license} %{buildtime}', path).stdout).toBe(
      `1.2.3~rc.1 1 noarch MIT ${options.seconds}`,
    );
    const root = newDirectory('rpm-root');
    const at = ['--root', root, '--nodeps'];
    const installed = rpm('-i', ...at, path);
    expect(installed.status, installed.stderr).toBe(0);
    expect(execFileSync(join(root, 'usr/bin/opsctl'), { encoding: 'utf8' })).toBe('it runs\n');
    expect(rpm('-V', ...at, 'opsctl').stdout).toBe('');
    expect(rpm('-e', ...at, 'opsctl').status).toBe(0);
    expect(existsSync(join(root, 'usr/lib/opsctl'))).toBe(false);
  });
});

describe('apk', () => {
  it('the apk is two gzip streams, and the facts contain the checksum of the files', () => {
    const data = readFileSync(alpinePackage(from, directory, options));
    // The second stream starts at the second gzip header. The metadata contains its SHA-256.
    const header = Buffer.from([0x1f, 0x8b, 0x08]);
    const start = data.indexOf(header, 10);
    const text = gunzipSync(data.subarray(0, start)).toString('latin1');
    const hash = createHash('sha256').update(data.subarray(start)).digest('hex');
    for (const line of [
      'pkgname = opsctl',
      'pkgver = 1.2.3_rc1-r0',
      'arch = noarch',
      'depend = nodejs>=20.19',
      `datahash = ${hash}`,
    ])
      expect(text).toContain(`${line}\n`);
  });

  it('the apk is one archive for tar, with a checksum for each file, and runs after unpacking', () => {
    const path = alpinePackage(from, directory, options);
    const list = execFileSync('tar', ['-tzf', path, '--warning=no-unknown-keyword'], { encoding: 'utf8' });
    for (const name of common) expect(list.split('\n')).toContain(name.slice(1));
    const root = newDirectory('apk-root');
    execFileSync('tar', ['-xzf', path, '-C', root, '--warning=no-unknown-keyword']);
    expect(execFileSync(join(root, 'usr/bin/opsctl'), { encoding: 'utf8' })).toBe('it runs\n');
    const sums = gunzipSync(readFileSync(path)).toString('latin1');
    const main = createHash('sha1')
      .update(readFileSync(join(from, 'dist/main.js')))
      .digest('hex');
    expect(sums).toContain(` APK-TOOLS.checksum.SHA1=${main}\n`);
  });

  it('the apk is installed by apk', ({ skip }) => {
    // Debian has no package with apk, so CI cannot install apk either.
    if (spawnSync('apk', ['--version']).error !== undefined) skip('apk is not installed');
    const root = newDirectory('apk-system');
    const path = alpinePackage(from, directory, options);
    const flags = ['--root', root, '--initdb', '--allow-untrusted', '--no-network', '--force-broken-world'];
    const added = spawnSync('apk', ['add', ...flags, path], { encoding: 'utf8' });
    expect(added.status, added.stderr).toBe(0);
    expect(existsSync(join(root, 'usr/bin/opsctl'))).toBe(true);
  });
});
