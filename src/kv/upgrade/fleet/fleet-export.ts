import { posix } from 'node:path';
import { AppError } from '../../../core/problem.ts';
import { Scalar, stringify } from '../../../platform/yaml.ts';
import { shellLine } from '../../../core/shell.ts';
import { containerArguments, refuseControl } from '../../snapshots/schedule.ts';
import { type Fleet, type FleetFormat, orderOf } from './fleet-file.ts';

/** Names of steps and keys of the ConfigMap follow RFC 1123. */
const stepName = (label: string): string =>
  label
    .toLowerCase()
    .replace(/[^a-z0-9-]/g, '-')
    .replace(/^-+|-+$/g, '');

/**
 * Returns a unique label for each cluster, unique as a step name too, in the order of the clusters: the name
 * of the file, otherwise with its directory, otherwise with a number.
 */
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
export type PlanFlags = readonly string[];
export type EmitOptions = {
  readonly fleet: Fleet;
  /** Flags that decide how the run handles the last member of each cluster. */
  readonly lastMember: readonly string[];
  readonly planFlags?: PlanFlags;
  readonly image?: string | undefined;
  /** The certificates and password files of each cluster file, for a workflow whose containers start without them. */
  readonly accessFiles?: ReadonlyMap<string, readonly FileReference[]>;
};
/** A file that a cluster file names: `written` is its path there. */
export type FileReference = { readonly name: string; readonly path: string; readonly written: string };

/** Returns the waves: first only the canary, then groups of the parallel limit. Pure. */
export const wavesOf = (fleet: Fleet): string[][] => {
  const [canary, ...rest] = orderOf(fleet);
  const waves: string[][] = canary === undefined ? [] : [[canary]];
  for (let i = 0; i < rest.length; i += fleet.atOnce) waves.push(rest.slice(i, i + fleet.atOnce));
  return waves;
};

/** A value that a format would replace by another one, and where it comes from. */
const templateError = (text: string, origin: string, why: string): AppError =>
  new AppError('config', `invalid value ${JSON.stringify(text)} of ${origin}: ${why}`, {
    code: 'TEMPLATE_IN_VALUE',
    tryThis: [
      origin === 'a flag' || origin.startsWith('--')
        ? `use a value of ${origin} without these characters`
        : 'rename the file or directory, and change its name in the file that contains it',
    ],
  });
