import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { defaultOptions, makeEnvironment } from '../../src/mock-server/service-set.ts';
import { openState } from '../../src/mock-server/journal.ts';
import { seedTracker } from '../../src/mock-server/tracker/seed.ts';
import { trackerState } from '../../src/mock-server/tracker/state.ts';
import { createStory } from '../../src/mock-server/tracker/stories.ts';
import { type Program, program } from '../support/built-program.ts';
import { realHost } from '../support/real-host.ts';

const isSoak = process.env.OPSCTL_SOAK === '1';
const MANY = isSoak ? 100_000 : 3_000;
const GROUP = '66666666-0000-4000-8000-000000000001';
const homes: Program[] = [];
afterAll(async () => {
  for (const home of homes) await home.close();
});

/** A home directory whose embedded state contains this number of stories. */
const homeWith = async (stories: number): Promise<Program> => {
  const home = program();
  homes.push(home);
  const machine = await realHost();
  const { store, journal } = await openState(machine.host.files, join(home.home, 'state', 'mock', 'mock'));
  const { env } = makeEnvironment(machine.host, store, defaultOptions, 'scale');
  const state = trackerState(env);
  store.transact(() => {
    seedTracker(state, 'demo');
    for (const name of ['*', 'tracker']) store.collection('mock.seeded').put(name, 'demo');
  });
  for (let done = 0; done < stories; done += 1000) {
    store.transact(() => {
      for (let i = done; i < Math.min(done + 1000, stories); i++) {
        createStory(state, {
          name: `Story ${i}`,
          description: `${i} ${'Some words about it. '.repeat(10)}`,
          epic_id: 106,
          project_id: 103,
          group_id: GROUP,
          labels: [{ name: `label ${i % 500}` }],
          estimate: i % 8,
          workflow_state_id: 10 + (i % 4),
        });
      }
    });
    await journal.whenWritten();
  }
  await journal.close();
  await machine.close();
  return home;
};

type Server = {
  readonly ready: any;
  readonly startMs: number;
  readonly pid: number;
  ask(path: string): Promise<{ body: any; ms: number }>;
  stop(): Promise<void>;
};
const serve = async (home: Program): Promise<Server> => {
  const began = performance.now();
  const serving = home.start(['mock', 'serve', '--rate-limit', 'off', '-o', 'json']);
  const ready = await serving.first;
  const agent = new Agent({ keepAlive: true });
  return {
    ready,
    startMs: performance.now() - began,
    pid: serving.pid,
    ask: (path) =>
      new Promise((resolve, reject) => {
        const since = performance.now();
        request(
          `${ready.tracker.base_url}/api/v3${path}`,
          { headers: { 'Tracker-Token': ready.tracker.token }, agent },
          (reply) => {
            const chunks: Buffer[] = [];
            reply.on('data', (chunk: Buffer) => chunks.push(chunk));
            reply.on('end', () =>
              resolve({ ms: performance.now() - since, body: JSON.parse(Buffer.concat(chunks).toString()) }),
            );
          },
        )
          .on('error', reject)
          .end();
      }),
    stop: async () => {
      agent.destroy();
      serving.kill('SIGTERM');
      await serving.ended;
    },
  };
};

const PAGE = `/groups/${GROUP}/stories?limit=25`;
/** Returns the minimum of many durations, which is the duration on an idle machine. */
const leastMs = async (server: Server, paths: readonly string[]): Promise<number> => {
  let least = Number.POSITIVE_INFINITY;
  for (const path of paths) least = Math.min(least, (await server.ask(path)).ms);
  return least;
};
const pages = (stories: number): string[] =>
  Array.from({ length: 60 }, (_, i) => `${PAGE}&offset=${Math.floor((stories / 60) * i)}`);
const memoryMb = (pid: number): number =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;

test(`a state of ${MANY} stories: pages, counts and search are right, in bounded memory`, async () => {
  const server = await serve(await homeWith(MANY));
  const last = (await server.ask(`${PAGE}&offset=${MANY}`)).body;
  // The demo data has three stories of the group before the other stories.
  expect(last.map((story: { name: string }) => story.name)).toEqual([
    `Story ${MANY - 3}`,
    `Story ${MANY - 2}`,
    `Story ${MANY - 1}`,
  ]);
  expect((await server.ask('/projects/103')).body.stats.num_stories).toBe(MANY + 3);
  expect((await server.ask('/epics/106')).body.stats.num_stories_total).toBe(MANY + 3);
  const labels = (await server.ask('/labels')).body;
  expect([labels.length, labels[1].stats.num_stories_total]).toEqual([501, MANY / 500]);
  expect((await server.ask('/search?query=words&page_size=25')).body.stories.total).toBe(MANY);
  const slow = await leastMs(server, pages(MANY));
  expect(memoryMb(server.pid)).toBeLessThan(400);
  if (isSoak) {
    const small = await serve(await homeWith(1000));
    const fast = await leastMs(small, pages(1000));
    process.stdout.write(
      `start ${server.startMs.toFixed(0)} ms, page ${slow.toFixed(2)} ms against ${fast.toFixed(2)} ms, ${memoryMb(server.pid).toFixed(0)} MB\n`,
    );
    await small.stop();
  }
  await server.stop();
});
