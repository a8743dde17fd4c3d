import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Program, program } from '../support/built-program.ts';
import { peakMemory } from '../support/peak-memory.ts';

/** 60 MB of labels, which would not fit into the memory goal. The benchmark has a million labels. */
const ROWS = 60_000;
const GOAL_MB = 100;
const server = spawn(
  process.execPath,
  [fileURLToPath(new URL('../bench/lists/list-server.mjs', import.meta.url))],
  { stdio: ['pipe', 'pipe', 'inherit'] },
);
let opsctl: Program;
let memory: ReturnType<typeof peakMemory>;
beforeAll(async () => {
  const port = await new Promise((resolve) =>
    server.stdout.once('data', (data) => resolve(Number(String(data)))),
  );
  opsctl = program({
    OPSCTL_TRACKER_URL: `http://127.0.0.1:${port}`,
    OPSCTL_TRACKER_TOKEN: `rows-${ROWS}`,
    OPSCTL_RATE_PER_MINUTE: 'off',
  });
  memory = peakMemory(opsctl.home);
});
afterAll(() => {
  server.stdin.end();
});

test.each([
  ['tracker labels list -o ndjson', ROWS],
  ['tracker labels list -o csv', ROWS + 1],
  ['tracker labels list -o name', ROWS],
  ['tracker labels list -o ndjson --jq .name', ROWS],
  ['tracker export --only labels', 4 * ROWS + 2],
  ['api tracker GET /labels -o name', ROWS],
  [`tracker labels get n${ROWS} -o name`, 1],
])('%s stays under 100 MB', async (line, lines) => {
  const ran = await opsctl.run(line.split(' '), {
    env: { NODE_OPTIONS: memory.nodeOptions },
  });
  expect([ran.code, ran.stdout.split('\n').length - 1]).toEqual([0, lines]);
  expect(memory.peakMb()).toBeLessThan(GOAL_MB);
});
