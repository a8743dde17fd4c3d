import { describe, expect, it } from 'vitest';
import { isRefusal, planFrom } from '../../src/kv/upgrade/plan.ts';
import { decide } from '../../src/kv/upgrade/decide.ts';
import { progressOf } from '../../src/kv/engine/progress.ts';
import { stopFinding } from '../../src/kv/upgrade/guards/membership.ts';
import { compareVersions, minorOf, nextMinor } from '../../src/api-specs/etcd/versions.ts';
import type {
  JournalEntry,
  MemberStatus,
  Observation,
  Plan,
  PlanOptions,
  Step,
} from '../../src/kv/engine/model.ts';
import { away, clusterFile, idOf, observed, planOptions, seen } from '../support/observations.ts';
import { testSeed } from '../support/seeded.ts';

/** A model of a cluster and its possible failures, driven by the real planner, the real decisions and the real journal fold. */
const runs = process.env['OPSCTL_SOAK'] === '1' ? 100_000 : 2_000;
const seed = testSeed;

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

type Modelled = {
  name: string;
  version: string;
  isUp: boolean;
  isHealthy: boolean;
  isRunning: boolean;
  newBinary: string;
};
type World = { members: Modelled[]; leader: string; clusterVersion: string; alarm: boolean };

const patches: Record<string, string> = {
  '3.2': '3.2.32',
  '3.3': '3.3.27',
  '3.4': '3.4.23',
  '3.5': '3.5.16',
};
const versions = ['3.2', '3.3', '3.4', '3.5'] as const;

const env = (random: Random): World => {
  const from = random.pick(versions);
  const size = random.pick([1, 2, 3, 3, 3, 4, 5, 7]);
  const next = nextMinor(from) ?? '3.5';
  const members = Array.from({ length: size }, (_, i): Modelled => {
    const version = random.chance(0.04)
      ? (patches[random.pick(versions)] as string)
      : (patches[random.chance(0.05) ? next : from] as string);
    const isUp = !random.chance(0.04);
    return {
      name: `n${i + 1}`,
      version,
      isUp,
      isRunning: isUp,
      isHealthy: isUp && !random.chance(0.04),
      newBinary: patches[random.chance(0.03) ? random.pick(versions) : next] as string,
    };
  });
  const clusterVersion = members
    .map((member) => minorOf(member.version) as string)
    .sort(compareVersions)[0] as string;
  return { members, leader: random.pick(members).name, clusterVersion, alarm: random.chance(0.02) };
};

const look = ({ members, leader, clusterVersion, alarm }: World): Observation => {
  const ids = members.map(({ name }) => idOf(name)).sort();
  const rows = members.map((member): MemberStatus => {
    const host = {
      ...seen(member.name).host,
      is_running: member.isRunning,
      new_binary_version: member.newBinary,
      old_binary_version: member.version,
    };
    if (!member.isUp) return away(member.name, { host });
    return seen(member.name, {
      server_version: member.version,
      cluster_version: `${clusterVersion}.0`,
      is_healthy: member.isHealthy,
      leader_id: idOf(leader),
      is_leader: member.name === leader,
      listed_ids: ids,
      host,
    });
  });
  return observed(rows, alarm ? { alarms: [{ member_id: '1001', alarm: 'NOSPACE' }] } : {});
};

const isGood = (member: Modelled): boolean => member.isUp && member.isHealthy;
class Violation extends Error {}

/** Checks the moment at which a member goes down for the three forbidden states. */
const checkStop = (now: World, plan: Plan, step: Step, isConfirmed: boolean, options: PlanOptions): void => {
  const others = now.members.filter((member) => member.name !== step.member && isGood(member)).length;
  const size = now.members.length;
  const mayLose = size === 1 || (size === 2 && options.accept.includes('quorum-survives'));
  if (!mayLose && others < Math.floor(size / 2) + 1)
    throw new Violation(`${step.id}: ${others} of ${size} would be left`);
  const old = now.members.filter((member) => minorOf(member.version) === plan.from);
  if (old.length === 1 && old[0]?.name === step.member && !isConfirmed)
    throw new Violation(`${step.id}: past the point of no return unasked`);
  if (options.hold_last && old.length === 1) throw new Violation(`${step.id}: the hold was passed`);
};

const settleVersion = (now: World): void => {
  const minors = now.members.map((member) => minorOf(member.version) as string);
  if (now.members.every(isGood)) now.clusterVersion = [...minors].sort(compareVersions)[0] as string;
  if (!now.members.some((member) => member.name === now.leader && isGood(member)))
    now.leader = (now.members.find(isGood) ?? now.members[0])?.name as string;
};

/** Changes that other users make to a cluster during an upgrade. */
const disturb = (now: World, random: Random): void => {
  if (!random.chance(0.12)) return;
  const member = random.pick(now.members);
  const kind = random.pick(['down', 'sick', 'well', 'leader', 'alarm', 'binary']);
  if (kind === 'down')
    Object.assign(member, { isUp: false, isHealthy: false, isRunning: random.chance(0.3) });
  if (kind === 'sick') member.isHealthy = false;
  if (kind === 'well') Object.assign(member, { isUp: true, isHealthy: true, isRunning: true });
  if (kind === 'leader') now.leader = member.name;
  if (kind === 'alarm') now.alarm = random.chance(0.3);
  if (kind === 'binary') member.newBinary = patches[random.pick(versions)] as string;
};

