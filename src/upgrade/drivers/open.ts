import type { Host } from '../../host/host.ts';
import type { ClusterFile, MemberSpec } from '../types.ts';
import type { Driver } from './driver.ts';
import type { Shell } from './shell.ts';

/** The driver that the cluster file names. Only what it needs is loaded. */
export const openDriver = async (host: Host, cluster: ClusterFile): Promise<Driver> => {
  const kind = cluster.driver ?? 'local';
  if (kind === 'local') return (await import('./local.ts')).localDriver(host);
  const [{ scriptDriver }, { localShell, sshShell }, steerings] = await Promise.all([
    import('./script-driver.ts'),
    import('./shell.ts'),
    import('./steerings.ts'),
  ]);
  const makers = {
    local: steerings.pidFileSteering,
    systemd: steerings.systemdSteering,
    docker: steerings.dockerSteering,
    'static-pod': steerings.staticPodSteering,
    hooks: steerings.hooksSteering,
  };
  const steering = makers[kind === 'ssh' ? (cluster.ssh?.then ?? 'local') : kind](cluster);
  const shells = new Map<string, Shell>();
  const shellFor = (member: MemberSpec): Shell => {
    const found = shells.get(member.name) ?? (kind === 'ssh' ? sshShell(host, cluster, member) : localShell(host));
    shells.set(member.name, found);
    return found;
  };
  return scriptDriver(host, cluster, shellFor, steering);
};
