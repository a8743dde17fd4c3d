#!/usr/bin/env node
// @ts-check
// Mutation testing: changes one position of a file, runs the tests that match the file, and reports the changes that no
// test detected.
// Usage: node test/tooling/mutate.mjs [--sample N] [--per-file N | --per-area N] [--seed S] [--least RATE] [--operators all|values|effects] [--kinds KIND,…] [--nearest N] [--changed] [PATH …]
// --per-area makes N mutants in each area, of all kinds in turn, and prints the rate of each area.
// --changed selects the files of src that differ from the branch main. Use it before a merge. --operators effects makes
// only the mistakes in the order, the time and the target of effects. --kinds makes only mutants of these kinds. --why prints what killed each mutant. --no-scenes
// skips the runs on the simulated machine, which need most of the time.
// --nearest asks only the N nearest tests that reach each change, which needs less time; the rate is then a lower bound.
// The first run measures which tests reach which positions, in minutes. Later runs measure only new and changed tests.
// The script works on a copy, so an interrupted run does not change the sources.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { makeCompiler } from './mutation/compiler.mjs';
import { effectMutantsOf } from './mutation/effects.mjs';
import { isEquivalent } from './mutation/equivalent.mjs';
import { generator, mutantsOf } from './mutation/mutants.mjs';
import { takeReach } from './mutation/reach.mjs';
import { makeRunner } from './mutation/runner.mjs';
import {
  AREAS,
  isUnitTest,
  makeDistance,
  makeMayReach,
  makeTestHash,
  makeTestsFor,
  nearestOf,
  sceneFor,
} from './mutation/tests-for.mjs';

/**
 * The time limit of tests: a fixed part for the start, and a multiple of their time without a mutant, because the
 * machine may be busy.
 */
const startMs = 60_000;
const BUSY = 5;
/** A run on the simulated machine includes a build. */
const sceneMs = 300_000;
/** The compiler accepts every change of these kinds. */
const WELL_TYPED = new Set(['await', 'order', 'quantifier', 'unit']);
const root = fileURLToPath(new URL('../..', import.meta.url));
const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  allowNegative: true,
  options: {
    sample: { type: 'string' },
    seed: { type: 'string', default: process.env.OPSCTL_TEST_SEED ?? String(Date.now() % 1_000_000_000) },
    'per-file': { type: 'string', default: '1' },
    'per-area': { type: 'string' },
    nearest: { type: 'string' },
    least: { type: 'string', default: '0' },
    why: { type: 'boolean', default: false },
    scenes: { type: 'boolean', default: true },
    operators: { type: 'string', default: 'all' },
    kinds: { type: 'string' },
    changed: { type: 'boolean', default: false },
  },
});

/** @typedef {import('./mutation/effects.mjs').EffectMutant} EffectMutant */
/** @typedef {EffectMutant & { readonly file: string, readonly source: string, readonly area?: string }} Mutant */
/** @typedef {{ readonly isKilled: boolean, readonly why?: string | undefined }} Verdict */
/**
 * @typedef {object} Asked
 * @property {string} file
 * @property {string} source
 * @property {string} mutated
 * @property {readonly string[]} tests
 * @property {string} [pattern]
 * @property {number} ms
 */
const reachFile = join(root, 'node_modules/.cache/mutants/reach.json');

const random = generator(Number(flags.seed));
/** @template Item @param {readonly Item[]} list */
const shuffled = (list) =>
  list
    .map((one) => ({ at: random(), one }))
    .sort((a, b) => a.at - b.at)
    .map(({ one }) => one);

