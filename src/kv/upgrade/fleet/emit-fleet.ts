import { stringify } from '../../../platform/yaml.ts';
import type { FleetEngine } from './fleet-engines.ts';
import { type Fleet, orderOf } from './fleet-file.ts';

export type EmitOptions = {
  readonly fleet: Fleet;
  /** Flags that say what becomes of the last member of each cluster. */
  readonly lastMember: readonly string[];
  readonly image?: string | undefined;
};

/** RFC 1123: names of steps and keys of the ConfigMap. */
const stepName = (label: string): string =>
  label
    .toLowerCase()
    .replace(/[^a-z0-9-]/g, '-')
    .replace(/^-+|-+$/g, '');

/** Unique, as a name of a step too, in the order of the clusters: the file's name, else its directory too, else a number. */
export const clusterLabels = (clusters: readonly string[]): Map<string, string> => {
  const plain = (text: string): string => text.replace(/\.[^.]+$/, '').replace(/[^A-Za-z0-9_.-]+/g, '-');
  const names = new Map<string, string>();
  const taken = new Set<string>();
  for (const cluster of clusters) {
    const parts = cluster.split('/').filter((part) => part !== '');
    let label = '';
    for (let count = 1; count <= parts.length; count += 1) {
      label = plain(parts.slice(-count).join('/'));
      const isUnique = clusters.every(
        (other) =>
          other === cluster || plain(other.split('/').filter(Boolean).slice(-count).join('/')) !== label,
      );
      if (isUnique) break;
    }
    let own = label;
    for (let number = 2; taken.has(stepName(own)); number += 1) own = `${label}-${number}`;
    taken.add(stepName(own));
    names.set(cluster, own);
  }
  return names;
};

/** The canary alone, then so many at once. Pure. */
export const wavesOf = (fleet: Fleet): string[][] => {
  const [canary, ...rest] = orderOf(fleet);
  const waves: string[][] = canary === undefined ? [] : [[canary]];
  for (let i = 0; i < rest.length; i += fleet.atOnce) waves.push(rest.slice(i, i + fleet.atOnce));
  return waves;
};

const group = 'etcd_clusters';
const program = "{{ opsctl_program | default('opsctl') }}";
const file = '{{ opsctl_cluster_file }}';
const command = (...words: string[]): object => ({
  argv: [program, 'kv', ...words, '--cluster', file, '--yes'],
});
/** A run whose connection is cut goes on by itself: ansible only asks how it stands. */
const detached = { async: 86_400, poll: '{{ opsctl_poll_seconds | default(10) | int }}' };

const upgradeTasks = (lastMember: readonly string[]): object[] => {
  const isHeld = lastMember.includes('--hold-last');
  return [
    {
      name: 'Upgrade the cluster',
      'ansible.builtin.command': command('upgrade', ...lastMember, '-o', 'json'),
      register: 'opsctl_upgrade',
      ...detached,
      changed_when: "'already' not in opsctl_upgrade.stdout",
      failed_when: isHeld
        ? "opsctl_upgrade.rc != 0 and not (opsctl_upgrade.rc == 8 and '\"held\"' in opsctl_upgrade.stdout) and 'UNFINISHED_RUN' not in opsctl_upgrade.stderr"
        : "opsctl_upgrade.rc != 0 and 'UNFINISHED_RUN' not in opsctl_upgrade.stderr",
    },
    {
      name: 'Go on with a run that was interrupted',
      'ansible.builtin.command': command('resume', ...lastMember, '-o', 'json'),
      when: "'UNFINISHED_RUN' in opsctl_upgrade.stderr",
      ...detached,
      changed_when: true,
    },
  ];
};

