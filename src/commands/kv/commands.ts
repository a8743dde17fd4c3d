import type { Command } from '../../cli/command.ts';
import { advance } from './plan.ts';
import { abort, resume, rollback } from './resume.ts';
import { check, init, plan, schema } from './plan.ts';
import { configLint, configMigrate, versions } from './config.ts';
import { alarmDisarm, alarmList, compact, defrag, recoverSpace } from './space.ts';
import { endpointHash, endpointHealth, endpointStatus, health, version } from './endpoint.ts';
import { downgrade, restart, upgrade } from './upgrade.ts';
import { snapshotDiff } from './compare.ts';
import { holdRemove, holdSet, holdShow, certs, clusters, wait } from './overview.ts';
import { fleet } from './fleet.ts';
import {
  del,
  get,
  put,
  watch,
  leaseGrant,
  leaseKeepAlive,
  leaseList,
  leaseRevoke,
  leaseTimeToLive,
} from './keys.ts';
import { history, report, status } from './history.ts';
import {
  memberAdd,
  memberList,
  memberPromote,
  memberRemove,
  memberUpdate,
  moveLeader,
  replaceMember,
} from './member.ts';
import { rehearse, restore } from './restore.ts';
import { snapshotList, snapshotPrune, snapshotSave, snapshotStatus, snapshotVerify } from './snapshot.ts';
import { snapshotSchedule } from './schedule.ts';
import { top } from './top.ts';

export const commands: readonly Command[] = [
  ...[init, schema, status, top, check, plan, upgrade, downgrade, restart, resume, rollback],
  ...[abort, restore, history],
  ...[health, version, versions, endpointHealth, endpointStatus, endpointHash],
  ...[put, get, del, watch, leaseGrant, leaseRevoke, leaseKeepAlive, leaseTimeToLive, leaseList],
  ...[memberList, moveLeader, alarmList, alarmDisarm],
  ...[defrag, compact, memberAdd, memberPromote, memberUpdate, memberRemove, recoverSpace, replaceMember],
  ...[
    snapshotSave,
    snapshotStatus,
    snapshotVerify,
    snapshotSchedule,
    snapshotList,
    snapshotPrune,
    snapshotDiff,
  ],
  ...[configLint, configMigrate],
  ...[report, rehearse, fleet, certs, clusters, wait, holdSet, holdShow, holdRemove, advance],
];
