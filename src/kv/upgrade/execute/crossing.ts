import type { MemberWatch } from '../observe/member-watch.ts';
import type { Crossing } from '../present/crossing-text.ts';
import type { Run } from '../run.ts';
import type { Observation, Step } from '../../engine/types.ts';
import { upgradedIn } from '../decide.ts';
import { progressOf } from '../../engine/progress.ts';
import { electionPatienceMs } from './patience.ts';

/** Asks before the last member. False: the run holds there. Rejects with the signal's reason when it is aborted. */
export type Confirmation = (crossing: Crossing, signal: AbortSignal) => Promise<boolean>;

const defaultSeconds = 10;
export const stableBeforeLastMs = ({ options }: Run['plan']): number =>
  (options.stable_before_last_seconds ?? defaultSeconds) * 1000;

const pollMs = 100;
const tellMs = 1000;
/** Members that are good and sick in turn for so long will not become good together. */
const flappingMs = 120_000;

type Waiting = { readonly run: Run; readonly step: Step; readonly upgraded: readonly string[] };
const goodFor = ({ run: { host, members }, upgraded }: Waiting): number => {
  const since = members.goodSince(upgraded);
  return since === undefined ? 0 : host.elapsed() - since;
};

/** `look-again`: a member is down or sick, or the run was asked to stop: the next decision says what follows. */
export type Stability = 'good' | 'look-again' | 'never';

/** Whoever was upgraded before this process began is watched from now on. */
const watchAll = (members: MemberWatch, names: readonly string[]): void => {
  for (const name of names) if (!members.isWatched(name)) members.add(name);
};

/**
 * Before the point of no return all upgraded members must have been good together for a time: what comes late (a leak, a delayed panic) is to
 * come while the old version can still be started.
 */
export const stableTogether = async (run: Run, step: Step, observation: Observation): Promise<Stability> => {
  const { host, members, signal, plan } = run;
  const upgraded = upgradedIn(plan, progressOf(run.journal.entries), observation);
  if (upgraded.length === 0) return 'good';
  watchAll(members, upgraded);
  const waiting = { run, step, upgraded };
  const needed = stableBeforeLastMs(plan);
  const either = AbortSignal.any([signal, members.signal()]);
  const until = host.elapsed() + needed + flappingMs;
  let [goodAt, toldAt] = [host.elapsed(), Number.NEGATIVE_INFINITY];
  for (;;) {
    if (either.aborted) return 'look-again';
    const good = goodFor(waiting);
    if (good >= needed) return 'good';
    if (host.elapsed() > until) return 'never';
    if (good > 0) goodAt = host.elapsed();
    else if (host.elapsed() - goodAt > electionPatienceMs) return 'look-again';
    if (host.elapsed() - toldAt >= tellMs) {
      toldAt = host.elapsed();
      const reason = `${upgraded.join(', ')} must be good together before ${step.member} is stopped`;
      run.emit({ event: 'waiting', step, remaining_ms: Math.round(needed - good), reason });
    }
    await host.sleep(Math.min(pollMs, needed - good), either).catch(() => {});
  }
};

/** What the operator sees while he decides. */
export const crossingOf = (run: Run, member: string, observation: Observation): Crossing => {
  const upgraded = upgradedIn(run.plan, progressOf(run.journal.entries), observation);
  const since = run.members.goodSince(upgraded);
  const goodForMs = since === undefined || upgraded.length === 0 ? 0 : run.host.elapsed() - since;
  return { member, upgraded, goodForMs, observation };
};
