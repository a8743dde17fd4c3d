import { resolve } from 'node:path';
import type { Context } from '../../cli/command.ts';
import { AppError, invalidArguments, problem } from '../../core/problem.ts';
import type { Access } from '../../kv/engine/access.ts';
import type { ClusterFile } from '../../kv/engine/types.ts';
import type { EndpointValues } from './flags.ts';

export type Opened = {
  readonly cluster: ClusterFile;
  /** Absolute path of the cluster file; undefined when only endpoints were given. */
  readonly file?: string;
  readonly access: Access;
  /** Endpoints as they were typed, in the order of the members. */
  readonly typed: readonly string[];
};

/** The file that is meant when no flag names one. */
const defaultFile = async (context: Context): Promise<string> => {
  const { host, settings, log } = context;
  const named = host.env['OPSCTL_KV_CLUSTER'];
  if (named !== undefined && named !== '') return named;
  const simulated = resolve(settings.directories.state, 'mock-kv', 'cluster.yaml');
  if ((await host.files.info(simulated)) !== undefined) {
    log.info(`using the simulated cluster of ${simulated}`);
    return simulated;
  }
  throw new AppError('config', 'no cluster is named', {
    code: 'NO_CLUSTER',
    tryThis: [
      '--cluster FILE',
      '--endpoints HOST:PORT,… for commands that only look',
      'opsctl kv init writes a cluster file',
      'opsctl mock kv start makes a simulated cluster',
    ],
  });
};

export const openCluster = async (
  context: Context,
  values: EndpointValues,
  purpose: 'read' | 'upgrade' = 'read',
): Promise<Opened> => {
  const { host, log } = context;
  const [{ openAccess }, { flagged, fromEndpoints, withFlags }] = await Promise.all([
    import('../../kv/engine/access.ts'),
    import('../../kv/upgrade/cluster/given-access.ts'),
  ]);
  if (values.endpoints !== undefined && values.cluster !== undefined) {
    throw invalidArguments([problem('--endpoints', 'exclusive', 'cannot be given together with --cluster')]);
  }
  if (values.endpoints !== undefined) {
    const { cluster, typed } = fromEndpoints(values);
    const full = withFlags(cluster, values, host.cwd);
    const access = await openAccess(host, full, flagged(values));
    if (access.user !== undefined) log.hide(access.user.password);
    return { cluster: full, access, typed };
  }
  const { readCluster } = await import('../../kv/upgrade/cluster/cluster-file.ts');
  const file = resolve(host.cwd, values.cluster ?? (await defaultFile(context)));
  const cluster = withFlags(await readCluster(host, file, purpose), values, host.cwd);
  const access = await openAccess(host, cluster, flagged(values));
  if (access.user !== undefined) log.hide(access.user.password);
  return {
    cluster,
    file,
    access,
    typed: cluster.members.map(({ client_url }) => client_url.replace(/^[a-z]+:\/\//, '').replace(/\/$/, '')),
  };
};
