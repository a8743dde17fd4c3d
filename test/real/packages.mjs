// Debian packages extracted into a directory without root and without an installation. apt gets separate sources lists, lists, cache and
// (empty) package status, derived from the mirror of this machine.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Debian mirrors of this machine in their configured order. The public mirror is the last resort. */
const mirrors = () => {
  const files = ['/etc/apt/sources.list'];
  if (existsSync('/etc/apt/sources.list.d'))
    files.push(...readdirSync('/etc/apt/sources.list.d').map((name) => `/etc/apt/sources.list.d/${name}`));
  const found = [];
  for (const file of files.filter(existsSync)) {
    for (const line of readFileSync(file, 'utf8').split('\n')) {
      const word = /^\s*URIs:\s*(\S+)/.exec(line)?.[1] ?? /^\s*deb\s+(?:\[[^\]]*\]\s+)?(\S+)/.exec(line)?.[1];
      if (word !== undefined && /\/debian\/?$/.test(word)) found.push(word.replace(/\/$/, ''));
    }
  }
  return [...new Set(found)];
};

/**
 * @param {string} command
 * @param {readonly string[]} args
 * @param {string} cwd
 */
const run = (command, args, cwd) => {
  const done = spawnSync(command, args, {
    cwd,
    encoding: 'utf8',
    timeout: 240_000,
    env: { ...process.env, LC_ALL: 'C' },
  });
  if (done.error !== undefined) throw new Error(`${command}: ${done.error.message}`);
  if (done.status !== 0) {
    const text = `${done.stderr}${done.stdout}`.trim().split('\n').slice(-3).join(' ');
    throw new Error(`${command} ${args[args.length - 1]}: ${text}`);
  }
  return done.stdout;
};

/** @param {string} directory */
const aptOptions = (directory) => {
  const keyring = '/usr/share/keyrings/debian-archive-keyring.gpg';
  const settings = {
    'Dir::Etc::sourcelist': join(directory, 'sources.list'),
    'Dir::Etc::sourceparts': '/dev/null',
    'Dir::Etc::preferences': '/dev/null',
    'Dir::Etc::preferencesparts': '/dev/null',
    'Dir::State': join(directory, 'state'),
    'Dir::State::lists': join(directory, 'lists'),
    'Dir::State::status': '/dev/null',
    'Dir::Cache': join(directory, 'cache'),
    'Dir::Log': directory,
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

/**
 * Lists the packages and their dependencies that are missing on this machine. Reads only, without root and without a lock.
 * @param {readonly string[]} options
 * @param {readonly string[]} packages
 * @param {string} work
 */
const withDependencies = (options, packages, work) => {
  const status = '/var/lib/dpkg/status';
  const args = [...options, '-o', `Dir::State::status=${status}`, '-o', 'Debug::NoLocking=true'];
  const plan = run('apt-get', [...args, '-s', '--no-install-recommends', 'install', ...packages], work);
  const found = [...plan.matchAll(/^Inst (\S+)/gm)].map(([, name]) => name);
  return [...new Set([...packages, ...found])];
};

/**
 * @typedef {{
 *   readonly suite: string,
 *   readonly packages: readonly string[],
 *   readonly name: string,
 *   readonly isWhole?: boolean,
 * }} Wanted
 */
/**
 * @param {Wanted} wanted
 * @param {string} mirror
 * @param {string} directory
 */
const download = ({ suite, packages, name, isWhole = false }, mirror, directory) => {
  const work = join(directory, `apt-${name}-${process.pid}`);
  rmSync(work, { recursive: true, force: true });
  for (const part of ['lists/partial', 'cache/archives/partial', 'state', 'tree'])
    mkdirSync(join(work, part), { recursive: true });
  try {
    writeFileSync(join(work, 'sources.list'), `deb ${mirror} ${suite} main\n`);
    const options = aptOptions(work);
    run('apt-get', [...options, '-q', 'update'], work);
    const all = isWhole ? withDependencies(options, packages, work) : packages;
    run('apt-get', [...options, '-q', 'download', ...all.map((word) => `${word}/${suite}`)], work);
    for (const deb of readdirSync(work).filter((file) => file.endsWith('.deb')))
      run('dpkg', ['-x', join(work, deb), join(work, 'tree')], work);
    rmSync(join(directory, name), { recursive: true, force: true });
    renameSync(join(work, 'tree'), join(directory, name));
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
};

/**
 * Extracts the packages (`isWhole`: with their dependencies) into directory/name. Returns undefined on success, and otherwise the reason
 * why every mirror failed.
 * @param {Wanted} wanted
 * @param {string} directory
 */
export const fetchPackages = (wanted, directory) => {
  mkdirSync(directory, { recursive: true });
  const reasons = [];
  for (const mirror of mirrors()) {
    try {
      download(wanted, mirror, directory);
      return undefined;
    } catch (error) {
      reasons.push(`${mirror} ${wanted.suite}: ${error instanceof Error ? error.message : error}`);
    }
  }
  return reasons.join('; ') || 'the package sources of this machine name no Debian mirror';
};
