// Compares an upgrade of three real members with a shell script that follows the documented procedure with the ctl
// program. Measures the total time, the downtime of each member and the longest gap between two writes with the same
// external probes. Both run on this machine in one run, and the output includes the load of the machine; on a busy
// machine, only the ratio is meaningful. `nothing` is the same writer for the same time on an idle cluster: the gap that
// the machine itself causes.
import { mkdirSync, writeFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { realServers } from '../real/etcd.mjs';
import { pause, startMembers, startWatch, startWriter } from './kv/cluster.mjs';
import { median, timed } from './kv/timed.mjs';
import { temporaryDirectory } from './temporary.mjs';

const root = fileURLToPath(new URL('../../', import.meta.url));
const ROUNDS = Number(process.env.OPSCTL_BENCH_ROUNDS ?? 10);
const home = temporaryDirectory('kv-bench-home-');
const { OPSCTL_KV_OLD: oldest, OPSCTL_KV_NEW: next, OPSCTL_KV_CTL: ctl } = process.env;
const found = realServers();
/** Only the environment can provide 3.2 servers. */
const pairs = [
  ...(oldest && next && ctl
    ? [{ to: '3.3', prefix: '/v3alpha', old: { server: oldest, ctl }, fresh: { server: next, ctl } }]
    : []),
  { to: '3.4', prefix: '/v3beta', old: found['3.3'], fresh: found['3.4'] },
  { to: '3.5', prefix: '/v3', old: found['3.4'], fresh: found['3.5'] },
].filter(({ old, fresh }) => old !== undefined && fresh !== undefined);
if (pairs.length === 0) {
  process.stdout.write(
    `skipped: no servers: ${found.missing.map((row) => `${row.minor}: ${row.reason}`).join('; ')}\n`,
  );
  process.exit(0);
}

const ours = async (cluster) => {
  const consent = ['--yes', '--accept-point-of-no-return', '--stable-before-last', '0'];
  const words = ['kv', 'upgrade', '--cluster', cluster.file, ...consent, '-o', 'json'];
  const ran = await timed(process.execPath, [`${root}bin/opsctl.js`, ...words], {
    OPSCTL_HOME: home,
    HOME: home,
  });
  if (ran.code !== 0) throw new Error(ran.stderr);
};

const byHand = async (cluster, { fresh, to }) => {
  const snapshots = join(cluster.directory, 'snapshots');
  mkdirSync(snapshots);
  const words = cluster.members.flatMap((member) => {
    const flags = `${member.pid_file}.flags`;
    writeFileSync(flags, member.new_command.join('\0'));
    return [member.client_url, member.pid_file, member.log_file, flags];
  });
  const script = [`${root}test/bench/kv/procedure.sh`, fresh.ctl, fresh.server, snapshots, ...words];
  const ran = await timed('/bin/sh', script);
  if (ran.code !== 0) throw new Error(ran.stderr);
  // Step 5 of the procedure: wait until the cluster reports the new version.
  for (let i = 0; i < 200; i += 1) {
    const reply = await fetch(`${cluster.members[0].client_url}/version`);
    if ((await reply.json()).etcdcluster === `${to}.0`) return;
    await pause(50);
  }
  throw new Error(`the cluster does not report ${to}`);
};

const untouched = (ms) => () => pause(ms);

const measured = async (pair, act) => {
  const cluster = await startMembers(3, pair.old, pair.fresh);
  try {
    const urls = cluster.members.map(({ client_url }) => client_url);
    const [writer, watch] = [startWriter(urls, pair.prefix), startWatch(urls)];
    const [load, began] = [loadavg()[0], performance.now()];
    await act(cluster, pair);
    const ms = Math.round(performance.now() - began);
    const [{ written, longest }, downs] = await Promise.all([writer(), watch()]);
    return { load, ms, written, gap: longest, downs };
  } finally {
    await cluster.stop();
  }
};

const line = (name, { load, ms, written, gap, downs }) =>
  process.stdout.write(
    `  ${name.padEnd(8)} ${String(ms).padStart(6)} ms, longest gap ${gap} ms, down ${downs.join(' ')} ms, ${written} writes, load ${load.toFixed(1)}\n`,
  );
const summary = (name, all) =>
  process.stdout.write(
    `  ${name}: median of ${all.length}: total ${median(all.map(({ ms }) => ms))} ms, longest gap ${median(all.map(({ gap }) => gap))} ms, down ${median(all.flatMap(({ downs }) => downs))} ms\n`,
  );

for (const pair of pairs) {
  process.stdout.write(`Upgrade of 3 real members to ${pair.to} under a constant writer\n`);
  const [our, hand, idle] = [[], [], []];
  for (let round = 0; round < ROUNDS; round += 1) {
    our.push(await measured(pair, ours));
    line('opsctl', our.at(-1));
    hand.push(await measured(pair, byHand));
    line('script', hand.at(-1));
    idle.push(await measured(pair, untouched(our.at(-1).ms)));
    line('nothing', idle.at(-1));
  }
  summary('opsctl', our);
  summary('script', hand);
  summary('nothing', idle);
}
