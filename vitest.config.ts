import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { hangMs } from './test/support/hang.ts';
import { filesLeftOut } from './test/support/sampled-files.mjs';
import { seedOfRun } from './test/support/seed.mjs';

/** An object of its own for each project: vitest takes the definitions out of the one it is given. */
const common = () => ({ define: { OPSCTL_VERSION: '"0.0.0-test"' } });
/** Suites that start processes, browsers, clusters or peers. They mostly wait, so more of them run at a time than there are cores. */
const real = ['test/**/*.real.test.ts'];
/** Suites that start servers on loopback in their own process, or a small program. `npm run check` leaves them to `npm test`. */
const services = ['test/**/*.services.test.ts'];
/** A difference is not cut: the log of a run on another machine is all there is to read. */
const chaiConfig = { truncateThreshold: 0 };
/** A soak repeats the work of one test many times. Only a test that hangs reaches its limit, so a longer limit hides nothing. */
const limitMs = (ms: number): number => (process.env.OPSCTL_SOAK === '1' ? 3_600_000 : ms);
const never = ['**/node_modules/**'];
/** `npm test` leaves out the files of real parts whose turn it is not. Vitest alone runs each file that it is asked for. */
const leftOut = process.env.OPSCTL_TEST_SAMPLED === '1' ? filesLeftOut(seedOfRun()) : [];
/** The program keeps its compiled code for the next start. A home that exists for one test has no next start, so all of them share one place. */
const env = {
  NODE_COMPILE_CACHE: fileURLToPath(new URL('node_modules/.cache/code', import.meta.url)),
  OPSCTL_TEST_SEED: seedOfRun(),
  // The programs under test run as for a person; a test that is about CI sets the variable itself.
  CI: '',
  OPSCTL_TEST_IN_CI: process.env.CI ?? '',
};
/** Every property, slice, simulator and fuzzer uses the seed of the run. */
const seeded = 'test/support/seeded.ts';
const stepEquality = 'test/support/step-equality.ts';
/** The temporary directories of a test file are removed after its last test. */
const directories = 'test/support/removed-directories.ts';
/** The hooks of the first setup file run last, so the time includes the removal. */
const cpuTime = 'test/support/cpu-time.ts';
/** Most objects of a test die young: with a larger place for those the collector has half the work. */
const execArgv = ['--max-semi-space-size=32'];

/** Files that run for minutes start first: at the end no other file would be left to run next to them. Vitest knows only how large files are. */
const longest = [
  '/test/stories/release',
  '/test/cluster/simulated',
  '/test/cluster/cut',
  '/test/cluster/driver-matrix',
  '/test/cluster/',
  '/test/simulator/',
  '/test/real/',
];
/** Files of one project follow each other, because a process is kept only for the next file of its project. */
const projects = ['real', 'services', 'fast'];
const rank = ({ moduleId, project }: TestSpecification): number => {
  const at = longest.findIndex((place) => moduleId.includes(place));
  return projects.indexOf(project.name) * 100 + (at < 0 ? longest.length : at);
};
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return (await super.sort(files)).toSorted((a, b) => rank(a) - rank(b));
  }
}

/**
 * `npm test` runs all projects together in this many processes. Real parts start first because they wait most of the time, and
 * fast tests fill the processor while the last real parts wait. Vitest requires one number for projects that run together.
 */
const together = Number(process.env.OPSCTL_TEST_TOGETHER ?? 0);
/** The files of both share three processes, as a good part of their time is waiting (`isolate: false`: no module has state that changes). Time limits end what hangs; no test is fast enough or not. A poll ends shortly before its test, so that its failure shows the last value. */
const shared = () => ({
  chaiConfig,
  env,
  testTimeout: limitMs(300_000),
  hookTimeout: 300_000,
  expect: { poll: { timeout: 270_000 } },
  maxWorkers: together || 3,
  isolate: false,
  execArgv,
});

export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        ...common(),
        test: {
          name: 'fast',
          include: ['test/**/*.test.ts'],
          exclude: [...never, ...services, ...real],
          setupFiles: ['test/support/writes-inside.ts', cpuTime, 'test/support/starts-nothing.ts', seeded, stepEquality, directories],
          ...shared(),
        },
      },
      {
        ...common(),
        test: {
          name: 'services',
          include: services,
          setupFiles: [cpuTime, seeded, stepEquality, directories],
          exclude: [...never, ...real],
          ...shared(),
        },
      },
      {
        ...common(),
        test: {
          name: 'real',
          // Alone, the real parts run after the others: projects with different numbers of processes cannot run together.
          sequence: { groupOrder: together ? 0 : 1 },
          include: real,
          setupFiles: [cpuTime, seeded, stepEquality, directories],
          exclude: [...never, ...leftOut],
          chaiConfig,
          env,
          testTimeout: limitMs(600_000),
          hookTimeout: 600_000,
          expect: { poll: { timeout: hangMs } },
          maxWorkers: together || 6,
          isolate: false,
          execArgv,
        },
      },
    ],
  },
});
