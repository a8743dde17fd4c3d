import { upgradedIn } from '../decide.ts';
import { findingsOf } from '../guards/all.ts';
import { progressOf } from '../../engine/progress.ts';
import { observe } from '../observe/observe.ts';
import type { Run } from '../run.ts';
import type { Finding, Observation } from '../../engine/types.ts';
import { electionPatienceMs } from './patience.ts';

/** An election, or packets that are lost for a moment, look like these. */
const transient: ReadonlySet<string> = new Set([
  'all-members-healthy',
  'leader-agreed',
  'quorum-survives',
  'members-keep-up',
]);
/** What prepares a member for the new version: one that runs it already was prepared well enough. */
const preparing: ReadonlySet<string> = new Set([
  'binaries-are-right',
  'configuration-fits',
  'data-directories',
  'db-file-present',
  'disk-space',
]);

const look = async ({ host, cluster, access, driver, directory, plan }: Run): Promise<Observation> =>
  observe({
    host,
    cluster,
    access,
    driver,
    sizes: plan.options.copy_data,
    isDeep: true,
    runDirectory: directory,
  });

const failuresIn = (run: Run, observation: Observation): Finding[] => {
  const { cluster, plan } = run;
  const upgraded = upgradedIn(plan, progressOf(run.journal.entries), observation);
  const { from, to, options } = plan;
  return findingsOf({ observation, cluster, options, from, to, kind: plan.kind, isUnderWay: true }).filter(
    ({ level, guard, member }) =>
      level === 'fail' && !(preparing.has(guard) && member !== undefined && upgraded.includes(member)),
  );
};

const pollMs = 200;
/** Every guard on what is true now: hours or days may lie between a plan and the resume that carries on with it. */
export const guardsAgain = async (run: Run): Promise<readonly Finding[]> => {
  const until = run.host.elapsed() + electionPatienceMs;
  for (;;) {
    const failures = failuresIn(run, await look(run));
    const mayPass = failures.length > 0 && failures.every(({ guard }) => transient.has(guard));
    if (!mayPass || run.signal.aborted || run.host.elapsed() > until) return failures;
    await run.host.sleep(pollMs);
  }
};
