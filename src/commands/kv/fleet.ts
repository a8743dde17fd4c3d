import type { Context } from '../../api/context.ts';
import { defineCommand } from '../../cli/command.ts';
import { bool, int, oneOf, req, str } from '../../core/field.ts';
import type { Argument, Flags, ValuesOf } from '../../core/flag.ts';
import { after } from '../../core/next.ts';
import { type Category, problem } from '../../core/problem.ts';
import { type Result, rawResult, recordResult } from '../../core/result.ts';
import { crossingFlags, planFlags } from './flags.ts';
import { dirname, relative, resolve } from 'node:path';
import { type Fleet, fleetFormats } from '../../kv/upgrade/fleet/fleet-file.ts';

const fleetFlags = {
  ...crossingFlags,
  'copy-data': planFlags['copy-data'],
  accept: planFlags.accept,
  'hold-last': { field: bool(), summary: 'Hold each cluster before its last member; `kv resume` continues' },
  'at-once': {
    field: int({ min: 1, max: 50 }),
    summary: 'Number of clusters to upgrade in parallel after the canary (default: from the file, or 1)',
    value: 'n',
  },
  emit: {
    field: oneOf(...fleetFormats),
    summary: 'Print an Ansible playbook, its inventory or an Argo workflow instead of upgrading',
    value: fleetFormats.join('|'),
    meanings: {
      ansible: 'a playbook',
      'ansible-inventory': 'the inventory for the playbook',
      argo: 'an Argo workflow',
    },
  },
  digest: {
    effects: [],
    field: str(64, { min: 64, pattern: '^[0-9a-f]{64}$' }),
    summary: 'Digest of the plan that --dry-run shows: refuse to run another plan',
    value: 'sha256',
  },
  image: {
    field: str(1024, { min: 1 }),
    summary: 'With --emit argo: container image with opsctl as its entry point',
    value: 'image',
  },
} as const satisfies Flags;
const fleetArgs = [
  {
    name: 'file',
    effects: ['reads', 'runs', 'sends'],
    field: req(str(undefined, { min: 1 })),
    summary: 'Fleet file',
    complete: 'file',
  },
] as const satisfies readonly Argument[];
type FleetValues = ValuesOf<typeof fleetFlags, typeof fleetArgs>;
const lastMember = ['accept-point-of-no-return', 'hold-last'] as const;
/** How the run treats the last member of each cluster, because a fleet run cannot prompt. */
const lastMemberFlags = (values: FleetValues): string[] =>
  lastMember.filter((name) => values[name] === true).map((name) => `--${name}`);

/** The words that repeat the command for the same plan. */
const lineOf = (values: FleetValues): string[] => [
  ...['kv', 'fleet', values.file, ...lastMemberFlags(values), ...flagsOfPlans(values)],
  ...(values['at-once'] === undefined ? [] : ['--at-once', String(values['at-once'])]),
];
/** What the plan of each cluster records. */
const flagsOfPlans = (values: FleetValues): string[] => [
  ...(values['copy-data'] === true ? ['--copy-data'] : []),
  ...(values.accept ?? []).flatMap((guard) => ['--accept', guard]),
];

/** The question before the first change. A fleet of one cluster has only a canary. */
const questionOf = (fleet: Fleet, label: (file: string) => string): string => {
  const canary = label(fleet.canary);
  return fleet.clusters.length === 1
    ? `Upgrade 1 cluster of ${fleet.name}: ${canary}?`
    : `Upgrade ${fleet.clusters.length} clusters of ${fleet.name}: ${canary} first, then ${fleet.atOnce} in parallel?`;
};
/** One row for each cluster, as it ends. */
const fleetUpgrade = async (context: Context, values: FleetValues, fleet: Fleet): Promise<Result> => {
  const { host, settings, signal, log } = context;
  const { upgradeFleet, fleetRow } = await import('../../kv/upgrade/fleet/fleet-run.ts');
  const file = resolve(host.cwd, values.file);
  const label = (cluster: string): string => relative(dirname(file), cluster);
  let category: Category | 'done' = 'done';
  const ended = upgradeFleet({
    ...{ host, fleet, file, signal, label },
    state: settings.directories.state,
    lastMember: lastMemberFlags(values),
    planFlags: flagsOfPlans(values),
    digest: values.digest,
    line: lineOf(values),
    info: log.info,
    confirm: () => context.confirm(questionOf(fleet, label)),
  });
  // Objections are an error of the command, not of a row.
  const first = await ended.next();
  const rows = async function* () {
    for (let next = first; next.done !== true; next = await ended.next()) {
      if (next.value.outcome !== 'done') category = 'partial';
      yield fleetRow(next.value, label(next.value.cluster));
    }
  };
  const view = { columns: ['cluster', 'outcome', 'duration_ms', 'message'], name: 'cluster' };
  return { kind: 'rows', rows: rows(), view, exit: () => category };
};

