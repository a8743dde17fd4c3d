// @ts-check
// `npm run bench -- startup|mock|bulk|lists|labels|auth|kv|upgrade|defrag|readers` measures ratios side by side in one
// run. Requires the build.
import { existsSync, readdirSync } from 'node:fs';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:os';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const directory = process.env.OPSCTL_BENCH_DIRECTORY ?? `${root}test/bench`;
const all = readdirSync(directory).flatMap((file) =>
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
/** The time that the programs of a benchmark have to end after a signal. */
const END_MS = 5_000;
/** A benchmark leads a group of processes, because it often waits for a program and cannot pass on a signal. @type {number | undefined} */
let group;
/** Sends a signal to all processes of the benchmark. A group without processes is not an error. @param {NodeJS.Signals} signal */
const signalGroup = (signal) => {
  try {
    if (group !== undefined) process.kill(-group, signal);
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'ESRCH') throw error;
  }
};
let isEnded = false;
for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP']))
  process.on(signal, () => {
    isEnded = true;
    process.exitCode = 128 + constants.signals[signal];
    signalGroup(signal);
    setTimeout(() => signalGroup('SIGKILL'), END_MS).unref();
  });
for (const name of wanted) {
  if (isEnded) break;
  const child = spawn(process.execPath, ['--expose-gc', `${directory}/${name}.bench.mjs`], {
    stdio: 'inherit',
    cwd: root,
    detached: true,
  });
  group = child.pid;
  const [status] = await once(child, 'exit');
  // Whatever the benchmark has started would disturb the next one, and outlive this program.
  signalGroup('SIGKILL');
  if (status !== 0 && !isEnded) process.exitCode = status ?? 1;
}
