import { messageOf } from '../../../core/error-message.ts';
import { AppError } from '../../../core/problem.ts';
import { MemberFailure, memberOf } from '../run.ts';
import type { Checking } from '../run.ts';
import type { GateCheck } from '../../engine/types.ts';
import { healthIsTrue, noAlarm, stages, type Checks } from './health-check.ts';
import { watchProgress } from './health-verdict.ts';
import type { ProgressWatch } from './health-verdict.ts';
import { bad, keyOf } from './gate-verdict.ts';
import type { Check, Gate, Verdict } from './gate-verdict.ts';
import { readThroughOthers } from './leader-reads.ts';
import { electionPatienceMs } from './patience.ts';
import { processRuns } from './process-check.ts';

export type { Gate } from './gate-verdict.ts';

/** From one look to the next at least this, and as long as the look took: on a busy machine the member needs the time itself. */
const pollMs = 15;

export const openGate = (run: Checking, name: string, minor: string): Gate => {
  const member = memberOf(run, name);
  const others = run.cluster.members.filter(
    (other) => other.name !== name && run.plan.observation.members.some((seen) => seen.name === other.name),
  );
  return {
    run,
    member,
    minor,
    store: run.access.store(member.client_url),
    others: others.map(({ name: other, client_url }) => ({
      name: other,
      store: run.access.store(client_url),
    })),
  };
};

/** A check throws `stopped` when something else than this member is wrong: that ends the run, and the member stays as it is. */
const attempt = async (check: Check, gate: Gate): Promise<Verdict> =>
  check(gate).catch((error: unknown) => {
    if (error instanceof AppError && error.category === 'stopped') throw error;
    return bad(messageOf(error));
  });

const stablePollMs = 150;
/** An alarm may be why a check does not become good. */
const alarmsEveryMs = 1000;
/** Repeats one check until it is good, failed, or the time is over; `first` is how its first try ended. The process is looked at every time. */
const passCheck = async (
  gate: Gate,
  check: Check,
  untilMs: number,
  progress: ProgressWatch,
  first: Verdict,
): Promise<Verdict> => {
  const { host } = gate.run;
  let alarmsAt = host.elapsed() + alarmsEveryMs;
  let [verdict, tookMs] = [first, 0];
  for (;;) {
    if (verdict.ok !== false || verdict.isFinal) return verdict;
    gate.goodSince = host.elapsed();
    const alive = await attempt(processRuns, gate);
    if (!alive.ok && alive.isStarting !== true) return alive;
    if (host.elapsed() > alarmsAt && gate.skips?.has('alarms') !== true) {
      await attempt(noAlarm, gate);
      alarmsAt = host.elapsed() + alarmsEveryMs;
    }
    await progress.look();
    if (host.elapsed() > untilMs && !progress.isMoving()) return verdict;
    await host.sleep(Math.max(pollMs, Math.min(tookMs, stablePollMs)));
    const began = host.elapsed();
    verdict = await attempt(check, gate);
    tookMs = host.elapsed() - began;
  }
};

/** Every check, in order, within `withinMs` together. Throws MemberFailure with the first that does not become good. */
export const passGate = async (
  gate: Gate,
  withinMs: number,
  onPassed: (check: GateCheck) => void = () => {},
): Promise<void> => {
  const { run, member } = gate;
  const until = run.host.elapsed() + withinMs;
  const progress = watchProgress(run, member.name);
  const answering = new AbortController();
  const passStage = async (stage: Checks): Promise<void> => {
    const first = await Promise.all(stage.map(([, check]) => attempt(check, gate)));
    for (const [at, [name, check]] of stage.entries()) {
      const { ok, detail } = await passCheck(gate, check, until, progress, first[at] as Verdict);
      run.emit({ event: 'gate-check', member: member.name, check: name, ok, detail });
      if (ok === null && detail.startsWith('unknown: '))
        run.emit({ event: 'note', level: 'warn', text: `${member.name}: ${name}: ${detail}` });
      if (ok === false)
        throw new MemberFailure(member.name, `${member.name} did not become healthy: ${name}: ${detail}`);
      if (name === 'health') gate.goodSince = run.host.elapsed();
      onPassed(name);
      // Its first answer: it has heard its leader.
      if (name === 'version') answering.abort();
    }
  };
  void readThroughOthers(gate, answering.signal);
  try {
    for (const stage of stages) await passStage(stage.filter(([one]) => gate.skips?.has(one) !== true));
  } finally {
    answering.abort();
  }
  await gate.store.del(keyOf(gate)).catch(() => {});
};

/** The checks since its health are part of the time in which it has to stay good. */
const stableUntil = ({ goodSince, run: { host } }: Gate, forMs: number): number =>
  (goodSince ?? host.elapsed()) + forMs;

/** spec/store#procedure-3: verify health of member and cluster; and again for a time, because a process may end late. */
export const stayStable = async (gate: Gate, forMs: number): Promise<void> => {
  const { run, member } = gate;
  const { host } = run;
  const until = stableUntil(gate, forMs);
  let goodAt = host.elapsed();
  for (;;) {
    const alive = await attempt(processRuns, gate);
    const health = alive.ok ? await attempt(healthIsTrue, gate) : alive;
    if (health.ok) goodAt = host.elapsed();
    else if (alive.ok) await attempt(noAlarm, gate);
    if (alive.isFinal || host.elapsed() - goodAt > electionPatienceMs) {
      run.emit({
        event: 'gate-check',
        member: member.name,
        check: 'stable',
        ok: false,
        detail: health.detail,
      });
      throw new MemberFailure(member.name, `${member.name} was good and then was not: ${health.detail}`);
    }
    if (health.ok && host.elapsed() >= until) break;
    const left = until - host.elapsed();
    await host.sleep(left > 0 ? Math.min(stablePollMs, left) : stablePollMs);
  }
  run.emit({
    event: 'gate-check',
    member: member.name,
    check: 'stable',
    ok: true,
    detail: `good for ${forMs / 1000} s`,
  });
};
