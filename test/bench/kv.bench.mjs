// A whole upgrade of three real members beside a shell script that follows the document's procedure, and a snapshot of
// 1 GB beside the store's own program. Everything is measured in this run, on this machine.
import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { realServers } from '../real/etcd.mjs';
import { pause, startMembers, startWriter } from './kv/cluster.mjs';

const root = fileURLToPath(new URL('../../', import.meta.url));
const found = realServers();
const [old, fresh] = [found['3.3'], found['3.4']];
if (old === undefined || fresh === undefined) {
  process.stderr.write(
    `no servers: ${found.missing.map(({ minor, reason }) => `${minor}: ${reason}`).join('; ')}\n`,
  );
  process.exit(1);
}
const ROUNDS = Number(process.env.OPSCTL_BENCH_ROUNDS ?? 3);
const MIB = Number(process.env.OPSCTL_BENCH_MIB ?? 1024);
const home = mkdtempSync(join(tmpdir(), 'kv-bench-home-'));
const median = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];
const goal = (what, value, limit, unit) => {
  const isOver = value > limit;
  process.stdout.write(`  ${what}: ${value}${unit} (goal ≤ ${limit}${unit})${isOver ? '  OVER' : ''}\n`);
  if (isOver) process.exitCode = 1;
};

/** Wall time and the largest memory of a child. */
const timed = (command, args, env) =>
  new Promise((resolve) => {
    const began = performance.now();
    const child = spawn(command, args, {
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let [stdout, stderr, rss] = ['', '', 0];
    const look = setInterval(() => {
      try {
        rss = Math.max(
          rss,
          Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1] ?? 0) / 1024,
        );
      } catch {
        // It has ended.
      }
    }, 20);
    child.stdout.on('data', (chunk) => (stdout += chunk));
    child.stderr.on('data', (chunk) => (stderr += chunk));
    child.once('close', (code) => {
      clearInterval(look);
      resolve({ code, stdout, stderr, ms: performance.now() - began, rss });
    });
  });

const ours = async () => {
  const cluster = await startMembers(3, old, fresh);
  const stop = startWriter(cluster.members.map(({ client_url }) => client_url));
  const ran = await timed(
    process.execPath,
    [
      `${root}bin/opsctl.js`,
      'kv',
      'upgrade',
      '--cluster',
      cluster.file,
      '--yes',
      '--accept-point-of-no-return',
      '-o',
      'json',
    ],
    {
      OPSCTL_HOME: home,
      HOME: home,
    },
  );
  const client = await stop();
  await cluster.stop();
  if (ran.code !== 0) throw new Error(ran.stderr);
  const report = JSON.parse(ran.stdout);
  return {
    ms: ran.ms,
    ...client,
    downs: report.members.map(({ down_ms }) => down_ms),
    snapshots: report.snapshots.length,
  };
};

const byHand = async () => {
  const cluster = await startMembers(3, old, fresh);
  const stop = startWriter(cluster.members.map(({ client_url }) => client_url));
  const snapshots = join(cluster.directory, 'snapshots');
  mkdirSync(snapshots);
  const words = cluster.members.flatMap((member) => {
    const flags = `${member.pid_file}.flags`;
    writeFileSync(flags, member.new_command.join('\0'));
    return [member.client_url, member.pid_file, member.log_file, flags];
  });
  const began = performance.now();
  await timed('/bin/sh', [`${root}test/bench/kv/procedure.sh`, fresh.ctl, fresh.server, snapshots, ...words]);
  for (let i = 0; i < 200; i += 1) {
    const { etcdcluster } = await fetch(`${cluster.members[0].client_url}/version`).then((reply) =>
      reply.json(),
    );
    if (etcdcluster === '3.4.0') break;
    await pause(50);
  }
  // Step 5 of the procedure: the cluster reports the new version.
  const ms = performance.now() - began;
  const client = await stop();
  await cluster.stop();
  return { ms, ...client };
};

const row = (name, { ms, written, longest }) =>
  process.stdout.write(
    `  ${name.padEnd(34)} ${(ms / 1000).toFixed(1).padStart(6)} s   ${written} writes, longest gap ${longest} ms\n`,
  );
process.stdout.write(
  `Upgrade of 3 real members, ${old.version} to ${fresh.version}, under a constant writer\n`,
);
const [our, hand] = [[], []];
for (let round = 0; round < ROUNDS; round += 1) {
  our.push(await ours());
  row('opsctl kv upgrade', our.at(-1));
  hand.push(await byHand());
  row("shell script, document's procedure", hand.at(-1));
}
goal('whole run, median', Number((median(our.map(({ ms }) => ms)) / 1000).toFixed(1)), 10, ' s');
goal('down time of a member, median', median(our.flatMap(({ downs }) => downs)), 300, ' ms');
if (our.some(({ snapshots }) => snapshots !== 3)) throw new Error('not three snapshots');

process.stdout.write(`Snapshot of ${MIB} MiB\n`);
const big = await startMembers(1, fresh, fresh, ['--quota-backend-bytes', String(8 * 1024 ** 3)]);
const [{ client_url: url }] = big.members;
const value = 'A'.repeat(1_000_000);
for (let i = 0; i < MIB; i += 8) {
  await Promise.all(
    Array.from({ length: 8 }, (_, k) =>
      fetch(`${url}/v3/kv/put`, {
        method: 'POST',
        body: JSON.stringify({
          key: Buffer.from(`big/${i + k}`).toString('base64'),
          value: Buffer.from(value).toString('base64'),
        }),
      }).then((reply) => reply.arrayBuffer()),
    ),
  );
}
const times = { opsctl: [], ctl: [] };
let rss = 0;
for (let round = 0; round < ROUNDS; round += 1) {
  const file = join(home, `o${round}.db`);
  const saved = await timed(
    process.execPath,
    [`${root}bin/opsctl.js`, 'kv', 'snapshot', 'save', file, '--endpoints', url],
    {
      OPSCTL_HOME: home,
      HOME: home,
    },
  );
  if (saved.code !== 0) throw new Error(saved.stderr);
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
);
goal('memory', Math.round(rss), 150, ' MiB');
rmSync(home, { recursive: true, force: true });
