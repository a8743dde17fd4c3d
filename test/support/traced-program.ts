/** A traced command of the whole program on a machine in memory, with one fault, and the invariants after the command. */
import type { Host } from '../../src/platform/host.ts';
import { aFailureIsExplained, afterACrashTheNextCommandSucceeds } from '../simulator/invariants.ts';
import type { Bed, MakeBed } from './failing-effects.ts';
import type { FakeHost } from './fake-host.ts';
import type { InMemory, Ran } from './in-memory.ts';
import { type Fault, type Traced, traceHost } from './trace.ts';

export type Scene = {
  readonly make: () => InMemory | Promise<InMemory>;
  readonly argv: readonly string[];
  /** The command belongs to no service. */
  readonly isTopLevel?: boolean;
  /** The command after a failed run (default: the original command). */
  readonly again?: readonly string[];
  /**
   * Returns the violated invariants after the original command ran a second time. The program may have refused it, for
   * example because the first run may have sent a request already.
   */
  readonly brokenByRepetition?: (world: InMemory, trace: readonly string[]) => readonly string[];
  /** Returns the violated invariants of the world at the end. */
  readonly broken: (world: InMemory) => readonly string[];
};
/** Runs the program once. Its trace exists as soon as this function returns. */
export const runTraced = (
  world: InMemory,
  argv: readonly string[],
  fault?: Fault,
  isTopLevel = false,
): { readonly traced: Traced; readonly machine: FakeHost; readonly result: Promise<Ran> } => {
  let machine: FakeHost | undefined;
  let traced: Traced | undefined;
  const result = world.run(argv, {
    isTopLevel,
    change: (host) => {
      machine = host as FakeHost;
      traced = traceHost(host, { fault, isSlow: fault === undefined });
      return traced.host;
    },
  });
  if (machine === undefined || traced === undefined) throw new Error('the program has not started');
  return { traced, machine, result };
};

/** Returns the host for another process. The previous process has ended. */
const asAnotherProcess = (host: Host): Host => ({
  ...host,
  pid: host.pid + 1,
  processes: { ...host.processes, isAlive: (pid) => pid === host.pid + 1 },
});
/** Runs the program once with the fault, and again without the fault until it succeeds. */
export const programBed =
  ({ make, argv, again = argv, broken, brokenByRepetition, isTopLevel = false }: Scene): MakeBed =>
  async (fault): Promise<Bed> => {
    const world = await make();
    return {
      start: (signal) => {
        const { traced, machine, result } = runTraced(world, argv, fault, isTopLevel);
        signal.addEventListener('abort', () => machine.raise('SIGINT'), { once: true });
        return { traced, result };
      },
      check: async (ended, trace) => {
        if (ended.kind === 'failed') return [`the program threw: ${String((ended.error as Error).stack)}`];
        const first = ended.kind === 'ended' ? (ended.value as Ran) : undefined;
        const explained =
          first === undefined ? [] : aFailureIsExplained('the first run', first.code, first.err);
        // The results that a successful first run reports must exist without a second run.
        if (first?.code === 0) return [...explained, ...broken(world)];
        const repeated: string[] = [];
        if (brokenByRepetition !== undefined) {
          await world.run(argv, { isTopLevel, change: asAnotherProcess });
          repeated.push(...brokenByRepetition(world, trace));
        }
        const last = await world.run(again, { isTopLevel, change: asAnotherProcess });
        const value = { kind: 'done', value: { code: last.code, err: last.err, out: last.out } };
        const succeeded = afterACrashTheNextCommandSucceeds(again.join(' '), value);
        return [...explained, ...repeated, ...succeeded, ...broken(world)];
      },
    };
  };
