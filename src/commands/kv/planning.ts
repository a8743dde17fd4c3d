import { list, bool, int, str } from '../../core/field.ts';
import { invalidArguments, problem } from '../../core/problem.ts';
import { minorOf, versionRows, nextMinor } from '../../api-specs/etcd/versions.ts';
import type { Minor } from '../../api-specs/etcd/versions.ts';
import { currentGuard } from '../../kv-upgrade/journal/earlier-names.ts';
import { acceptable } from '../../kv-upgrade/guards/acceptable.ts';
import type { Driver } from '../../kv-upgrade/supervisors/driver.ts';
import { viewFor } from '../../kv-upgrade/plan-kind.ts';
import { withNewConfiguration } from '../../kv-upgrade/configuration/new-configuration.ts';
import type { Observation, Plan, PlanKind, PlanOptions, Refusal } from '../../kv-upgrade/types.ts';
import type { Context, Flags, ValuesOf } from '../../cli/command.ts';
import { clusterFlags, driverFor, openCluster } from './cluster.ts';
import type { Opened } from './cluster.ts';
import { givenVersions, versionsFlag } from './versions.ts';

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
  ...versionsFlag,
} as const satisfies Flags;

export type PlanValues = ValuesOf<typeof planFlags>;

const optionsOf = async (context: Context, opened: Opened, values: PlanValues): Promise<PlanOptions> => {
  const { guards } = await import('../../kv-upgrade/guards/all.ts');
  const accept = (values.accept ?? []).map(currentGuard);
  for (const name of accept) {
    if (acceptable.includes(name)) continue;
    const why = guards.some(({ id }) => id === name)
      ? `${name} cannot be accepted: nothing good can come of it`
      : `${name} is not a guard`;
    throw invalidArguments([problem('--accept', 'enum', why, `one of ${acceptable.join(', ')}`)]);
  }
  const versions = await givenVersions(context, values['versions-file']);
  return {
    ...(versions === undefined ? {} : { versions }),
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

/** After an upgrade the program that runs is the new one of the cluster file, before it the old one. */
const whichRuns = async (context: Context, { cluster, access }: Opened): Promise<'old' | 'new'> => {
  const driver = await driverFor(context, cluster);
  const [first] = cluster.members;
  if (first === undefined) return 'old';
  const [{ new_binary_version: fresh }, running] = await Promise.all([
    driver.facts(first, { sizes: false }),
    access
      .store(first.client_url)
      .versions()
      .catch(() => undefined),
  ]);
  return fresh !== undefined && minorOf(fresh) === minorOf(running?.server) ? 'new' : 'old';
};

/** Looks at the cluster and plans: what check, plan and upgrade have in common. Nothing is touched. */
export const prepare = async (
  context: Context,
  values: PlanValues & { readonly 'keep-program'?: boolean | undefined },
  given?: PlanOptions,
  kind?: PlanKind,
): Promise<Prepared> => {
  const { host } = context;
  const asWritten = await openCluster(context, values, 'upgrade');
  const keeps = values['keep-program'] === true ? { keep_program: await whichRuns(context, asWritten) } : {};
  const opened = { ...asWritten, cluster: viewFor(asWritten.cluster, { kind, options: keeps }) };
  const [{ observe }, { planFrom }, { runDirectory, nextRunId }] = await Promise.all([
    import('../../kv-upgrade/observe/observe.ts'),
    import('../../kv-upgrade/plan.ts'),
    import('../../kv-upgrade/journal/journal.ts'),
  ]);
  const driver = await driverFor(context, opened.cluster);
  const options = given ?? { ...(await optionsOf(context, opened, values)), ...keeps };
  const run = await nextRunId(host, context.settings.directories.clusters, opened.cluster.name);
  const { cluster, access } = opened;
  const directory = runDirectory(context.settings.directories.clusters, cluster.name, run);
  const seen = await observe({
    host,
    cluster,
    access,
    driver,
    sizes: options.copy_data,
    isDeep: true,
    runDirectory: directory,
  });
  const observation = kind === 'restart' ? await withNewConfiguration(host, cluster, seen) : seen;
  const made = planFrom({ observation, cluster, options, describe: driver.describe, id: run, kind });
  return { opened: { ...opened, file: opened.file as string }, driver, options, observation, made, run };
};
