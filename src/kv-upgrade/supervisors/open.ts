import type { Host } from '../../platform/host.ts';
import type { ClusterFile, MemberSpec } from '../types.ts';
import { calmStart } from './delayed-election.ts';
import type { Driver } from './driver.ts';
import type { Shell } from './shell.ts';

/** The driver that the cluster file names. Only what it needs is loaded. */
export const openDriver = async (host: Host, cluster: ClusterFile): Promise<Driver> => {
  const kind = cluster.driver ?? 'local';
  const size = cluster.members.length;
  if (kind === 'local') return calmStart((await import('./local.ts')).localDriver(host), size);
  const [{ scriptDriver }, steerings] = await Promise.all([
    import('./script-driver.ts'),
    import('./service-commands-by-kind.ts'),
  ]);
  const makers = {
    local: steerings.pidFileSteering,
    systemd: steerings.systemdSteering,
    docker: steerings.dockerSteering,
    'static-pod': steerings.staticPodSteering,
    hooks: steerings.hooksSteering,
  };
  const steered = kind === 'ssh' ? (cluster.ssh?.then ?? 'local') : kind;
  const driver = scriptDriver(host, cluster, await shellsOf(host, cluster), makers[steered](cluster));
  // Units, containers and hooks have an environment of their own.
  return steered === 'local' ? calmStart(driver, size) : driver;
};

/** A shell where each member lives: over ssh, or here. */
export const shellsOf = async (host: Host, cluster: ClusterFile): Promise<(member: MemberSpec) => Shell> => {
  const { localShell, sshShell } = await import('./shell.ts');
  return (member) => (cluster.driver === 'ssh' ? sshShell(host, cluster, member) : localShell(host));
};
