#!/usr/bin/env node
// Real servers and their ctl programs for the tests: etcd-server and etcd-client of four Debian releases, extracted into a cache
// without root and without an installation. apt gets separate sources lists, lists, cache and (empty) package status.
// Usage: node test/real/etcd.mjs            prints {"3.3": {"server", "ctl", "version"}, …, "missing": [{"minor", "reason"}]}
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { testCache } from '../tooling/cache.mjs';
import { fetchPackages } from './packages.mjs';

export const releases = [
  { minor: '3.3', suite: 'bullseye' },
  { minor: '3.4', suite: 'bookworm' },
  { minor: '3.5', suite: 'trixie' },
  // A later patch version of 3.5, from which an upgrade to 3.6 is allowed.
  { minor: '3.5-late', suite: 'sid' },
];

export const cacheDirectory = (env = process.env) => join(testCache(env), 'etcd');

const versionOf = (binary) =>
  /etcd Version: (\S+)/.exec(execFileSync(binary, ['--version'], { encoding: 'utf8' }))?.[1];
const paths = (release, directory) => ({
  server: join(directory, release.suite, 'usr/bin/etcd'),
  ctl: join(directory, release.suite, 'usr/bin/etcdctl'),
});

const provide = (release, directory) => {
  const found = paths(release, directory);
  if (existsSync(found.server) && existsSync(found.ctl))
    return { ...found, version: versionOf(found.server) };
  const missing = fetchPackages(
    { suite: release.suite, name: release.suite, packages: ['etcd-server', 'etcd-client'] },
    directory,
  );
  return missing === undefined ? { ...found, version: versionOf(found.server) } : { missing };
};

/** Returns the paths of all available programs. `isFetching: false` only reads the cache. */
export const realServers = ({ env = process.env, isFetching = true } = {}) => {
  const directory = cacheDirectory(env);
  mkdirSync(directory, { recursive: true });
  const result = { missing: [] };
  for (const release of releases) {
    const cached = paths(release, directory);
    const given =
      isFetching || existsSync(cached.server)
        ? provide(release, directory)
        : { missing: 'not downloaded yet; run node test/real/etcd.mjs' };
    if (given.missing === undefined) result[release.minor] = given;
    else result.missing.push({ minor: release.minor, reason: given.missing });
  }
  return result;
};

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const found = realServers();
  process.stdout.write(`${JSON.stringify(found, null, 2)}\n`);
  for (const { minor, reason } of found.missing) process.stderr.write(`no server of ${minor}: ${reason}\n`);
  process.exitCode = found.missing.length === 0 ? 0 : 1;
}
