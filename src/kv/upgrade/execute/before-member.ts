import { stopGraceMs } from '../cluster/stop-grace.ts';
import { durationText } from '../../../core/duration.ts';
import { shellLine } from '../cluster/command-line.ts';
import type { Decision } from '../decide.ts';
import type { Run } from '../run.ts';
import { askImpact } from '../window/window.ts';
import type { Impact } from '../window/window.ts';
import { memberDurations, neededMs } from '../window/learned.ts';
import { untilText } from '../window/until.ts';
import type { Window } from '../window/window-types.ts';
import { stableBeforeLastMs } from './crossing.ts';
import { heldWith } from './ending.ts';
import type { Ending } from './ending.ts';
import { gateMs } from './health-verdict.ts';

const pollMs = 15_000;

/** Ends the run, or has it look at the cluster again because time has passed. */
export type Before = Ending | 'look-again' | undefined;

/** What the limits of the cluster file allow a member to take, and as much again for its snapshot. */
const limitsMs = (run: Run, member: string): number => stopGraceMs(run.cluster) + 2 * gateMs(run, member);

/** A member is started on only when it can be finished before the window ends. */
const memberFitsWindow = (run: Run, { until, earlierMs }: Window, member: string, isLast: boolean) => {
  if (until === undefined) return undefined;
  const { ms, isLearned } = neededMs(memberDurations(run.journal.entries), earlierMs, limitsMs(run, member));
  const needed = ms + (isLast ? stableBeforeLastMs(run.plan) : 0);
  const left = until.atMs - run.host.now();
  if (left >= needed) return undefined;
  const how = isLearned ? 'as long as members took before, and a quarter more' : 'what its limits allow';
  const time = left <= 0 ? 'is over' : `ends in ${durationText(left)}`;
  return heldWith(
    `held before ${member}: the window until ${untilText(until)} ${time}, and ${member} may need ${durationText(needed)} (${how}); go on with opsctl kv resume --until ${shellLine([until.text])}`,
    'window',
  );
};

const worstOf = async ({ host }: Run, { probes }: Window): Promise<Impact | undefined> => {
  for (const probe of probes) {
    const impact = await askImpact(host, probe);
    if (impact.state !== 'no') return impact;
  }
  return undefined;
};

const impactText = ({ state, reason }: Impact): string =>
  state === 'yes'
    ? `users are affected (${reason})`
    : `whether users are affected cannot be told (${reason})`;

/** Waits while users are affected; never for ever, and never past the window. */
const pausedForUsers = async (run: Run, window: Window, member: string, isLast: boolean): Promise<Before> => {
  const { host, journal } = run;
  const began = host.elapsed();
  let reason: string | undefined;
  for (;;) {
    const impact = await worstOf(run, window);
    const waited = Math.round(host.elapsed() - began);
    if (impact === undefined && reason === undefined) return undefined;
    if (impact === undefined) {
      journal.write({ kind: 'continued', member, waited_ms: waited });
      run.emit({
        event: 'note',
        level: 'info',
        text: `users are not affected any more: going on with ${member} after ${durationText(waited)}`,
      });
      return 'look-again';
    }
    if (reason === undefined) {
      journal.write({ kind: 'paused', member, reason: impactText(impact) });
      run.emit({ event: 'note', level: 'warn', text: `paused before ${member}: ${impactText(impact)}` });
    }
    reason = impactText(impact);
    if (run.signal.aborted) return 'look-again';
    if (waited >= window.pauseAtMostMs)
      return heldWith(
        `held before ${member}: ${reason} after ${durationText(waited)}; go on with opsctl kv resume`,
        'impact',
      );
    const over = memberFitsWindow(run, window, member, isLast);
    if (over !== undefined) return over;
    const left = window.pauseAtMostMs - waited;
    await host.sleep(Math.min(pollMs, Math.max(left, 1)), run.signal).catch(() => undefined);
  }
};

const confirmedEach = async (run: Run, window: Window, member: string): Promise<Before> => {
  if (window.confirmEach === undefined) return undefined;
  const ended = run.members.signal();
  const isYes = await window.confirmEach(member, AbortSignal.any([ended, run.signal])).catch(() => false);
  if (ended.aborted || run.signal.aborted) return 'look-again';
  if (!isYes)
    return heldWith(`held before ${member}: nobody confirmed it; go on with opsctl kv resume`, 'operator');
  run.admitted.add(member);
  return 'look-again';
};

/** What an operator wants asked before a member is stopped; undefined when nothing speaks against it now. */
export const beforeMember = async (run: Run, member: string, isLast: boolean): Promise<Before> => {
  const { window } = run;
  if (window === undefined) return undefined;
  const over = memberFitsWindow(run, window, member, isLast);
  if (over !== undefined) return over;
  const paused = await pausedForUsers(run, window, member, isLast);
  if (paused !== undefined || run.admitted.has(member)) return paused;
  return confirmedEach(run, window, member);
};

/**
 * A rollback is the way out of a mixed cluster, and users may be affected by just that: no window and no pause cuts it half-way.
 * Only the operator may, who is asked before each member where he wanted it.
 */
export const beforeReturn = async (run: Run, member: string): Promise<Before> =>
  run.window === undefined || run.admitted.has(member) ? undefined : confirmedEach(run, run.window, member);

/** The member that this decision would begin with; undefined when it brings one to its end, or touches none. */
export const memberToBegin = (
  decision: Decision,
): { readonly member: string; readonly isLast: boolean } | undefined => {
  if (decision.kind === 'ask') return { member: decision.member, isLast: true };
  if (decision.kind !== 'steps' || decision.member === undefined) return undefined;
  const isBegin = decision.steps.some(({ kind }) => kind === 'stop');
  return isBegin ? { member: decision.member, isLast: decision.isCrossing === true } : undefined;
};
