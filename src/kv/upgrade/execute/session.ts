import { removeOwnKeys } from '../../client/own-keys.ts';
import { discardStaged } from '../discard-staged.ts';
import type { Run } from '../run.ts';
import type { CanaryReport, Report } from '../../engine/types.ts';
import { paceOf, startCanary } from '../watch/canary.ts';
import { watchLeader } from '../watch/leader-watch.ts';
import { watchLogs } from '../watch/log-watch.ts';
import type { Ending } from './ending.ts';
import { execute } from './loop.ts';
import { recorder } from './recorder.ts';
import { locked, openRun, refuseUnfinished, unbegun } from './session-opening.ts';
import type { OpenRun, SessionInput } from './session-opening.ts';
import { reportRun } from './session-report.ts';

export type { SessionInput } from './session-opening.ts';
export type SessionResult = { readonly ending: Ending; readonly report: Report };

/** The run itself: what it wrote, saw, and how it ended. Its journal is open and its locks are held. */
const perform = async (
  input: SessionInput,
  parts: Run,
): Promise<{ readonly ending: Ending; readonly wrote: CanaryReport | undefined }> => {
  const { host, cluster, access, run } = input;
  const canary = input.hasCanary
    ? startCanary(host, cluster, access, run, parts.emit, paceOf(parts.replacing, input.canaryRate))
    : undefined;
  const leader = watchLeader(parts);
  const logs = await watchLogs(parts);
  const ending = await (input.loop ?? execute)(parts, input.confirmed);
  const [wrote] = await Promise.all([canary?.stop(), logs.finish(), leader.finish(), parts.members.finish()]);
  return { ending, wrote };
};

/** Takes away what only an unfinished run needs, and writes the last line of the journal. */
const conclude = async (
  { run, stores, shared }: OpenRun,
  { outcome, message, heldFor }: Ending,
  action: SessionInput['action'],
): Promise<void> => {
  // Before the last line: whoever is killed in between goes on, and takes the keys away then.
  await removeOwnKeys(stores, run.id);
  const isOver = outcome === 'done' || (outcome === 'rolled-back' && action === 'rollback');
  if (isOver) await shared.end(true);
  await discardStaged(run, run.journal.entries, outcome);
  run.journal.tell({
    kind: 'closed',
    outcome,
    message,
    ...(heldFor === undefined ? {} : { held_for: heldFor }),
  });
  if (!isOver) await shared.end(false);
};

/** One run under its locks, with its journal, canary and report: a first run, a resume or a rollback. */
export const conduct = async (input: SessionInput): Promise<SessionResult> => {
  const { host, sink, action } = input;
  const recorded = recorder(host, sink);
  const lost = new AbortController();
  const lock = await locked(input, recorded.emit, lost).catch(unbegun);
  try {
    await refuseUnfinished(input);
    const opened = await openRun(input, recorded, lost, lock);
    const { ending, wrote } = await perform(input, opened.run);
    await conclude(opened, ending, action);
    const report = await reportRun(action, opened.run, recorded, ending, wrote);
    const { outcome, message } = ending;
    recorded.emit({ event: 'run-finished', outcome, message, report });
    opened.run.journal.close();
    return { ending, report };
  } finally {
    await lock.release();
  }
};
