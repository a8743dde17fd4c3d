import type { Kernel, Machine, Process } from './kernel/kernel.ts';
import { type HostOptions, type SimulatedHost, hostOf, machineNamed } from './kernel/machine.ts';
import { type Lan, calmWeather, lan } from './kernel/network.ts';

export type Crash = NonNullable<Process['crash']>;
/** The faults of an operation. `crash` applies to its first process; `isRough` lets the seed choose faults. */
export type Plan = { readonly crash?: Crash; readonly isRough: boolean };

/** One run of an operation from an empty machine to the end, with all data that an operation needs to report it. */
export type History = {
  readonly kernel: Kernel;
  readonly net: Lan;
  /** The machine whose disk may fail and whose processes may crash. */
  readonly desk: Machine;
  readonly plan: Plan;
  /** Runs a process of this machine with its Host. The plan or the seed determines the crash. */
  act<T>(
    name: string,
    main: (host: SimulatedHost, process: Process) => Promise<T>,
    options?: ActOptions,
  ): ReturnType<typeof act<T>>;
  /** Disables all faults from now on. */
  calm(): void;
  readonly counts: { effects: number };
};
export type ActOptions = HostOptions & {
  readonly machine?: Machine;
  readonly isSafe?: boolean;
  readonly mostEffects?: number;
  readonly onStart?: (process: Process) => void;
  /** The programs that the process can start. */
  readonly processesOf?: (process: Process) => HostOptions['processes'];
};

type Shared = {
  kernel: Kernel;
  net: Lan;
  desk: Machine;
  plan: Plan;
  counts: { effects: number };
  isCalm: boolean;
  acts: number;
  readonly losesPower: boolean;
};

const crashOf = (
  { kernel, plan, isCalm, acts, losesPower }: Shared,
  { isSafe, mostEffects = 40 }: ActOptions,
): Crash | undefined => {
  if (isCalm || isSafe) return undefined;
  if (plan.crash !== undefined) return acts === 1 ? plan.crash : undefined;
  const { random } = kernel;
  if (!plan.isRough || !random.chance(0.5)) return undefined;
  return {
    effect: 1 + random.below(mostEffects),
    when: random.chance(0.5) ? 'before' : 'after',
    power: losesPower && random.chance(0.4),
  };
};

const act = <T>(
  shared: Shared,
  name: string,
  main: (host: SimulatedHost, process: Process) => Promise<T>,
  options: ActOptions,
) => {
  const { kernel, net, counts } = shared;
  if (!options.isSafe) shared.acts += 1;
  const crash = crashOf(shared, options);
  const isFirst = shared.acts === 1 && !options.isSafe;
  const spawned = kernel.spawn(
    name,
    options.machine ?? shared.desk,
    (process) => {
      const processes = options.processesOf?.(process);
      return main(
        hostOf(kernel, net, process, processes === undefined ? options : { ...options, processes }),
        process,
      );
    },
    crash,
  );
  options.onStart?.(spawned.process);
  if (isFirst) void spawned.ended.then(() => (counts.effects = spawned.process.effects));
  return spawned.ended;
};

export const historyOn = (kernel: Kernel, plan: Plan, losesPower = true): History => {
  const shared: Shared = {
    kernel,
    net: lan(),
    desk: machineNamed('desk'),
    plan,
    counts: { effects: 0 },
    isCalm: false,
    acts: 0,
    losesPower,
  };
  const { net, desk, counts } = shared;
  return {
    ...{ kernel, net, desk, plan, counts },
    act: (name, main, options = {}) => act(shared, name, main, options),
    calm: () => {
      shared.isCalm = true;
      net.weather = calmWeather;
      net.isCut = () => false;
      desk.disk.freeBytes = Number.POSITIVE_INFINITY;
      desk.disk.isReadOnly = false;
      desk.disk.failsSync = false;
    },
  };
};

/** Lets the seed inject temporary disk faults: full, read-only, or a failing sync. */
export const breakDisk = ({ kernel, desk, plan }: History): void => {
  const { random } = kernel;
  if (!plan.isRough || !random.chance(0.3)) return;
  const kind = random.pick(['full', 'read-only', 'sync fails'] as const);
  kernel.fault(`disk ${kind}`);
  if (kind === 'full') desk.disk.freeBytes = random.below(1500);
  else if (kind === 'read-only') desk.disk.isReadOnly = true;
  else desk.disk.failsSync = true;
};

/** Lets the seed inject network faults. */
export const breakNetwork = ({ kernel, net, plan }: History): void => {
  const { random } = kernel;
  if (!plan.isRough) return;
  const share = (): number => (random.chance(0.5) ? 0 : random.next() * 0.2);
  net.weather = { lost: share() / 4, cutAfter: share(), refused: share(), twice: share(), late: share() };
};

export type Operation = {
  readonly name: string;
  /** If false, the machines of the operation never lose power; only their processes are killed. */
  readonly losesPower?: false;
  /** If false, its process exits if an effect fails, and a crash at the effect shows the same. */
  readonly effectsFail?: false;
  /** Returns the violated invariants. */
  run(history: History): Promise<readonly string[]>;
};
