import { allMembersHealthy } from '../upgrade/guards/all-members-healthy.ts';
import { leaderAgreed } from '../upgrade/guards/leader-agreed.ts';
import { membersKeepUp } from '../upgrade/guards/members-keep-up.ts';
import { noAlarms } from '../upgrade/guards/no-alarms.ts';
import { oneCluster } from '../upgrade/guards/membership.ts';
import type { Guard } from '../upgrade/guards/guard.ts';
import type { ClusterFile, Finding, Observation } from '../engine/types.ts';

const asked: readonly Guard[] = [allMembersHealthy, oneCluster, leaderAgreed, membersKeepUp, noAlarms];

/** The guards of the upgrade that every operation on a healthy cluster asks; those named in `without` are what it is there to fix. */
export const healthyClusterFindings = (
  observation: Observation,
  cluster: ClusterFile,
  without: readonly string[] = [],
): Finding[] => {
  const options = { copy_data: false, hold_last: false, stable_seconds: 0, accept: [] };
  return asked
    .filter(({ id }) => !without.includes(id))
    .flatMap((guard) => guard.findings({ observation, cluster, options }));
};
