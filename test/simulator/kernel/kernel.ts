/**
 * Scheduler, clock and processes. Every event is a task of one process; between two tasks all promises settle. The
 * seed chooses the next ready task. If no task is ready, the clock advances to the next task.
 */
import type { Disk } from './disk.ts';
import type { Random } from './random.ts';

/** Thrown by a call into a killed process. Later actions of that process have no effect. */
export class Killed extends Error {}
/** Thrown in place of an effect that the history lets fail. */
export class Failed extends Error {
  readonly code = 'EIO';
}
class Stuck extends Error {}

/** A computer whose disk survives its processes. */
export type Machine = { readonly name: string; readonly disk: Disk };
export type Process = {
  readonly pid: number;
  readonly name: string;
  readonly machine: Machine;
  isDead: boolean;
  /** Number of effects so far: changes that another process or a restart could observe. */
  effects: number;
  /** The process runs no task before this time of the clock. */
  pausedUntilMs: number;
  /** Called before each effect of the process. */
  onEffect?: (label: string) => void;
  /** The process crashes before or after its n-th effect, or that effect fails. */
  crash?: { readonly effect: number; readonly when: 'before' | 'after' | 'fails'; readonly power: boolean };
  readonly onDeath: Set<() => void>;
  readonly onSignal: Set<(signal: 'SIGINT' | 'SIGTERM' | 'SIGHUP') => void>;
};
export type Ended<T> =
  | { readonly kind: 'done'; readonly value: T }
  | { readonly kind: 'failed'; readonly error: unknown }
  | { readonly kind: 'killed' };

type Task = {
  readonly owner: Process | undefined;
  readonly at: number;
  readonly timer: Timer;
  readonly run: () => void;
};
const dueAt = ({ at, owner }: Task): number => (owner === undefined ? at : Math.max(at, owner.pausedUntilMs));
export type Timer = { isCancelled: boolean };

/** Saved before a simulation replaces it. */
const turnOfNode = setImmediate;
const settled = (): Promise<void> => new Promise((resolve) => turnOfNode(resolve));

/** Enough steps for every wait in the product. A history that exceeds this number hangs. */
const MOST_STEPS = 400_000;

export class Kernel {
  readonly random: Random;
  nowMs = Date.UTC(2026, 0, 2, 3, 4, 5);
  readonly startMs = this.nowMs;
  /** The process whose code runs. */
  current: Process | undefined;
  readonly processes: Process[] = [];
  /** Number of injected faults in this history, by name. */
  readonly faults: Record<string, number> = {};
  readonly trace: string[] = [];
  #tasks: Task[] = [];
  /** Number of tasks so far, which is a clock with a unique value per task. */
  steps = 0;
  /** Called after every exit or kill of a process. */
  onDeath: (process: Process) => void = () => {};
  /** Called after every effect. */
  onEffect: (process: Process, label: string) => void = () => {};
  /** Called before each signal is delivered. */
  onSignal: (target: Process, signal: string) => void = () => {};
  #nextPid = 1000;
  constructor(random: Random) {
    this.random = random;
  }

  fault(name: string): void {
    this.faults[name] = (this.faults[name] ?? 0) + 1;
    this.note(`fault ${name}`);
  }
  note(text: string): void {
    this.trace.push(`${this.current?.name ?? '-'}: ${text}`);
    if (this.trace.length > 4000) this.trace.splice(0, 2000);
  }

  /** Schedules `run` on behalf of `owner`. */
  later(run: () => void, delayMs = 0, owner = this.current): Timer {
    const timer = { isCancelled: false };
    this.#tasks.push({ owner, at: this.nowMs + delayMs, timer, run });
    return timer;
  }
  /** Runs a call before which other tasks may run. The call never returns in a killed process. */
  call<T>(act: () => T, delayMs = 0): Promise<T> {
    const owner = this.current;
    return new Promise((resolve, reject) => {
      if (owner?.isDead === true) return;
      this.later(() => {
        try {
          resolve(act());
        } catch (error) {
          if (!(error instanceof Killed)) reject(error);
        }
      }, delayMs);
    });
  }
  /** Wraps each effect: counts it, and crashes the process or its machine as the history requires. */
  effect<T>(label: string, act: () => T): T {
    const process = this.current;
    if (process === undefined) return act();
    if (process.isDead) throw new Killed();
    process.effects += 1;
    process.onEffect?.(label);
    if (process.isDead) throw new Killed();
    const { crash } = process;
    const isHere = crash?.effect === process.effects;
    if (isHere && crash.when === 'before') {
      this.note(`dies before ${label}`);
      this.crash(process, crash.power);
      throw new Killed();
    }
    if (isHere && crash.when === 'fails') {
      this.fault('effect failed');
      throw new Failed(`EIO: simulated, ${label}`);
    }
    this.note(label);
    const result = act();
    this.onEffect(process, label);
    if (isHere) {
      this.note(`dies after ${label}`);
      this.crash(process, crash.power);
      throw new Killed();
    }
    return result;
  }

