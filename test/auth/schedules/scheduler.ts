import type { Host } from '../../../src/platform/host.ts';

/** A point where an operation may wait while others continue. Everything else runs between two of these points. */
type Point = { readonly label: string; readonly isWait: boolean };
type Actor = {
  readonly name: string;
  at: Point | undefined;
  resume: () => void;
  isDone: boolean;
  /** The number of file changes at the start of its wait. */
  seenChanges: number;
};

export type Schedule = {
  /** Returns the host of one operation: its calls are the points. */
  hostFor(name: string, host: Host): Host;
  /** Runs the operations; `choose` selects the enabled operation that continues. */
  run(operations: readonly { readonly name: string; run(): Promise<unknown> }[]): Promise<void>;
  /** The operation that continued at each step, for a message. */
  trace(): string;
};

/** `choose` receives the number of enabled operations and returns an index. */
export const schedule = (choose: (enabled: number) => number): Schedule => {
  const actors = new Map<string, Actor>();
  const steps: string[] = [];
  let changes = 0;
  let arrived: () => void = () => undefined;

  const point = (name: string, label: string, isWait = false): Promise<void> =>
    new Promise((resolve) => {
      const actor = actors.get(name);
      if (actor === undefined) return resolve();
      actor.at = { label, isWait };
      actor.seenChanges = changes;
      actor.resume = resolve;
      arrived();
    });

  const hostFor = (name: string, host: Host): Host => {
    let isInside = false;
    const files: Host['files'] = {
      ...host.files,
      read: async (path) => {
        if (path.endsWith('credentials.json') && !isInside) await point(name, 'read');
        return host.files.read(path);
      },
      create: async (path, data, mode, isEphemeral) => {
        await point(name, `lock ${path.slice(path.lastIndexOf('/') + 1, -5).slice(0, 8)}`);
        const isCreated = await host.files.create(path, data, mode, isEphemeral);
        if (isCreated && path.endsWith('credentials.lock')) isInside = true;
        return isCreated;
      },
      replace: async (path, data, mode) => {
        if (path.endsWith('credentials.json')) await point(name, 'write');
        await host.files.replace(path, data, mode);
      },
      remove: async (path) => {
        changes++;
        if (path.endsWith('credentials.lock')) isInside = false;
        await host.files.remove(path);
      },
    };
    return {
      ...host,
      files,
      sleep: (_ms, signal) =>
        signal === undefined ? point(name, 'wait', true) : new Promise(() => undefined),
      network: {
        ...host.network,
        request: async (request) => {
          await point(name, 'send');
          const reply = await host.network.request(request);
          await point(name, 'receive');
          return reply;
        },
      },
    };
  };

  const isEnabled = (actor: Actor): boolean =>
    !actor.isDone && actor.at !== undefined && (!actor.at.isWait || actor.seenChanges !== changes);

  const run: Schedule['run'] = async (operations) => {
    for (const { name } of operations)
      actors.set(name, { name, at: undefined, resume: () => undefined, isDone: false, seenChanges: 0 });
    const all = [...actors.values()];
    const quiet = async (actor: Actor): Promise<void> => {
      while (!actor.isDone && actor.at === undefined)
        await new Promise<void>((resolve) => {
          arrived = resolve;
        });
    };
    for (const operation of operations) {
      const actor = actors.get(operation.name) as Actor;
      const finish = (): void => {
        actor.isDone = true;
        arrived();
      };
      void operation.run().then(finish, finish);
      await quiet(actor);
    }
    for (;;) {
      const left = all.filter(({ isDone }) => !isDone);
      if (left.length === 0) return;
      const enabled = left.filter(isEnabled);
      // Without an enabled operation, only elapsed time lets an operation continue.
      const candidates = enabled.length > 0 ? enabled : left;
      const actor = candidates[candidates.length === 1 ? 0 : choose(candidates.length)] as Actor;
      steps.push(`${actor.name}:${actor.at?.label}`);
      if (steps.length > 2000) throw new Error(`the schedule does not end: ${steps.slice(-40).join(' ')}`);
      actor.at = undefined;
      actor.resume();
      await quiet(actor);
    }
  };
  return { hostFor, run, trace: () => steps.join(' ') };
};

/** Runs every schedule once: each run repeats the choices of the previous run up to the deepest choice that has an alternative. */
export const everySchedule = async (
  run: (choose: (enabled: number) => number) => Promise<void>,
  most: number,
): Promise<number> => {
  let choices: { taken: number; of: number }[] = [];
  for (let count = 1; ; count++) {
    let depth = 0;
    const prefix = choices;
    choices = [];
    await run((enabled) => {
      const taken = prefix[depth]?.taken ?? 0;
      depth++;
      choices.push({ taken, of: enabled });
      return taken;
    });
    while (choices.length > 0 && (choices.at(-1)?.taken ?? 0) + 1 >= (choices.at(-1)?.of ?? 0)) choices.pop();
    const last = choices.at(-1);
    if (last === undefined) return count;
    last.taken++;
    if (count >= most) throw new Error(`more than ${most} schedules`);
  }
};
