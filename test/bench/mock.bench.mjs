// Compares the mock server with alternatives in one run. Rounds alternate, so that noise of the machine affects all
// servers equally, and the best round of each server counts. CPU time per request includes all threads of the server,
// including the garbage collector.
import { readFileSync } from 'node:fs';
import { exceed, printGrowth } from './growth.mjs';
import { peers } from '../peers/install.mjs';
import { bare, fastify, jsonServer, opsctl, prism, stopAll } from './mock/contestants.mjs';
import { load, requestText } from './mock/load.mjs';
import { scale } from './mock/scale.mjs';

const ROUNDS = Number(process.env.OPSCTL_BENCH_ROUNDS ?? 5);
const MS = Number(process.env.OPSCTL_BENCH_MS ?? 1200);
const token = { 'tracker-token': 'bench' };

const newLabel = (i) => ({
  name: `label ${process.pid} ${i}`,
  color: '#1a2b3c',
  description: 'one of many labels',
  external_id: `ext-${i}`,
});
let made = 0;
const postTo = (path, headers) => () => requestText('POST', path, headers, JSON.stringify(newLabel(made++)));

/** Returns the CPU time of a process so far in µs. A tick is 10 ms. */
const cpuUs = (pid) => {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10_000;
};
const compare = async (title, contestants) => {
  const best = contestants.map(() => 0);
  const least = contestants.map(() => Number.POSITIVE_INFINITY);
  for (let round = 0; round <= ROUNDS; round++) {
    for (const [i, { server, run }] of contestants.entries()) {
      const [before, since] = [cpuUs(server.pid), performance.now()];
      const rate = await run(round === 0 ? MS / 2 : MS);
      const requests = (rate * (performance.now() - since)) / 1000;
      if (round === 0) continue;
      best[i] = Math.max(best[i], rate);
      least[i] = Math.min(least[i], (cpuUs(server.pid) - before) / requests);
    }
  }
  process.stdout.write(`${title}\n`);
  for (const [i, { name }] of contestants.entries()) {
    const [rate, cpu] = [best[i].toFixed(0).padStart(7), least[i].toFixed(1).padStart(7)];
    process.stdout.write(`  ${name.padEnd(44)} ${rate} requests/s ${cpu} µs CPU a request\n`);
  }
  return Object.fromEntries(contestants.map(({ name }, i) => [name, best[i]]));
};
const judge = (what, ratio, goal) => {
  process.stdout.write(`  ${what}: ${ratio.toFixed(2)} x (goal ≥ ${goal})${ratio < goal ? '  UNDER' : ''}\n`);
  if (ratio < goal) exceed({ isTime: true });
};

/** Creates 1,000 labels in one server and returns the same records for the other servers. */
const fill = async (server) => {
  const url = `http://127.0.0.1:${server.port}/api/v3/labels`;
  for (let i = 0; i < 1000; i++) {
    const reply = await fetch(url, {
      method: 'POST',
      headers: { ...token, 'content-type': 'application/json' },
      body: JSON.stringify(newLabel(made++)),
    });
    if (reply.status !== 201) throw new Error(`could not make a label: ${await reply.text()}`);
  }
  return (await fetch(url, { headers: token })).json();
};

try {
  const ours = await opsctl('ephemeral', '--ephemeral');
  const kept = await opsctl('kept');
  const labels = await fill(ours);
  const plain = await bare();
  await fetch(`http://127.0.0.1:${plain.port}/`, { method: 'PUT', body: JSON.stringify(labels) });
  const get = (port, path) => (ms) =>
    load({ port, ms, expect: 200, next: () => requestText('GET', path, token) });
  const listed = await compare('GET a list of 1,000 labels', [
    { name: 'opsctl mock', server: ours, run: get(ours.port, '/api/v3/labels') },
    { name: 'node:http, stringified per request', server: plain, run: get(plain.port, '/api/v3/labels') },
  ]);
  judge('to node:http', listed['opsctl mock'] / listed['node:http, stringified per request'], 2);

  const post = (port, path) => (ms) => load({ port, ms, expect: 201, next: postTo(path, token) });
  const openApi = await (await fetch(`${ours.url}/openapi.json`)).text();
  /** The servers that could be installed, with the least ratio of `kept` and of `--ephemeral` to each. */
  const rivals = [];
  for (const [name, start, path, goals] of [
    ['fastify 5 (validates, keeps nothing)', fastify, '/api/v3/labels', [0.8, 1]],
    ['json-server 0.17 (does not validate)', () => jsonServer(labels), '/labels', [8]],
    ['prism 5.9 (validates, has no state)', () => prism(openApi), '/labels', [8]],
  ])
    try {
      peers();
      const server = await start();
      rivals.push({ name, server, goals, run: post(server.port, path) });
    } catch (error) {
      process.stdout.write(`skipped: ${name}: ${String(error.message ?? error).split('\n')[0]}\n`);
    }
  const own = [
    { name: 'opsctl mock', server: kept, run: post(kept.port, '/api/v3/labels') },
    { name: 'opsctl mock --ephemeral', server: ours, run: post(ours.port, '/api/v3/labels') },
  ];
  const posted = await compare('POST a label with validation', [...own, ...rivals]);
  for (const { name, goals } of rivals)
    for (const [i, goal] of goals.entries())
      judge(`${own[i].name} to ${name}`, posted[own[i].name] / posted[name], goal);

  const { stories, startMs, small, large, rssMb, starts } = await scale();
  process.stdout.write(`A state of ${stories} stories\n`);
  const limit = (what, value, unit, goal) => {
    process.stdout.write(
      `  ${what}: ${value.toFixed(0)} ${unit} (goal ≤ ${goal})${value > goal ? '  OVER' : ''}\n`,
    );
    if (value > goal) exceed({ isTime: unit === 'ms' });
  };
  limit('from the command to the ready line', startMs, 'ms', 1000);
  process.stdout.write(
    `  pages of 25: ${large.toFixed(0)} a second; with 1,000 stories ${small.toFixed(0)}\n`,
  );
  judge('pages to those with 1,000 stories', large / small, 0.8);
  printGrowth(
    'start, stories',
    starts.map(([size, ms]) => [size, ms / 1000]),
    { isTime: true },
  );
  limit('memory after that', rssMb, 'MB', 400);
} finally {
  stopAll();
}
