// A real container runtime for the tests: Debian's docker.io, containerd and runc, extracted into the cache.
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { cacheDirectory } from './etcd.mjs';
import { fetchPackages } from './packages.mjs';

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