const playbook = ({ fleet, lastMember }: EmitOptions): string => {
  const check = {
    name: `Check every cluster of ${fleet.name} before the first one is touched`,
    hosts: group,
    gather_facts: false,
    any_errors_fatal: true,
    tasks: [
      {
        name: 'Plan, and change nothing',
        'ansible.builtin.command': command('upgrade', '--dry-run', '-o', 'json'),
        register: 'opsctl_check',
        changed_when: false,
        failed_when: "opsctl_check.rc != 0 and 'UNFINISHED_RUN' not in opsctl_check.stderr",
      },
    ],
  };
  const upgrade = {
    name: `Upgrade ${fleet.name}: the canary, then ${fleet.atOnce} at once, stop at the first failure`,
    hosts: group,
    order: 'inventory',
    serial: [1, fleet.atOnce],
    any_errors_fatal: true,
    max_fail_percentage: 0,
    gather_facts: false,
    tasks: upgradeTasks(lastMember),
  };
  return `# ansible-playbook -i inventory.yaml playbook.yaml; opsctl kv fleet FILE --emit ansible-inventory writes the inventory.
# opsctl runs where the inventory says; opsctl_program names it there. The same command again goes on where this one stopped.
${stringify([check, upgrade])}`;
};

const inventory = ({ fleet }: EmitOptions): string => {
  const order = orderOf(fleet);
  const labels = clusterLabels(order);
  const hosts = Object.fromEntries(
    order.map((cluster) => [
      labels.get(cluster) ?? cluster,
      { opsctl_cluster_file: cluster, ansible_connection: 'local' },
    ]),
  );
  return `# The canary first: the order counts. ansible_connection: local runs opsctl on the control node;
# give ansible_host instead to run it on a machine near the cluster, where the cluster file is then read.
${stringify({ all: { children: { [group]: { hosts } } } })}`;
};

/** One run of opsctl for the cluster that a step names. */
const argoTemplate = (name: string, words: readonly string[], image: string | undefined): object => ({
  name,
  inputs: { parameters: [{ name: 'cluster' }] },
  container: {
    image,
    args: ['kv', ...words, '--cluster', '{{inputs.parameters.cluster}}', '--yes', '-o', 'json'],
    env: [{ name: 'OPSCTL_HOME', value: '/work' }],
    volumeMounts: [
      { name: 'clusters', mountPath: '/etc/opsctl', readOnly: true },
      { name: 'work', mountPath: '/work' },
    ],
  },
});

const argo = ({ fleet, lastMember, image }: EmitOptions): string => {
  const order = orderOf(fleet);
  const labels = clusterLabels(order);
  const nameOf = (cluster: string): string => stepName(labels.get(cluster) ?? cluster);
  const step = (template: string) => (cluster: string) => ({
    name: `${template}-${nameOf(cluster)}`,
    template,
    arguments: { parameters: [{ name: 'cluster', value: `/etc/opsctl/${nameOf(cluster)}.yaml` }] },
  });
  const name = stepName(`opsctl-fleet-${fleet.name}`);
  const files = order.map((cluster) => `--from-file=${nameOf(cluster)}.yaml=${cluster}`);
  const steps = [order.map(step('check')), ...wavesOf(fleet).map((wave) => wave.map(step('upgrade')))];
  const spec = {
    entrypoint: 'fleet',
    // The claim keeps the journals of all clusters: a workflow that is submitted again goes on where this one stopped.
    volumes: [
      { name: 'clusters', configMap: { name } },
      { name: 'work', persistentVolumeClaim: { claimName: name } },
    ],
    templates: [
      { name: 'fleet', steps },
      argoTemplate('check', ['upgrade', '--dry-run'], image),
      argoTemplate('upgrade', ['upgrade', ...lastMember], image),
    ],
  };
  const metadata = { generateName: `${name}-` };
  const object = { apiVersion: 'argoproj.io/v1alpha1', kind: 'Workflow', metadata, spec };
  return `# kubectl create configmap ${name} ${files.join(' ')}; the claim ${name} keeps the journals.
# A group of steps begins when all of the one before have succeeded; a failed step ends the workflow.
${stringify(object)}`;
};

const texts: Readonly<Record<FleetEngine, (options: EmitOptions) => string>> = {
  ansible: playbook,
  'ansible-inventory': inventory,
  argo,
};

/** What an existing engine runs: opsctl for each cluster, the canary first, then waves. Pure. */
export const fleetText = (engine: FleetEngine, options: EmitOptions): string => texts[engine](options);
