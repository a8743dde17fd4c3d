import { dirname, relative, resolve } from 'node:path';
import type { Context } from '../../api/context.ts';
import { defineCommand } from '../../cli/command.ts';
import { bool, int, oneOf, req, str } from '../../core/field.ts';
import type { Argument, Flags, ValuesOf } from '../../core/flag.ts';
import { type Category, problem } from '../../core/problem.ts';
import { rawResult, type Result } from '../../core/result.ts';
import { fleetEngines, type Fleet } from '../../kv/upgrade/fleet/fleet-file.ts';
import { crossingFlags, planFlags } from './flags.ts';

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
    field: oneOf(...fleetEngines),
    summary: 'Print an Ansible playbook, its inventory or an Argo workflow instead of upgrading',
    value: fleetEngines.join('|'),
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

/** What the plan of each cluster records. */
const flagsOfPlans = (values: FleetValues): string[] => [
  ...(values['copy-data'] === true ? ['--copy-data'] : []),
  ...(values.accept ?? []).flatMap((guard) => ['--accept', guard]),
];

/** One row for each cluster, as it ends. */
const fleetUpgrade = async (context: Context, values: FleetValues, fleet: Fleet): Promise<Result> => {
  const { host, settings, signal, log } = context;
  const [{ upgradeFleet }, { fleetRow }] = await Promise.all([
    import('../../kv/upgrade/fleet/fleet-run.ts'),
    import('../../kv/upgrade/fleet/fleet-run.ts'),
  ]);
  const file = resolve(host.cwd, values.file);
  const label = (cluster: string): string => relative(dirname(file), cluster);
  let category: Category | 'done' = 'done';
  const ended = upgradeFleet({
    ...{ host, fleet, file, signal, label },
    state: settings.directories.state,
    lastMember: lastMemberFlags(values),
    planFlags: flagsOfPlans(values),
    info: log.info,
    confirm: () =>
      context.confirm(
        `Upgrade ${fleet.clusters.length} clusters of ${fleet.name}: ${label(fleet.canary)} first, then ${fleet.atOnce} in parallel?`,
      ),
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

const run = async (context: Context, values: FleetValues): Promise<Result> => {
  const { readFleet } = await import('../../kv/upgrade/fleet/fleet-file.ts');
  const read = await readFleet(context.host, values.file);
  const fleet: Fleet = { ...read, atOnce: values['at-once'] ?? read.atOnce };
  if (values.emit === undefined) return fleetUpgrade(context, values, fleet);
  const { fleetText } = await import('../../kv/upgrade/fleet/fleet-run.ts');
  return rawResult(
    fleetText(values.emit, {
      ...{ fleet, lastMember: lastMemberFlags(values), planFlags: flagsOfPlans(values) },
      image: values.image,
    }),
  );
};
export const fleet = defineCommand({
  path: ['kv', 'fleet'],
  noDryRun: 'opsctl kv upgrade --dry-run shows the plan of each cluster; --emit only prints',
  summary: 'Upgrade many clusters: a canary first, then several in parallel',
  about:
    'The fleet file is YAML: `clusters`, a list of cluster files, and optionally `name`, `canary` and `at_once`. Checks every cluster before it changes the first one, and stops at the first failure. Clusters that already run the new version are skipped, and the same command continues an interrupted run. Exits with code 9 if some clusters were not upgraded. With --emit, prints a definition that runs `opsctl kv upgrade` for each cluster in another engine.',
  args: fleetArgs,
  flags: fleetFlags,
  examples: [
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
    ...(values.emit === 'argo' && values.image === undefined
      ? [problem('--image', 'required', 'is required: the image that the workflow runs')]
      : []),
  ],
  run,
});