/** The plans of all clusters with one digest, as a table or as data. */
const fleetPlan = async (context: Context, values: FleetValues, fleet: Fleet): Promise<Result> => {
  const { planFleet } = await import('../../kv/upgrade/fleet/fleet-run.ts');
  const directory = dirname(resolve(context.host.cwd, values.file));
  const plan = await planFleet({
    ...{ host: context.host, fleet, lastMember: lastMemberFlags(values), planFlags: flagsOfPlans(values) },
    ...{ signal: context.signal, digest: values.digest, line: lineOf(values) },
    label: (cluster) => relative(directory, cluster),
  });
  const rows = plan.clusters.map(({ cluster, from, to, order, digest }, i) => [
    i === 0 ? `${cluster} (canary)` : cluster,
    digest === null ? 'up to date' : `${from} to ${to}`,
    order.join(', '),
    digest?.slice(0, 12) ?? '',
  ]);
  const { cells } = await import('../../kv/upgrade/present/text.ts');
  const count = plan.clusters.filter(({ digest }) => digest !== null).length;
  const text = [
    `fleet ${plan.fleet}: ${count} to upgrade, ${plan.clusters.length - count} up to date, ${plan.at_once} in parallel after the canary`,
    '',
    cells([['CLUSTER', 'UPGRADE', 'ORDER', 'PLAN'], ...rows]),
    '',
    `digest ${plan.digest}`,
  ].join('\n');
  const line = [...lineOf(values), '--digest', plan.digest];
  return recordResult(plan, { text, name: 'digest', message: after('run exactly this plan with', line) });
};
/** The files that the cluster files name: a container starts without them. */
const readNamedFiles = async ({ host }: Context, { clusters }: Fleet) => {
  const { readAccessFiles } = await import('../../kv/upgrade/cluster/cluster-file.ts');
  const read = async (cluster: string) => [cluster, await readAccessFiles(host, cluster, '/')] as const;
  return new Map(await Promise.all(clusters.map(read)));
};
const run = async (context: Context, values: FleetValues): Promise<Result> => {
  const { readFleet } = await import('../../kv/upgrade/fleet/fleet-file.ts');
  const read = await readFleet(context.host, values.file);
  const fleet: Fleet = { ...read, atOnce: values['at-once'] ?? read.atOnce };
  if (values.emit === undefined && context.isDryRun) return fleetPlan(context, values, fleet);
  if (values.emit === undefined) return fleetUpgrade(context, values, fleet);
  const { fleetText } = await import('../../kv/upgrade/fleet/fleet-export.ts');
  return rawResult(
    fleetText(values.emit, {
      ...{ fleet, lastMember: lastMemberFlags(values), planFlags: flagsOfPlans(values) },
      image: values.image,
      ...(values.emit === 'argo' ? { accessFiles: await readNamedFiles(context, fleet) } : {}),
    }),
  );
};
export const fleet = defineCommand({
  path: ['kv', 'fleet'],
  summary: 'Upgrade many clusters: a canary first, then several in parallel',
  about:
    'The fleet file is YAML: `clusters`, a list of cluster files, and optionally `name`, `canary` and `at_once`. Checks every cluster before it changes the first one, and stops at the first failure. Clusters that already run the new version are skipped, and the same command continues an interrupted run. Exits with code 9 if some clusters were not upgraded. With --dry-run, prints the plan of every cluster with one digest, and --digest runs only that plan. With --emit, prints a definition that runs `opsctl kv upgrade` for each cluster in another engine.',
  args: fleetArgs,
  flags: fleetFlags,
  examples: [
    {
      line: 'opsctl kv fleet fleet.yaml --hold-last --dry-run',
      says: 'Review the plans of all clusters, with one digest for --digest',
    },
    {
      line: 'opsctl kv fleet fleet.yaml --yes --accept-point-of-no-return',
      says: 'Upgrade all clusters of the file completely',
    },
    { line: 'opsctl kv fleet fleet.yaml --hold-last', says: 'Upgrade every cluster up to its last member' },
    {
      line: 'opsctl kv fleet fleet.yaml --accept-point-of-no-return --emit ansible > playbook.yaml',
      says: 'Print a playbook; --emit ansible-inventory prints its inventory',
    },
  ],
  check: (values) => [
    ...(lastMemberFlags(values).length === 1
      ? []
      : [
          problem(
            '--accept-point-of-no-return',
            'required',
            'or --hold-last is required, but not both: a fleet upgrade runs unattended',
          ),
        ]),
    ...(values.emit !== undefined && values.digest !== undefined
      ? [
          problem(
            '--digest',
            'exclusive',
            'cannot be combined with --emit: the other engine plans each cluster',
          ),
        ]
      : []),
    ...(values.emit === 'argo' && values.image === undefined
      ? [problem('--image', 'required', 'is required: the image that the workflow runs')]
      : []),
  ],
  run,
});
