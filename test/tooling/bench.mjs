// @ts-check
// `npm run bench -- startup|mock|bulk|lists|labels|auth|kv|upgrade|defrag|readers` measures ratios side by side in one
// run. Requires the build.
import { existsSync, readdirSync } from 'node:fs';
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const all = readdirSync(`${root}test/bench`).flatMap((file) =>
  file.endsWith('.bench.mjs') ? [file.replace('.bench.mjs', '')] : [],
);
const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !all.includes(name));
if (unknown.length > 0 || wanted.length === 0) {
  process.stderr.write(`usage: npm run bench -- ${all.join('|')}\n`);
  process.exit(2);
}
if (!existsSync(`${root}dist/main.js`))
  spawnSync(process.execPath, [`${root}test/tooling/build.mjs`], { stdio: 'inherit' });
for (const name of wanted) {
  const { status } = spawnSync(process.execPath, ['--expose-gc', `${root}test/bench/${name}.bench.mjs`], {
    stdio: 'inherit',
    cwd: root,
  });
  if (status !== 0) process.exitCode = status ?? 1;
}
