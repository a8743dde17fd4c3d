/** The container file. A real engine builds its image on a base with this machine's Node.js and runs it as an unprivileged user. */
import { execFileSync, spawnSync } from 'node:child_process';
import {
  cpSync,
  copyFileSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type DockerHost, startDocker } from '../support/docker-host.ts';
import { makeDirectory } from '../support/directory.ts';

const root = new URL('../../', import.meta.url).pathname;
const work = makeDirectory('opsctl-image-');

/** A program and the libraries that it loads, at the same paths as on this machine. */
const copyProgram = (into: string, path: string): void => {
  const libraries = spawnSync('ldd', [path], { encoding: 'utf8' }).stdout.matchAll(/(\/\S+) \(0x/g);
  for (const one of [path, ...[...libraries].map(([, library]) => library as string)]) {
    mkdirSync(dirname(join(into, one)), { recursive: true });
    copyFileSync(realpathSync(one), join(into, one));
  }
};

const bundlerLibraries = (): string[] => {
  const binding = readdirSync(join(root, 'node_modules/@rolldown')).find((name) =>
    name.startsWith('binding-linux'),
  );
  const directory = join(root, 'node_modules/@rolldown', binding ?? '');
  const library = readdirSync(directory).find((name) => name.endsWith('.node')) ?? '';
  const { stdout } = spawnSync('ldd', [join(directory, library)], { encoding: 'utf8' });
  return [...stdout.matchAll(/=> (\/\S+) \(0x/g)].map(([, path]) => path as string);
};

/** The parts of `node:22-slim` that the container file uses: Node.js, npm, a shell, a few commands, and the user `node`. */
const makeBase = (docker: DockerHost['docker']): void => {
  const base = join(work, 'base');
  for (const directory of ['etc', 'tmp', 'root', 'home/node', 'usr/local/bin', 'usr/local/lib/node_modules'])
    mkdirSync(join(base, directory), { recursive: true });
  for (const path of ['/bin/sh', '/bin/rm', '/bin/mv', '/bin/mkdir', '/usr/bin/env']) copyProgram(base, path);
  // The bundler is a Node.js library, and its own libraries are part of every Debian installation.
  for (const library of bundlerLibraries()) copyProgram(base, library);
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

test('the container file pins its base by digest and runs as a user with a number', () => {
  const text = readFileSync(join(root, 'Containerfile'), 'utf8');
  expect(text).toMatch(/^ARG NODE=node:\d+-slim@sha256:[0-9a-f]{64}$/m);
  // Every stage starts from the pinned image, and no stage requires a file from an earlier step.
  for (const [, image] of text.matchAll(/^FROM (?:--platform=\S+ )?(\S+)/gm))
    expect(image).toMatch(/^\$\{NODE\}$/);
  // The package is complete, and a build without a network must not wait for a registry.
  expect(text).toMatch(/^RUN npm install --global --offline /m);
  expect(text.match(/^USER .+$/gm)).toEqual(['USER 1000:1000']);
  expect(text.match(/^(?:COPY|ADD) (?!--from).+$/gm)).toEqual(['COPY . .']);
});

// The build copies about 600 MB, so it runs only in the long suite.
describe.runIf(process.env.OPSCTL_SOAK === '1')('the container file', () => {
  let host: DockerHost | undefined;
  beforeAll(async () => {
    host = await startDocker(join(work, 'docker'));
  });
  afterAll(async () => {
    await host?.close();
    rmSync(work, { recursive: true, force: true });
  });

  test('the container file builds an image whose program works and does not run as root', ({ skip }) => {
    if (host === undefined) return skip('no container runtime');
    const { docker } = host;
    makeBase(docker);
    const context = join(work, 'context');
    // A checkout after `npm ci`, because this test has no network. The checkout contains no build output and no package.
    const left = new Set([
      '.git',
      'dist',
      'release',
      'coverage',
      '.cache',
      '.containerignore',
      '.dockerignore',
    ]);
    // Packages that only tests and checks use would triple the size that each layer copies.
    const unused =
      /^node_modules\/(\.cache|@biomejs|@typescript|typescript|playwright-core|s3rver|knip|@oxc-\w+|lightningcss\S*|vite|@esbuild\/(?!linux)\S*)(\/|$)|\.map$/;
    cpSync(root, context, {
      recursive: true,
      filter: (source) => {
        const path = source.replace(root, '');
        return !left.has(path.split('/')[0] ?? '') && !unused.test(path);
      },
    });
    const options = ['--network', 'none', '--build-arg', 'NODE=node:22-slim', '--build-arg', 'VERSION=1.2.3'];
    docker('build', ...options, '-t', 'opsctl', '-f', join(context, 'Containerfile'), context);
    const [{ Config }] = JSON.parse(docker('image', 'inspect', 'opsctl'));
    expect(Config.User).toBe('1000:1000');
    expect(Config.Labels).toMatchObject({
      'org.opencontainers.image.title': 'opsctl',
      'org.opencontainers.image.version': '1.2.3',
    });
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
