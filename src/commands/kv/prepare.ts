import type { Context } from '../../cli/command.ts';
import { withNewConfiguration } from '../../kv/upgrade/configuration/new-configuration.ts';
import { viewFor } from '../../kv/upgrade/plan-kind.ts';
import type { Driver } from '../../kv/upgrade/supervisors/driver.ts';
import type { Observation, Plan, PlanKind, PlanOptions, Refusal } from '../../kv/engine/types.ts';
import { driverFor } from './driver-for.ts';
import { openCluster, type Opened } from './open-cluster.ts';
import type { PlanValues } from './plan-flags.ts';
import { givenVersions } from './versions-flag.ts';

export type Prepared = {
  readonly opened: Opened & { readonly file: string };
  readonly driver: Driver;
  readonly options: PlanOptions;
  readonly observation: Observation;
  readonly made: Plan | Refusal;
  readonly run: string;
};

/** `--keep-program`: the program of the cluster file that runs now. */
const keptProgram = async (
  context: Context,
  { cluster, access }: Opened,
  isKept: boolean | undefined,
): Promise<Pick<PlanOptions, 'keep_program'>> => {
  if (isKept !== true) return {};
  const { whichRuns } = await import('../../kv/upgrade/observe/which-program.ts');
  return { keep_program: await whichRuns(cluster, access, await driverFor(context, cluster)) };
};

const optionsOf = async (context: Context, { cluster }: Opened, values: PlanValues): Promise<PlanOptions> => {
  const { acceptedGuards, planOptions } = await import('../../kv/upgrade/plan-options.ts');
  const accept = acceptedGuards(values.accept);
  return planOptions({ ...values, accept }, cluster, await givenVersions(context, values['versions-file']));
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
  const keeps = await keptProgram(context, asWritten, values['keep-program']);
  const opened = { ...asWritten, cluster: viewFor(asWritten.cluster, { kind, options: keeps }) };
  const [{ observe }, { planFrom }, { runDirectory, nextRunId }] = await Promise.all([
    import('../../kv/upgrade/observe/observe.ts'),
    import('../../kv/upgrade/plan.ts'),
    import('../../kv/engine/journal.ts'),
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
