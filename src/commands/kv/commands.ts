import type { Command } from '../../cli/command.ts';
import { check } from './check.ts';
import { configLint, configMigrate } from './configuration.ts';
import { endpointHealth, endpointStatus, health, version } from './endpoint.ts';
import { endpointHash } from './endpoint-hash.ts';
import { extraCommands } from './generic.ts';
import { del, get, put } from './keys.ts';
import { init, schema } from './init.ts';
import { leaseList, leaseTimeToLive } from './lease.ts';
import { alarmDisarm, alarmList, memberList, moveLeader } from './members.ts';
import { plan } from './plan.ts';
import { restore } from './restore.ts';
import { abort, rollback } from './rollback.ts';
import { namingItsCluster } from './same-cluster.ts';
import { snapshotCommands } from './snapshot.ts';
import { status } from './status.ts';
import { resume } from './resume.ts';
import { upgrade } from './upgrade.ts';

const all: readonly Command[] = [
  ...[init, schema, status, check, plan, upgrade, resume, rollback, abort, restore],
  ...[health, version, endpointHealth, endpointStatus, endpointHash],
  ...[put, get, del, leaseTimeToLive, leaseList],
  ...[memberList, moveLeader, alarmList, alarmDisarm],
  ...snapshotCommands,
  ...[configLint, configMigrate],
  ...extraCommands,
];
export const commands: readonly Command[] = all.map(namingItsCluster);
