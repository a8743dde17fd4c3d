import { existsSync, readdirSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { HOME } from './kernel/machine.ts';
import { type Simulator, simulator } from './simulated.ts';
import { testSeed } from '../support/seeded.ts';

const isSoak = process.env.OPSCTL_SOAK === '1';
const seed = String(testSeed);
type Slice = { readonly operation: string; readonly histories: number; readonly every: number };
/**
 * Returns the number for the soak, the number for `npm test`, and the step between effects in `npm test`. The seed
 * selects the first effect.
 */
const taken = (soak: number, short: number, every: number) =>
  isSoak ? { histories: soak, every: 1 } : { histories: short, every };
/** The histories of `npm test` and of the soak, which plays more than 200,000 histories and a crash at every effect. */
const slices: readonly Slice[] = [
  { operation: 'credential store', ...taken(45_000, 100, 1) },
  { operation: 'mock journal', ...taken(45_000, 100, 1) },
  { operation: 'bulk', ...taken(45_000, 60, 2) },
  { operation: 'configuration', ...taken(45_000, 25, 4) },
  { operation: 'tracker apply', ...taken(12_000, 30, 8) },
  { operation: 'labels apply', ...taken(12_000, 30, 6) },
  { operation: 'kv members', ...taken(3000, 3, 1) },
  { operation: 'kv upgrade', ...taken(3000, 1, 3000) },
  { operation: 'kv restore', ...taken(1000, 1, 120) },
];

const faultOf = (operation: string): string =>
  operation === 'kv members' ? 'member killed' : 'process killed';

/** The files of this machine in the home directory of the simulated user. */
const filesAtHome = (): string[] =>
  existsSync(HOME) ? readdirSync(HOME, { recursive: true, encoding: 'utf8' }).toSorted() : [];
const hadAtHome = filesAtHome();
let simulated: Simulator;
beforeAll(async () => {
  simulated = await simulator();
});
afterAll(() => simulated.remove());

test.each(slices)(
  `$operation: $histories histories with crashes and faults keep the invariants, seed ${seed}`,
  { timeout: 14_400_000 },
  async ({ operation, histories }) => {
    const killed = faultOf(operation);
    const figures = await simulated.play(
      ...['--operation', operation, '--seed', seed, '--histories', String(histories), '--until', killed],
    );
    expect(figures.failures).toEqual([]);
    expect(figures.histories).toBeGreaterThanOrEqual(histories);
    // A run without faults would not be a meaningful test.
    expect(figures.faults[killed], JSON.stringify(figures.faults)).toBeGreaterThan(0);
    if (isSoak) process.stdout.write(`${operation}: ${JSON.stringify(figures)}\n`);
  },
);

/** Returns the first of a few dozen seeds whose first history injects no fault. Every change of the code can change these seeds. */
const quietSeed = async (operation: string, killed: string): Promise<string | undefined> => {
  for (let tried = 1; tried <= 40; tried += 1) {
    const played = await simulated.play(
      '--operation',
      operation,
      '--seed',
      String(tried),
      '--histories',
      '1',
    );
    expect(played).toMatchObject({ histories: 1, failures: [] });
    if (played.faults[killed] === undefined) return String(tried);
  }
  return undefined;
};
// The same code of the simulator continues the histories of each operation, so a short run uses one whose histories are short.
test.each(isSoak ? ['kv restore', 'kv upgrade', 'kv members'] : ['credential store'])(
  '%s continues after its histories until a fault was injected',
  { timeout: 600_000 },
  async (operation) => {
    const killed = faultOf(operation);
    const quiet = await quietSeed(operation, killed);
    expect(quiet).toBeDefined();
    const few = ['--operation', operation, '--seed', String(quiet), '--histories', '1'];
    const all = await simulated.play(...few, '--until', killed);
    expect(all.failures).toEqual([]);
    expect(all.histories).toBeGreaterThan(1);
    expect(all.faults[killed]).toBeGreaterThan(0);
  },
);

/** The operation "kv members" has no command that can crash. */
test.each(slices.filter(({ operation }) => operation !== 'kv members'))(
  '$operation: a crash at each effect and a failure of each effect, then a retry',
  { timeout: 14_400_000 },
  async ({ operation, every }) => {
    const figures = await simulated.play(
      '--operation',
      operation,
      '--seed',
      seed,
      '--effects',
      '--every',
      String(every),
    );
    expect(figures.failures).toEqual([]);
    const effects = figures.effects[operation] ?? 0;
    expect(effects).toBeGreaterThan(0);
    const walked = Math.ceil((effects - (Number(seed) % every)) / every);
    expect(walked).toBeGreaterThan(0);
    expect(figures.faults['process killed']).toBe(2 * walked);
    // The server of the mock journal exits if its disk fails.
    expect(figures.faults['effect failed'] ?? 0).toBe(operation === 'mock journal' ? 0 : walked);
    process.stdout.write(`${operation}: ${effects} effects, ${figures.histories - 1} crashes\n`);
  },
);

test('the simulation creates no file on the real disk', () => expect(filesAtHome()).toEqual(hadAtHome));

test('a seed replays its history exactly', async () => {
  const once = await simulated.play('--operation', 'credential store', '--seed', '7', '--history', '3');
  expect(once.failures[0]?.trace?.length).toBeGreaterThan(10);
  expect(await simulated.play('--operation', 'credential store', '--seed', '7', '--history', '3')).toEqual(
    once,
  );
});
