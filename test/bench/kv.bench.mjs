// Compares a snapshot of 1 GB with the same snapshot by the ctl program. The benchmark measures both in one run on one machine.
import { spawnSync } from 'node:child_process';
import { rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { realServers } from '../real/etcd.mjs';
import { exceed, printGrowth } from './growth.mjs';
import { startMembers } from './kv/cluster.mjs';
import { timed } from './kv/timed.mjs';
import { temporaryDirectory } from './temporary.mjs';

const root = fileURLToPath(new URL('../../', import.meta.url));
const found = realServers();
const fresh = found['3.4'];
if (fresh === undefined) {
  process.stdout.write(
    `skipped: no servers: ${found.missing.map(({ minor, reason }) => `${minor}: ${reason}`).join('; ')}\n`,
  );
  process.exit(0);
}
const ROUNDS = Number(process.env.OPSCTL_BENCH_ROUNDS ?? 3);
const MIB = Number(process.env.OPSCTL_BENCH_MIB ?? 1024);
const home = temporaryDirectory('kv-bench-home-');
const goal = (what, value, limit, unit, isTime) => {
  const isOver = value > limit;
  process.stdout.write(`  ${what}: ${value}${unit} (goal ≤ ${limit}${unit})${isOver ? '  OVER' : ''}\n`);
  if (isOver) exceed({ isTime });
};

process.stdout.write(`Snapshot of ${MIB} MiB\n`);
const big = await startMembers(1, fresh, fresh, ['--quota-backend-bytes', String(8 * 1024 ** 3)]);
const [{ client_url: url }] = big.members;
const value = 'A'.repeat(1_000_000);
const put = (key) =>
  fetch(`${url}/v3/kv/put`, {
    method: 'POST',
    body: JSON.stringify({
      key: Buffer.from(key).toString('base64'),
      value: Buffer.from(value).toString('base64'),
    }),
  }).then((reply) => reply.arrayBuffer());
const save = async (file) => {
  const saved = await timed(
    process.execPath,
    [`${root}bin/opsctl.js`, 'kv', 'snapshot', 'save', file, '--endpoints', url],
    { OPSCTL_HOME: home, HOME: home },
  );
  if (saved.code !== 0) throw new Error(saved.stderr);
  return saved;
};
/** Seconds of a snapshot at a sixteenth, a quarter and all of the data. */
const points = [];
for (let i = 0; i < MIB; i += 8) {
  await Promise.all(Array.from({ length: 8 }, (_, k) => put(`big/${i + k}`)));
  const size = i + 8;
  if (![Math.ceil(MIB / 16), Math.ceil(MIB / 4), MIB].some((at) => size >= at && size - 8 < at)) continue;
  const file = join(home, 'growth.db');
  const runs = [await save(file)];
  rmSync(file);
  runs.push(await save(file));
  rmSync(file);
  points.push([size, Math.min(...runs.map(({ ms }) => ms)) / 1000]);
}
printGrowth('snapshot save, MiB', points, { isTime: true });
const times = { opsctl: [], ctl: [] };
let rss = 0;
for (let round = 0; round < ROUNDS; round += 1) {
  const file = join(home, `o${round}.db`);
  const saved = await save(file);
  times.opsctl.push(saved.ms);
  rss = Math.max(rss, saved.rss);
  process.stdout.write(
    `  opsctl ${(saved.ms / 1000).toFixed(1)} s, ${Math.round(saved.rss)} MiB of memory, file ${Math.round(statSync(file).size / 1024 ** 2)} MiB\n`,
  );
  rmSync(file);
  const other = join(home, `c${round}.db`);
  const ctl = await timed(fresh.ctl, ['--endpoints', url, 'snapshot', 'save', other], { ETCDCTL_API: '3' });
  if (ctl.code !== 0) throw new Error(ctl.stderr);
  times.ctl.push(ctl.ms);
  process.stdout.write(`  ctl    ${(ctl.ms / 1000).toFixed(1)} s\n`);
  rmSync(other);
}
await big.stop();
spawnSync('sync');
goal(
  'snapshot save against ctl, best of each',
  Number((Math.min(...times.opsctl) / Math.min(...times.ctl)).toFixed(2)),
  1.5,
  ' x',
  true,
);
goal('memory', Math.round(rss), 150, ' MiB');
