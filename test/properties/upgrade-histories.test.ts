/**
 * Upgrades, failures, rollbacks, aborts, holds and crashes of one cluster across all minor versions, with the real planner, decisions,
 * journal fold and placement. Members are modeled with files, an active program, and a process. After a crash, the active program starts.
 */
import { describe, expect, it } from 'vitest';
import { type Minor, minorOf, nextMinor, versionRows } from '../../src/api-specs/etcd/versions.ts';
import { decide } from '../../src/kv/upgrade/decide.ts';
import type { Journal } from '../../src/kv/engine/journal.ts';
import { progressOf } from '../../src/kv/engine/progress.ts';
import { discardStaged, recordPlacement, startVersion } from '../../src/kv/upgrade/placement.ts';
import { isRefusal, planFrom } from '../../src/kv/upgrade/plan.ts';
import type { Driver } from '../../src/kv/upgrade/supervisors/driver.ts';
import type {
  ClusterFile,
  JournalEntry,
  MemberStatus,
  Observation,
  Outcome,
  Placement,
  Plan,
  Refusal,
  Step,
} from '../../src/kv/engine/model.ts';
import { fakeHost } from '../support/fake-host.ts';
import { away, clusterFile, idOf, observed, planOptions, seen } from '../support/observations.ts';
import { testSeed } from '../support/seeded.ts';
import { partlyMade } from '../support/context.ts';

const seed = testSeed;
/** `OPSCTL_TEST_HISTORIES=250000-500000` runs a part of the million histories of a seed, so that several runs can share them. */
const [first, end] = (
  process.env['OPSCTL_TEST_HISTORIES'] ?? (process.env['OPSCTL_SOAK'] === '1' ? '0-1000000' : '0-300')
)
  .split('-')
  .map(Number) as [number, number];
const histories = end - first;
/** Prints the progress, so that the terminal shows the completed histories even if the run is interrupted. */
const played = (i: number, { arrived, rolledBack }: Tally): void => {
  if ((i + 1) % 10_000 === 0)
    process.stdout.write(
      `seed ${seed}: histories ${first} to ${i} hold; ${arrived} upgrades, ${rolledBack} rollbacks\n`,
    );
};

const generator = (start: number) => {
  let state = start >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
  return {
    chance: (share: number) => next() < share,
    pick: <T>(values: readonly T[]): T => values[Math.floor(next() * values.length)] as T,
  };
};
type Random = ReturnType<typeof generator>;
class Violation extends Error {}

const versionOf = (minor: string): string => `${minor}.30`;
/** `active` is the program that the service starts, including after a crash. */
type Machine = { name: string; files: Map<string, string>; active: string; running: string | undefined };
type Scene = { machines: Machine[]; cluster: Minor; random: Random };
const machineOf = ({ machines }: Scene, name: string): Machine =>
  machines.find((machine) => machine.name === name) as Machine;

/** The contract of every supervisor: stage next to the active program, activate between stop and start, and discard the staged program. */
const modelled = (scene: Scene): Driver =>
  partlyMade<Driver>({
    kind: 'systemd',
    stage: async (
      { name }: { name: string },
      { from, to }: { from: Minor; to: Minor },
    ): Promise<Placement> => {
      const machine = machineOf(scene, name);
      machine.files.set(`/kept/${from}`, machine.active).set(`/staged/${to}`, versionOf(to));
      return {
        member: name,
        previous: { minor: from, version: machine.active, program: `/kept/${from}` },
        next: { minor: to, version: versionOf(to), program: `/staged/${to}` },
      };
    },
    activate: async ({ name }: { name: string }, which: 'old' | 'new', placement?: Placement) => {
      const machine = machineOf(scene, name);
      if (machine.running !== undefined) throw new Violation(`${name}: activated while it runs`);
      const wanted = which === 'new' ? placement?.next : placement?.previous;
      const content = machine.files.get(wanted?.program ?? '');
      if (content === undefined) throw new Violation(`${name}: no ${which} program is kept`);
      if (content !== wanted?.version)
        throw new Violation(`${name}: ${content} instead of ${wanted?.version}`);
      machine.active = content;
    },
    start: async ({ name }: { name: string }) => {
      const machine = machineOf(scene, name);
      machine.running = machine.active;
      return {};
    },
    discard: async ({ name }: { name: string }, { next }: Placement) =>
      void machineOf(scene, name).files.delete(next.program ?? ''),
  });

