// @ts-check
// The rows of docs/kv-comparison.md: a feature, its command, the nearest feature of another tool, and the test that
// proves the row. `npm run docs` writes the page. Except for etcdctl, the facts come from documentation and issues.

/**
 * [feature, command, nearest feature of another tool, file of the test, its title]
 * @type {typeof import('./kv-comparison.mjs').kvRows}
 */
export const kvRows = [
  [
    'Plan with a digest; a changed cluster no longer matches it',
    'opsctl kv plan --cluster cluster.yaml --out plan.json',
    'kubeadm upgrade plan, without a digest',
    'test/cluster/way-back.real.test.ts',
    'a plan file is refused when the cluster no longer matches (and applied when it does)',
  ],
  [
    'List of preflight checks, each with a fix',
    'opsctl kv check --cluster cluster.yaml',
    'tiup cluster check; Talos: quorum; ECK: predicates',
    'test/kv/upgrade/guards/guards.test.ts',
    'every refusal names a fix',
  ],
  [
    'Failed checks can be accepted by name; checks that protect data cannot',
    'opsctl kv upgrade --cluster cluster.yaml --accept disk-space',
    'ECK: annotation per predicate; tiup: --force',
    'test/kv/upgrade/guards/guards.test.ts',
    'versions, binaries, identity and alarms can never be accepted',
  ],
  [
    'Rejected versions and minimum patches, with sources',
    'opsctl kv versions',
    'not available',
    'test/kv/upgrade/guards/versions.test.ts',
    'a version below the hard minimum cannot be accepted',
  ],
  [
    'Health check of each member with writes, reads and hashes',
    'opsctl kv upgrade --cluster cluster.yaml',
    'health endpoints only',
    'test/cluster/hash.real.test.ts',
    'hashes equal those of the ctl, agree in a mixed cluster around a compaction, and every health check compares them',
  ],
  [
    'Canary writes measure the effect on clients',
    'opsctl kv upgrade --cluster cluster.yaml --canary-rate 100',
    'not available',
    'test/cluster/linearizable.real.test.ts',
    'the canary is linearizable too, and another reader sees its writes',
  ],
  [
    'Journal: a killed run can be resumed',
    'opsctl kv resume --cluster cluster.yaml',
    'tiup replay; operators reconcile',
    'test/cluster/kill.real.test.ts',
    'a line of an upgrade (%i)',
  ],
  [
    'Resume and rollback from another machine',
    'opsctl kv rollback --cluster cluster.yaml',
    'operators reconcile in the cluster',
    'test/cluster/takeover.real.test.ts',
    'is found, resumed and rolled back from another one',
  ],
  [
    'One operator at a time, with a lock in the cluster',
    'opsctl kv status --cluster cluster.yaml',
    'operators: leader election of the controller',
    'test/kv/engine/store-lock.test.ts',
    'the store lock has one owner; the others learn its name',
  ],
  [
    'Rehearsal of the same plan on a private copy',
    'opsctl kv rehearse --cluster cluster.yaml --real',
    'not available',
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
    'Upgrade from 3.5 to 3.6 outside of Kubernetes',
    'opsctl kv upgrade --cluster cluster.yaml --to 3.6',
    'etcd-operator, kubeadm, Talos: in Kubernetes',
    'test/cluster/version-36.real.test.ts',
    'an upgrade returns to 3.5 before its last member',
  ],
  [
    'Downgrade from 3.6 to 3.5 with the etcd API',
    'opsctl kv downgrade --cluster cluster.yaml',
    'etcdctl downgrade: only the API; it does not replace members',
    'test/cluster/downgrade-kill.real.test.ts',
    'line %i: kv resume completes 3.5 without data loss',
  ],
  [
    'Restore from snapshots after the point of no return',
    'opsctl kv restore --cluster cluster.yaml --to 3.4',
    'kubeadm: copy of the data directory',
    'test/cluster/restore.real.test.ts',
    'restore lists the losses, rejects an incorrect ctl, and rebuilds the cluster on the old version',
  ],
  [
    'Rolling restart for a patch, a configuration or certificates',
    'opsctl kv restart --cluster cluster.yaml',
    'tiup cluster reload; Strimzi: rolling restart',
    'test/cluster/simulated-36.real.test.ts',
    'replaces every process, one after another, with another patch',
  ],
  [
    'Maintenance window: no member starts that cannot be finished',
    'opsctl kv upgrade --cluster cluster.yaml --until 04:00',
    'Strimzi: maintenance windows',
    'test/cluster/window.real.test.ts',
    'starts no member without time in the window',
  ],
  [
    'Confirmation before each member',
    'opsctl kv upgrade --cluster cluster.yaml --confirm-each',
    'kubespray: confirmation per node',
    'test/stories/kv-confirm-each.real.test.ts',
    'asks before each member',
  ],
  [
    'Pauses while users are affected (command or PromQL)',
    'opsctl kv upgrade --cluster cluster.yaml --pause-while-query up==0 --prometheus http://prometheus:9090',
    'not available',
    'test/cluster/window.real.test.ts',
    'pauses while a real Prometheus alert fires',
  ],
  [
    'Metrics of the run, signed webhook',
    'opsctl kv upgrade --cluster cluster.yaml --metrics-file /var/lib/node_exporter/opsctl.prom',
    'etcd-operator, Strimzi: metrics of the operator',
    'test/kv/upgrade/window/window.services.test.ts',
    'a notice is signed over its time and its body',
  ],
  [
    'Audit record: operator, plan, outcome',
    'opsctl kv history --cluster cluster.yaml',
    'tiup audit',
    'test/kv/operations/history.test.ts',
    'a row contains the operator, the action, the member, and the duration',
  ],
  [
    'Report of a run as Markdown, JSON or HTML',
    'opsctl kv report --cluster cluster.yaml --out run.html',
    'not available',
    'test/cluster/simulated.real.test.ts',
    'the report is there as Markdown, JSON and a page',
  ],
  [
    'Fleets: canary, groups, stop at the first failure',
    'opsctl kv fleet fleet.yaml --hold-last --emit ansible',
    'Ansible roles without a rollback',
    'test/cluster/fleet-ansible.real.test.ts',
    'six clusters on three hosts behind real sshd',
  ],
  [
    'Defragmentation one member at a time, the leader last',
    'opsctl kv defrag --cluster cluster.yaml',
    'etcdctl defrag --cluster: one after another, without a health check',
    'test/cluster/defrag.real.test.ts',
    'gives the space back under writes, the leader last and without its leadership',
  ],
  [
    'Compaction that shows the removed revisions',
    'opsctl kv compact --cluster cluster.yaml --keep-last 1000',
    'etcdctl compact REVISION',
    'test/cluster/membership.real.test.ts',
    'compaction shows the removed data, waits for its delay, and has no work the second time',
  ],
  [
    'Recovery of a full cluster (NOSPACE)',
    'opsctl kv recover-space --cluster cluster.yaml',
    'documentation: four manual commands',
    'test/cluster/recover-space.real.test.ts',
    'takes writes again after recover-space, and its hint names that command',
  ],
  [
    'Membership changes that keep the quorum: add as learner, promote, move, remove',
    'opsctl kv member add n4 --peer-urls https://10.0.0.4:2380 --learner',
    'etcdctl member, without a check of the healthy quorum',
    'test/cluster/membership.real.test.ts',
    'a member is not removed or added if the result would have no majority',
  ],
  [
    'Replacement of a member that lost its data',
    'opsctl kv replace-member n2 --cluster cluster.yaml',
    'etcd-manager, etcd-operator: in Kubernetes',
    'test/cluster/replace-member.real.test.ts',
    'a member whose data directory was deleted under writes is back, and no acknowledged write is lost',
  ],
  [
    'Replacement of a member with divergent data (CORRUPT)',
    'opsctl kv replace-member n2 --cluster cluster.yaml',
    'not available',
    'test/cluster/corrupt-alarm.real.test.ts',
    'replace-member continues under it',
  ],
  [
    'Scheduled snapshots with retention, in a directory or S3',
    'opsctl kv snapshot schedule s3://backups/prod --every 6h --keep-daily 7 --emit systemd',
    'etcd-druid, OpenShift: in Kubernetes',
    'test/cluster/stored-snapshots.real.test.ts',
    'retention prunes after each run; a bucket is a destination like a directory',
  ],
  [
    'Snapshot verification by a trial restore',
    'opsctl kv snapshot verify backup.db --restore',
    'etcd-druid: compaction jobs',
    'test/cluster/stored-snapshots.real.test.ts',
    'a trial restore has the revision, keys and hash of the cluster, and leaves no files',
  ],
  [
    'Watch that continues on another member; leases',
    'opsctl kv watch orders/ --prefix',
    'etcdctl watch: stops when the connection is lost',
    'test/cluster/watch-lease.real.test.ts',
    'watch prints history and what happens, continues at another member, and ends by Ctrl-C',
  ],
  [
    'Simulated cluster that etcdctl and client libraries accept',
    'opsctl mock kv start --dir sim',
    'not available',
    'test/cluster/simulated-ctl.real.test.ts',
    'saves a snapshot that it accepts itself',
  ],
];

/** @param {string} text */
const cell = (text) => text.replaceAll('|', '\\|');

/** @type {typeof import('./kv-comparison.mjs').kvComparison} */
export const kvComparison = () => `# Comparison with other tools for etcd

opsctl upgrades and operates etcd clusters that run as processes, systemd units, containers or static pods. Use a different tool in these cases:

- Your cluster runs in Kubernetes and an operator manages it (etcd-operator, etcd-druid, Talos). Upgrade it with the operator.
- kubeadm manages your control plane. Use \`kubeadm upgrade\`, which also upgrades the other components.
- You need single requests, such as a read of one key. etcdctl is sufficient.

The table compares opsctl with tiup, etcd-manager, etcd-operator, etcd-druid, kubeadm, kubespray, Talos, ECK, Strimzi and etcdctl. The facts come from their documentation and issues of November 2026; only etcdctl was run. A test proves each row. \`npm run docs\` generates this page from \`test/tooling/kv-comparison.mjs\`.

| feature | command | nearest feature of another tool | test |
|---|---|---|---|
${kvRows.map(([what, command, peer, file]) => `| ${what} | \`${cell(command)}\` | ${cell(peer)} | \`${file}\` |`).join('\n')}
`;