const group = 'etcd_clusters';
const program = "{{ opsctl_program | default('opsctl') }}";
const file = '{{ opsctl_cluster_file }}';
/** Returns a value that Ansible does not treat as a template: it would run the commands of a lookup in a path. */
const plainValue = (text: string): string | Scalar => {
  if (!/\{[{%#]/.test(text)) return text;
  const scalar = new Scalar(text);
  scalar.tag = '!unsafe';
  return scalar;
};
/** The command module of Ansible replaces variables of the environment in every argument, and has no escape for them. */
const plainArgument = (text: string, origin: string): string | Scalar => {
  if (!/\$[\w{]/.test(text)) return plainValue(text);
  throw templateError(text, origin, 'Ansible replaces a variable after $');
};
/** The flag that has this value, as `--flag value` or `--flag=value`. */
const flagOf = (words: readonly string[], value: string): string => {
  const before = words[words.indexOf(value) - 1] ?? '';
  return /^--[^=]+/.exec(value)?.[0] ?? (before.startsWith('--') ? before : 'a flag');
};
const command = (...words: string[]): object => ({
  argv: [
    ...[program, 'kv'],
    ...words.map((word) => plainArgument(word, flagOf(words, word))),
    ...['--cluster', file, '--yes'],
  ],
});
/** A run continues when the connection of ansible is interrupted: ansible only polls its state. */
const detached = { async: 86_400, poll: '{{ opsctl_poll_seconds | default(10) | int }}' };

/** An earlier play was interrupted, or held the run with --hold-last. Every other hold belongs to its operator. */
const hasOpenRun = (register: string): string =>
  ['UNFINISHED_RUN', '"held_by":"hold-last"']
    .map((text) => `'${text}' in ${register}.stderr | default('')`)
    .join(' or ');
/** A held run is a result if the play wants a hold. A repeated play finds the hold of the earlier play. */
const isNotHeld = (register: string): string =>
  `not (${register}.rc | default(1) == 8 and ('"held"' in ${register}.stdout or '"HELD"' in ${register}.stderr))`;
/**
 * A task that Ansible lost has no exit code, and is a failure with the message of Ansible. For example, Ansible does not
 * find its job if HOME is not the home directory of the user.
 */
const hasFailed = (register: string): string => `(${register}.rc is not defined or ${register}.rc != 0)`;
const failsToStart = (register: string): string => `${hasFailed(register)} and not (${hasOpenRun(register)})`;
const upgradeTasks = ({ lastMember, planFlags = [] }: EmitOptions): object[] => {
  const isHeld = lastMember.includes('--hold-last');
  return [
    {
      name: 'Upgrade the cluster',
      'ansible.builtin.command': command('upgrade', ...lastMember, ...planFlags, '-o', 'json'),
      register: 'opsctl_upgrade',
      ...detached,
      changed_when: "'already' not in opsctl_upgrade.stdout",
      failed_when: isHeld
        ? `${failsToStart('opsctl_upgrade')} and ${isNotHeld('opsctl_upgrade')}`
        : failsToStart('opsctl_upgrade'),
    },
    {
      name: 'Resume an interrupted or held run',
      'ansible.builtin.command': command('resume', ...lastMember, '-o', 'json'),
      register: 'opsctl_resume',
      when: hasOpenRun('opsctl_upgrade'),
      ...detached,
      changed_when: true,
      failed_when: isHeld
        ? `${hasFailed('opsctl_resume')} and ${isNotHeld('opsctl_resume')}`
        : hasFailed('opsctl_resume'),
    },
  ];
};

const playbook = (options: EmitOptions): string => {
  const { fleet, planFlags = [] } = options;
  const check = {
    name: plainValue(`Check every cluster of ${fleet.name} before the first one is changed`),
    hosts: group,
    gather_facts: false,
    any_errors_fatal: true,
    tasks: [
      {
        name: 'Plan without changes',
        'ansible.builtin.command': command('upgrade', '--dry-run', ...planFlags, '-o', 'json'),
        register: 'opsctl_check',
        changed_when: false,
        failed_when: failsToStart('opsctl_check'),
      },
    ],
  };
  const upgrade = {
    name: plainValue(
      `Upgrade ${fleet.name}: the canary, then ${fleet.atOnce} in parallel, stop at the first failure`,
    ),
    hosts: group,
    order: 'inventory',
    serial: [1, fleet.atOnce],
    any_errors_fatal: true,
    max_fail_percentage: 0,
    gather_facts: false,
    tasks: upgradeTasks(options),
  };
  return `# ansible-playbook -i inventory.yaml playbook.yaml; opsctl kv fleet FILE --emit ansible-inventory writes the inventory.
# The inventory selects the machine that runs opsctl; opsctl_program is its path there. The same command resumes an interrupted run.
${stringify([check, upgrade])}`;
};

const inventory = ({ fleet }: EmitOptions): string => {
  const order = orderOf(fleet);
  const labels = clusterLabels(order);
  const hosts = Object.fromEntries(
    order.map((cluster) => [
      labels.get(cluster) ?? cluster,
      {
        opsctl_cluster_file: plainArgument(cluster, `clusters in the fleet ${fleet.name}`),
        ansible_connection: 'local',
      },
    ]),
  );
  return `# The canary is first: the order matters. ansible_connection: local runs opsctl on the control node;
# use ansible_host instead to run it on a machine near the cluster, which must then have the cluster file.
${stringify({ all: { children: { [group]: { hosts } } } })}`;
};

const mountDirectory = '/etc/opsctl';
const filesVolume = 'files';
const ownGroup = 65532;
const ownerAndGroupRead = 0o440;
type Mount = { readonly name: string; readonly mountPath: string; readonly subPath?: string };
/** A file of the Secret: where it is on this machine, its key, and its place in the container. */
type SecretFile = {
  readonly key: string;
  readonly path: string;
  readonly place: string;
  /** The key of the cluster file that names it. */
  readonly origin: string;
};
/**
 * Where the containers read the cluster files. The relative paths of a cluster file are below its own directory, because
 * two clusters may use one name for different certificates.
 */
type Layout = {
  readonly placeOf: (label: string) => string;
  readonly secretFiles: readonly SecretFile[];
};
const layoutOf = (
  order: readonly string[],
  nameOf: (cluster: string) => string,
  accessFiles: EmitOptions['accessFiles'] = new Map(),
): Layout => {
  const isPlain = order.every((cluster) => (accessFiles.get(cluster) ?? []).length === 0);
  const directoryOf = (label: string): string => (isPlain ? mountDirectory : `${mountDirectory}/${label}`);
  const byPlace = new Map<string, SecretFile>();
  for (const cluster of order) {
    const label = nameOf(cluster);
    for (const { name, path, written } of accessFiles.get(cluster) ?? []) {
      const place = posix.resolve(directoryOf(label), written);
      const known = byPlace.get(place);
      if (known !== undefined && known.path !== path)
        throw new AppError('config', `${place} in the container would be ${known.path} and ${path}`, {
          code: 'FLEET_FILES',
          tryThis: ['use absolute paths in the cluster files, which differ for different files'],
        });
      byPlace.set(place, known ?? { key: `${label}.${name}`, path, place, origin: `${name} in ${cluster}` });
    }
  }
  const placeOf = (label: string): string =>
    isPlain ? `${mountDirectory}/${label}.yaml` : `${directoryOf(label)}/cluster.yaml`;
  return { placeOf, secretFiles: [...byPlace.values()] };
};
const isBelow = ({ place }: SecretFile): boolean => place.startsWith(`${mountDirectory}/`);
const underMount = (place: string): string => place.slice(mountDirectory.length + 1);
/** Files below the directory of the cluster files are in the same volume: nothing can be mounted in a read-only one. */
const volumesOf = (name: string, labels: readonly string[], { secretFiles, placeOf }: Layout): object[] => {
  const secret = `${name}-files`;
  if (secretFiles.length === 0) return [{ name: 'clusters', configMap: { name } }];
  const items = labels.map((label) => ({ key: `${label}.yaml`, path: underMount(placeOf(label)) }));
  const below = secretFiles.filter(isBelow).map(({ key, place }) => ({ key, path: underMount(place) }));
  const sources = [
    { configMap: { name, items } },
    ...(below.length === 0 ? [] : [{ secret: { name: secret, items: below } }]),
  ];
  return [
    { name: 'clusters', projected: { defaultMode: ownerAndGroupRead, sources } },
    ...(below.length === secretFiles.length
      ? []
      : [{ name: filesVolume, secret: { secretName: secret, defaultMode: ownerAndGroupRead } }]),
  ];
};
const mountsOf = ({ secretFiles }: Layout): Mount[] =>
  secretFiles
    .filter((file) => !isBelow(file))
    .map(({ key, place }) => ({ name: filesVolume, mountPath: place, subPath: key }));

const clusterParameter = '{{inputs.parameters.cluster}}';
/**
 * Argo replaces a template in any text of a workflow, more than once, so that no escape survives. The only template is
 * the one of this file.
 */
const refuseTemplates = (value: unknown, originOf: (text: string) => string): void => {
  if (typeof value === 'string' && value.includes('{{') && value !== clusterParameter)
    throw templateError(value, originOf(value), 'Argo replaces a template in {{ }}');
  if (typeof value === 'object' && value !== null)
    for (const one of Object.values(value)) refuseTemplates(one, originOf);
};
/** One run of opsctl for the cluster that a step names. */
const argoTemplate = (
  name: string,
  words: readonly string[],
  { image, mounts }: { readonly image: string | undefined; readonly mounts: readonly Mount[] },
): object => ({
  name,
  inputs: { parameters: [{ name: 'cluster' }] },
  container: {
    image,
    args: [...containerArguments(['kv', ...words]), '--cluster', clusterParameter, '--yes', '-o', 'json'],
    env: [{ name: 'OPSCTL_HOME', value: '/work' }],
    volumeMounts: [
      { name: 'clusters', mountPath: mountDirectory, readOnly: true },
      { name: 'work', mountPath: '/work' },
      ...mounts.map((mount) => ({ ...mount, readOnly: true })),
    ],
  },
});
const argoTemplates = (
  { lastMember, planFlags = [], image }: EmitOptions,
  layout: Layout,
): readonly object[] => {
  const container = { image, mounts: mountsOf(layout) };
  return [
    argoTemplate('check', ['upgrade', '--dry-run', ...planFlags], container),
    argoTemplate('upgrade', ['upgrade', ...lastMember, ...planFlags], container),
    // No step uses this template: an operator submits it for a cluster whose run was interrupted or held.
    argoTemplate('resume', ['resume', ...lastMember], container),
  ];
};
/** The lines that create what the workflow mounts. */
const argoHead = (
  name: string,
  configMap: readonly string[],
  { secretFiles }: Layout,
  places: readonly string[],
): string => {
  const comment = (line: string): string =>
    refuseControl(line, 'a comment', 'rename the file, and change its name in the file that contains it');
  const create = shellLine(['kubectl', 'create', 'configmap', name, ...configMap]);
  const files = secretFiles.map(({ key, path }) => `--from-file=${key}=${path}`);
  const secret = shellLine(['kubectl', 'create', 'secret', 'generic', `${name}-files`, ...files]);
  return [
    `# ${comment(create)}`,
    ...(files.length === 0 ? [] : [`# ${comment(secret)}`]),
    `# The claim ${name} keeps the journals.`,
    `# If a run was interrupted or is held, resume it, and then submit the workflow again. Clusters: ${comment(places.join(', '))}`,
    '#   argo submit --entrypoint resume -p cluster=CLUSTER THIS_FILE',
    '# A cluster with driver ssh needs an image with ssh, and a key without a passphrase, known_hosts and config in ~/.ssh of its user: add a Secret.',
    '# A group of steps starts when all steps of the previous group have succeeded; a failed step ends the workflow.',
  ].join('\n');
};
const argo = (options: EmitOptions): string => {
  const { fleet, lastMember, planFlags = [], image, accessFiles } = options;
  const order = orderOf(fleet);
  const labels = clusterLabels(order);
  const nameOf = (cluster: string): string => stepName(labels.get(cluster) ?? cluster);
  const layout = layoutOf(order, nameOf, accessFiles);
  const step = (template: string) => (cluster: string) => ({
    name: `${template}-${nameOf(cluster)}`,
    template,
    arguments: { parameters: [{ name: 'cluster', value: layout.placeOf(nameOf(cluster)) }] },
  });
  const name = stepName(`opsctl-fleet-${fleet.name}`);
  const configMap = order.map((cluster) => `--from-file=${nameOf(cluster)}.yaml=${cluster}`);
  const steps = [order.map(step('check')), ...wavesOf(fleet).map((wave) => wave.map(step('upgrade')))];
  const spec = {
    entrypoint: 'fleet',
    // Without the group, a container of another user cannot read the files of the Secret.
    ...(layout.secretFiles.length === 0 ? {} : { securityContext: { fsGroup: ownGroup } }),
    // The claim stores the journals of all clusters. A resubmitted workflow skips upgraded clusters. A cluster with an
    // interrupted or held run fails until an operator submits the template `resume` for it.
    volumes: [
      ...volumesOf(name, order.map(nameOf), layout),
      { name: 'work', persistentVolumeClaim: { claimName: name } },
    ],
    templates: [{ name: 'fleet', steps }, ...argoTemplates(options, layout)],
  };
  const metadata = { generateName: `${name}-` };
  const object = { apiVersion: 'argoproj.io/v1alpha1', kind: 'Workflow', metadata, spec };
  refuseTemplates(object, (text) => {
    const named = layout.secretFiles.find(({ place }) => place === text || underMount(place) === text);
    return named?.origin ?? (text === image ? '--image' : flagOf([...lastMember, ...planFlags], text));
  });
  const places = order.map((cluster) => layout.placeOf(nameOf(cluster)));
  return `${argoHead(name, configMap, layout, places)}\n${stringify(object)}`;
};

const texts: Readonly<Record<FleetFormat, (options: EmitOptions) => string>> = {
  ansible: playbook,
  'ansible-inventory': inventory,
  argo,
};

/**
 * Returns the file for an existing engine: it runs opsctl for each cluster, first the canary, then waves.
 * Pure.
 */
export const fleetText = (format: FleetFormat, options: EmitOptions): string => texts[format](options);

/** Flags that the plan of each cluster records, such as --copy-data. A resumed run reads them from its plan. */
