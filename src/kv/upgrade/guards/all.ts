import type { Finding } from '../../engine/model.ts';
import { acceptable, type Guard, type GuardInput } from './guard.ts';
import {
  allMembersHealthy,
  clusterHold,
  leaderAgreed,
  membersKeepUp,
  oneCluster,
  quorumSurvives,
} from './membership.ts';
import { authAndLeases, dataAgrees, alarmsAreClear, noV2Data, quota, v2Backup, v2Settle } from './store.ts';
import {
  binariesAreRight,
  clocksAgree,
  dataDirectories,
  dbFilePresent,
  certificatesLast,
  hookPrograms,
  peerLinks,
  restorePossible,
} from './hosts.ts';
import { configurationFits } from './configuration.ts';
import { diskSpace } from './disk-space.ts';
import { clientInterfaces, knownVersions, leastVersions, versionPath } from './versions.ts';

/** In the order of their importance for an operator. */
export const guards: readonly Guard[] = [
  allMembersHealthy,
  oneCluster,
  leaderAgreed,
  peerLinks,
  quorumSurvives,
  clusterHold,
  versionPath,
  binariesAreRight,
  knownVersions,
  leastVersions,
  clientInterfaces,
  configurationFits,
  hookPrograms,
  dataDirectories,
  dbFilePresent,
  diskSpace,
  quota,
  membersKeepUp,
  dataAgrees,
  alarmsAreClear,
  v2Backup,
  v2Settle,
  noV2Data,
  authAndLeases,
  certificatesLast,
  clocksAgree,
  restorePossible,
];

/** Guards about the current state of the cluster, independent of an upgrade. */
const healthGuards: readonly Guard[] = [
  allMembersHealthy,
  oneCluster,
  leaderAgreed,
  peerLinks,
  quota,
  membersKeepUp,
  dataAgrees,
  alarmsAreClear,
  certificatesLast,
  clocksAgree,
];

/** Returns the findings that still count when the cluster already runs the target version. */
export const healthFindings = (findings: readonly Finding[]): Finding[] =>
  findings.filter((one) => healthGuards.some(({ id }) => id === one.guard));

/** Returns the findings of all guards. */
export const findingsOf = (input: GuardInput): Finding[] => {
  const acceptFinding = (finding: Finding): Finding =>
    finding.level === 'fail' &&
    input.options.accept.includes(finding.guard) &&
    acceptable.includes(finding.guard)
      ? { ...finding, level: 'warn', message: `${finding.message} (accepted)` }
      : finding;
  return guards.flatMap((guard) => guard.findings(input)).map(acceptFinding);
};
