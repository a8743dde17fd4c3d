// Defragments three real members of 1 GB under writes and compares opsctl with a plain loop over the members with the
// ctl program. The same client writes during both runs. The result is the longest time between two acknowledged writes.
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { realServers } from '../real/etcd.mjs';
import { pause, startMembers, startWriter } from './kv/cluster.mjs';
import { temporaryDirectory } from './temporary.mjs';

const root = fileURLToPath(new URL('../../', import.meta.url));
const found = realServers();
const server = found['3.5'];
if (server === undefined) {
  process.stdout.write(
    `skipped: no server of 3.5: ${found.missing.map(({ reason }) => reason).join('; ')}\n`,
  );
  process.exit(0);
}
const ROUNDS = Number(process.env.OPSCTL_BENCH_ROUNDS ?? 2);
const MIB = Number(process.env.OPSCTL_BENCH_MIB ?? 1024);
/** The share of the data that is deleted and compacted before the first round. */
const FREE = 0.3;
const VALUE = 256 * 1024;
const home = temporaryDirectory('kv-bench-home-');
const base64 = (text) => Buffer.from(text).toString('base64');
const post = async (url, path, body) => {
  const reply = await fetch(`${url}/v3${path}`, { method: 'POST', body: JSON.stringify(body) });
  const text = await reply.text();
  if (!reply.ok) throw new Error(`${path}: ${reply.status} ${text}`);
  return JSON.parse(text);
};
const child = (command, args, env = {}) =>
  new Promise((resolve) => {
    const began = performance.now();
    const running = spawn(command, args, {
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let [stdout, stderr] = ['', ''];
    running.stdout.on('data', (chunk) => (stdout += chunk));
    running.stderr.on('data', (chunk) => (stderr += chunk));
    running.once('close', (code) =>
      resolve({ code, stdout, stderr, ms: Math.round(performance.now() - began) }),
    );
  });

const fill = async (url) => {
  const value = base64('x'.repeat(VALUE));
  const count = Math.round((MIB * 1024 * 1024) / VALUE);
  for (let n = 0; n < count; n += 1)
    await post(url, '/kv/put', { key: base64(`d/${String(n).padStart(6, '0')}`), value });
  const gone = `d/${String(Math.round(count * FREE)).padStart(6, '0')}`;
  const { header } = await post(url, '/kv/deleterange', { key: base64('d/'), range_end: base64(gone) });
  await post(url, '/kv/compaction', { revision: header.revision, physical: true });
};
const mebibytes = (bytes) => `${Math.round(Number(bytes) / 2 ** 20)} MiB`;
const sizes = async (urls) => {
  const seen = await Promise.all(urls.map((url) => post(url, '/maintenance/status', {})));
  return seen
    .map(({ dbSize, dbSizeInUse }) => `${mebibytes(dbSize)} (${mebibytes(dbSizeInUse)} in use)`)
    .join(', ');
};

const underWrites = async (urls, work) => {
  const stop = startWriter(urls);
  await pause(1000);
  const ran = await work();
  await pause(500);
  return { ...ran, ...(await stop()) };
};
const loop = async ({ members }) => {
  let ms = 0;
  for (const { client_url } of members) {
    const args = [`--endpoints=${client_url}`, '--command-timeout=300s', 'defrag'];
    const ran = await child(server.ctl, args, { ETCDCTL_API: '3' });
    if (ran.code !== 0) throw new Error(ran.stderr);
    ms += ran.ms;
  }
  return { ms, blocked: '' };
};
const ours = async ({ file }) => {
  const args = [
    `${root}bin/opsctl.js`,
    'kv',
    'defrag',
    '--cluster',
    file,
    '--yes',
    '--no-canary',
    '-o',
    'json',
  ];
  const ran = await child(process.execPath, args, { OPSCTL_HOME: home });
  if (ran.code !== 0) throw new Error(ran.stderr);
  const blocked = JSON.parse(ran.stdout).steps.flatMap(({ detail }) => detail?.blocked_ms ?? []);
  return { ms: ran.ms, blocked: `, members blocked for ${blocked.join(', ')} ms` };
};

const cluster = await startMembers(3, server, server, ['--quota-backend-bytes=8000000000']);
try {
  const urls = cluster.members.map(({ client_url }) => client_url);
  await fill(urls[0]);
  process.stdout.write(`Defragmentation under writes, members of ${await sizes(urls)}\n`);
  for (let round = 1; round <= ROUNDS; round += 1)
    for (const [name, work] of [
      ['ctl loop', loop],
      ['opsctl  ', ours],
    ]) {
      const { ms, blocked, longest, written } = await underWrites(urls, () => work(cluster));
      process.stdout.write(
        `  ${name} round ${round}: longest write gap ${longest} ms, ${ms} ms in all, ${written} writes${blocked}\n`,
      );
    }
  process.stdout.write(`  afterwards: ${await sizes(urls)}\n`);
} finally {
  await cluster.stop();
}
