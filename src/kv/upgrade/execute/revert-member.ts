import { stopGraceMs } from '../cluster/stop-grace.ts';
import { AppError } from '../../../core/problem.ts';
import { minorOf } from '../../../api-specs/etcd/versions.ts';
import { openOldGate, prove, startMember } from './start-member.ts';
import { isGood, stopFinding } from '../guards/quorum-survives.ts';
import { observe } from '../observe/observe.ts';
import { configOn } from '../switch-version.ts';
import { crosses, kindOf } from '../plan-kind.ts';
import { memberOf } from '../run.ts';
import type { Run } from '../run.ts';
import type { Observation } from '../../engine/types.ts';

/**
 * Whether a member may still get its old version back: spec/store#versions-2, while the cluster's version has not moved.
 * Nobody else answering is no proof that it moved: the old server itself refuses to start then.
 */
const refuseReturn = (run: Run, name: string, reason: string, observation: Observation): void => {
  const { members } = observation;
  const { plan } = run;
  if (crosses(plan) && members.some(({ cluster_version }) => minorOf(cluster_version) === plan.to)) {
    throw new AppError(
      'stopped',
      `${reason}. The cluster is ${plan.to}: ${name} cannot run ${plan.from} any more`,
      {
        code: 'PAST_POINT_OF_NO_RETURN',
        tryThis: [
          `fix ${name} on ${plan.to}, then opsctl kv resume`,
          'opsctl kv restore, to rebuild the cluster from a snapshot',
        ],
      },
    );
  }
  // It may fail its gate and still be one of those that make the majority.
  const seen = members.find((member) => member.name === name);
  const finding =
    seen !== undefined && isGood(seen) ? stopFinding(observation, name, plan.options.accept) : undefined;
  if (finding !== undefined)
    throw new AppError('stopped', `${reason}. It is left running: ${finding.message}`, {
      code: 'QUORUM',
      tryThis: [finding.hint as string],
    });
};

const silentGraceMs = 15_000;
/** Old binary, old configuration, same data directory. Returns when the member has passed the gate on its old version. */
export const revertMember = async (run: Run, name: string, reason: string): Promise<void> => {
  const { host, driver, cluster, access, plan, journal } = run;
  const member = memberOf(run, name);
  const began = host.elapsed();
  const observation = await observe({ host, cluster, access });
  run.members.remove(name);
  run.replacing.set(name, 'changing');
  run.emit({ event: 'reverting', member: name, reason });
  // After a crash of ours the return may have been done already: then it only has to be proved.
  // After a crash of ours that of a restart cannot be told from the process before: it is stopped once more.
  const isBack =
    kindOf(plan) !== 'restart' &&
    minorOf(observation.members.find((seen) => seen.name === name)?.server_version) === plan.from;
  if (!isBack) {
    refuseReturn(run, name, reason, observation);
    // What it goes back to is read before it is stopped: a damaged record would leave it down.
    await configOn(run, member);
    journal.tell({ kind: 'reverting', member: name, reason });
    await run.shareProgress();
    const isSilent = observation.members.find((seen) => seen.name === name)?.is_reachable !== true;
    // It runs the failed version: when it does not end by itself, nothing is lost by ending it. One that does not even answer gets less time.
    const grace = isSilent ? Math.min(silentGraceMs, stopGraceMs(cluster)) : stopGraceMs(cluster);
    if (!(await driver.stop(member, grace))) await driver.kill(member);
  }
  await prove(run, isBack ? openOldGate(run, name) : await startMember(run, name, 'old'));
  run.replacing.delete(name);
  journal.tell({ kind: 'reverted', member: name });
  run.emit({ event: 'reverted', member: name, duration_ms: Math.round(host.elapsed() - began) });
};
