import { AppError } from '../../kernel/problem.ts';
import type { Host } from '../../host/host.ts';
import type { ClusterFile } from '../types.ts';
import type { Driver } from './driver.ts';

/** The driver that the cluster file names. Only its own file is loaded. */
export const openDriver = async (host: Host, cluster: ClusterFile): Promise<Driver> => {
  const kind = cluster.driver ?? 'local';
  switch (kind) {
    case 'local':
      return (await import('./local.ts')).localDriver(host);
    default:
      throw new AppError('config', `driver ${kind} is not known`, { code: 'CLUSTER_FILE' });
  }
};
