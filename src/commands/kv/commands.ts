import type { Command } from '../../cli/command.ts';
import { abort } from './abort.ts';
import { check } from './check.ts';
import { configLint, configMigrate } from './configuration.ts';
import { compact } from './compact.ts';
import { defrag } from './defrag.ts';
import { endpointHealth, endpointStatus, health, version } from './endpoint.ts';
import { endpointHash } from './endpoint-hash.ts';
import { downgrade } from './downgrade.ts';
import { extraCommands } from './generic.ts';
import { del, get, put } from './keys.ts';
import { history } from './history.ts';
import { init, schema } from './init.ts';
import { leaseGrant, leaseKeepAlive, leaseRevoke } from './lease-change.ts';
import { leaseList, leaseTimeToLive } from './lease.ts';
import { memberAdd, memberPromote, memberRemove, memberUpdate } from './member-change.ts';
import { alarmDisarm, alarmList, memberList, moveLeader } from './members.ts';
import { plan } from './plan.ts';
import { restart } from './restart.ts';
import { restore } from './restore.ts';
import { rollback } from './rollback.ts';
import { snapshotCommands } from './snapshot.ts';
import { status } from './status.ts';
import { recoverSpace } from './recover-space.ts';
import { replaceMember } from './replace-member.ts';
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
  ...snapshotCommands,
  ...[configLint, configMigrate],
  ...extraCommands,
];
