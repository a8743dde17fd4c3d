// Real container runtimes for the tests: Debian's docker.io with containerd and runc, and podman, extracted into the cache.
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { cacheDirectory } from './etcd.mjs';
import { fetchPackages } from './packages.mjs';
import { librariesIn } from './sshd.mjs';

/** {"directories": for PATH} or {"missing": reason}. */
export const realDocker = () => {
  const directory = dirname(cacheDirectory());
  const root = join(directory, 'docker');
  const found = { directories: [join(root, 'usr/sbin'), join(root, 'usr/bin')] };
  if (existsSync(join(root, 'usr/sbin/dockerd'))) return found;
  const missing = fetchPackages(
    {
      suite: 'bookworm',
      name: 'docker',
      packages: ['docker.io', 'containerd', 'runc', 'libdevmapper1.02.1'],
    },
    directory,
  );
  return missing === undefined ? found : { missing };
};

/** {"program": podman, "conmon": path, "runc": path, "libraries": directories} or {"missing": reason}. */
export const realPodman = () => {
  const directory = dirname(cacheDirectory());
  const tree = join(directory, 'podman');
  const program = join(tree, 'usr/bin/podman');
  const missing = existsSync(program)
    ? undefined
    : fetchPackages(
        { suite: 'bookworm', name: 'podman', packages: ['podman', 'conmon', 'runc'], isWhole: true },
        directory,
      );
  if (missing !== undefined) return { missing };
  const [conmon, runc] = [join(tree, 'usr/bin/conmon'), join(tree, 'usr/sbin/runc')];
  return { program, conmon, runc, libraries: librariesIn(tree) };
};