/** The planner and the observation are pure, and most histories share states. Each state is computed only once. */
const remembered = <T>(make: () => T, memory: Map<string, T>, key: string): T => {
  const known = memory.get(key);
  if (known !== undefined) return known;
  if (memory.size > 50_000) memory.clear();
  const made = make();
  memory.set(key, made);
  return made;
};
const stateOf = ({ machines, cluster }: Scene, to: string): string =>
  `${cluster} ${to} ${machines.map(({ active, running }) => `${active}/${running}`).join(' ')}`;
const observations = new Map<string, Observation>();
const plans = new Map<string, Plan | Refusal>();
const clusters = new Map([3, 5].map((size) => [size, clusterFile(size)]));
const clusterOf = ({ machines }: Scene): ClusterFile => clusters.get(machines.length) as ClusterFile;

const seenOf = ({ machines, cluster }: Scene, to: string): Observation =>
  observed(
    machines.map((machine, at): MemberStatus => {
      const host = {
        ...seen(machine.name).host,
        is_running: machine.running !== undefined,
        old_binary_version: machine.active,
        new_binary_version: versionOf(to),
      };
      return machine.running === undefined
        ? away(machine.name, { host })
        : seen(machine.name, {
            server_version: machine.running,
            cluster_version: `${cluster}.0`,
            leader_id: idOf('n1'),
            is_leader: at === 0,
            listed_ids: machines.map(({ name }) => idOf(name)),
            host,
          });
    }),
  );
const look = (scene: Scene, to: string): Observation =>
  remembered(() => seenOf(scene, to), observations, stateOf(scene, to));

/** The leader's monitor: the cluster version increases when every member responds with a newer version. */
const monitor = (scene: Scene): void => {
  const minors = scene.machines.map(({ running }) => minorOf(running));
  if (minors.some((minor) => minor === undefined)) return;
  const lowest = versionRows.map(({ minor }) => minor).find((minor) => minors.includes(minor));
  const order = versionRows.map(({ minor }) => minor);
  if (lowest !== undefined && order.indexOf(lowest) > order.indexOf(scene.cluster)) scene.cluster = lowest;
};
/** A process crashes and its service restarts it with the active program, which must be the program that ran before. */
const crash = (scene: Scene): void => {
  const machine = scene.random.pick(scene.machines);
  if (machine.running === undefined) return;
  if (machine.active !== machine.running)
    throw new Violation(`${machine.name} runs ${machine.running}, a crash would start ${machine.active}`);
};
const mostDown = ({ machines }: Scene): void => {
  const down = machines.filter(({ running }) => running === undefined).length;
  if (down > 1) throw new Violation(`${down} members are down`);
};

type Work = {
  scene: Scene;
  plan: Plan;
  entries: JournalEntry[];
  driver: Driver;
  host: ReturnType<typeof fakeHost>;
};
const at = '2026-01-01T00:00:00.000Z';
const put = ({ entries }: Work, entry: object): void => void entries.push({ at, ...entry } as JournalEntry);
const switching = (work: Work) => ({
  host: work.host,
  driver: work.driver,
  directory: '/state/test/run',
  journal: { entries: work.entries },
});
const specOf = ({ scene }: Work, name: string) =>
  clusterOf(scene).members.find((member) => member.name === name)!;

