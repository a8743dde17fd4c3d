// A real ssh server for the tests: Debian's openssh-server of this machine's release, unpacked into the cache.
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { cacheDirectory } from './etcd.mjs';
import { fetchPackages } from './packages.mjs';

const release = () =>
  /^VERSION_CODENAME=(\S+)/m.exec(readFileSync('/etc/os-release', 'utf8'))?.[1] ?? 'stable';

/** {"sshd": path, "libraries": directory} or {"missing": why}. */
export const realSshd = () => {
  const installed = ['/usr/sbin/sshd', '/usr/local/sbin/sshd'].find(existsSync);
  if (installed !== undefined) return { sshd: installed };
  const directory = dirname(cacheDirectory());
  const root = join(directory, 'sshd');
  const found = { sshd: join(root, 'usr/sbin/sshd'), libraries: join(root, 'usr/lib/x86_64-linux-gnu') };
  if (existsSync(found.sshd)) return found;
  const missing = fetchPackages(
    { suite: release(), name: 'sshd', packages: ['openssh-server', 'libwrap0', 'libnsl2', 'libtirpc3'] },
    directory,
  );
  return missing === undefined ? found : { missing };
};
