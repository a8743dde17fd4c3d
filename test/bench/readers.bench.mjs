// Measures parsers of external input in this process: the CPU time for three sizes of each input, and its growth. The
// benchmark needs neither a peer nor a server.
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { exceed, growthOf } from './growth.mjs';
import { temporaryDirectory } from './temporary.mjs';

const ROUNDS = Number(process.env.OPSCTL_BENCH_ROUNDS ?? 5);
const LEAST_MS = 8;
const root = fileURLToPath(new URL('../..', import.meta.url));
const directory = temporaryDirectory('opsctl-bench-readers-');
const outfile = join(directory, 'readers.mjs');
await build({
  absWorkingDir: root,
  entryPoints: ['test/bench/readers/readers.ts'],
  bundle: true,
  outfile,
  format: 'esm',
  platform: 'node',
  target: 'node20.19',
  external: ['@napi-rs/keyring'],
  define: { OPSCTL_VERSION: '"0.0.0-bench"' },
  banner: {
    js: "import { createRequire as makeRequire } from 'node:module'; const require = makeRequire(import.meta.url);",
  },
  logLevel: 'error',
});
const { readers } = await import(pathToFileURL(outfile).href);

/** Returns the CPU milliseconds of one read: the minimum of several rounds, because other programs only add time. */
const costOf = async (reader, input, rounds = ROUNDS) => {
  let least = Number.POSITIVE_INFINITY;
  for (let round = 0; round <= rounds; round += 1) {
    globalThis.gc?.();
    const { user, system } = process.cpuUsage();
    await reader.read(input);
    const used = process.cpuUsage({ user, system });
    if (round > 0) least = Math.min(least, (used.user + used.system) / 1000);
  }
  return least;
};
const bytesOf = (input) => (typeof input === 'string' ? new TextEncoder().encode(input) : input);
/** Returns a size that is large enough for the clock. Smaller inputs measure the compiler instead of the reader. */
const sizeFor = async (reader) => {
  let { size } = reader;
  for (let round = 0; round < 6; round += 1) {
    if ((await costOf(reader, bytesOf(reader.make(size)), 2)) >= LEAST_MS) break;
    size *= 2;
  }
  return size;
};
const pointsOf = async (reader, size) => {
  const points = [];
  for (const factor of [1, 4, 16])
    points.push([size * factor, await costOf(reader, bytesOf(reader.make(size * factor)))]);
  return points;
};
for (const reader of readers) {
  const size = await sizeFor(reader);
  let points = await pointsOf(reader, size);
  // A busy machine only adds time, so the smaller of two costs counts for each size.
  if (growthOf(points).isOver) {
    const again = await pointsOf(reader, size);
    points = points.map(([at, ms], i) => [at, Math.min(ms, again[i][1])]);
  }
  const { text, isOver } = growthOf(points);
  if (isOver) exceed();
  const costs = points.map(([, ms]) => `${ms.toFixed(1).padStart(8)} ms`).join('');
  process.stdout.write(`${reader.name.padEnd(44)}${costs}  ${text}\n`);
}
