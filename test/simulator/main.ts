/**
 * The command line of the simulator: plays `histories` histories of an operation from a seed, or crashes it at each
 * effect. Prints one JSON object.
 */
import { parseArgs } from 'node:util';
import type { Figures } from './figures.ts';
import { type Crash, historyOn, type Operation, type Plan } from './history.ts';
import { replaceGlobals } from './kernel/globals.ts';
import { Kernel, running } from './kernel/kernel.ts';
import { randomFrom, seedOf } from './kernel/random.ts';
import { operations } from './operations/all.ts';

const { values } = parseArgs({
  options: {
    operation: { type: 'string' },
    seed: { type: 'string', default: '1' },
    /** Number of seeds, starting at --seed. */
    seeds: { type: 'string', default: '1' },
    from: { type: 'string', default: '0' },
    histories: { type: 'string', default: '100' },
    /** Continues with up to 20 times as many histories until this fault was injected, because a few histories may not inject it. */
    until: { type: 'string' },
    /** Crash at each effect instead. */
    effects: { type: 'boolean', default: false },
    /** Plays only this history or this effect, and prints its events. */
    history: { type: 'string' },
    /** With --effects: crash at every N-th effect. */
    every: { type: 'string', default: '1' },
    failures: { type: 'string', default: '3' },
  },
});
let seed = Number(values.seed);
const mostFailures = Number(values.failures);
const figures: Figures = { seed, histories: 0, faults: {}, effects: {}, failures: [] };
const isWanted = (history: string): boolean => values.history === undefined || values.history === history;

type Played = { readonly history: string; readonly seed: number; readonly plan: Plan };
const play = async (operation: Operation, { history, seed: own, plan }: Played): Promise<number> => {
  const kernel = new Kernel(randomFrom(own));
  running.kernel = kernel;
  const made = historyOn(kernel, plan, operation.losesPower !== false);
  const broken = await operation.run(made).catch((error: unknown) => [String((error as Error).stack)]);
  figures.histories += 1;
  for (const [name, count] of Object.entries(kernel.faults))
    figures.faults[name] = (figures.faults[name] ?? 0) + count;
  if (broken.length > 0 || values.history !== undefined)
    figures.failures.push({
      operation: operation.name,
      history,
      broken,
      again: `node test/simulator/replay.mjs --operation '${operation.name}' --seed ${seed} --history '${history}'${plan.isRough ? '' : ' --effects'}`,
      ...(values.history === undefined ? {} : { trace: kernel.trace }),
    });
  return made.counts.effects;
};

type Way = { readonly history: string; readonly crash: Crash };
const waysToFail = ({ losesPower, effectsFail }: Operation, effect: number): Way[] => [
  ...(['before', 'after'] as const).flatMap((when) =>
    (losesPower === false ? [false] : [false, true]).map((power) => ({
      history: `${power ? 'power lost' : 'killed'} ${when} effect ${effect}`,
      crash: { effect, when, power },
    })),
  ),
  ...(effectsFail === false
    ? []
    : [{ history: `effect ${effect} fails`, crash: { effect, when: 'fails' as const, power: false } }]),
];
/**
 * Crashes the operation at its first effect, its second effect and so on: before and after the effect, by a kill and
 * by a power loss. In another history, the effect fails. With --every, the seed selects the first effect.
 */
const playEveryEffect = async (operation: Operation): Promise<void> => {
  const calm: Played = { history: 'undisturbed', seed, plan: { isRough: false } };
  const count = await play(operation, calm);
  if (values.history !== undefined && values.history !== calm.history) figures.failures.length = 0;
  figures.effects[operation.name] = count;
  const every = Number(values.every);
  for (let effect = 1 + (seed % every); effect <= count; effect += every)
    for (const { history, crash } of waysToFail(operation, effect)) {
      if (figures.failures.length >= mostFailures) return;
      if (isWanted(history)) await play(operation, { history, seed, plan: { isRough: false, crash } });
    }
};
const playHistories = async (operation: Operation): Promise<void> => {
  const first = Number(values.history ?? values.from);
  const count = values.history === undefined ? Number(values.histories) : 1;
  const { until } = values;
  const injected = (): number => (until === undefined ? 0 : (figures.faults[until] ?? 0));
  const before = injected();
  const isMissing = (): boolean => until !== undefined && injected() === before;
  const isNext = (i: number): boolean => i < first + count || (isMissing() && i < first + 20 * count);
  for (let i = first; isNext(i) && figures.failures.length < mostFailures; i += 1)
    await play(operation, { history: String(i), seed: seedOf(seed, i), plan: { isRough: true } });
};

replaceGlobals();
// Every history contains connection errors, and their stack traces cost a third of its time.
Error.stackTraceLimit = values.history === undefined ? 3 : 20;
const last = seed + Number(values.seeds);
for (; seed < last; seed += 1)
  for (const operation of operations)
    if (values.operation === undefined || operation.name === values.operation)
      await (values.effects ? playEveryEffect(operation) : playHistories(operation));
const code = figures.failures.some(({ broken }) => broken.length > 0) ? 1 : 0;
// A pipe receives a long trace in several chunks, and an immediate exit would truncate it.
process.stdout.write(`${JSON.stringify(figures, undefined, 1)}\n`, () => process.exit(code));
