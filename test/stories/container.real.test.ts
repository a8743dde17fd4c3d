/** The container file: its image is built by a real engine, on a base that is made of this machine's Node, and runs as nobody special. */
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, copyFileSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type DockerHost, startDocker } from '../support/docker-host.ts';
import { pack } from '../tooling/artifacts.mjs';

const root = new URL('../../', import.meta.url).pathname;
const work = mkdtempSync(join(tmpdir(), 'opsctl-image-'));

/** A program and the libraries that it loads, at the places that they have here. */
const copyProgram = (into: string, path: string): void => {
  const libraries = spawnSync('ldd', [path], { encoding: 'utf8' }).stdout.matchAll(/(\/\S+) \(0x/g);
  for (const one of [path, ...[...libraries].map(([, library]) => library as string)]) {
    mkdirSync(dirname(join(into, one)), { recursive: true });
    copyFileSync(realpathSync(one), join(into, one));
  }
};

/** What `node:22-slim` offers, as far as the container file uses it: Node, npm, a shell, `rm`, and the user `node`. */
const makeBase = (docker: DockerHost['docker']): void => {
  const base = join(work, 'base');
  for (const directory of ['etc', 'tmp', 'root', 'home/node', 'usr/local/bin', 'usr/local/lib/node_modules'])
    mkdirSync(join(base, directory), { recursive: true });
  for (const path of ['/bin/sh', '/bin/rm', '/usr/bin/env']) copyProgram(base, path);
  copyProgram(base, realpathSync(process.execPath));
  const npm = dirname(dirname(realpathSync(execFileSync('which', ['npm'], { encoding: 'utf8' }).trim())));
  cpSync(npm, join(base, 'usr/local/lib/node_modules/npm'), { recursive: true });
  const link = (name: string, to: string) =>
    writeFileSync(join(base, 'usr/local/bin', name), `#!/bin/sh\nexec ${to} "$@"\n`, { mode: 0o755 });
  link('npm', 'node /usr/local/lib/node_modules/npm/bin/npm-cli.js --prefix /usr/local');
  if (dirname(realpathSync(process.execPath)) !== '/usr/bin') link('node', realpathSync(process.execPath));
  writeFileSync(
    join(base, 'etc/passwd'),
    'root:x:0:0::/root:/bin/sh\nnode:x:1000:1000::/home/node:/bin/sh\n',
  );
  writeFileSync(join(base, 'etc/group'), 'root:x:0:\nnode:x:1000:\n');
  execFileSync('chown', ['1000:1000', join(base, 'home/node')]);
  execFileSync('tar', ['-C', base, '-cf', join(work, 'base.tar'), '.']);
  const path = 'PATH=/usr/local/bin:/usr/bin:/bin';
  docker('import', '--change', `ENV ${path}`, join(work, 'base.tar'), 'node:22-slim');
};

// Some 600 MB are copied, so it is a part of the long run.
describe.runIf(process.env['OPSCTL_SOAK'] === '1')('the container file', () => {
  let host: DockerHost | undefined;
  beforeAll(async () => {
    host = await startDocker(join(work, 'docker'));
  });
  afterAll(async () => {
    await host?.close();
    rmSync(work, { recursive: true, force: true });
  });

  test('builds an image whose program answers, works and is not root', ({ skip }) => {
    if (host === undefined) return skip('no container runtime');
    const { docker } = host;
    makeBase(docker);
    const context = join(work, 'context');
    mkdirSync(context);
    pack(root, context);
    copyFileSync(join(root, 'Containerfile'), join(context, 'Containerfile'));
    docker('build', '--network', 'none', '-t', 'opsctl', '-f', join(context, 'Containerfile'), context);
    const run = (...words: readonly string[]) =>
      docker('run', '--rm', '--network', 'none', 'opsctl', ...words);
    expect(run('--version')).toMatch(/^\d+\.\d+\.\d+$/);
    expect(run()).toContain('Usage\n  opsctl <command> [flags]');
    expect(
      docker(
        'run',
        '--rm',
        '--network',
        'none',
        '--entrypoint',
        '/usr/bin/env',
        'opsctl',
        'node',
        '-p',
        'process.getuid()',
      ),
    ).toBe('1000');
    const labels = JSON.parse(run('mock', 'run', '--', 'opsctl', 'tracker', 'labels', 'list'));
    expect(labels).toEqual([expect.objectContaining({ name: 'onboarding' })]);
  }, 600_000);
});