  crash(process: Process, isPower: boolean): void {
    this.fault(isPower ? 'power loss' : 'process killed');
    for (const one of this.processes)
      if (one === process || (isPower && one.machine === process.machine)) this.kill(one);
    if (isPower) process.machine.disk.losePower(this.random);
  }
  /** Pauses a process, as a virtual machine or a full garbage collection does. The clock advances, and messages to the process wait. */
  pause(process: Process, ms: number): void {
    this.fault('process paused');
    process.pausedUntilMs = this.nowMs + ms;
  }
  kill(process: Process): void {
    if (process.isDead) return;
    process.isDead = true;
    for (const act of [...process.onDeath]) act();
    this.onDeath(process);
  }

  /** Starts a separate process that runs `main`. */
  spawn<T>(
    name: string,
    machine: Machine,
    main: (process: Process) => Promise<T>,
    crash?: Process['crash'],
  ): { readonly process: Process; readonly ended: Promise<Ended<T>> } {
    this.#nextPid += 1;
    const process: Process = {
      pid: this.#nextPid,
      name,
      machine,
      isDead: false,
      effects: 0,
      pausedUntilMs: 0,
      ...(crash === undefined ? {} : { crash }),
      onDeath: new Set(),
      onSignal: new Set(),
    };
    this.processes.push(process);
    const ended = new Promise<Ended<T>>((resolve) => {
      process.onDeath.add(() => resolve({ kind: 'killed' }));
      const over = (end: Ended<T>) => {
        if (process.isDead) return;
        resolve(end);
        this.kill(process);
      };
      this.later(
        () => {
          main(process).then(
            (value) => over({ kind: 'done', value }),
            (error: unknown) => over({ kind: 'failed', error }),
          );
        },
        0,
        process,
      );
    });
    return { process, ended };
  }

  /** Runs tasks until `wanted` is settled. */
  async until<T>(wanted: Promise<T>): Promise<T> {
    let outcome: { readonly value: T } | { readonly error: unknown } | undefined;
    wanted.then(
      (value) => (outcome = { value }),
      (error: unknown) => (outcome = { error }),
    );
    await settled();
    while (outcome === undefined) {
      if (!this.#step()) throw new Stuck('nothing is left to do, and the history is not over');
      await settled();
      this.steps += 1;
      if (this.steps > MOST_STEPS)
        throw new Stuck(`not over after ${MOST_STEPS} steps and ${this.nowMs - this.startMs} ms`);
    }
    this.current = undefined;
    if ('error' in outcome) throw outcome.error;
    return outcome.value;
  }
  /** Returns the tasks that are due first, and advances the clock to them if no task is due yet. */
  #takeReady(): Task[] {
    let ready: Task[] = [];
    let first = Number.POSITIVE_INFINITY;
    let kept = 0;
    for (const task of this.#tasks) {
      if (task.timer.isCancelled || task.owner?.isDead === true) continue;
      this.#tasks[kept] = task;
      kept += 1;
      const due = Math.max(dueAt(task), this.nowMs);
      if (due > first) continue;
      if (due < first) ready = [];
      first = due;
      ready.push(task);
    }
    this.#tasks.length = kept;
    if (ready.length > 0) this.nowMs = first;
    return ready;
  }
  #step(): boolean {
    const ready = this.#takeReady();
    if (ready.length === 0) return false;
    const next = ready.length === 1 ? (ready[0] as Task) : this.random.pick(ready);
    this.#tasks.splice(this.#tasks.indexOf(next), 1);
    this.current = next.owner;
    try {
      next.run();
    } catch (error) {
      // A signal listener may exit its process.
      if (!(error instanceof Killed)) throw error;
    }
    return true;
  }
}

/** The active simulation, which owns the replaced clock, timers and files. */
export const running: { kernel: Kernel | undefined } = { kernel: undefined };
export const kernelNow = (): Kernel => {
  if (running.kernel === undefined) throw new Error('no simulation is running');
  return running.kernel;
};
