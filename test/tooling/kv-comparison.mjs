// What operators of etcd ask of a tool, as rows: the command here, what the nearest tool has, and the test that proves the row.
// `npm run docs` writes docs/kv-comparison.md from it. The peers were read (documentation and issues) and not run.

/** [what, the command, what the nearest peer has, file of the test, its title] */
export const kvRows = [
  [
    'A plan with a digest, refused when the cluster no longer matches it',
    'opsctl kv plan --cluster cluster.yaml --out plan.json',
    'kubeadm upgrade plan, without a digest',
    'test/cluster/way-back.real.test.ts',
    'a plan file is refused when the cluster no longer matches (and carried out when it does)',
  ],
  [
    'Preflight checks as a list, each with what to do',
    'opsctl kv check --cluster cluster.yaml',
    'tiup cluster check; Talos: quorum; ECK: predicates',
    'test/kv/upgrade/guards/guards.test.ts',
    'every refusal says what to do',
  ],
  [
    'Named checks can be accepted, dangerous ones never',
    'opsctl kv upgrade --cluster cluster.yaml --accept disk-space',
    'ECK: annotation per predicate; tiup: --force',
    'test/kv/upgrade/guards/guards.test.ts',
    'versions, binaries, identity and alarms can never be accepted',
  ],
  [
    'Versions that must not be run, with minimum patches and sources',
    'opsctl kv versions',
    'none',
    'test/kv/upgrade/guards/versions.test.ts',
    'below the hard minimum nobody can accept it',
  ],
  [
    'Health check of each member by writes, reads and hashes',
    'opsctl kv upgrade --cluster cluster.yaml',
    'health endpoints only',
    'test/cluster/hash.real.test.ts',
    'are those of the ctl, agree in a mixed cluster before and after a compaction, and every gate compares them',
  ],
  [
    'Canary writes measure what clients see',
    'opsctl kv upgrade --cluster cluster.yaml --canary-rate 100',
    'none',
    'test/cluster/linearizable.real.test.ts',
    'so does the canary, as a reader beside it sees its writes',
  ],
  [
    'Journal: a run that was killed is resumed',
    'opsctl kv resume --cluster cluster.yaml',
    'tiup replay; operators reconcile',
    'test/cluster/kill.real.test.ts',
    'a line of an upgrade (%i)',
  ],
  [
    'Resumed and rolled back from another machine',
    'opsctl kv rollback --cluster cluster.yaml',
    'operators reconcile in the cluster',
    'test/cluster/takeover.real.test.ts',
    'is seen, gone on with and rolled back from another one',
  ],
  [
    'One operator at a time, by a lock in the store',
    'opsctl kv status --cluster cluster.yaml',
    'operators: leader election of the controller',
    'test/kv/engine/store-lock.test.ts',
    'is held by one; the others are told who',
  ],
  [
    'Rehearsal of the same plan on a private copy',
    'opsctl kv rehearse --cluster cluster.yaml --real',
    'none',
    'test/cluster/rehearse-real.real.test.ts',
    'restores a snapshot into a private cluster of the real binaries and upgrades that one only',
  ],
  [
    'systemd, docker, podman, static pods, hooks; locally and over ssh',
    'opsctl kv init --endpoints 10.0.0.1:2379 --out cluster.yaml',
    'tiup: systemd over ssh; kubeadm: static pods; Talos: its own system',
    'test/support/driver-matrix.ts',
    'upgrade; upgrade again with a failure, and back to the version before',
  ],
  [
    'Commands before and after each member',
    'opsctl kv upgrade --cluster cluster.yaml',
    'tiup: on each server',
    'test/cluster/simulated.real.test.ts',
    'HOOK_FAILED',
  ],
  [
    '3.5 to 3.6 outside Kubernetes',
    'opsctl kv upgrade --cluster cluster.yaml --to 3.6',
    'etcd-operator, kubeadm, Talos: in Kubernetes',
    'test/cluster/version-36.real.test.ts',
    'an upgrade goes back to 3.5 before its last member',
  ],
  [
    'Downgrade 3.6 to 3.5 through the API of the store',
    'opsctl kv downgrade --cluster cluster.yaml',
    'etcdctl downgrade: the API alone, no member is replaced',
    'test/cluster/downgrade-kill.real.test.ts',
    'line %i: kv resume brings it to 3.5, nothing is lost',
  ],
  [
    'The way back after the last member: from snapshots',
    'opsctl kv restore --cluster cluster.yaml --to 3.4',
    'kubeadm: copy of the data directory',
    'test/cluster/restore.real.test.ts',
    'restore says what would be lost, refuses a wrong ctl, and rebuilds the cluster on the old version',
  ],
  [
    'Rolling restart: patch, configuration, certificates',
    'opsctl kv restart --cluster cluster.yaml',
    'tiup cluster reload; Strimzi: rolling restart',
    'test/cluster/simulated-36.real.test.ts',
    'replaces every process, one after another, with another patch',
  ],
  [
    'Maintenance window: no member is begun that may not be finished',
    'opsctl kv upgrade --cluster cluster.yaml --until 04:00',
    'Strimzi: maintenance windows',
    'test/cluster/window.real.test.ts',
    'starts no member that the window has no time for',
  ],
  [
    'A question before each member',
    'opsctl kv upgrade --cluster cluster.yaml --confirm-each',
    'kubespray: confirmation per node',
    'test/stories/kv-confirm-each.real.test.ts',
    'asks before each member',
  ],
  [
    'Pauses while users are affected (command or PromQL)',
    'opsctl kv upgrade --cluster cluster.yaml --pause-while-query up==0 --prometheus http://prometheus:9090',
    'none',
    'test/cluster/window.real.test.ts',
    'pauses while a real Prometheus alert fires',
  ],
  [
    'Metrics of the run, signed webhook',
    'opsctl kv upgrade --cluster cluster.yaml --metrics-file /var/lib/node_exporter/opsctl.prom',
    'etcd-operator, Strimzi: metrics of the operator',
    'test/kv/upgrade/window/window.services.test.ts',
    'is signed over its time and its body',
  ],
  [
    'Audit record: who, which plan, how it ended',
    'opsctl kv history --cluster cluster.yaml',
    'tiup audit',
    'test/kv/operations/history.test.ts',
    'a row says who did what to which member, and the time of work',
  ],
  [
    'Report of a run as Markdown, JSON or one page',
    'opsctl kv report --cluster cluster.yaml --out run.html',
    'none',
    'test/cluster/simulated.real.test.ts',
    'the report is there as Markdown, JSON and a page',
  ],
  [
    'Fleets: canary, waves, stop at the first failure',
    'opsctl kv fleet fleet.yaml --hold-last --emit ansible',
    'Ansible roles without a rollback',
    'test/cluster/fleet-ansible.real.test.ts',
    'six clusters on three hosts behind real sshd',
  ],
  [
    'Defragmentation one member at a time, the leader last',
    'opsctl kv defrag --cluster cluster.yaml',
    'etcdctl defrag --cluster: one after the other, no health check in between',
    'test/cluster/defrag.real.test.ts',
    'gives the space back under writes, the leader last and without its leadership',
  ],
  [
    'Compaction that shows what goes',
    'opsctl kv compact --cluster cluster.yaml --keep-last 1000',
    'etcdctl compact REVISION',
    'test/cluster/membership.real.test.ts',
    'compaction shows what goes, waits for its space, and has nothing to do the second time',
  ],
  [
    'Recovery of a full store (NOSPACE)',
    'opsctl kv recover-space --cluster cluster.yaml',
    'a page of the manual, four commands by hand',
    'test/cluster/recover-space.real.test.ts',
    'takes writes again after recover-space, and its hint names that command',
  ],
  [
    'Members added as learners, promoted, moved and removed, the quorum kept',
    'opsctl kv member add n4 --peer-urls https://10.0.0.4:2380 --learner',
    'etcdctl member, without a look at the quorum of those that are healthy',
    'test/cluster/membership.real.test.ts',
    'nobody is removed when the others would be no majority, nor added where none would be',
  ],
  [
    'A member that lost its data is replaced',
    'opsctl kv replace-member n2 --cluster cluster.yaml',
    'etcd-manager, etcd-operator: in Kubernetes',
    'test/cluster/replace-member.real.test.ts',
    'a member whose data directory was deleted under writes is back, and no acknowledged write is lost',
  ],
  [
    'A member whose data differ (CORRUPT) is replaced',
    'opsctl kv replace-member n2 --cluster cluster.yaml',
    'none',
    'test/cluster/corrupt-alarm.real.test.ts',
    'replace-member goes on under the alarm',
  ],
  [
    'Snapshots on a schedule with retention, in a directory or S3',
    'opsctl kv snapshot schedule s3://backups/prod --every 6h --keep-daily 7 --emit systemd',
    'etcd-druid, OpenShift: in Kubernetes',
    'test/cluster/stored-snapshots.real.test.ts',
    'retention prunes after each run; a bucket is a destination like a directory',
  ],
  [
    'Snapshots verified by a trial restore',
    'opsctl kv snapshot verify backup.db --restore',
    'etcd-druid: compaction jobs',
    'test/cluster/stored-snapshots.real.test.ts',
    'a trial restore: revision, keys and hash as in the cluster, and nothing is left of it',
  ],
  [
    'Watch with a token to go on, leases',
    'opsctl kv watch orders/ --prefix',
    'etcdctl watch: ends with its connection',
    'test/cluster/watch-lease.real.test.ts',
    'watch prints history and what happens, goes on at another member, and ends by Ctrl-C',
  ],
  [
    'A simulated cluster that the real ctl and clients accept',
    'opsctl mock kv start --dir sim',
    'none',
    'test/cluster/simulated-ctl.real.test.ts',
    'saves a snapshot that it accepts itself',
  ],
];

const cell = (text) => text.replaceAll('|', '\\|');

export const kvComparison = () => `# opsctl kv next to other tools for etcd

Written by \`npm run docs\` from \`test/tooling/kv-comparison.mjs\`. Each row names a test, and \`test/docs/comparison.test.ts\` holds that the test is there and that the program knows the command with these flags. The peers (tiup, etcd-manager, etcd-operator, etcd-druid, kubeadm, kubespray, Talos, ECK, Strimzi, etcdctl) were read, in their documentation and issues of November 2026, and not run, except etcdctl. What they leave to others (Kubernetes itself) is no lack of theirs: the column says where each works.

| what | command | the nearest peer | test |
|---|---|---|---|
${kvRows.map(([what, command, peer, file]) => `| ${what} | \`${cell(command)}\` | ${cell(peer)} | \`${file}\` |`).join('\n')}
`;
