/** Defects of the upgrade that reviews found on real servers, and the tests that would see each again. */
import { existsSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

const root = new URL('../../', import.meta.url).pathname;
const [unit, clusters] = ['test/kv/upgrade', 'test/cluster'];
const supervisors = `${unit}/supervisors`;
const matrix = 'test/support/driver-matrix.ts';

/** defect, file, and the whole title of a test in it. */
const defects: readonly (readonly [defect: string, file: string, title: string])[] = [
  // The way back and the drivers.
  // biome-ignore lint/suspicious/noTemplateCurlyInString: the title as its file has it
  ['a start of more than 3 s was a failure', matrix, 'a start that takes ${seconds} s'],
  [
    'a unit that is activating was taken for gone',
    `${unit}/execute/gate.test.ts`,
    'a server that its start command puts into the background may come a moment later',
  ],
  [
    'a pod whose image is pulled was taken for gone',
    `${supervisors}/crictl-state.test.ts`,
    '%s of a member without a process is %s',
  ],
  [
    'the second upgrade of a unit went back to the version before the first',
    `${supervisors}/systemd.real.test.ts`,
    'the rollback of the second and the third upgrade is the version before it',
  ],
  [
    'the second upgrade of a container removed its way back',
    `${supervisors}/containers.real.test.ts`,
    'containers are started, inspected, stopped, and reverted three times',
  ],
  [
    'a run after a held one forgot the configuration before',
    `${unit}/placement.test.ts`,
    'the placement returns with its configuration, whichever run rewrote it',
  ],
  [
    'what a login shell prints went into the configuration file',
    `${supervisors}/ssh.services.test.ts`,
    'login output never reaches data: a configuration file is read and written unchanged',
  ],
  [
    'a relative ETCD_DATA_DIR started a member on an empty directory',
    `${supervisors}/identity.real.test.ts`,
    'a relative data directory means the one of the running process',
  ],
  [
    'kv init copied a relative directory of the environment',
    `${unit}/cluster/find-members.test.ts`,
    'a process is found by its environment, of which only server settings are kept, with absolute paths',
  ],
  [
    'no restore above 2 GiB',
    'test/kv/client/snapshot-file.test.ts',
    'a snapshot of nine gigabytes is read page by page',
  ],
  [
    'a run that stopped before its stop left the new program installed',
    `${supervisors}/systemd.real.test.ts`,
    'staging does not change what a crash would start, and discarding leaves no file behind',
  ],
  [
    'an abort, then a crash, upgraded a member',
    matrix,
    'given up after each step, and a crash of each member; no member changes its version by itself',
  ],
  [
    'a rollback that became impossible blocked the run for ever',
    `${unit}/decide.test.ts`,
    'a revert that was begun and became impossible is dropped',
  ],
  [
    'kv resume did not ask the guards',
    `${clusters}/way-back.real.test.ts`,
    'a configuration that the new version would not read is rewritten between stop and start, comments kept, and comes back with a rollback',
  ],
  [
    'a resume kept a snapshot that was older than the stop it protects',
    `${unit}/decide.test.ts`,
    'a snapshot of an hour ago predates the stop that it is to protect',
  ],
  [
    'a connection that dropped at the stop left the member down',
    `${supervisors}/ssh.services.test.ts`,
    'a connection that drops between stop and start is repeated, and the member is started',
  ],
  [
    'a member that may be down was not named',
    `${supervisors}/ssh.services.test.ts`,
    'a connection lost for longer than the grace period reports that the member may be down',
  ],
  [
    'sockets of ssh in a directory of everybody',
    `${supervisors}/ssh.services.test.ts`,
    'sockets are in a private directory with a short name',
  ],
  [
    'sockets of ssh with names that are too long',
    `${supervisors}/ssh.services.test.ts`,
    'sockets are not used if others may write, or if their names would be too long',
  ],
  [
    'a stop hook was believed',
    `${supervisors}/drivers.real.test.ts`,
    'a member is stopped when is_running reports it, and not when its stop hook returned',
  ],
  [
    'the stop hook was the kill hook',
    `${supervisors}/drivers.real.test.ts`,
    'a member is killed only by the hook kill: a stop hook does not kill',
  ],
  [
    'ssh could not stop a server with a configuration file',
    matrix,
    'a relative data directory in the configuration file of each member',
  ],
  [
    'a member was started as whoever runs opsctl',
    `${supervisors}/identity.real.test.ts`,
    'the successor runs as the same user, including after a crash of opsctl',
  ],
  [
    "the operator's ETCD_ variables reached the server",
    `${supervisors}/identity.real.test.ts`,
    'the successor runs in the same directory and with the environment of the cluster file, not of the operator',
  ],
  [
    'kv init wrote a file that everybody can read',
    `${clusters}/restore.real.test.ts`,
    'writes a cluster file from a running cluster with which it can be planned',
  ],
  [
    'a container was replaced by a guess',
    `${supervisors}/containers.real.test.ts`,
    'missing containers are never replaced by a guess',
  ],
  [
    'ssh, then systemd, without a unit',
    `${unit}/cluster/cluster-file.test.ts`,
    'ssh, then systemd, without a unit',
  ],
  [
    'the plan of a container showed other commands than are run',
    `${supervisors}/containers.real.test.ts`,
    'containers are described by the executed commands, in order',
  ],
  // Judgement.
  [
    'withdrawn versions passed',
    `${unit}/guards/seen-or-not.test.ts`,
    'a withdrawn version as the new one is refused, with its source',
  ],
  ['no look at the quota', `${unit}/guards/seen-or-not.test.ts`, 'a database at %d of it: %s'],
  [
    'the canary wrote 50 times a second while a person thought',
    `${unit}/watch/canary.test.ts`,
    'the canary writes once a second at rest, ten times during a health check, and at the configured rate while a member is down',
  ],
  [
    '--yes passed the point of no return',
    `${clusters}/crossing.real.test.ts`,
    '--yes starts a run and holds before the last member; a loop around resume cannot cross it; the flag made for it does',
  ],
  [
    'a restore that was killed was not to be seen',
    `${clusters}/restore.real.test.ts`,
    'restore lists the losses, rejects an incorrect ctl, and rebuilds the cluster on the old version',
  ],
  [
    'a static pod was found and killed by a part of a path',
    `${supervisors}/drivers.real.test.ts`,
    'the process is matched by exactly its data directory: a longer path and a mere mention are not matches',
  ],
  [
    'the time of the gate did not know the size of the data',
    `${unit}/guards/seen-or-not.test.ts`,
    'the time of the gate grows with the database',
  ],
  [
    'the last member was stopped one second after the one before',
    `${clusters}/crossing.real.test.ts`,
    'all upgraded members are good together for the time asked for before the last one is stopped',
  ],
  [
    'hints that no command could carry out: space',
    `${clusters}/recover-space.real.test.ts`,
    'takes writes again after recover-space, and its hint names that command',
  ],
  [
    'hints that no command could carry out: members',
    `${clusters}/membership.real.test.ts`,
    'a learner is added, refused twice, started, promoted, moved and removed',
  ],
  [
    'a run was known to one machine',
    `${clusters}/takeover.real.test.ts`,
    'a run of a lost machine is found, resumed and rolled back from another one, and its small progress is removed',
  ],
  [
    'hashes that were not compared passed',
    `${unit}/guards/seen-or-not.test.ts`,
    'uncompared hashes are unknown, with the reason',
  ],
  [
    'a failed connection was a mistake in the cluster file',
    `${unit}/guards/guards.test.ts`,
    'a failed connection names its host, and is not an error in the cluster file',
  ],
  [
    'a simulated cluster without gRPC',
    'test/etcd-sim/grpc.services.test.ts',
    'puts and reads with the numbers of rpc.proto',
  ],
  [
    'a simulated cluster without a slow start',
    'test/etcd-sim/faults.services.test.ts',
    'slow-start: it runs before it takes part',
  ],
  // Under faults on real servers.
  [
    'a version that died after its gate stayed down when no old member was left',
    `${clusters}/crossing.real.test.ts`,
    'a new version that crashes on the last member is rolled back while the cluster version is old',
  ],
  [
    'a resume said something untrue after the crossing',
    `${clusters}/crossing.real.test.ts`,
    'after the version has changed the message reports it, and resume starts the new version again',
  ],
  [
    'v2 data without a snapshot file was not seen',
    `${unit}/guards/seen-or-not.test.ts`,
    'counts what the interface holds now, also without a snapshot file',
  ],
  [
    'the log of the old version was quoted for the new one',
    `${unit}/execute/log-excerpt.test.ts`,
    'the log line was written after the start: lines of the previous version are ignored',
  ],
  [
    'the last line of the log was quoted where an error line says more',
    `${unit}/execute/log-excerpt.test.ts`,
    'the log line is the last one with an error, otherwise the last line',
  ],
  [
    'the end of a stack trace was quoted, not the panic',
    `${unit}/execute/log-excerpt.test.ts`,
    'the log line is the reason of a panic, not the end of its stack trace',
  ],
  [
    'a member that dies while the question stands changed nothing',
    `${clusters}/crossing.real.test.ts`,
    'a member that exits while the run waits there is rolled back, and the wait ends',
  ],
  [
    'the last question took the word that began the run, and did not say what no means',
    'test/stories/kv-last-question.real.test.ts',
    'the last question explains yes and no; the start word means no, the version means yes',
  ],
  [
    'one hint for each of the members',
    `${unit}/present/texts.test.ts`,
    'a hint for several members is printed once, below them',
  ],
  [
    "three hundred lines of report at the end of a job's log",
    'test/stories/kv-last-question.real.test.ts',
    'the log of a job ends with the outcome, the path of the report and the next command, not with the report',
  ],
  [
    'a suspended member was not named in a run',
    `${supervisors}/member-process.services.test.ts`,
    'a suspended process is distinguished, and exits on request',
  ],
  [
    'a member cut off from its peers: how the run goes on',
    `${unit}/decide.test.ts`,
    'the next member itself is cut off from its peers',
  ],
  [
    'nobody knew who confirmed the point of no return',
    `${unit}/window/window.services.test.ts`,
    'the history has the operator, accepted and confirmed items, the outcome and the working time',
  ],
  [
    'the night of a held run counted as work',
    `${unit}/present/whole-run.test.ts`,
    'a run held overnight is one run: the night does not count, and repeated events are omitted',
  ],
  [
    'partial snapshots of killed runs stayed',
    `${unit}/execute/take-snapshot.test.ts`,
    'only the leftovers are removed before the next snapshot',
  ],
  [
    'snapshots one after the other took most of the time',
    `${unit}/execute/early-snapshot.test.ts`,
    'the early snapshot belongs to the next member',
  ],
  [
    'no soak after the first member',
    `${unit}/decide.test.ts`,
    '--hold-after holds when the given number of members run the new version, not before',
  ],
  [
    'no estimate of the duration',
    `${unit}/present/estimate.test.ts`,
    'with history it shows the remaining members, and the waits',
  ],
  [
    'a start command was shown whole',
    `${unit}/present/command-text.test.ts`,
    'a replaced command is shown as its changes, a flag with its value',
  ],
];

const quotes = ["'", '"', '`'];
it.each(defects)('%s', (_, file, title) => {
  expect(existsSync(root + file), `${file} is gone: name the test that took its place`).toBe(true);
  const text = readFileSync(root + file, 'utf8');
  const isThere = quotes.some((quote) => text.includes(`${quote}${title}${quote}`));
  expect(isThere, `${file} has no test "${title}"`).toBe(true);
});
