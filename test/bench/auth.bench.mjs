// Compares the embedded authorization server with oidc-provider and oauth2-mock-server in one run. Rounds alternate, and
// the best round of each server counts. Then measures memory over a million expired tokens.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { exceed, printGrowth } from './growth.mjs';
import { peers } from '../peers/install.mjs';
import { login, oauth2MockServer, oidcProvider, opsctl, stopAll } from './auth/contestants.mjs';
import { load } from './mock/load.mjs';

const ROUNDS = Number(process.env.OPSCTL_BENCH_ROUNDS ?? 5);
const MS = Number(process.env.OPSCTL_BENCH_MS ?? 1200);

/** Returns the logins per second with eight parallel browsers. */
const logins = async (server, ms) => {
  const end = performance.now() + ms;
  let count = 0;
  const since = performance.now();
  const one = async () => {
    while (performance.now() < end) {
      await login(server);
      count += 1;
    }
  };
  await Promise.all(Array.from({ length: 8 }, one));
  return count / ((performance.now() - since) / 1000);
};
const refreshes = async (server, ms) => {
  const url = new URL(server.token);
  const { refresh_token } = await login(server);
  const body = new URLSearchParams({
    client_id: server.client,
    grant_type: 'refresh_token',
    refresh_token,
  }).toString();
  const head = `POST ${url.pathname} HTTP/1.1\r\nhost: ${url.host}\r\ncontent-type: application/x-www-form-urlencoded\r\ncontent-length: ${body.length}\r\n\r\n`;
  return load({ port: Number(url.port), ms, expect: 200, next: () => head + body });
};

const compare = async (title, servers, run) => {
  const best = servers.map(() => 0);
  for (let round = 0; round <= ROUNDS; round++) {
    for (const [i, server] of servers.entries()) {
      const rate = await run(server, round === 0 ? MS / 2 : MS);
      if (round > 0) best[i] = Math.max(best[i], rate);
    }
  }
  process.stdout.write(`${title}\n`);
  for (const [i, { name }] of servers.entries())
    process.stdout.write(`  ${name.padEnd(28)} ${best[i].toFixed(0).padStart(7)} a second\n`);
  for (const [i, { name }] of servers.entries()) {
    if (i === 0) continue;
    const ratio = best[0] / best[i];
    process.stdout.write(`  to ${name}: ${ratio.toFixed(2)} x (goal > 1)${ratio <= 1 ? '  UNDER' : ''}\n`);
    if (ratio <= 1) exceed({ isTime: true });
  }
};

/**
 * The peers need packages that a fresh machine cannot always install. If the packages are missing, the benchmark
 * measures opsctl only.
 */
const startPeers = async (scope) => {
  const started = [];
  for (const [name, start] of [
    ['oidc-provider', oidcProvider],
    ['oauth2-mock-server', oauth2MockServer],
  ]) {
    try {
      started.push(await start(scope));
    } catch (error) {
      process.stdout.write(
        `skipped: ${name} does not start: ${String(error.message ?? error).split('\n')[0]}\n`,
      );
    }
  }
  return started;
};
const whyNoPeers = () => {
  try {
    peers();
    return undefined;
  } catch (error) {
    return String(error.message ?? error).split('\n')[0];
  }
};

try {
  const why = whyNoPeers();
  if (why !== undefined) process.stdout.write(`skipped: oidc-provider and oauth2-mock-server: ${why}\n`);
  for (const [what, ours, theirs] of [
    ['with id_token', 'openid email', 'openid email'],
    ['access and refresh token only', 'https://scopes.opsctl.example/auth/media.readonly', 'email'],
  ]) {
    const servers = [await opsctl(ours), ...(why === undefined ? await startPeers(theirs) : [])];
    await compare(`authorization-code logins, ${what}`, servers, logins);
    await compare(`refreshes, ${what}`, servers, refreshes);
  }
  const server = await opsctl('openid email');
  const points = [];
  for (const count of [50, 200, 800]) {
    const since = performance.now();
    for (let i = 0; i < count; i += 1) await login(server);
    points.push([count, (performance.now() - since) / 1000]);
  }
  printGrowth('logins at one server, one after the other', points, { isTime: true });
} finally {
  stopAll();
}

const memory = fileURLToPath(new URL('auth/memory.mjs', import.meta.url));
const { stdout, stderr, status } = spawnSync(process.execPath, ['--expose-gc', memory], { encoding: 'utf8' });
if (status !== 0) {
  process.stdout.write(`memory: the measurement ended with ${status}: ${stderr.trim().split('\n')[0]}\n`);
  process.exitCode = 1;
} else {
  const { tokens, heap_mb: heap, growth, records } = JSON.parse(stdout);
  process.stdout.write(
    `memory over ${tokens} expired tokens\n  heap ${heap.join(' ')} MB; ${records} records at the end\n`,
  );
  process.stdout.write(
    `  last to first tenth: ${growth.toFixed(2)} x (goal ≤ 1.2)${growth > 1.2 ? '  OVER' : ''}\n`,
  );
  if (growth > 1.2) exceed();
}
