// Compares long lists with curl and the system's jq: CPU time and peak memory of the reading processes. The server runs
// in a separate process.
import { spawn, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { exceed, printGrowth } from './growth.mjs';
import { temporaryDirectory } from './temporary.mjs';

const bin = fileURLToPath(new URL('../../bin/opsctl.js', import.meta.url));
const SIZES = (process.env.OPSCTL_BENCH_ROWS ?? '1000,10000,100000,1000000').split(',').map(Number);
const GOAL_MB = 100;
/** The limit of a format that prints rows one after the other. */
const FORMAT_MB = 80;
/** Half of the memory that a filter of a whole array of 100,000 rows once needed. */
const ARRAY_MB = 258;
/** Start-up time beyond the work, which the ratio to jq excludes. */
const START_S = 0.1;
/** The number of rows from which a filter takes no longer than jq. jq starts faster, which decides for short lists. */
const LONG = 100_000;
/** jq loads the complete array into memory. A million rows need about 5 GB with any jq. */
const MOST_AS_ARRAY = 100_000;

const home = temporaryDirectory('opsctl-bench-lists-');
const server = spawn(process.execPath, [fileURLToPath(new URL('./lists/list-server.mjs', import.meta.url))], {
  stdio: ['pipe', 'pipe', 'inherit'],
});
const port = await new Promise((resolve) =>
  server.stdout.once('data', (data) => resolve(Number(String(data)))),
);
const base = `http://127.0.0.1:${port}`;
const has = (program, ...args) => spawnSync(program, args).error === undefined;
const missing = [
  ['/usr/bin/time', '--version'],
  ['curl', '--version'],
  ['bash', '--version'],
]
  .filter(([program, ...args]) => !has(program, ...args))
  .map(([program]) => program);
const hasJq = has('jq', '--version');

/** Runs one shell line and returns the CPU seconds of all its processes and the peak memory of the largest process. */
const measured = (line, rows) => {
  const report = join(home, 'time');
  const env = {
    ...process.env,
    OPSCTL_HOME: home,
    OPSCTL_TRACKER_URL: base,
    OPSCTL_TRACKER_TOKEN: `rows-${rows}`,
    OPSCTL_RATE_PER_MINUTE: 'off',
  };
  delete env.NODE_EXTRA_CA_CERTS;
  const args = ['-f', '%U %S %M', '-o', report, 'bash', '-c', `set -o pipefail; ${line} >/dev/null`];
  const { status, signal, stderr } = spawnSync('/usr/bin/time', args, { env, encoding: 'utf8' });
  if (status !== 0) throw new Error(`${line} ended with ${status ?? signal}: ${stderr}`);
  const [user, system, kilobytes] = readFileSync(report, 'utf8')
    .trim()
    .split('\n')
    .at(-1)
    .split(' ')
    .map(Number);
  return { seconds: user + system, megabytes: kilobytes / 1024 };
};

/** CPU seconds by format or filter, and size. */
const costs = new Map();
const program = `'${process.execPath}' '${bin}'`;
const opsctl = `${program} tracker labels list`;
const curl = (rows) => `curl -s '${base}/api/v3/labels?rows=${rows}'`;
const say = (text) => process.stdout.write(`${text}\n`);
const shown = ({ seconds, megabytes }) =>
  `${seconds.toFixed(2).padStart(7)} s ${megabytes.toFixed(0).padStart(6)} MB`;

/** Filters with the arguments of jq that do the same with the whole list. */
const FILTERS = [
  { flags: '-o ndjson', filter: '.name', peer: "'.[] | .name'" },
  { flags: '-o ndjson', filter: 'select(.id > 5) | .name', peer: "'.[] | select(.id > 5) | .name'" },
  ...[
    ...['length', '.[].name', 'map(select(.id > 5)) | length', 'sort_by(.name) | .[-1].id'],
    ...['group_by(.color) | map(length)', 'map({id, name})', 'map(select(.id > 10))'],
  ].map((filter) => ({ flags: '', filter, peer: `'${filter}'` })),
];
/** Compares a filter with `curl | jq`. Prints the ratio to jq without the start of opsctl, which is a figure of `startup`. */
const compareFilter = (rows, { flags, filter, peer }) => {
  const isArray = flags === '';
  if (isArray && rows > MOST_AS_ARRAY) return;
  const system = measured(`${curl(rows)} | jq -cr ${peer}`, rows);
  const none = measured(`${opsctl} -o name`, 0);
  const limit = (rows < LONG ? 2 : 1) * system.seconds + START_S + none.seconds;
  const line = `${opsctl} ${flags} --jq '${filter}'`;
  let ours = measured(line, rows);
  // A busy machine only adds time, so a second run decides.
  if (ours.seconds > limit) {
    const again = measured(line, rows);
    if (again.seconds < ours.seconds) ours = again;
  }
  const name = `${flags} --jq '${filter}'`.trim();
  costs.set(name, [...(costs.get(name) ?? []), [rows, ours.seconds]]);
  const mostMb = isArray ? ARRAY_MB : GOAL_MB;
  const isLarge = ours.megabytes > mostMb;
  const isSlow = ours.seconds > limit;
  if (isLarge || isSlow) exceed({ isTime: !isLarge });
  say(`  ${`curl | jq ${peer}`.padEnd(44)}${shown(system)}`);
  say(
    `  ${name.padEnd(44)}${shown(ours)}  ${(ours.seconds / system.seconds).toFixed(2)} x (limits ${limit.toFixed(2)} s, ${mostMb} MB)${isLarge || isSlow ? '  OVER' : ''}`,
  );
};

if (missing.length > 0) say(`skipped: the benchmark needs ${missing.join(', ')}`);
else
  for (const rows of SIZES) {
    say(`${rows} rows`);
    if (!hasJq) say('  skipped: jq is not installed, so --jq has no peer');
    const plain = measured(curl(rows), rows);
    say(`  ${'curl'.padEnd(44)}${shown(plain)}`);
    for (const format of ['ndjson', 'csv', 'name', 'json']) {
      const found = measured(`${opsctl} -o ${format}`, rows);
      costs.set(`-o ${format}`, [...(costs.get(`-o ${format}`) ?? []), [rows, found.seconds]]);
      const isOver = found.megabytes > FORMAT_MB;
      if (isOver) exceed();
      say(`  ${`-o ${format}`.padEnd(44)}${shown(found)}${isOver ? `  OVER ${FORMAT_MB} MB` : ''}`);
    }
    for (const line of [
      'tracker export --only labels',
      'api tracker GET /labels -o ndjson',
      `tracker labels get n${rows}`,
    ]) {
      const found = measured(`${program} ${line}`, rows);
      const isOver = found.megabytes > GOAL_MB;
      if (isOver) exceed();
      say(`  ${line.padEnd(44)}${shown(found)}${isOver ? `  OVER ${GOAL_MB} MB` : ''}`);
    }
    if (hasJq) for (const one of FILTERS) compareFilter(rows, one);
  }
if (costs.size > 0) {
  const base = measured(`${opsctl} -o name`, 0).seconds;
  for (const [name, points] of costs) printGrowth(name, points, { base });
}
server.stdin.end();
