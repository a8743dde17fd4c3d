import { whyUnwritable } from '../../../core/write-failure.ts';
import { ownerOf } from '../../engine/lock-holder.ts';
import type { Journal } from '../../engine/journal.ts';
import { observe } from '../observe/observe.ts';
import { reportFrom } from '../present/from-events.ts';
import { joined, partsBefore } from '../present/whole-run.ts';
import { writeReports } from '../present/write.ts';
import type { Run } from '../run.ts';
import type { CanaryReport, Report, SnapshotRecord, UpgradeEvent } from '../../engine/types.ts';
import type { Ending } from './ending.ts';
import { nextSteps } from './next-steps.ts';
import type { Recorder } from './recorder.ts';
import type { SessionInput } from './session-opening.ts';

const snapshotsOf = (journal: Journal): SnapshotRecord[] =>
  journal.entries.flatMap((entry) => (entry.kind === 'snapshot' ? [entry.snapshot] : []));

/** What was done is done: that it could not be written down must not hide it. */
const writtenDown = async (
  { host, directory, journal, emit }: Run,
  report: Report,
  events: readonly UpgradeEvent[],
): Promise<void> => {
  const unwritten = await writeReports(host, directory, report, events).then(
    () => journal.failure()?.message,
    (error: unknown) => `the report in ${directory} could not be written: ${whyUnwritable(error)}`,
  );
  if (unwritten !== undefined) emit({ event: 'note', level: 'warn', text: unwritten });
};

/** The report of the whole run, the parts before this one too. It is written beside the journal. */
export const reportRun = async (
  action: SessionInput['action'],
  run: Run,
  { events, startedAt, startedMs }: Recorder,
  { outcome, message }: Ending,
  canary: CanaryReport | undefined,
): Promise<Report> => {
  const { host, cluster, access, plan, directory, journal } = run;
  const after = await observe({ host, cluster, access }).catch(() => undefined);
  const finishedAt = new Date(host.now()).toISOString();
  const before = await partsBefore(host, directory, journal.entries, journal.path);
  const whole = joined(before, { events, startedAt, durationMs: host.elapsed() - startedMs, canary });
  const seen = { finishedAt, after, snapshots: snapshotsOf(journal) };
  const report = reportFrom({
    run: run.id,
    plan,
    owner: ownerOf(host),
    ...whole,
    ...seen,
    outcome,
    message,
    journal: journal.path,
    next: nextSteps({ outcome, plan, isRollback: action === 'rollback', after }),
  });
  await writtenDown(run, report, whole.events);
  return report;
};
