import { dirname, relative, resolve } from 'node:path';
import type { Context } from '../../cli/command.ts';
import type { Category } from '../../core/problem.ts';
import type { Result } from '../../core/result.ts';
import type { Fleet } from '../../kv/upgrade/fleet/fleet-file.ts';
import { type FleetValues, lastMemberFlags } from './fleet-flags.ts';

/** One row for each cluster, as it ends. */
export const fleetUpgrade = async (context: Context, values: FleetValues, fleet: Fleet): Promise<Result> => {
  const { host, settings, signal, log } = context;
  const [{ conductFleet }, { fleetRow }] = await Promise.all([
    import('../../kv/upgrade/fleet/conduct-fleet.ts'),
    import('../../kv/upgrade/fleet/fleet-row.ts'),
  ]);
  const file = resolve(host.cwd, values.file);
  const label = (cluster: string): string => relative(dirname(file), cluster);
  let category: Category | 'done' = 'done';
  const ended = conductFleet({
    ...{ host, fleet, file, signal, label },
    state: settings.directories.state,
    lastMember: lastMemberFlags(values),
    info: log.info,
    confirm: () =>
      context.confirm(
        `Upgrade ${fleet.clusters.length} clusters of ${fleet.name}, ${label(fleet.canary)} first, then ${fleet.atOnce} at once?`,
      ),
  });
  // What speaks against it is an error of the command, not of a row.
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
