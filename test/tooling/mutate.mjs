#!/usr/bin/env node
// Mutation testing: changes one place of a file, runs the tests that match the file, and says which changes nobody noticed.
// Usage: node test/tooling/mutate.mjs [--sample N] [--seed S] [--least RATE] [PATH …]
// Works on a copy: an interrupted run leaves the sources as they are.
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { parseAst } from 'rolldown/parseAst';

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
const root = fileURLToPath(new URL('../..', import.meta.url));
const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    sample: { type: 'string' },
    seed: { type: 'string', default: process.env.OPSCTL_TEST_SEED ?? String(Date.now() % 1_000_000_000) },
    least: { type: 'string', default: '0' },
  },
});

/** A small generator of numbers from 0 to 1: the same seed makes the same mutants (mulberry32). */
const generator = (seed) => {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
};
const random = generator(Number(flags.seed));
const pick = (list) => list[Math.floor(random() * list.length)];
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

const OPERATORS = {
  '===': '!==',
  '!==': '===',
  '<': '>=',
  '<=': '>',
  '>': '<=',
  '>=': '<',
  '+': '-',
  '-': '+',
  '&&': '||',
  '||': '&&',
  '??': '&&',
};
/** Every change that can be made to a text: where, and what stands there afterwards. Types, imports and messages are left alone. */
export const mutantsOf = (source) => {
  const found = [];
  const add = (start, end, text) => found.push({ start, end, text });
  const between = ({ left, right, operator }) => {
    const at = source.indexOf(operator, left.end);
    if (OPERATORS[operator] !== undefined && at >= 0 && at < right.start)
      add(at, at + operator.length, OPERATORS[operator]);
  };
  const byType = {
    BinaryExpression: between,
    LogicalExpression: between,
    UnaryExpression: ({ operator, argument, start, end }) =>
      operator === '!' && add(start, end, source.slice(argument.start, argument.end)),
    ConditionalExpression: ({ test }) =>
      add(test.start, test.end, `!(${source.slice(test.start, test.end)})`),
    IfStatement: ({ test }) => add(test.start, test.end, `!(${source.slice(test.start, test.end)})`),
    Literal: ({ value, start, end }) => {
      if (typeof value === 'boolean') add(start, end, String(!value));
      if (typeof value === 'number') add(start, end, String(value + 1));
    },
  };
  const visit = (node) => {
    if (Array.isArray(node)) for (const one of node) visit(one);
    if (typeof node?.type !== 'string' || /^(Import|TS(?!AsExpression|NonNull|Satisfies))/.test(node.type))
      return;
    byType[node.type]?.(node);
    for (const part of Object.values(node)) if (typeof part === 'object') visit(part);
  };
  visit(parseAst(source, { lang: 'ts' }));
  return found;
};

const testFiles = () =>
  filesBelow('test').filter(
    (file) =>
      file.endsWith('.test.ts') &&
      !/^test\/(cluster|browser|peers|stories|crash|real|docs|completeness|tooling|bench)\//.test(file) &&
      file.split('/').length > 2,
  );
const importsOf = (file) =>
  [...readFileSync(join(root, file), 'utf8').matchAll(/(?:from|import\()\s*'(\.[^']+\.ts)'/g)].map(([, to]) =>
    relative(root, join(root, dirname(file), to)),
  );
/** Tests of a file: those that import it, that stand where it stands, or that reach it in two steps; nearest first. */
const testsFor = (file, tests) => {
  const mirror = dirname(file).replace(/^src\//, 'test/');
  const distance = (test) => {
    const direct = importsOf(test);
    if (direct.includes(file)) return 0;
    if (test.startsWith(`${mirror}/`)) return 1;
    return direct.some((one) => one.startsWith('src/') && importsOf(one).includes(file)) ? 2 : 9;
  };
  return tests
    .map((test) => [distance(test), test])
    .filter(([far]) => far < 9)
    .sort(([a], [b]) => a - b)
    .slice(0, 12)
    .map(([, test]) => test);
};

const copyTree = () => {
  const copy = mkdtempSync(join(tmpdir(), 'opsctl-mutants-'));
  const isLeftOut = (path) => /(^|\/)(node_modules|\.git|release|coverage)(\/|$)/.test(relative(root, path));
  cpSync(root, copy, { recursive: true, filter: (source) => !isLeftOut(source) });
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
  return copy;
};

const run = (copy, tests) => {
  const vitest = join(root, 'node_modules/vitest/vitest.mjs');
  const args = [vitest, 'run', '--project', 'fast', '--bail=1', '--reporter=dot', ...tests];
  // A mutant may loop for ever or fill the memory. `timeout` ends the whole process group, workers included.
  const { status } = spawnSync('timeout', ['-s', 'KILL', '120', process.execPath, ...args], {
    cwd: copy,
    encoding: 'utf8',
    env: { ...process.env, OPSCTL_SOAK: '', NODE_OPTIONS: '--max-old-space-size=1024' },
  });
  return status === 0;
};

const main = () => {
  const tests = testFiles();
  const wanted = (positionals.length > 0 ? positionals : AREAS).flatMap(filesBelow);
  const files = flags.sample === undefined ? wanted : shuffled(wanted);
  const copy = copyTree();
  const survivors = [];
  const without = [];
  let made = 0;
  try {
    for (const file of files) {
      if (made >= Number(flags.sample ?? Number.POSITIVE_INFINITY)) break;
      const source = readFileSync(join(copy, file), 'utf8');
      const mutants = mutantsOf(source);
      if (mutants.length === 0) continue;
      const { start, end, text } = pick(mutants);
      const line = source.slice(0, start).split('\n').length;
      const matching = testsFor(file, tests);
      const what = `${file}:${line}: ${source.slice(start, end).slice(0, 60)} → ${text.slice(0, 60)}`;
      made += 1;
      if (matching.length === 0) {
        without.push(what);
        process.stdout.write(`no test:  ${what}\n`);
      } else {
        writeFileSync(join(copy, file), source.slice(0, start) + text + source.slice(end));
        if (run(copy, matching)) {
          survivors.push(what);
          process.stdout.write(`survived: ${what}\n`);
        }
        writeFileSync(join(copy, file), source);
      }
    }
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
  const alive = survivors.length + without.length;
  const rate = made === 0 ? 1 : (made - alive) / made;
  process.stdout.write(
    `mutants ${made}, killed ${made - alive} (${Math.round(rate * 100)} %), seed ${flags.seed}: node test/tooling/mutate.mjs --seed ${flags.seed}${flags.sample === undefined ? '' : ` --sample ${flags.sample}`}\n`,
  );
  process.exitCode = rate < Number(flags.least) ? 1 : 0;
};

if (process.argv[1] === fileURLToPath(import.meta.url)) main();
