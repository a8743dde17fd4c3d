import type { Finding } from '../../engine/types.ts';
import { acceptable } from './acceptable.ts';
import { allMembersHealthy } from './all-members-healthy.ts';
import { authAndLeases } from './auth-and-leases.ts';
import { binariesAreRight } from './binaries-are-right.ts';
import { clocksAgree } from './clocks-agree.ts';
import { configurationFits } from './configuration.ts';
import { dataAgrees } from './data-agrees.ts';
import { dataDirectories, dbFilePresent } from './hosts.ts';
import { diskSpace } from './disk-space.ts';
import type { Guard, GuardInput } from './guard.ts';
import { knownVersions, leastVersions } from './known-versions.ts';
import { leaderAgreed } from './leader-agreed.ts';
import { membersKeepUp } from './members-keep-up.ts';
import { noAlarms } from './no-alarms.ts';
import { noV2Data } from './no-v2-data.ts';
import { oneCluster } from './membership.ts';
import { quorumSurvives } from './quorum-survives.ts';
import { quota } from './quota.ts';
import { v2Backup, v2Settle } from './store.ts';
import { versionPath } from './versions.ts';

/** In the order in which an operator wants to read them. */
export const guards: readonly Guard[] = [
  allMembersHealthy,
  oneCluster,
  leaderAgreed,
  quorumSurvives,
  versionPath,
  binariesAreRight,
  knownVersions,
  leastVersions,
  configurationFits,
  dataDirectories,
  dbFilePresent,
  diskSpace,
  quota,
  membersKeepUp,
  dataAgrees,
  noAlarms,
  v2Backup,
  v2Settle,
  noV2Data,
  authAndLeases,
  clocksAgree,
];

/** Guards that concern the cluster as it runs, with or without an upgrade ahead. */
const healthGuards: readonly Guard[] = [
  allMembersHealthy,
  oneCluster,
  leaderAgreed,
  quota,
  membersKeepUp,
  dataAgrees,
  noAlarms,
  clocksAgree,
];

/** Returns the findings that still count when the cluster already runs the target version. */
export const healthFindings = (findings: readonly Finding[]): Finding[] =>
  findings.filter((one) => healthGuards.some(({ id }) => id === one.guard));

/** All findings at once. */
export const findingsOf = (input: GuardInput): Finding[] => {
  const accepted = (finding: Finding): Finding =>
    finding.level === 'fail' &&
    input.options.accept.includes(finding.guard) &&
    acceptable.includes(finding.guard)
      ? { ...finding, level: 'warn', message: `${finding.message} (accepted)` }
      : finding;
  return guards.flatMap((guard) => guard.findings(input)).map(accepted);
};
