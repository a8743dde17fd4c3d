import type { Command } from '../../cli/command.ts';
import { abort } from './abort.ts';
import { check } from './check.ts';
import { configLint } from './config-lint.ts';
import { configMigrate } from './config.ts';
import { compact } from './space.ts';
import { defrag } from './defrag.ts';
import { endpointHealth } from './endpoint-health.ts';
import { endpointStatus } from './endpoint-status.ts';
import { health } from './health.ts';
import { version } from './version.ts';
import { endpointHash } from './endpoint.ts';
import { downgrade } from './downgrade.ts';
import { fleet } from './fleet.ts';
import { del } from './del.ts';
import { get } from './keys.ts';
import { put } from './put.ts';
import { history } from './history.ts';
import { init } from './init.ts';
import { schema } from './schema.ts';
import { leaseGrant } from './lease-grant.ts';
import { leaseKeepAlive } from './lease-keep-alive.ts';
import { leaseRevoke } from './lease.ts';
import { leaseList } from './lease-list.ts';
import { leaseTimeToLive } from './lease-timetolive.ts';
import { memberAdd } from './member-add.ts';
import { memberPromote } from './member-promote.ts';
import { memberRemove } from './member-remove.ts';
import { memberUpdate } from './member-update.ts';
import { alarmDisarm } from './alarm-disarm.ts';
import { alarmList } from './alarm-list.ts';
import { memberList } from './member-list.ts';
import { moveLeader } from './move-leader.ts';
import { plan } from './plan.ts';
import { restart } from './restart.ts';
import { rehearse } from './rehearse.ts';
import { report } from './report.ts';
import { restore } from './restore.ts';
import { rollback } from './rollback.ts';
import { snapshotList } from './snapshot-list.ts';
import { snapshotPrune } from './snapshot-prune.ts';
import { snapshotSave } from './snapshot-save.ts';
import { snapshotSchedule } from './snapshot-schedule.ts';
import { snapshotStatus } from './snapshot-status.ts';
import { snapshotVerify } from './snapshot.ts';
import { status } from './status.ts';
import { recoverSpace } from './recover-space.ts';
import { replaceMember } from './member.ts';
import { resume } from './resume.ts';
import { top } from './top.ts';
import { watch } from './watch.ts';
import { upgrade } from './upgrade.ts';
import { versions } from './versions.ts';

export const commands: readonly Command[] = [
  ...[init, schema, status, top, check, plan, upgrade, downgrade, restart, resume, rollback],
  ...[abort, restore, history],
  ...[health, version, versions, endpointHealth, endpointStatus, endpointHash],
  ...[put, get, del, watch, leaseGrant, leaseRevoke, leaseKeepAlive, leaseTimeToLive, leaseList],
  ...[memberList, moveLeader, alarmList, alarmDisarm],
  ...[defrag, compact, memberAdd, memberPromote, memberUpdate, memberRemove, recoverSpace, replaceMember],
  ...[snapshotSave, snapshotStatus, snapshotVerify, snapshotSchedule, snapshotList, snapshotPrune],
  ...[configLint, configMigrate],
  ...[report, rehearse, fleet],
];
