// Programs of Debian packages that tests start themselves, and their start commands. The programs are extracted into the cache if the
// machine does not have them.
import { existsSync, readFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { cacheDirectory } from './etcd.mjs';
import { fetchPackages } from './packages.mjs';
import { librariesIn } from './sshd.mjs';
import { testCache } from '../tooling/cache.mjs';

const release = () =>
  /^VERSION_CODENAME=(\S+)/m.exec(
    existsSync('/etc/os-release') ? readFileSync('/etc/os-release', 'utf8') : '',
  )?.[1] ?? 'stable';

const onPath = (command) =>
  (process.env.PATH ?? '')
    .split(delimiter)
    .map((directory) => join(directory, command))
    .find((path) => existsSync(path));

/** Extracts packages of a release next to the other parts: {"tree"} or {"missing": reason}. */
const unpacked = (name, packages, { suite = release(), isWhole = true } = {}) => {
  const directory = dirname(cacheDirectory());
  const tree = join(directory, name);
  const missing = existsSync(tree) ? undefined : fetchPackages({ suite, name, packages, isWhole }, directory);
  return missing === undefined ? { tree } : { missing };
};
const pythonOf = (tree) => join(tree, 'usr/lib/python3/dist-packages');
/** Debian's packages require Debian's interpreter. Another interpreter that is first on PATH has packages of other versions. */
const python = () =>
  ['/usr/bin/python3', onPath('python3'), join(testCache(), 'bin/python3')].find(
    (path) => path !== undefined && existsSync(path),
  );

/** {"server", "promtool"} or {"missing": reason}. */
export const realPrometheus = () => {
  const [server, promtool] = [onPath('prometheus'), onPath('promtool')];
  if (server !== undefined && promtool !== undefined) return { server, promtool };
  const { tree, missing } = unpacked('debian-prometheus', ['prometheus']);
  if (missing !== undefined) return { missing };
  return { server: join(tree, 'usr/bin/prometheus'), promtool: join(tree, 'usr/bin/promtool') };
};

/** {"server", "env"} or {"missing": reason}. */
export const realRedis = () => {
  const server = onPath('redis-server');
  if (server !== undefined) return { server, env: {} };
  const { tree, missing } = unpacked('debian-redis-server', ['redis-server', 'redis-tools']);
  if (missing !== undefined) return { missing };
  return { server: join(tree, 'usr/bin/redis-server'), env: { LD_LIBRARY_PATH: librariesIn(tree) } };
};

/** {"playbook": command and first arguments, "env"} or {"missing": reason}. */
export const realAnsible = () => {
  const installed = onPath('ansible-playbook');
  if (installed !== undefined) return { playbook: [installed], env: {} };
  if (python() === undefined) return { missing: 'there is no python3' };
  const { tree, missing } = unpacked('debian-ansible', ['ansible-core']);
  if (missing !== undefined) return { missing };
  return {
    playbook: [python(), join(tree, 'usr/bin/ansible-playbook')],
    env: { PYTHONPATH: pythonOf(tree), LD_LIBRARY_PATH: librariesIn(tree) },
  };
};

/**
 * moto's server, an S3-compatible service with users, policies and lists of uploads. Debian has it since trixie, and it runs on older
 * releases.
 */
export const realMoto = () => {
  if (python() === undefined) return { missing: 'there is no python3' };
  // A server from another source may lack the required parts.
  const own = unpacked('debian-moto', ['python3-moto'], { suite: 'trixie', isWhole: false });
  const packages = ['flask', 'flask-cors', 'boto3', 'responses', 'xmltodict', 'cryptography', 'jinja2'];
  const needed = unpacked(
    'debian-moto-needs',
    [...packages, 'dateutil', 'yaml'].map((name) => `python3-${name}`),
  );
  const missing = own.missing ?? needed.missing;
  if (missing !== undefined) return { missing };
  return {
    server: [python(), join(own.tree, 'usr/bin/moto_server')],
    env: {
      PYTHONPATH: [own.tree, needed.tree].map(pythonOf).join(':'),
      LD_LIBRARY_PATH: librariesIn(needed.tree),
    },
  };
};
