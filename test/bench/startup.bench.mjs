// Measures start-up as a ratio to bare `node -e 0` and, if Debian provides it, to gh. Uses the minima of the CPU time of
// alternating runs, which removes the noise of the machine.
import { spawnSync } from 'node:child_process';
import { createServer } from 'node:http';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { fetchPackages } from '../real/packages.mjs';
import { testCache } from '../tooling/cache.mjs';
import { exceed } from './growth.mjs';
import { nodeOf } from '../tooling/nodes.mjs';
import { Worker, isMainThread, parentPort } from 'node:worker_threads';
import { temporaryDirectory } from './temporary.mjs';

const bin = fileURLToPath(new URL('../../bin/opsctl.js', import.meta.url));
const RUNS = Number(process.env.OPSCTL_BENCH_RUNS ?? 21);

/** Returns the CPU time of a program in ms as bash measures it: user and system time with a resolution of 1 ms. */
const cpuMs = (command, args, env) => {
  const script = 'TIMEFORMAT="%U %S"; { time "$@" >/dev/null 2>&3; } 3>/dev/null';
  const { status, stderr } = spawnSync('bash', ['-c', script, 'bash', command, ...args], {
    env: { ...env, LC_ALL: 'C' },
    stdio: ['ignore', 'ignore', 'pipe'],
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`${[command, ...args].join(' ')} ended with ${status}`);
  return stderr
    .trim()
    .split(' ')
    .reduce((sum, seconds) => sum + Number(seconds) * 1000, 0);
};

/** Returns the path of gh from an unpacked Debian package, or undefined if the package is not available. */
const ghOf = () => {
  const place = join(testCache(), 'debian-gh/usr/bin/gh');
  if (!existsSync(place))
    fetchPackages({ suite: 'bookworm', packages: ['gh'], name: 'debian-gh' }, testCache());
  return existsSync(place) ? place : undefined;
};

if (!isMainThread) {
  const server = createServer((_, reply) =>
    reply.setHeader('content-type', 'application/json').end('[{"id":1,"name":"bug"}]'),
  );
  server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port));
} else {
  const worker = new Worker(new URL(import.meta.url));
  const port = await new Promise((resolve) => worker.once('message', resolve));
  const home = temporaryDirectory('opsctl-bench-');
  const env = {
    ...process.env,
    OPSCTL_HOME: home,
    OPSCTL_TRACKER_URL: `http://127.0.0.1:${port}`,
    OPSCTL_TRACKER_TOKEN: 'bench',
  };
  delete env.NODE_EXTRA_CA_CERTS;
  delete env.COLUMNS;
  const tab = ['__complete', 'tracker', 'labels', 'create', '--co'];
  const cases = [
    ['node -e 0', ['-e', '0'], 1],
    ['--version', [bin, '--version'], 1.1],
    ['--help', [bin, '--help'], 1.1],
    ['__complete', [bin, ...tab], 1.15],
    ['tracker labels create --help', [bin, 'tracker', 'labels', 'create', '--help'], 1.1],
    // On a terminal the program makes the page, as wide as that is.
    ['the same on a terminal', [bin, 'tracker', 'labels', 'create', '--help'], 1.85, { COLUMNS: '80' }],
    ['tracker labels list (one GET)', [bin, 'tracker', 'labels', 'list', '-o', 'json'], 2.4],
  ];
  /** Runs the configured number of rounds, with each case once per round. The first round warms up. */
  const minima = (all) => {
    const best = all.map(() => Number.POSITIVE_INFINITY);
    for (let run = 0; run <= RUNS; run++)
      for (const [i, [command, args, own]] of all.entries()) {
        const ms = cpuMs(command, args, { ...env, ...own });
        if (run > 0) best[i] = Math.min(best[i], ms);
      }
    return best;
  };
  const line = (name, ms, ratio, limit) => {
    const over = ratio > limit ? '  OVER' : '';
    process.stdout.write(
      `  ${name.padEnd(32)} ${ms.toFixed(1).padStart(7)} ms  ${ratio.toFixed(2)} x (goal ≤ ${limit})${over}\n`,
    );
    if (ratio > limit) exceed({ isTime: true });
  };
  const nodes = [process.execPath, nodeOf(24)].filter(Boolean);
  for (const node of nodes) {
    const best = minima(cases.map(([, args, , own]) => [node, args, own]));
    const version = spawnSync(node, ['--version'], { encoding: 'utf8' }).stdout.trim();
    process.stdout.write(`Node ${version}, minima of ${RUNS} alternating runs, CPU time\n`);
    for (const [i, [name, , limit]] of cases.entries()) line(name, best[i], best[i] / best[0], limit);
  }
  const gh = ghOf();
  if (gh === undefined) process.stdout.write('skipped: gh, which Debian does not provide here\n');
  else {
    const pairs = [
      ['--version', [bin, '--version'], ['--version']],
      ['TAB', [bin, ...tab], ['__complete', 'pr', 'create', '--ti']],
    ];
    const best = minima(
      pairs.flatMap(([, own, other]) => [
        [process.execPath, own],
        [gh, other],
      ]),
    );
    process.stdout.write('next to gh\n');
    for (const [i, [name]] of pairs.entries()) line(name, best[2 * i], best[2 * i] / best[2 * i + 1], 0.75);
  }
  await worker.terminate();
}
