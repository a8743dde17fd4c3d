import type { GuardExplanation } from '../../core/problem.ts';

/** One row for each preflight check of an upgrade. `meaning` is the requirement. */
export const guardExplanations: Readonly<Record<string, GuardExplanation>> = {
  'all-members-healthy': {
    meaning: 'Every member responds and is healthy.',
    reason: 'A rolling upgrade stops one member at a time, so that every other member must work.',
    causes: [
      'A member is stopped, suspended or cannot reach the other members.',
      'A member cannot elect a leader or has an alarm.',
    ],
    fix: 'Start or repair the member first. A suspended process continues after kill -CONT. With --accept all-members-healthy, the upgrade starts with this member and stops no other member before it is healthy.',
    example: 'opsctl kv health',
  },
  'auth-and-leases': {
    meaning: 'Authentication and leases are safe to upgrade.',
    reason:
      'Some etcd versions corrupt data if authentication is enabled and a lease is revoked during a mixed-version upgrade.',
    causes: [
      'The cluster file contains no user with the root role.',
      'A member runs a version with this fault.',
    ],
    fix: 'Set user.name and user.password_file in the cluster file, and upgrade to the patch release that the finding names first.',
    example: 'opsctl kv versions',
  },
  'binaries-are-right': {
    meaning: 'The new binary of every member has the target version.',
    reason: 'A wrong path in the cluster file would start another version than the plan.',
    causes: [
      'new_binary points to another version.',
      'The binary cannot run on the host, or the binaries of the members differ.',
    ],
    fix: 'Install the same version on every host and fix new_binary.',
    example: 'opsctl kv check',
  },
  'client-interfaces': {
    meaning: 'No client uses an interface that the target version does not serve.',
    reason:
      'Such clients fail as soon as their member runs the target version. Each member counts the requests of its clients: through the v2 API, and by the version that a client reports. opsctl marks its own v2 reads, so that they do not count.',
    causes: [
      'A client uses the v2 API. 3.4 and 3.5 serve it only with enable-v2, and 3.6 does not have it.',
      'A client uses the gateway path /v3alpha, which 3.4 does not serve. Members do not count paths, and they count the requests of opsctl like those of clients, so this is unknown.',
      'The metrics of a member cannot be read.',
    ],
    fix: 'Move the clients to the v3 API and to a path that both versions serve. The counters of a member start again with its process.',
    example: 'opsctl kv check',
  },
  'clocks-agree': {
    meaning: 'The clocks of the members differ by at most one second.',
    reason: 'Leases and certificates depend on the clock.',
    causes: ['A time service is stopped or not synchronized.'],
    fix: 'Synchronize the clock of the host.',
    example: 'timedatectl status',
  },
  'cluster-hold': {
    meaning: 'No hold is stored in the cluster.',
    reason: 'A hold keeps the way to the old version open for every operator and every machine.',
    causes: [
      'Another operator stored a hold. An upgrade holds before its last member; a restart continues. This is a warning.',
      'A downgrade would change the version of a held cluster. This is a refusal.',
      'kv upgrade --offline cannot read the hold in the databases of the stopped members, for example on other hosts. The cluster then counts as held.',
    ],
    fix: 'Ask the person who is named in the finding, then remove the hold.',
    example: 'opsctl kv hold show',
  },
  'configuration-fits': {
    meaning:
      'The target version accepts the configuration of every member, and the next start keeps the settings that control access.',
    reason:
      'A server exits at the start if its configuration contains an option that it does not support. A start without a setting of access serves clients that the running member rejects.',
    causes: [
      'The configuration file or command line contains an option that was removed, renamed or changed its type.',
      'The next start contains settings that exclude each other, for example discovery and initial-cluster, or two listeners on one port.',
      'The next start does not contain a setting that decides who may connect, for example client-cert-auth.',
    ],
    fix: 'For a rejected option, migrate the configuration file and set new_config_file in the cluster file. For a missing setting of access, add it to the configuration file or the command of the next start.',
    example: 'opsctl kv config migrate server.yaml --to 3.6',
  },
  'data-agrees': {
    meaning: 'No member contains different data than the other members.',
    reason:
      'An upgrade of members with different data would keep the fault, and snapshots of different members would not agree.',
    causes: [
      'The hashes of the members differ at the same revision.',
      'The revisions of the members differ after the same changes: a member skipped or repeated an entry.',
      'A hash or a revision could not be read, or the members report different compactions.',
    ],
    fix: 'Rebuild the member that differs.',
    example: 'opsctl kv endpoint hashkv',
  },
  'data-directories': {
    meaning: 'The data directory of every member exists, is writable and belongs to the process.',
    reason: 'The new process must run as the same user with the same data.',
    causes: [
      'data_dir in the cluster file is wrong.',
      'The driver finds no process for a member that responds.',
    ],
    fix: 'Fix data_dir, pid_file, unit or container in the cluster file.',
    example: 'opsctl kv check',
  },
  'db-file-present': {
    meaning: 'The v3 database file is in the expected directory.',
    reason: 'The new version panics at the start if the file is missing.',
    causes: ['data_dir is wrong, or the cluster contains only v2 data.'],
    fix: 'Fix data_dir; migrate v2 data before the upgrade.',
    example: 'opsctl kv check',
  },
  'disk-space': {
    meaning: 'The disks have enough free space for the new version, snapshots and backups.',
    reason: 'A full disk during an upgrade stops a member.',
    causes: ['The data or snapshot directory has too little free space.'],
    fix: 'Free disk space, or set snapshot_dir to another disk.',
    example: 'opsctl kv defrag',
  },
  'hook-programs': {
    meaning: 'opsctl can list every program that a hook names, and only trusted users can change them.',
    reason:
      'A hook runs with your rights. If another user can change a program, opsctl refuses the cluster file. This check reports what opsctl cannot decide.',
    causes: [
      'The text of a shell contains a variable, a pattern, eval or another part that becomes a command only when it runs.',
      'The hook contains code of Python, Perl, awk or sed, or a program such as make that reads its commands from a file.',
    ],
    fix: 'Write the commands to a script that only root or you can change, and use its path as the hook. opsctl checks that file.',
    example: 'opsctl kv check',
  },
  'known-versions': {
    meaning: 'The current and the target version have no known fault that harms the upgrade.',
    reason: 'Some releases were withdrawn, or leave data behind that harms the next version.',
    causes: ['The current or the target patch release has a known issue.'],
    fix: 'Use the patch release that the finding recommends.',
    example: 'opsctl kv versions',
  },
  'leader-agreed': {
    meaning: 'All members follow the same leader.',
    reason: 'A cluster without a leader rejects writes.',
    causes: ['An election is in progress.', 'The quorum is lost, or the network is partitioned.'],
    fix: 'Wait a few seconds and check again; otherwise restore the connection between the members.',
    example: 'opsctl kv status',
  },
  'least-versions': {
    meaning: 'No version has a known fault that makes this step unsafe.',
    reason:
      'Older patch releases have faults that damage data during the upgrade. You cannot accept this check.',
    causes: ['A member runs an older patch release.'],
    fix: 'Upgrade every member to the patch release that the finding names first.',
    example: 'opsctl kv restart',
  },
  'members-keep-up': {
    meaning: 'No member lags behind the leader.',
    reason: 'A lagging member cannot replace the member that is stopped.',
    causes: ['A member is overloaded, or was restarted a moment ago.'],
    fix: 'Wait until the member has caught up.',
    example: 'opsctl kv endpoint status',
  },
  'no-alarms': {
    meaning: 'No member has raised an alarm.',
    reason: 'A member with an alarm rejects writes or contains different data.',
    causes: ['NOSPACE: a database reached its quota.', 'CORRUPT: the data of a member differs.'],
    fix: 'Recover the space or rebuild the member, then disarm the alarm.',
    example: 'opsctl kv alarm list',
  },
  'no-v2-data': {
    meaning: 'The v2 interface is disabled, and no member contains v2 data.',
    reason:
      '3.6 does not start with v2 data in its snapshot or its log. opsctl checks each member after it has stopped.',
    causes: ['A member runs with enable-v2.', 'Old v2 data was not removed.'],
    fix: 'Move the clients to v3, remove the v2 data and restart every member without enable-v2.',
    example: 'opsctl kv restart',
  },
  'one-cluster': {
    meaning: 'All members belong to one cluster and list the same members.',
    reason: 'The cluster file must describe the cluster that opsctl changes.',
    causes: [
      'The cluster file lists a member of another cluster, or lacks a member.',
      'A member is a learner or has never started.',
      'The start of a member contains force-new-cluster, which removes all other members at each start.',
    ],
    fix: 'Create the cluster file again, promote or remove the learner, and remove force-new-cluster from the starts.',
    example: 'opsctl kv member list',
  },
  'quorum-survives': {
    meaning: 'The cluster keeps its quorum if any one member is stopped.',
    reason: 'A rolling upgrade stops each member once, and every stop must leave a majority.',
    causes: [
      'One member: the cluster is unavailable while it is replaced. This is a warning.',
      'Two members: the stop of either member loses the quorum. This is a warning.',
      'The quorum is lost or would be lost with the next stop. This is a refusal.',
    ],
    fix: 'Repair the members that are down, or add members: with three, the cluster stays available.',
    example: 'opsctl kv member list',
  },
  quota: {
    meaning: 'No database is close to its quota.',
    reason: 'A database that reaches its quota during the upgrade rejects writes.',
    causes: [
      'History was not compacted, or the data grew.',
      'The next start of the member has a smaller quota than its process, or none.',
    ],
    fix: 'Compact and defragment the members, or raise the quota.',
    example: 'opsctl kv defrag',
  },
  'restore-possible': {
    meaning: 'A restore could rebuild every member on the old version.',
    reason:
      'After the last member is upgraded, only kv restore leads back. It requires the ctl program of the old version and a data directory that can be moved aside.',
    causes: [
      'The cluster file has no ctl_binary.',
      'ctl_binary is missing on a host, has another version, or other users can replace it.',
      'A data directory is a mount point, or its parent directory is not writable.',
    ],
    fix: 'Set ctl_binary to etcdctl or etcdutl of the old version, and fix the directory that the finding names.',
    example: 'opsctl kv check',
  },
  'v2-backup': {
    meaning: 'The backup covers all data.',
    reason: 'A snapshot contains only v3 data, so that v2 data requires a copy of the data directories.',
    causes: ['The cluster contains v2 data and the run has no backup of the data directories.'],
    fix: 'Run the upgrade with a backup of the data directories.',
    example: 'opsctl kv upgrade --copy-data',
  },
  'v2-settle': {
    meaning: 'The cluster contains at most 50 MB of v2 data.',
    reason: 'A member with much v2 data needs time to load it after the start.',
    causes: ['The cluster contains more v2 data.'],
    fix: 'No action is required: the plan waits between members. Removing v2 data avoids the wait.',
    example: 'opsctl kv plan',
  },
  'version-path': {
    meaning:
      'The path covers at most one minor version: an upgrade or a downgrade changes one minor version, a restart none.',
    reason:
      'etcd supports an upgrade only from one minor version to the next. The servers do not check this.',
    causes: [
      'The target version skips a minor version, is older or is unknown.',
      'No member reports its version.',
    ],
    fix: 'Upgrade through each minor version; for 3.6 to 3.5 use a downgrade.',
    example: 'opsctl kv upgrade --to 3.4',
  },
  'peer-links': {
    meaning: 'Every member reaches every other member.',
    reason:
      'A member that cannot reach the others cannot join the quorum after its restart. An upgrade checks the connections again before each stop.',
    causes: ['A firewall or a wrong peer URL blocks a connection.', 'A member is stopped.'],
    fix: 'Restore the connection between the peer URLs of the members.',
    example: 'opsctl kv member list',
  },
  certificates: {
    meaning: 'No certificate expires within 30 days, and the new version accepts all certificates.',
    reason: 'A server with an invalid certificate does not start or cannot connect to the other members.',
    causes: [
      'A certificate expires soon or has expired.',
      'A certificate has a form that the new version rejects.',
    ],
    fix: 'Renew the certificate, then restart the members with the new certificate.',
    example: 'opsctl kv restart',
  },
};
