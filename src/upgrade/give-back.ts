import { AppError } from '../kernel/problem.ts';
import { minorOf } from '../services/kv/versions.ts';
import { graceMs, prove, restoreConfig, startMember } from './act.ts';
import { observe } from './observe.ts';
import { memberOf } from './run.ts';
import type { Run } from './run.ts';

/**
 * Whether a member may still get its old version back: doc3 Versioning 2, while the cluster's version has not moved.
 * Nobody else answering is no proof that it moved: the old server itself refuses to start then.
 */
const wayBackIsOpen = async (run: Run): Promise<boolean> => {
  const { members } = await observe({ host: run.host, cluster: run.cluster, access: run.access });
  return members.every(({ cluster_version }) => minorOf(cluster_version) !== run.plan.to);
};

/** Old binary, old configuration, same data folder. Returns when the member has passed the gate on its old version. */
export const giveBack = async (run: Run, name: string, reason: string): Promise<void> => {
  const { host, driver, cluster, plan, journal } = run;
  const member = memberOf(run, name);
  const began = host.elapsed();
  if (!(await wayBackIsOpen(run))) {
    throw new AppError('stopped', `${reason}. The cluster is ${plan.to} already: ${name} cannot get ${plan.from} back`, {
      code: 'NO_WAY_BACK',
      tryThis: [`mend ${name} on ${plan.to}, then opsctl kv resume`, 'opsctl kv restore, to go back with the snapshots'],
    });
  }
  run.emit({ event: 'returning', member: name, reason });
  journal.write({ kind: 'returning', member: name, reason });
  if (!(await driver.stop(member, graceMs(cluster)))) {
    // It runs the failed version and does not serve: nothing is lost by ending it.
    await driver.kill(member);
  }
  await driver.install?.(member, 'old');
  await restoreConfig(run, name);
  await prove(run, await startMember(run, name, 'old'));
  journal.write({ kind: 'returned', member: name });
  run.emit({ event: 'returned', member: name, duration_ms: Math.round(host.elapsed() - began) });
};
