// Compares `tracker bulk` with a bare undici pool that sends the same requests to the same server, and measures the
// memory of a long dry run, and the growth of the CPU time of tables with a map and of resumed runs. Both programs run in separate processes. The benchmark subtracts the time of a run of one row,
// so that process start-up does not count.
import { spawn, spawnSync } from 'node:child_process';
import { createWriteStream, openSync, readFileSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { moduleOfUse, useIn } from './cpu.mjs';
import { exceed, printGrowth } from './growth.mjs';
import { runAtExit, temporaryDirectory } from './temporary.mjs';

const bin = process.env.OPSCTL_TEST_BIN ?? fileURLToPath(new URL('../../bin/opsctl.js', import.meta.url));
const bare = fileURLToPath(new URL('bulk/bare-pool.mjs', import.meta.url));
const ROUNDS = Number(process.env.OPSCTL_BENCH_ROUNDS ?? 9);
const ROWS = Number(process.env.OPSCTL_BENCH_ROWS ?? 2000);
const LINES = Number(process.env.OPSCTL_BENCH_LINES ?? 1_000_000);
/** Rows of the growth of a table with a map and of a resumed run. */
const GROWTH_ROWS = (process.env.OPSCTL_BENCH_GROWTH_ROWS ?? '10000,30000,100000').split(',').map(Number);
/** Peak memory of a resumed run and of a dry run, which remembers the names that must be unique. */
const RESUME_MB = 110;
const DRY_RUN_MB = 150;
const CONNECTIONS = '8';

const directory = temporaryDirectory('opsctl-bench-');
const env = { ...process.env, OPSCTL_HOME: join(directory, 'home'), OPSCTL_RATE_PER_MINUTE: 'off' };
for (const name of ['NODE_EXTRA_CA_CERTS', 'HTTP_PROXY', 'http_proxy', 'ALL_PROXY', 'all_proxy'])
  delete env[name];

const serve = async () => {
  const child = spawn(
    process.execPath,
    [
      bin,
      'mock',
      'serve',
      '--port',
      '0',
      '--ephemeral',
      '--seed',
      'empty',
      '--rate-limit',
      'off',
      '-o',
      'json',
    ],
    {
      env,
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  runAtExit(() => child.kill('SIGKILL'));
  const [line] = await once(createInterface({ input: child.stdout }), 'line');
  return { child, ready: JSON.parse(line) };
};

let made = 0;
const label = () => ({
  name: `label ${made++}`,
  color: '#1a2b3c',
  description: 'one of many labels',
  external_id: `ext-${made}`,
});
const fileOf = (count, rowOf) => {
  const path = join(directory, `rows-${made}.ndjson`);
  writeFileSync(path, Array.from({ length: count }, () => `${JSON.stringify(rowOf(label()))}\n`).join(''));
  return path;
};
const timed = (args, more = {}) => {
  const start = process.hrtime.bigint();
  const { status, stderr } = spawnSync(process.execPath, args, {
    env: { ...env, ...more },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const ms = Number(process.hrtime.bigint() - start) / 1e6;
  if (status !== 0) throw new Error(`${args.join(' ')} ended with ${status}: ${stderr}`);
  return ms;
};

const compare = ({ tracker }) => {
  const { origin } = new URL(tracker.base_url);
  const bulk = (path) => [bin, 'tracker', 'bulk', '-f', path, '--concurrency', CONNECTIONS, '-o', 'ndjson'];
  const target = { OPSCTL_TRACKER_URL: origin, OPSCTL_TRACKER_TOKEN: tracker.token };
  const contestants = [
    [
      'undici pool',
      (count) => timed([bare, origin, tracker.token, fileOf(count, (row) => row), CONNECTIONS]),
    ],
    [
      'opsctl tracker bulk',
      (count) => timed(bulk(fileOf(count, (row) => ({ op: 'create', resource: 'labels', ...row }))), target),
    ],
  ];
  const best = contestants.map(() => ({ start: Number.POSITIVE_INFINITY, all: Number.POSITIVE_INFINITY }));
  for (let round = 0; round <= ROUNDS; round++) {
    for (const [i, [, run]] of contestants.entries()) {
      const found = { start: run(1), all: run(ROWS) };
      if (round > 0)
        best[i] = { start: Math.min(best[i].start, found.start), all: Math.min(best[i].all, found.all) };
    }
  }
  process.stdout.write(
    `${ROWS} creates over ${CONNECTIONS} connections, minima of ${ROUNDS} alternating runs\n`,
  );
  const costs = best.map(({ start, all }) => all - start);
  for (const [i, [name]] of contestants.entries()) {
    process.stdout.write(
      `  ${name.padEnd(32)} ${costs[i].toFixed(0).padStart(6)} ms (and ${best[i].start.toFixed(0)} ms for a run of one row)\n`,
    );
  }
  judge('to the bare pool', costs[1] / costs[0], 'x', 1.25, true);
};

const judge = (what, value, unit, goal, isTime) => {
  process.stdout.write(
    `  ${what}: ${value.toFixed(2)} ${unit} (goal ≤ ${goal})${value > goal ? '  OVER' : ''}\n`,
  );
  if (value > goal) exceed({ isTime });
};

const peakMb = (pid) =>
  Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024;

/** Returns the peak memory of a dry run over the given number of lines. */
const dryRun = async (lines) => {
  const path = join(directory, 'many.ndjson');
  const out = createWriteStream(path);
  for (let i = 0; i < lines; i++) {
    if (
      !out.write(
        `{"op":"create","resource":"labels","name":"label ${i}","color":"#1a2b3c","description":"one of many"}\n`,
      )
    )
      await once(out, 'drain');
  }
  await new Promise((resolve) => out.end(resolve));
  const start = process.hrtime.bigint();
  const child = spawn(process.execPath, [bin, 'tracker', 'bulk', '-f', path, '--dry-run', '-o', 'ndjson'], {
    env,
    stdio: ['ignore', openSync('/dev/null', 'w'), 'inherit'],
  });
  let mb = 0;
  const timer = setInterval(() => {
    try {
      mb = Math.max(mb, peakMb(child.pid));
    } catch {
      // The process has already exited.
    }
  }, 50);
  const [code] = await once(child, 'exit');
  clearInterval(timer);
  if (code !== 0) throw new Error(`the dry run ended with ${code}`);
  return { mb, ms: Number(process.hrtime.bigint() - start) / 1e6 };
};

const cpuAtExit = moduleOfUse(directory);
/** CPU seconds and peak memory of a run of `tracker bulk`. */
const useOf = (words, more = {}) => {
  const { status, stderr } = spawnSync(
    process.execPath,
    ['--import', cpuAtExit, bin, 'tracker', 'bulk', '-o', 'ndjson', ...words],
    { env: { ...env, ...more }, stdio: ['ignore', 'ignore', 'pipe'], encoding: 'utf8' },
  );
  if (status !== 0) throw new Error(`${words.join(' ')} ended with ${status}: ${stderr}`);
  return useIn(stderr);
};
/** A dry run of CSV whose columns and values are mapped. */
const mapRows = () => {
  const map = join(directory, 'map.yaml');
  writeFileSync(
    map,
    "columns:\n  Title: name\n  Colour: {field: color, values: {red: '#ff0000'}}\n  Key: external_id\n  Other: null\n",
  );
  const run = (rows) => {
    const path = join(directory, `table-${rows}.csv`);
    const lines = Array.from({ length: rows }, (_, i) => `label ${i},red,key-${i},"x, ${i}"\n`);
    writeFileSync(path, `Title,Colour,Key,Other\n${lines.join('')}`);
    return useOf(['-f', path, '--dry-run', '--resource', 'labels', '--op', 'create', '--map-file', map]);
  };
  // The first run compiles the program.
  const base = Math.min(run(1).seconds, run(1).seconds);
  const uses = GROWTH_ROWS.map((rows) => ({ rows, ...run(rows) }));
  printGrowth(
    'dry run of CSV with a map, rows',
    uses.map(({ rows, seconds }) => [rows, seconds]),
    { base },
  );
  judge(`peak memory of ${GROWTH_ROWS.at(-1)} rows with a map`, uses.at(-1).megabytes, 'MB', DRY_RUN_MB);
};
/** The last tenth of a run: the journal has the other rows. */
const resumeRuns = ({ tracker }) => {
  const target = {
    OPSCTL_TRACKER_URL: new URL(tracker.base_url).origin,
    OPSCTL_TRACKER_TOKEN: tracker.token,
  };
  let whole = 0;
  const run = (rows) => {
    // The service accepts the name of an epic twice, so the last tenth can be sent again.
    const path = fileOf(rows, ({ name }) => ({ op: 'create', resource: 'epics', name }));
    const journal = `${path}.journal`;
    const words = ['-f', path, '--concurrency', CONNECTIONS, '--journal', journal];
    whole = useOf(words, target).seconds;
    const entries = readFileSync(journal, 'utf8').split('\n');
    const kept = entries.filter((entry) => /^[hm] /.test(entry) || Number(entry.split(' ')[1]) <= rows * 0.9);
    writeFileSync(journal, `${kept.join('\n')}\n`);
    return useOf([...words, '--resume'], target);
  };
  const base = run(10).seconds;
  const uses = GROWTH_ROWS.map((rows) => ({ rows, ...run(rows) }));
  const points = uses.map(({ rows, seconds }) => [rows, seconds]);
  printGrowth('resume with a tenth of the rows left, rows', points, { base });
  judge(`peak memory of a resume of ${GROWTH_ROWS.at(-1)} rows`, uses.at(-1).megabytes, 'MB', RESUME_MB);
  process.stdout.write(`  of the whole run: ${((100 * points.at(-1)[1]) / whole).toFixed(0)} %\n`);
};

const { child, ready } = await serve();
try {
  compare(ready);
  resumeRuns(ready);
  child.kill('SIGTERM');
  mapRows();
  const few = await dryRun(Math.round(LINES / 100));
  const short = await dryRun(Math.round(LINES / 10));
  const { mb, ms } = await dryRun(LINES);
  const points = [few.ms, short.ms, ms].map((time, i) => [LINES / 10 ** (2 - i), time / 1000]);
  printGrowth('dry run, lines', points, { isTime: true });
  process.stdout.write(
    `A dry run of ${LINES} lines: ${(ms / 1000).toFixed(1)} s, ${((LINES / ms) * 1000).toFixed(0)} lines/s\n`,
  );
  process.stdout.write(`  peak memory of a tenth of them: ${short.mb.toFixed(0)} MB\n`);
  if (process.platform === 'linux') judge('peak memory', mb, 'MB', DRY_RUN_MB);
} finally {
  child.kill('SIGKILL');
}
