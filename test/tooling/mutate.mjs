#!/usr/bin/env node
// Mutation testing: changes one place of a file, runs the tests that match the file, and says which changes nobody noticed.
// Usage: node test/tooling/mutate.mjs [--sample N] [--per-file N] [--seed S] [--least RATE] [PATH …]
// --why prints what killed each; --no-scenes leaves out the runs on the simulated machine, which take most of the time.
// Works on a copy: an interrupted run leaves the sources as they are.
import { fork } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { generator, mutantsOf } from './mutation/mutants.mjs';
import { isUnitTest, makeTestsFor, sceneFor } from './mutation/tests-for.mjs';

/** The code that moves data or secrets. */
const AREAS = [
  'src/kv-upgrade',
  'src/auth/credential-store',
  'src/mock-server/journal.ts',
  'src/mock-server/journal-line.ts',
  'src/mock-server/journal-read.ts',
  'src/label-definitions',
  'src/bulk',
  'src/api-client',
];
/** How many of the tests that look at a file are asked, one batch after the other while the mutant lives. */
const batches = [4, 12, 32];
const startMs = 60_000;
const runMs = 90_000;
const root = fileURLToPath(new URL('../..', import.meta.url));
const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  allowNegative: true,
  options: {
    sample: { type: 'string' },
    seed: { type: 'string', default: process.env.OPSCTL_TEST_SEED ?? String(Date.now() % 1_000_000_000) },
    'per-file': { type: 'string', default: '1' },
    least: { type: 'string', default: '0' },
    why: { type: 'boolean', default: false },
    scenes: { type: 'boolean', default: true },
  },
});

const random = generator(Number(flags.seed));
const shuffled = (list) =>
  list
    .map((one) => [random(), one])
    .sort(([a], [b]) => a - b)
    .map(([, one]) => one);

const filesBelow = (path) =>
  path.endsWith('.ts')
    ? [path]
    : readdirSync(join(root, path), { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
        .map((entry) => relative(root, join(entry.parentPath, entry.name)));

const copyTree = () => {
  const copy = mkdtempSync(join(tmpdir(), 'opsctl-mutants-'));
  const isLeftOut = (path) => /(^|\/)(node_modules|\.git|release|coverage)(\/|$)/.test(relative(root, path));
  cpSync(root, copy, { recursive: true, filter: (source) => !isLeftOut(source) });
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
  return copy;
};

/** The vitest that runs the tests. A mutant may loop for ever or fill the memory: then the whole process group is ended. */
const makeRunner = (copy) => {
  let child;
  const message = (ms) =>
    new Promise((done) => {
      const finish = (answer) => {
        clearTimeout(timer);
        child.off('message', finish).off('exit', ended);
        done(answer);
      };
      const ended = () => finish(undefined);
      const timer = setTimeout(ended, ms);
      child.on('message', finish).on('exit', ended);
    });
  const stop = () => {
    try {
      if (child !== undefined) process.kill(-child.pid, 'SIGKILL');
    } catch {
      // It has ended by itself.
    }
    child = undefined;
  };
  const start = async () => {
    child = fork(join(copy, 'test/tooling/mutation/worker.mjs'), [], {
      cwd: copy,
      detached: true,
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      env: { ...process.env, OPSCTL_SOAK: '', NO_COLOR: '1', NODE_OPTIONS: '--max-old-space-size=1024' },
    });
    await message(startMs);
  };
  let before = [];
  /** Passed, failed, or endless. */
  const run = async (changed, tests, pattern) => {
    if (child === undefined) await start();
    const answer = message(runMs);
    child.send({ changed: [...before, ...changed], tests, pattern });
    before = changed;
    const found = await answer;
    if (flags.why)
      process.stdout.write(`  ${found === undefined ? 'never ended' : (found.why ?? 'alive')}\n`);
    if (found === undefined) stop();
    if (found === undefined) return 'endless';
    return found.isPassed ? 'passed' : 'failed';
  };
  return { run, stop };
};

const main = async () => {
  const testsFor = makeTestsFor(root, filesBelow('test').filter(isUnitTest));
  const wanted = (positionals.length > 0 ? positionals : AREAS).flatMap(filesBelow);
  const files = flags.sample === undefined ? wanted : shuffled(wanted);
  const copy = copyTree();
  const runner = makeRunner(copy);
  const counts = new Map();
  let made = 0;
  let killed = 0;
  const tryOne = async (file, source, { start, end, text }) => {
    const line = source.slice(0, start).split('\n').length;
    const what = `${file}:${line}: ${source.slice(start, end).slice(0, 60)} → ${text.slice(0, 60)}`;
    const tests = testsFor(file);
    const mutated = source.slice(0, start) + text + source.slice(end);
    writeFileSync(join(copy, file), mutated);
    let isAlive = true;
    const ask = async (some, pattern) => {
      if (!isAlive || some.length === 0) return;
      const ended = await runner.run([file], some, pattern);
      isAlive = ended === 'passed';
      if (ended !== 'endless') return;
      // A busy machine may be the reason; then the tests do not end without the mutant either.
      writeFileSync(join(copy, file), source);
      isAlive = (await runner.run([file], some, pattern)) === 'endless';
      writeFileSync(join(copy, file), mutated);
    };
    // The nearest tests first: most mutants die there, and the others are not run.
    for (const [i, to] of batches.entries()) await ask(tests.slice(batches[i - 1] ?? 0, to));
    const scene = flags.scenes ? sceneFor(file) : undefined;
    if (scene !== undefined) await ask([scene.test], scene.pattern);
    writeFileSync(join(copy, file), source);
    if (flags.why && !isAlive) process.stdout.write(`killed:   ${what}\n`);
    if (isAlive) process.stdout.write(`survived: ${what}\n`);
    return !isAlive;
  };
  try {
    for (const file of files) {
      if (made >= Number(flags.sample ?? Number.POSITIVE_INFINITY)) break;
      const source = readFileSync(join(copy, file), 'utf8');
      const mutants = shuffled(mutantsOf(source)).slice(0, Number(flags['per-file']));
      for (const mutant of mutants) {
        const isKilled = await tryOne(file, source, mutant);
        made += 1;
        killed += isKilled ? 1 : 0;
        const folder = dirname(file);
        const [all, dead] = counts.get(folder) ?? [0, 0];
        counts.set(folder, [all + 1, dead + (isKilled ? 1 : 0)]);
      }
    }
  } finally {
    runner.stop();
    rmSync(copy, { recursive: true, force: true });
  }
  const rate = made === 0 ? 1 : killed / made;
  if (flags.sample === undefined)
    for (const [folder, [all, dead]] of counts) process.stdout.write(`${folder}: ${dead} of ${all}\n`);
  process.stdout.write(
    `mutants ${made}, killed ${killed} (${Math.round(rate * 100)} %), seed ${flags.seed}: node test/tooling/mutate.mjs --seed ${flags.seed}${flags.sample === undefined ? '' : ` --sample ${flags.sample}`}\n`,
  );
  process.exitCode = rate < Number(flags.least) ? 1 : 0;
};

await main();
