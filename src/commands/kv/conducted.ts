import type { Context } from '../../cli/command.ts';
import type { Result } from '../../core/result.ts';
import type { SessionInput } from '../../kv/upgrade/execute/session.ts';
import type { Driver } from '../../kv/upgrade/supervisors/driver.ts';
import type { Plan } from '../../kv/engine/types.ts';
import { confirmCrossing, reportUnattended } from './confirm-crossing.ts';
import { driverFor } from './driver-for.ts';
import type { Opened } from './open-cluster.ts';
import type { RunValues } from './run-flags.ts';
import { watched } from './run.ts';
import { windowOf } from './window.ts';

export type Start = {
  readonly opened: Opened;
  /** The one that planned: it has its connections, and knows which version each program is. */
  readonly driver?: Driver;
  readonly plan: Plan;
  readonly run: string;
  readonly action: SessionInput['action'];
  readonly loop?: SessionInput['loop'];
};

export const conducted = async (
  context: Context,
  values: RunValues,
  { opened, driver: planned, plan, run, action, loop }: Start,
): Promise<Result> => {
  const { host, settings } = context;
  const [{ conduct }, { withListeners }] = await Promise.all([
    import('../../kv/upgrade/execute/session.ts'),
    import('../../kv/upgrade/window/listeners.ts'),
  ]);
  const driver = planned ?? (await driverFor(context, opened.cluster));
  const common = {
    host,
    cluster: opened.cluster,
    clusterFile: opened.file ?? '',
    access: opened.access,
    driver,
    state: settings.directories.clusters,
  };
  if (action !== 'rollback') reportUnattended(context, values, plan);
  return watched(context, async (sink, ask, signal) => {
    const window = await windowOf(context, values, plan.cluster, ask);
    return withListeners(context, values, { plan, run, action }, sink, (all) =>
      conduct({
        ...common,
        ...{ plan, run, action, sink: all, signal, window },
        confirmed: (crossing, withdrawn) => confirmCrossing(context, values, plan, crossing, ask, withdrawn),
        hasCanary: values.canary !== false,
        canaryRate: values['canary-rate'],
        canKill: values['kill-after-grace'] ?? false,
        ...(loop === undefined ? {} : { loop }),
      }),
    );
  });
};