/** @param {string} path @returns {string[]} */
const filesBelow = (path) =>
  path.endsWith('.ts')
    ? [path]
    : readdirSync(join(root, path), { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
        .map((entry) => relative(root, join(entry.parentPath, entry.name)));

const copyTree = () => {
  const copy = mkdtempSync(join(tmpdir(), 'opsctl-mutants-'));
  /** @param {string} path */
  const isLeftOut = (path) => /(^|\/)(node_modules|\.git|release|coverage)(\/|$)/.test(relative(root, path));
  cpSync(root, copy, { recursive: true, filter: (source) => !isLeftOut(source) });
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
  return copy;
};

/**
 * Runs tests against one change and returns `isKilled` and the reason. A timeout counts only if the tests finish without the change.
 * @param {string} copy @param {ReturnType<typeof makeRunner>} runner
 */
const makeAsking = (copy, runner) => {
  /**
   * The verdict of each test without a change. A stored measurement may be older than the rest of the tree.
   * @type {Map<string, boolean>}
   */
  const verdicts = new Map();
  /** @param {string} test */
  const isBroken = (test) => verdicts.get(test) === false;
  /** @param {string} test @param {number} ms */
  const doesPass = async (test, ms) => {
    if (!verdicts.has(test)) {
      const said = await runner.run({ changed: [], tests: [test], ms });
      verdicts.set(test, said?.isPassed === true);
      if (isBroken(test)) process.stdout.write(`fails without a mutant, not asked: ${test}\n`);
    }
    return !isBroken(test);
  };
  /** @param {Asked} mutant @returns {Promise<Verdict>} */
  const asking = async (mutant) => {
    const { file, source, mutated, pattern, ms } = mutant;
    const tests = mutant.tests.filter((test) => !isBroken(test));
    /** @param {string} text */
    const put = (text) => writeFileSync(join(copy, file), text);
    const ask = () => runner.run({ changed: [file], tests, pattern, ms });
    if (tests.length === 0) return { isKilled: false, why: 'no test reaches it' };
    put(mutated);
    const said = await ask();
    put(source);
    if (said?.isPassed === true) return { isKilled: false, why: 'alive' };
    if (said !== undefined && !/^Test timed out/.test(said.why ?? '')) {
      const by = tests.find((test) => said.by?.startsWith(`${test} > `));
      if (by !== undefined && pattern === undefined && !(await doesPass(by, ms))) return asking(mutant);
      return { isKilled: true, why: said.by === undefined ? said.why : `${said.by}: ${said.why}` };
    }
    const without = await ask();
    // The process that hung is still running and may pass old code to the tests of the next change.
    runner.stop();
    return { isKilled: without?.isPassed === true, why: without?.isPassed ? 'never ended' : 'not decided' };
  };
  return asking;
};

const changedFiles = () =>
  execFileSync('git', ['diff', '--name-only', '--diff-filter=AM', 'main', '--', 'src'], {
    cwd: root,
    encoding: 'utf8',
  })
    .split('\n')
    .filter((file) => file.endsWith('.ts'));
/** Resolves a path or the name of an area. */
const pathsOf = () => {
  if (flags.changed) return changedFiles();
  return positionals.length > 0
    ? positionals.flatMap((one) => AREAS[one] ?? [one])
    : Object.values(AREAS).flat();
};
/** @param {string} source */
const made = (source) => [
  ...(flags.operators === 'effects' ? [] : mutantsOf(source).map((one) => ({ kind: 'value', ...one }))),
  ...(flags.operators === 'values' ? [] : effectMutantsOf(source)),
];

const kinds = flags.kinds?.split(',');
/** @param {string} file @returns {Mutant[]} */
const mutantsIn = (file) => {
  const source = readFileSync(join(root, file), 'utf8');
  return shuffled(made(source))
    .filter(({ kind }) => kinds?.includes(kind) ?? true)
    .map((mutant) => ({ file, source, ...mutant }))
    .filter((mutant) => !isEquivalent(mutant));
};
/**
 * Returns the mutants of one area, of all kinds in turn.
 * @param {string} area
 * @returns {Mutant[]}
 */
const mutantsOfArea = (area) => {
  /** @type {Map<string, number>} */
  const ranks = new Map();
  return shuffled((AREAS[area] ?? []).flatMap(filesBelow).flatMap(mutantsIn))
    .map((mutant) => {
      const rank = (ranks.get(mutant.kind) ?? 0) + 1;
      ranks.set(mutant.kind, rank);
      return { rank, mutant: { ...mutant, area } };
    })
    .sort((a, b) => a.rank - b.rank)
    .slice(0, Number(flags['per-area']))
    .map(({ mutant }) => mutant);
};
/** @returns {Mutant[]} */
const drawMutants = () => {
  if (flags['per-area'] !== undefined) {
    const areas = positionals.length > 0 ? positionals : Object.keys(AREAS);
    const unknown = areas.find((area) => !Object.hasOwn(AREAS, area));
    // Without an error, a wrong name would report a rate of 100 % of 0 mutants.
    if (unknown !== undefined)
      throw new Error(`unknown area ${unknown}: use ${Object.keys(AREAS).join(', ')}`);
    return areas.flatMap(mutantsOfArea);
  }
  const wanted = [...new Set(pathsOf().flatMap(filesBelow))];
  const files = flags.sample === undefined ? wanted : shuffled(wanted);
  return files
    .flatMap((file) => mutantsIn(file).slice(0, Number(flags['per-file'])))
    .slice(0, Number(flags.sample ?? Number.POSITIVE_INFINITY));
};

const main = async () => {
  const mutants = drawMutants();
  // Some tests run the built program.
  execFileSync(process.execPath, ['test/tooling/build.mjs'], { cwd: root, stdio: 'ignore' });
  const copy = copyTree();
  const runner = makeRunner(copy);
  const asking = makeAsking(copy, runner);
  const compiler = makeCompiler(copy);
  let refused = 0;
  const distance = makeDistance(root);
  const most = flags.nearest === undefined ? undefined : Number(flags.nearest);
  const needed = Number(flags.least) * mutants.length;
  /**
   * True for a sample that must reach a minimum rate. Additional tests can only detect more changes, so the result is
   * final if the nearest tests already detected enough.
   */
  const isNearestFirst = flags.sample !== undefined && needed > 0;
  /**
   * If `isWhole` is true, the compiler and a run on the simulated machine also check the change.
   * @param {ReturnType<typeof makeTestsFor>} testsFor
   * @param {import('./mutation/reach.mjs').Reach} reach
   * @param {boolean} isWhole
   * @param {Mutant} mutant
   */
  const tryOne = async (testsFor, reach, isWhole, { file, source, start, end, text, kind }) => {
    const line = source.slice(0, start).split('\n').length;
    const mutated = source.slice(0, start) + text + source.slice(end);
    const near = testsFor({ file, start });
    const ms = near.reduce((sum, test) => sum + reach.ms(test), 0) * BUSY + startMs;
    let answer = await asking({ file, source, mutated, tests: near, ms });
    if (!answer.isKilled && isWhole && !WELL_TYPED.has(kind)) {
      /** @param {string} text */
      const put = (text) => () => writeFileSync(join(copy, file), text);
      const refusal = compiler.refusal(put(mutated), put(source));
      if (refusal !== undefined) {
        refused += 1;
        answer = { isKilled: true, why: refusal };
      }
    }
    const scene = isWhole && flags.scenes ? sceneFor(file) : undefined;
    if (!answer.isKilled && scene !== undefined) {
      const seen = await asking({
        file,
        source,
        mutated,
        tests: [scene.test],
        pattern: scene.pattern,
        ms: sceneMs,
      });
      answer = seen.isKilled ? seen : answer;
    }
    const what = `${kind} ${file}:${line}: ${source.slice(start, end).slice(0, 60)} → ${text.slice(0, 60)}`;
    if (!answer.isKilled) process.stdout.write(`survived: ${what} (${near.length} tests, ${answer.why})\n`);
    else if (flags.why) process.stdout.write(`killed:   ${what} (${answer.why})\n`);
    return answer.isKilled;
  };
  /**
   * Runs tests against changes and returns the surviving changes.
   * @param {readonly Mutant[]} shown @param {readonly string[]} tests @param {boolean} isWhole
   */
  const survivorsOf = async (shown, tests, isWhole) => {
    const files = [
      ...new Set([...Object.values(AREAS).flat().flatMap(filesBelow), ...shown.map(({ file }) => file)]),
    ];
    const reach = await takeReach({ copy, files, tests, path: reachFile, hashTest: makeTestHash(root) });
    for (const test of reach.failed) process.stdout.write(`fails without a mutant, not asked: ${test}\n`);
    const testsFor = makeTestsFor(distance, reach, tests, most);
    /** @type {Mutant[]} */
    const survivors = [];
    for (const mutant of shown) if (!(await tryOne(testsFor, reach, isWhole, mutant))) survivors.push(mutant);
    return survivors;
  };
  let survivors = mutants;
  let isAsked = true;
  try {
    const changed = [...new Set(mutants.map(({ file }) => file))];
    const all = filesBelow('test').filter(isUnitTest).filter(makeMayReach(root, changed));
    if (isNearestFirst) survivors = await survivorsOf(mutants, nearestOf(distance, all, changed), false);
    isAsked = !isNearestFirst || mutants.length - survivors.length < needed;
    if (isAsked) survivors = await survivorsOf(survivors, all, true);
  } finally {
    runner.stop();
    rmSync(copy, { recursive: true, force: true });
  }
  const count = mutants.length;
  const killed = count - survivors.length;
  const rate = count === 0 ? 1 : killed / count;
  for (const kind of [...new Set(mutants.map((one) => one.kind))].sort()) {
    /** @param {readonly Mutant[]} list */
    const within = (list) => list.filter((one) => one.kind === kind).length;
    process.stdout.write(`kind ${kind}: ${within(mutants) - within(survivors)} of ${within(mutants)}\n`);
  }
  for (const area of new Set(mutants.flatMap((one) => one.area ?? []))) {
    /** @param {readonly Mutant[]} list */
    const within = (list) => list.filter((one) => one.area === area).length;
    process.stdout.write(`area ${area}: ${within(mutants) - within(survivors)} of ${within(mutants)}\n`);
  }
  if (flags.sample === undefined)
    for (const folder of new Set(mutants.map(({ file }) => dirname(file)))) {
      /** @param {readonly Mutant[]} list */
      const within = (list) => list.filter(({ file }) => dirname(file) === folder).length;
      process.stdout.write(`${folder}: ${within(mutants) - within(survivors)} of ${within(mutants)}\n`);
    }
  process.stdout.write(
    `mutants ${count}, killed ${killed} (${Math.round(rate * 100)} %)${isAsked ? `, ${refused} of them by the compiler alone` : ' by the nearest tests, others not asked'}, seed ${flags.seed}: node test/tooling/mutate.mjs --seed ${flags.seed}${flags.sample === undefined ? '' : ` --sample ${flags.sample}`}${flags['per-area'] === undefined ? '' : ` --per-area ${flags['per-area']}`}\n`,
  );
  process.exitCode = rate < Number(flags.least) ? 1 : 0;
};

await main();
