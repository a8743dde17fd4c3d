import type { Context } from '../../cli/command.ts';
import type { Driver } from '../../kv/upgrade/supervisors/driver.ts';
import type { ClusterFile } from '../../kv/engine/types.ts';

export const driverFor = async (context: Context, cluster: ClusterFile): Promise<Driver> =>
  (await import('../../kv/upgrade/supervisors/open.ts')).openDriver(
    context.host,
    cluster,
    context.settings.directories.state,
  );
