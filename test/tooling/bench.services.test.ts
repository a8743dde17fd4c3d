import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { makeDirectory } from '../support/directory.ts';

const root = new URL('../../', import.meta.url).pathname;
/** A benchmark that starts a program, and waits for it as most of them do: without reading a signal. */
const stubborn = (place: string, ignores: boolean): string => `
  import { spawn, spawnSync } from 'node:child_process';
  const script = ${JSON.stringify(`${ignores ? "process.on('SIGTERM', () => {});" : ''} process.stdout.write('up'); setInterval(() => {}, 1000)`)};
  const started = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'ignore'] });
  // The program handles the signal from here on.
  await new Promise((resolve) => started.stdout.once('data', resolve));
  (await import('node:fs')).writeFileSync(${JSON.stringify(place)}, String(started.pid));
  process.stdout.write('ready');
  spawnSync(process.execPath, ['-e', 'setInterval(() => {}, 1000)']);`;
const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    // A process that has ended, but that nobody has waited for, answers as well.
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
};
test.skipIf(process.platform !== 'linux').each([
  ['ends after it', false],
  ['ignores it', true],
])('a signal ends every program that a benchmark started, also one that %s', async (_, ignores) => {
  const directory = makeDirectory();
  const place = join(directory, 'pid');
  writeFileSync(join(directory, 'stubborn.bench.mjs'), stubborn(place, ignores));
  const child = spawn(process.execPath, [`${root}test/tooling/bench.mjs`, 'stubborn'], {
    env: { ...process.env, OPSCTL_BENCH_DIRECTORY: directory },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(child.stdout, 'data');
  child.kill('SIGTERM');
  const [status] = await once(child, 'exit');
  expect(status).toBe(143);
  await expect.poll(() => isAlive(Number(readFileSync(place, 'utf8')))).toBe(false);
});

test('without a name, each benchmark runs, and the end lists what was not compared', async () => {
  const directory = makeDirectory();
  for (const name of ['first', 'second'])
    writeFileSync(
      join(directory, `${name}.bench.mjs`),
      `process.stdout.write('  skipped: peer of ${name}\\nskipped: peer of ${name}\\n'); process.exitCode = ${name === 'first' ? 1 : 0};`,
    );
  const child = spawn(process.execPath, [`${root}test/tooling/bench.mjs`], {
    env: { ...process.env, OPSCTL_BENCH_DIRECTORY: directory },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.on('data', (data) => {
    output += data;
  });
  const [status] = await once(child, 'close');
  expect([status, output.split('\n').slice(-3)]).toEqual([
    1,
    ['not compared in first: peer of first', 'not compared in second: peer of second', ''],
  ]);
});