/** Returns false if the revert failed. */
const revert = async (work: Work, name: string): Promise<boolean> => {
  const { scene, plan } = work;
  const machine = machineOf(scene, name);
  if (scene.cluster === plan.to) return false;
  put(work, { kind: 'reverting', member: name, reason: 'failed' });
  machine.running = undefined;
  mostDown(scene);
  if (scene.random.chance(0.1)) return false;
  await startVersion(switching(work), specOf(work, name), 'old', plan.from);
  if (minorOf(machine.running) !== plan.from)
    throw new Violation(`${name} was rolled back to ${machine.running}, not to ${plan.from}`);
  put(work, { kind: 'reverted', member: name });
  return true;
};

const perform = async (work: Work, step: Step): Promise<boolean> => {
  const { scene, plan, driver, host } = work;
  const { random } = scene;
  if (step.member === undefined) return scene.cluster === plan.to;
  const machine = machineOf(scene, step.member);
  const spec = specOf(work, step.member);
  if (step.kind === 'stop') {
    const placement = await driver.stage(spec, { from: plan.from, to: plan.to, run: 'run' });
    // A guard refuses at the last moment, before any change to the program that a crash would start.
    if (random.chance(0.1)) return driver.discard(spec, placement).then(() => false);
    const journal = partlyMade<Journal>({
      entries: work.entries,
      write: (entry: object) => put(work, entry),
    });
    await recordPlacement({ host, directory: '/state/test/run', journal }, placement);
    if (random.chance(0.05)) return false;
    machine.running = undefined;
    mostDown(scene);
  }
  if (step.kind === 'start') {
    await startVersion(switching(work), spec, 'new', plan.from);
    if (minorOf(machine.running) !== plan.to) throw new Violation(`${step.id} started ${machine.running}`);
    if (random.chance(0.1)) machine.running = undefined;
  }
  if (step.kind === 'gate') return machine.running !== undefined;
  return true;
};

type Session = 'over' | 'ended' | 'killed';
const session = async (work: Work, saysYes: boolean): Promise<Session> => {
  const { scene, plan, entries } = work;
  const { random } = scene;
  for (let turn = 0; turn < 60; turn += 1) {
    if (random.chance(0.7)) monitor(scene);
    crash(scene);
    const decision = decide(plan, progressOf(entries), look(scene, plan.to));
    if (decision.kind === 'ask') {
      if (!saysYes) return 'ended';
      put(work, { kind: 'crossing-confirmed', confirmed_by: 'me' });
    } else if (decision.kind === 'revert') {
      return (await revert(work, decision.member)) ? 'ended' : 'killed';
    } else if (decision.kind === 'drop-revert') {
      put(work, { kind: 'revert-dropped', member: decision.member, reason: decision.reason });
    } else if (decision.kind === 'done') return 'over';
    else if (decision.kind === 'hold' || decision.kind === 'refuse') return 'ended';
    else {
      for (const step of decision.steps) {
        put(work, { kind: 'begin', step: step.id });
        if (random.chance(0.04)) return 'killed';
        if (!(await perform(work, step))) {
          if ((step.kind === 'gate' || step.kind === 'start') && !(await revert(work, step.member)))
            return 'killed';
          return 'ended';
        }
        if (random.chance(0.04)) return 'killed';
        put(work, { kind: 'end', step: step.id });
      }
      // A new version that crashes after its health check.
      const victim = random.pick(scene.machines);
      if (
        random.chance(0.03) &&
        minorOf(victim.running) === plan.to &&
        scene.machines.every(({ running }) => running)
      )
        victim.running = undefined;
    }
  }
  return 'ended';
};

/** kv rollback: reverts every member that does not run the old version, one at a time. */
const rollBack = async (work: Work): Promise<boolean> => {
  const { scene, plan } = work;
  for (const machine of scene.machines.toSorted(
    (a, b) => Number(a.running !== undefined) - Number(b.running !== undefined),
  ))
    if (minorOf(machine.running) !== plan.from && !(await revert(work, machine.name))) return false;
  return true;
};