const stamp = '2026-01-01T00:00:00.000Z';
/** Applies the effect of one step as act.ts does, with its last check before a stop. Returns false if the step failed. */
const perform = (now: World, plan: Plan, step: Step, entries: JournalEntry[], random: Random): boolean => {
  const member = now.members.find(({ name }) => name === step.member) as Modelled;
  if (step.kind === 'stop') {
    if (minorOf(member.newBinary) !== plan.to) return false;
    if (stopFinding(look(now), member.name, plan.options.accept) !== undefined) return false;
    checkStop(now, plan, step, progressOf(entries).isCrossingConfirmed, plan.options);
    if (random.chance(0.05)) return false;
    Object.assign(member, { isUp: false, isHealthy: false, isRunning: false });
  }
  if (step.kind === 'start') {
    if (minorOf(member.newBinary) !== plan.to)
      throw new Violation(`${step.id}: started ${member.newBinary} on the way to ${plan.to}`);
    const isLastOld = now.members.every(
      ({ name, version }) => (minorOf(version) === plan.from) === (name === step.member),
    );
    if (isLastOld && !progressOf(entries).isCrossingConfirmed)
      throw new Violation(`${step.id}: past the point of no return unasked`);
    const isCrashing = random.chance(0.1);
    Object.assign(member, {
      version: member.newBinary,
      isUp: !isCrashing,
      isHealthy: !isCrashing,
      isRunning: !isCrashing,
    });
  }
  if (step.kind === 'gate') return isGood(member) && minorOf(member.version) === plan.to;
  if (step.kind === 'confirm') return minorOf(`${now.clusterVersion}.0`) === plan.to;
  return true;
};

/** give-back.ts: restores the old version if the cluster version has not changed and no majority depends on the member. */
const giveBack = (now: World, plan: Plan, name: string, entries: JournalEntry[], random: Random): boolean => {
  const member = now.members.find((other) => other.name === name) as Modelled;
  if (now.clusterVersion === plan.to) return false;
  if (isGood(member) && stopFinding(look(now), name, plan.options.accept) !== undefined) return false;
  entries.push({ kind: 'reverting', at: stamp, member: name, reason: 'failed' });
  if (random.chance(0.1)) return false;
  Object.assign(member, {
    version: patches[plan.from] as string,
    isUp: true,
    isHealthy: true,
    isRunning: true,
  });
  entries.push({ kind: 'reverted', at: stamp, member: name });
  return true;
};

/** One process of opsctl, until it exits or is killed. */
const session = (
  now: World,
  plan: Plan,
  entries: JournalEntry[],
  random: Random,
  saysYes: boolean,
): 'ended' | 'killed' => {
  for (let turns = 0; turns < 60; turns += 1) {
    settleVersion(now);
    const decision = decide(plan, progressOf(entries), look(now));
    if (decision.kind === 'ask') {
      if (!saysYes) return 'ended';
      entries.push({ kind: 'crossing-confirmed', at: stamp, confirmed_by: 'operator' });
      continue;
    }
    if (decision.kind === 'revert')
      return giveBack(now, plan, decision.member, entries, random) ? 'ended' : 'killed';
    if (decision.kind !== 'steps') return 'ended';
    // The run checks the binary before the first step of a member, even if a process that crashed has already stopped the member.
    const first = now.members.find(({ name }) => name === decision.member);
    if (
      first !== undefined &&
      decision.steps.some(({ kind }) => kind === 'start') &&
      minorOf(first.newBinary) !== plan.to
    )
      return 'ended';
    for (const step of decision.steps) {
      entries.push({ kind: 'begin', at: stamp, step: step.id });
      if (random.chance(0.05)) return 'killed';
      if (step.kind === 'stop' || step.kind === 'snapshot') disturb(now, random);
      if (!perform(now, plan, step, entries, random)) {
        if ((step.kind === 'gate' || step.kind === 'start') && step.member !== undefined)
          giveBack(now, plan, step.member, entries, random);
        return 'ended';
      }
      if (random.chance(0.05)) return 'killed';
      entries.push({ kind: 'end', at: stamp, step: step.id });
    }
    disturb(now, random);
  }
  return 'ended';
};

type StoryCounts = { planned: number; refused: number; done: number };
const oneRun = (random: Random, counts: StoryCounts): void => {
  const now = env(random);
  const accept = [
    ...(random.chance(0.2) ? ['quorum-survives'] : []),
    ...(random.chance(0.2) ? ['all-members-healthy'] : []),
  ];
  const to = random.chance(0.2) ? random.pick(versions) : undefined;
  const options = planOptions({ accept, hold_last: random.chance(0.2), ...(to === undefined ? {} : { to }) });
  const observation = look(now);
  const made = planFrom({
    observation,
    cluster: clusterFile(now.members.length),
    options,
    describe: () => [],
    id: 'run',
  });
  if (isRefusal(made)) {
    counts.refused += 1;
    return;
  }
  counts.planned += 1;
  if (made.to !== made.from && nextMinor(made.from) !== made.to)
    throw new Violation(`${made.from} → ${made.to}`);
  const entries: JournalEntry[] = [];
  for (let tries = 0; tries < 6; tries += 1) {
    session(now, made, entries, random, random.chance(0.8));
    disturb(now, random);
  }
  if (now.members.every((member) => minorOf(member.version) === made.to)) counts.done += 1;
};

describe('planner and resume', () => {
  it(`${runs} random clusters, seed ${seed}: plans keep the quorum, skip no minor and confirm the point of no return`, {
    timeout: 600_000,
  }, () => {
    const counts: StoryCounts = { planned: 0, refused: 0, done: 0 };
    for (let i = 0; i < runs; i += 1) {
      try {
        oneRun(generator(seed * 100_003 + i), counts);
      } catch (error) {
        throw new Error(
          `cluster ${i} of seed ${seed}: ${error instanceof Error ? error.stack : String(error)}`,
        );
      }
    }
    // A planner that refuses everything would be safe but useless.
    expect(counts.planned).toBeGreaterThan(runs / 10);
    expect(counts.done).toBeGreaterThan(counts.planned / 10);
  });
});
