// A real sudo for the tests: Debian's package of this machine's release, extracted into the cache. It runs only in a namespace that
// mounts its files at their original paths, because it reads its plug-ins and settings there.
import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { cacheDirectory } from './etcd.mjs';
import { fetchPackages } from './packages.mjs';

const release = () =>
  /^VERSION_CODENAME=(\S+)/m.exec(readFileSync('/etc/os-release', 'utf8'))?.[1] ?? 'stable';

/** {"tree": directory} or {"missing": reason}. */
export const realSudo = () => {
  if (process.getuid?.() !== 0) return { missing: 'a program that becomes root has to be unpacked by root' };
  const directory = dirname(cacheDirectory());
  const name = 'debian-sudo';
  const tree = join(directory, name);
  const program = join(tree, 'usr/bin/sudo');
  const missing = existsSync(program)
    ? undefined
    : fetchPackages({ suite: release(), name, packages: ['sudo'], isWhole: true }, directory);
  if (missing !== undefined) return { missing };
  return (statSync(program).mode & 0o4000) === 0 ? { missing: 'its package lost the setuid bit' } : { tree };
};