const atRest = (scene: Scene): void => {
  for (const { name, active, running } of scene.machines)
    if (running !== undefined && active !== running)
      throw new Violation(`${name} runs ${running} at rest, and ${active} is installed`);
};

/** Upgrades to the next minor version in any number of sessions. Returns true if the cluster reached that version. */
const upgrade = async (scene: Scene, host: ReturnType<typeof fakeHost>, tally: Tally): Promise<boolean> => {
  const { random, machines } = scene;
  const to = nextMinor(scene.cluster) as Minor;
  const hold_last = random.chance(0.1);
  const made = remembered(
    () =>
      planFrom({
        observation: look(scene, to),
        cluster: clusterOf(scene),
        options: planOptions({ accept: ['known-versions', 'quorum-survives'], hold_last }),
        describe: () => [],
        id: 'run',
      }),
    plans,
    `${hold_last} ${stateOf(scene, to)}`,
  );
  if (isRefusal(made)) return false;
  const driver = modelled(scene);
  const work: Work = { scene, plan: made, entries: [], driver, host };
  const close = async (outcome: Outcome): Promise<void> => {
    await discardStaged({ driver, cluster: clusterOf(scene) }, work.entries, outcome);
    atRest(scene);
  };
  for (let tries = 0; tries < 8; tries += 1) {
    const ended = await session(work, random.chance(0.9));
    if (ended === 'over') {
      await close('done');
      return true;
    }
    if (ended === 'ended') await close('stopped');
    if (random.chance(0.15) && scene.cluster !== made.to) {
      if (!(await rollBack(work))) continue;
      tally.rolledBack += 1;
      await close('rolled-back');
      return false;
    }
    if (random.chance(0.1) && machines.every(({ running }) => running !== undefined)) {
      await close('aborted');
      return scene.cluster === made.to;
    }
    put(work, { kind: 'resumed', action: 'upgrade', owner: { host: 'h', pid: 1 } });
  }
  return false;
};

type Tally = { arrived: number; rolledBack: number; minors: number };
const history = async (random: Random, tally: Tally): Promise<void> => {
  const rows = versionRows.map(({ minor }) => minor);
  const first = rows[0] as Minor;
  const size = random.pick([3, 3, 5]);
  const machines = Array.from(
    { length: size },
    (_, i): Machine => ({
      name: `n${i + 1}`,
      files: new Map(),
      active: versionOf(first),
      running: versionOf(first),
    }),
  );
  const scene: Scene = { machines, cluster: first, random };
  const host = fakeHost({});
  for (let attempt = 0; attempt < 8 && nextMinor(scene.cluster) !== undefined; attempt += 1) {
    if (machines.some(({ running }) => running === undefined)) return;
    if (await upgrade(scene, host, tally)) tally.arrived += 1;
  }
  tally.minors = Math.max(tally.minors, rows.indexOf(scene.cluster));
};

describe('a cluster over all its minors', () => {
  it(`histories ${first} to ${end - 1}, seed ${seed}: at most one member is down, binaries match, rollback restores the previous version`, {
    timeout: 14_400_000,
  }, async () => {
    const tally: Tally = { arrived: 0, rolledBack: 0, minors: 0 };
    for (let i = first; i < end; i += 1) {
      try {
        await history(generator(seed * 100_003 + i), tally);
      } catch (error) {
        throw new Error(
          `history ${i} of seed ${seed}: ${error instanceof Error ? error.stack : String(error)}`,
        );
      }
      played(i, tally);
    }
    // A tool that refuses everything would be safe but useless.
    expect(tally.arrived).toBeGreaterThan(histories / 2);
    expect(tally.rolledBack).toBeGreaterThan(histories / 20);
    expect(tally.minors).toBe(versionRows.length - 1);
  });
});
