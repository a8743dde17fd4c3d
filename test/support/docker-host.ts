/** A real container daemon or a real podman for the test: its data and images are below one directory, and it uses the network of the machine. */
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, mkdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { realDocker, realPodman } from '../real/docker.mjs';
import { pause } from './cluster.ts';
import { hangTimer } from './hang.ts';
import { makeDirectory } from './directory.ts';

export type DockerHost = {
  /** PATH, and for the daemon DOCKER_HOST: the variables of a client. */
  readonly env: Readonly<Record<string, string>>;
  docker(...words: readonly string[]): string;
  /** Imports an image with this server as its entry point. One variable identifies the image. */
  image(name: string, server: string, script?: string): void;
  close(): Promise<void>;
};

/** An OCI runtime that removes the resource limits, which a sandbox cannot set, and then executes runc. */
const runtime = (directory: string, runc: string): string => {
  const path = join(directory, 'runtime.sh');
  const strip =
    'const fs=require("fs"),f=process.argv[1]+"/config.json",c=JSON.parse(fs.readFileSync(f));delete c.process.rlimits;fs.writeFileSync(f,JSON.stringify(c))';
  writeFileSync(
    path,
    `#!/bin/sh\nb=; p=\nfor a in "$@"; do case "$p" in -b|--bundle) b=$a;; esac; p=$a; done
[ -n "$b" ] && [ -f "$b/config.json" ] && ${process.execPath} -e '${strip}' "$b"\nexec ${runc} "$@"\n`,
  );
  chmodSync(path, 0o755);
  return path;
};

const leftOut = (why: string): undefined => {
  if (process.env.OPSCTL_TEST_IN_CI === 'true') throw new Error(`no container runtime: ${why}`);
  process.stderr.write(`left out: a real container runtime: ${why}\n`);
  return undefined;
};

