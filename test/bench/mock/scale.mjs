// Compares a state of 100,000 stories, or of OPSCTL_BENCH_STORIES, with a state of 1,000 stories: start-up time, pages of a list, and memory.
import { readFileSync } from 'node:fs';
import { load, requestText } from './load.mjs';
import { opsctl, stop } from './contestants.mjs';

const token = { 'tracker-token': 'bench' };
const STORIES = Number(process.env.OPSCTL_BENCH_STORIES ?? 100_000);
const GROUPS = 10;
const PAGE_MS = 800;
const ROUNDS = 5;

const rssMb = (pid) =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024;
const post = async (server, path, body) => {
  const reply = await fetch(`${server.url}/api/v3${path}`, {
    method: 'POST',
    headers: { ...token, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  if (reply.status !== 201) throw new Error(`POST ${path}: ${reply.status} ${await reply.text()}`);
  return reply.json();
};

/** Fills the state of `name` with stories in ten groups, stops the server, and restarts it. */
const grown = async (name, stories) => {
  const first = await opsctl(name);
  const groups = [];
  for (let i = 0; i < GROUPS; i++)
    groups.push((await post(first, '/groups', { name: `group ${i}`, mention_name: `group-${i}` })).id);
  let made = 0;
  const next = () => {
    made += 1;
    const description = `Some text about story ${made}. `.repeat(10);
    return requestText(
      'POST',
      '/api/v3/stories',
      token,
      JSON.stringify({
        name: `story ${made}`,
        description,
        group_id: groups[made % GROUPS],
        estimate: made % 8,
      }),
    );
  };
  while (made < stories) await load({ port: first.port, ms: Math.min(500, stories / 10), expect: 201, next });
  await stop(first.pid);
  const since = process.hrtime.bigint();
  const server = await opsctl(name);
  return {
    ...server,
    stories: made,
    startMs: Number(process.hrtime.bigint() - since) / 1e6,
    path: `/api/v3/groups/${groups[3]}/stories?limit=25&offset=`,
  };
};

const pages = (server, ms) => {
  const offsets = [0, 25, 50, 75];
  let i = 0;
  return load({
    port: server.port,
    ms,
    expect: 200,
    next: () => requestText('GET', `${server.path}${offsets[i++ % 4]}`, token),
  });
};

export const scale = async () => {
  const [small, middle, large] = [
    await grown('small', 1000),
    await grown('middle', 10_000),
    await grown('large', STORIES),
  ];
  const best = [0, 0];
  for (let round = 0; round <= ROUNDS; round++) {
    for (const [i, server] of [small, large].entries()) {
      const rate = await pages(server, PAGE_MS);
      if (round > 0) best[i] = Math.max(best[i], rate);
    }
  }
  return {
    stories: large.stories,
    startMs: large.startMs,
    starts: [small, middle, large].map(({ stories, startMs }) => [stories, startMs]),
    small: best[0],
    large: best[1],
    rssMb: rssMb(large.pid),
  };
};
