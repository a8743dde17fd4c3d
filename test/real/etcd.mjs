#!/usr/bin/env node
// Real servers and their ctl for the tests: etcd-server and etcd-client of three Debian releases, unpacked into a cache.
// No root, nothing installed: apt gets its own sources list, lists, cache and (empty) package status.
// Usage: node test/real/etcd.mjs            prints {"3.3": {"server", "ctl", "version"}, …, "missing": [{"minor", "reason"}]}
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

export const releases = [
  { minor: '3.3', suite: 'bullseye' },
  { minor: '3.4', suite: 'bookworm' },
  { minor: '3.5', suite: 'trixie' },
];

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
export const cacheFolder = (env = process.env) =>
  resolve(env.OPSCTL_TEST_CACHE ?? join(root, 'node_modules', '.cache', 'opsctl'), 'etcd');

/** Mirrors that this machine itself uses for Debian, first the ones it names; the public one is the last resort. */
const mirrors = () => {
  const files = ['/etc/apt/sources.list'];
  if (existsSync('/etc/apt/sources.list.d')) files.push(...readdirSync('/etc/apt/sources.list.d').map((name) => `/etc/apt/sources.list.d/${name}`));
  const found = [];
  for (const file of files.filter(existsSync)) {
    for (const line of readFileSync(file, 'utf8').split('\n')) {
      const word = /^\s*URIs:\s*(\S+)/.exec(line)?.[1] ?? /^\s*deb\s+(?:\[[^\]]*\]\s+)?(\S+)/.exec(line)?.[1];
      if (word !== undefined && /\/debian\/?$/.test(word)) found.push(word.replace(/\/$/, ''));
    }
  }
  return [...new Set([...found, 'http://deb.debian.org/debian'])];
};

const run = (command, args, cwd) => {
  const done = spawnSync(command, args, { cwd, encoding: 'utf8', timeout: 240_000, env: { ...process.env, LC_ALL: 'C' } });
  if (done.error !== undefined) throw new Error(`${command}: ${done.error.message}`);
  if (done.status !== 0) {
    const text = `${done.stderr}${done.stdout}`.trim().split('\n').slice(-3).join(' ');
    throw new Error(`${command} ${args[args.length - 1]}: ${text}`);
  }
  return done.stdout;
};

const aptOptions = (folder) => {
  const keyring = '/usr/share/keyrings/debian-archive-keyring.gpg';
  const settings = {
    'Dir::Etc::sourcelist': join(folder, 'sources.list'),
    'Dir::Etc::sourceparts': '/dev/null',
    'Dir::Etc::preferences': '/dev/null',
    'Dir::Etc::preferencesparts': '/dev/null',
    'Dir::State': join(folder, 'state'),
    'Dir::State::lists': join(folder, 'lists'),
    'Dir::State::status': '/dev/null',
    'Dir::Cache': join(folder, 'cache'),
    'Dir::Log': folder,
    'APT::Update::Post-Invoke': '',
    'APT::Sandbox::User': process.getuid?.() === 0 ? 'root' : '',
    'Acquire::Languages': 'none',
    'Acquire::IndexTargets::deb::Contents-deb::DefaultEnabled': 'false',
    'Acquire::Check-Valid-Until': 'false',
    'Acquire::Retries': '2',
    ...(existsSync(keyring) ? { 'Dir::Etc::trusted': keyring, 'Dir::Etc::trustedparts': '/dev/null' } : {}),
  };
  return Object.entries(settings).flatMap(([key, value]) => ['-o', `${key}=${value}`]);
};

const versionOf = (binary) => /etcd Version: (\S+)/.exec(execFileSync(binary, ['--version'], { encoding: 'utf8' }))?.[1];
const paths = (release, folder) => ({
  server: join(folder, release.suite, 'usr/bin/etcd'),
  ctl: join(folder, release.suite, 'usr/bin/etcdctl'),
});

const download = (release, mirror, folder) => {
  const work = join(folder, `apt-${release.suite}-${process.pid}`);
  rmSync(work, { recursive: true, force: true });
  for (const part of ['lists/partial', 'cache/archives/partial', 'state', 'tree']) mkdirSync(join(work, part), { recursive: true });
  try {
    writeFileSync(join(work, 'sources.list'), `deb ${mirror} ${release.suite} main\n`);
    const options = aptOptions(work);
    run('apt-get', [...options, '-q', 'update'], work);
    run('apt-get', [...options, '-q', 'download', `etcd-server/${release.suite}`, `etcd-client/${release.suite}`], work);
    for (const deb of readdirSync(work).filter((name) => name.endsWith('.deb'))) run('dpkg', ['-x', join(work, deb), join(work, 'tree')], work);
    rmSync(join(folder, release.suite), { recursive: true, force: true });
    renameSync(join(work, 'tree'), join(folder, release.suite));
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
};

const provide = (release, folder) => {
  const found = paths(release, folder);
  if (existsSync(found.server) && existsSync(found.ctl)) return { ...found, version: versionOf(found.server) };
  const reasons = [];
  for (const mirror of mirrors()) {
    try {
      download(release, mirror, folder);
      return { ...found, version: versionOf(found.server) };
    } catch (error) {
      reasons.push(`${mirror} ${release.suite}: ${error.message}`);
    }
  }
  return { missing: reasons.join('; ') };
};

/** Paths of everything that is or can be had. `isFetching: false` only looks into the cache. */
export const realServers = ({ env = process.env, isFetching = true } = {}) => {
  const folder = cacheFolder(env);
  mkdirSync(folder, { recursive: true });
  const result = { missing: [] };
  for (const release of releases) {
    const cached = paths(release, folder);
    const given = isFetching || existsSync(cached.server) ? provide(release, folder) : { missing: 'not downloaded yet; run node test/real/etcd.mjs' };
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
