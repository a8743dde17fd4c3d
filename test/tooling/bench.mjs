// @ts-check
// `npm run bench -- startup|mock|bulk|lists|labels|auth|kv|upgrade|defrag|readers` measures ratios side by side in one
// run, and all of them without a name. Builds the program if that is missing. At the end it lists what was skipped.
import { existsSync, readdirSync } from 'node:fs';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:os';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const directory = process.env.OPSCTL_BENCH_DIRECTORY ?? `${root}test/bench`;
const all = readdirSync(directory).flatMap((file) =>
  file.endsWith('.bench.mjs') ? [file.replace('.bench.mjs', '')] : [],
);
const named = process.argv.slice(2);
const wanted = named.length === 0 ? all : named;
if (wanted.some((name) => !all.includes(name))) {
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
    void setTimeout(END_MS, undefined, { ref: false }).then(() => signalGroup('SIGKILL'));
  });
/** What a benchmark left out, by its name: a program to compare with that this machine does not have. @type {Map<string, string[]>} */
const skipped = new Map();
/** Passes on the output of a benchmark and notes the lines about what it skipped. @param {string} name @param {import('node:stream').Readable} output */
const passOn = (name, output) => {
  let line = '';
  output.setEncoding('utf8').on('data', (/** @type {string} */ text) => {
    process.stdout.write(text);
    const lines = `${line}${text}`.split('\n');
    line = lines.pop() ?? '';
    const found = lines.flatMap((one) => /^ *skipped: (.*)/.exec(one)?.[1] ?? []);
    skipped.set(name, [...new Set([...(skipped.get(name) ?? []), ...found])]);
  });
  return once(output, 'close');
};
for (const name of wanted) {
  if (isEnded) break;
  if (wanted.length > 1) process.stdout.write(`\n${name}\n`);
  const child = spawn(process.execPath, ['--expose-gc', `${directory}/${name}.bench.mjs`], {
    stdio: ['inherit', 'pipe', 'inherit'],
    cwd: root,
    detached: true,
  });
  group = child.pid;
  const output = passOn(name, child.stdout);
  const [status] = await once(child, 'exit');
  // Whatever the benchmark has started would disturb the next one, and outlive this program.
  signalGroup('SIGKILL');
  await Promise.race([output, setTimeout(END_MS, undefined, { ref: false })]);
  if (status !== 0 && !isEnded) process.exitCode = status ?? 1;
}
for (const [name, lines] of skipped)
  for (const line of lines) process.stdout.write(`not compared in ${name}: ${line}\n`);