/** Copies the server, its libraries and a shell into the root directory. An image needs no other files. */
const fillRoot = (root: string, server: string): void => {
  const put = (from: string, to: string): void => {
    mkdirSync(dirname(join(root, to)), { recursive: true });
    copyFileSync(realpathSync(from), join(root, to));
    chmodSync(join(root, to), 0o755);
  };
  put(server, 'usr/bin/etcd-server');
  for (const tool of ['/bin/sh', '/bin/sleep']) put(tool, tool.slice(1));
  // For a program that needs no libraries, ldd prints a message and fails.
  for (const program of [server, '/bin/sh', '/bin/sleep'])
    for (const [, path] of spawnSync('ldd', [program], { encoding: 'utf8' }).stdout.matchAll(/(\/\S+) \(0x/g))
      put(path as string, (path as string).slice(1));
};

const importImage = (docker: DockerHost['docker'], name: string, server: string, script?: string): void => {
  const root = makeDirectory('kv-image-');
  try {
    fillRoot(root, server);
    // Every user of the container must be able to enter the directory.
    chmodSync(root, 0o755);
    const text = script ?? 'exec etcd-server "$@"';
    writeFileSync(join(root, 'usr/bin/etcd'), `#!/bin/sh\n${text}\n`, { mode: 0o755 });
    const tar = `${root}.tar`;
    execFileSync('tar', ['-C', root, '-cf', tar, '.']);
    docker(
      'import',
      '--change',
      'ENTRYPOINT ["etcd"]',
      '--change',
      `ENV IMAGE_OF=${basename(name)}`,
      tar,
      name,
    );
    rmSync(tar);
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
};

export const startDocker = async (directory: string): Promise<DockerHost | undefined> => {
  if (process.getuid?.() !== 0) return leftOut('a daemon needs root');
  const found = realDocker();
  if ('missing' in found) return leftOut(found.missing);
  mkdirSync(directory, { recursive: true });
  const env = {
    PATH: `${found.directories.join(':')}:${process.env.PATH}`,
    DOCKER_HOST: `unix://${join(directory, 'd.sock')}`,
  };
  const runc = join(found.directories[0] as string, 'runc');
  const flags = [
    ...['--data-root', join(directory, 'data'), '--exec-root', join(directory, 'exec')],
    ...['-p', join(directory, 'pid'), '-H', env.DOCKER_HOST, '--bridge=none', '--iptables=false'],
    ...[
      '--storage-driver=vfs',
      '--add-runtime',
      `own=${runtime(directory, runc)}`,
      '--default-runtime',
      'own',
    ],
  ];
  const daemon = spawn(join(found.directories[0] as string, 'dockerd'), flags, {
    env: { ...process.env, ...env },
    stdio: 'ignore',
  });
  const docker: DockerHost['docker'] = (...words) =>
    execFileSync('docker', [...words], {
      encoding: 'utf8',
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    }).trim();
  const close = async (): Promise<void> => {
    try {
      const all = docker('ps', '-aq').split('\n').filter(Boolean);
      if (all.length > 0) docker('rm', '-f', ...all);
    } catch {
      // The daemon did not start.
    }
    const over = new Promise((resolve) => daemon.once('exit', resolve));
    daemon.kill('SIGTERM');
    await Promise.race([over, pause(20_000)]);
    daemon.kill('SIGKILL');
    spawnSync('umount', [join(directory, 'exec/netns/default')]);
  };
  for (const isHung = hangTimer(); !isHung(); ) {
    try {
      docker('version');
      return {
        env,
        docker,
        image: (name, server, script) => importImage(docker, name, server, script),
        close,
      };
    } catch {
      await pause(100);
    }
  }
  await close();
  return leftOut('the daemon did not come up within 120 s');
};

/** A script that runs podman with the libraries, directories and trust policy of the test. */
const podmanWrapper = (
  directory: string,
  found: Exclude<ReturnType<typeof realPodman>, { readonly missing: string }>,
): string => {
  const home = join(directory, 'home');
  const [programs, policy] = [join(directory, 'bin'), join(home, '.config/containers')];
  for (const path of [programs, policy]) mkdirSync(path, { recursive: true });
  writeFileSync(join(policy, 'policy.json'), '{"default":[{"type":"insecureAcceptAnything"}]}');
  const [engine, storage] = [join(directory, 'containers.conf'), join(directory, 'storage.conf')];
  const environment = [`PATH=${process.env.PATH}`, `LD_LIBRARY_PATH=${found.libraries}`, `HOME=${home}`];
  // conmon starts podman again when a container exits: for the restart policy.
  writeFileSync(
    engine,
    [
      '[engine]',
      'runtime = "own"',
      'cgroup_manager = "cgroupfs"',
      'events_logger = "file"',
      `conmon_path = ["${found.conmon}"]`,
      `conmon_env_vars = ${JSON.stringify([...environment, `CONTAINERS_CONF=${engine}`, `CONTAINERS_STORAGE_CONF=${storage}`])}`,
      `tmp_dir = "${join(directory, 'tmp')}"`,
      '[engine.runtimes]',
      `own = ["${runtime(directory, found.runc)}"]`,
      '[network]',
      'network_backend = "cni"',
      '',
    ].join('\n'),
  );
  writeFileSync(
    storage,
    `[storage]\ndriver = "vfs"\ngraphroot = "${join(directory, 'data')}"\nrunroot = "${join(directory, 'run')}"\n`,
  );
  const exported = [
    ...environment.slice(1),
    `CONTAINERS_CONF=${engine}`,
    `CONTAINERS_STORAGE_CONF=${storage}`,
  ];
  writeFileSync(
    join(programs, 'podman'),
    `#!/bin/sh\n${exported.map((line) => `export '${line}'\n`).join('')}exec ${found.program} "$@"\n`,
    { mode: 0o755 },
  );
  return programs;
};

/** Returns undefined if podman is unavailable, on every machine: no required test depends on it. */
export const startPodman = (directory: string): DockerHost | undefined => {
  const skipWithReason = (why: string): undefined => {
    process.stderr.write(`left out: a real podman: ${why}\n`);
    return undefined;
  };
  if (process.getuid?.() !== 0) return skipWithReason('it is tested as root');
  const found = realPodman();
  if ('missing' in found) return skipWithReason(found.missing);
  mkdirSync(directory, { recursive: true });
  const env = { PATH: `${podmanWrapper(directory, found)}:${process.env.PATH}` };
  const podman: DockerHost['docker'] = (...words) =>
    execFileSync('podman', [...words], {
      encoding: 'utf8',
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    }).trim();
  try {
    podman('info');
  } catch (error) {
    return skipWithReason((error as Error).message);
  }
  return {
    env,
    docker: podman,
    image: (name, server, script) => importImage(podman, name, server, script),
    close: async () => {
      podman('rm', '--all', '--force', '--time', '0');
      await pause(0);
    },
  };
};
