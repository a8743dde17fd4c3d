import { list, bool, int, str } from '../../core/field.ts';
import { invalidArguments, problem } from '../../core/problem.ts';
import { versionRows, nextMinor } from '../../api-specs/etcd/versions.ts';
import type { Minor } from '../../api-specs/etcd/versions.ts';
import { currentGuard } from '../../kv-upgrade/journal/earlier-names.ts';
import { acceptable } from '../../kv-upgrade/guards/acceptable.ts';
import type { Driver } from '../../kv-upgrade/supervisors/driver.ts';
import type { Observation, Plan, PlanOptions, Refusal } from '../../kv-upgrade/types.ts';
import type { Context, Flags, ValuesOf } from '../../cli/command.ts';
import { clusterFlags, driverFor, openCluster } from './cluster.ts';
import type { Opened } from './cluster.ts';

const targets = versionRows.flatMap(({ minor }) => nextMinor(minor) ?? []);

export const planFlags = {
  ...clusterFlags,
  to: {
    field: str(16, { pattern: '^\\d+\\.\\d+$' }),
    summary: `Version to go to (${targets.join(', ')}) (default: the next one)`,
    value: 'minor',
    suggest: targets,
  },
  'copy-data': {
    field: bool(),
    summary: 'Copy each data directory while its member is stopped (snapshots hold only v3 data)',
  },
  'hold-last': { field: bool(), summary: 'Stop before the last member: until then everything can go back' },
  'hold-after': {
    field: int({ min: 1, max: 99 }),
    summary: 'Stop after so many members, for hours or days if need be; kv resume goes on',
    value: 'n',
  },
  'stable-for': {
    field: int({ min: 0, max: 3600 }),
    summary: 'Seconds a member must stay good before the next one (default 1)',
    value: 'seconds',
  },
  'stable-before-last': {
    field: int({ min: 0, max: 86_400 }),
    summary:
      'Seconds all upgraded members must have been good together before the last old one is stopped (default 10)',
    value: 'seconds',
  },
  accept: {
    field: list(str()),
    repeat: true,
    summary: "Take a guard's refusal as a warning: its name, as `kv check` prints it",
    value: 'guard',
    suggest: acceptable,
  },
} as const satisfies Flags;

export type PlanValues = ValuesOf<typeof planFlags>;

const optionsOf = async (opened: Opened, values: PlanValues): Promise<PlanOptions> => {
  const { guards } = await import('../../kv-upgrade/guards/all.ts');
  const accept = (values.accept ?? []).map(currentGuard);
  for (const name of accept) {
    if (acceptable.includes(name)) continue;
    const why = guards.some(({ id }) => id === name)
      ? `${name} cannot be accepted: nothing good can come of it`
      : `${name} is not a guard`;
    throw invalidArguments([problem('--accept', 'enum', why, `one of ${acceptable.join(', ')}`)]);
  }
  return {
    ...(values.to === undefined ? {} : { to: values.to as Minor }),
    copy_data: values['copy-data'] ?? false,
    hold_last: values['hold-last'] ?? false,
    ...(values['hold-after'] === undefined ? {} : { hold_after: values['hold-after'] }),
    stable_seconds: values['stable-for'] ?? opened.cluster.timeouts?.stable_seconds ?? 1,
    stable_before_last_seconds:
      values['stable-before-last'] ??
      opened.cluster.timeouts?.stable_before_last_seconds ??
      // Nobody depends on a simulated cluster.
      (opened.cluster.simulated === true ? 2 : 10),
    accept,
  };
};

export type Prepared = {
  readonly opened: Opened & { readonly file: string };
  readonly driver: Driver;
  readonly options: PlanOptions;
  readonly observation: Observation;
  readonly made: Plan | Refusal;
  readonly run: string;
};

/** Looks at the cluster and plans: what check, plan and upgrade have in common. Nothing is touched. */
export const prepare = async (
  context: Context,
  values: PlanValues,
  given?: PlanOptions,
): Promise<Prepared> => {
  const { host } = context;
  const opened = await openCluster(context, values, 'upgrade');
  const [{ observe }, { planFrom }, { runDirectory, nextRunId }] = await Promise.all([
    import('../../kv-upgrade/observe/observe.ts'),
    import('../../kv-upgrade/plan.ts'),
    import('../../kv-upgrade/journal/journal.ts'),
  ]);
  const driver = await driverFor(context, opened.cluster);
  const options = given ?? (await optionsOf(opened, values));
  const run = await nextRunId(host, context.settings.directories.clusters, opened.cluster.name);
  const { cluster, access } = opened;
  const directory = runDirectory(context.settings.directories.clusters, cluster.name, run);
  const observation = await observe({
    host,
    cluster,
    access,
    driver,
    sizes: options.copy_data,
    isDeep: true,
    runDirectory: directory,
  });
  const made = planFrom({ observation, cluster, options, describe: driver.describe, id: run });
  return { opened: { ...opened, file: opened.file as string }, driver, options, observation, made, run };
};
