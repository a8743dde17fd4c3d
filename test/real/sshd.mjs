// A real ssh server for the tests: Debian's openssh-server of this machine's release, extracted into the cache.
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { cacheDirectory } from './etcd.mjs';
import { fetchPackages } from './packages.mjs';

const release = () =>
  /^VERSION_CODENAME=(\S+)/m.exec(readFileSync('/etc/os-release', 'utf8'))?.[1] ?? 'stable';

/** Directories with the extracted libraries of a program, in the format of LD_LIBRARY_PATH. */
export const librariesIn = (tree) =>
  ['usr/lib', 'lib']
    .filter((directory) => existsSync(join(tree, directory)))
    .flatMap((directory) =>
      readdirSync(join(tree, directory))
        .filter((name) => name.endsWith('-linux-gnu'))
        .flatMap((name) => [join(tree, directory, name), join(tree, directory, name, 'pulseaudio')]),
    )
    .concat(join(tree, 'usr/lib/man-db'))
    .filter(existsSync)
    .join(':');

/** {"sshd": path, "libraries": directories} or {"missing": reason}. */
export const realSshd = () => {
  const installed = ['/usr/sbin/sshd', '/usr/local/sbin/sshd'].find(existsSync);
  if (installed !== undefined) return { sshd: installed };
  const directory = dirname(cacheDirectory());
  const name = 'debian-openssh-server';
  const tree = join(directory, name);
  const sshd = join(tree, 'usr/sbin/sshd');
  const missing = existsSync(sshd)
    ? undefined
    : fetchPackages({ suite: release(), name, packages: ['openssh-server'], isWhole: true }, directory);
  return missing === undefined ? { sshd, libraries: librariesIn(tree) } : { missing };
};
