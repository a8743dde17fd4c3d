import type { Host } from '../../platform/host.ts';
import type { ClusterFile, DriverKind, MemberSpec } from '../types.ts';
import { calmStart } from './delayed-election.ts';
import type { Driver } from './driver.ts';
import type { Service } from './service.ts';
import type { Shell } from './shell.ts';

/** The driver that the cluster file names. Only what it needs is loaded. */
export const openDriver = async (host: Host, cluster: ClusterFile): Promise<Driver> => {
  const kind = cluster.driver ?? 'local';
  const size = cluster.members.length;
  if (kind === 'local') return calmStart((await import('./local.ts')).localDriver(host), size);
  const { scriptDriver } = await import('./script-driver.ts');
  const service = kind === 'ssh' ? (cluster.ssh?.then ?? 'local') : kind;
  const driver = scriptDriver(
    host,
    cluster,
    await shellsOf(host, cluster),
    await serviceOf(service, cluster),
  );
  // Units, containers and hooks have an environment of their own.
  return service === 'local' ? calmStart(driver, size) : driver;
};

const serviceOf = async (kind: Exclude<DriverKind, 'ssh'>, cluster: ClusterFile): Promise<Service> => {
  switch (kind) {
    case 'local':
      return (await import('./pid-file.ts')).pidFileService(cluster);
    case 'systemd':
      return (await import('./systemd.ts')).systemdService(cluster);
    case 'docker':
    case 'podman':
      return (await import('./docker.ts')).containerService(kind)(cluster);
    case 'static-pod':
      return (await import('./static-pod.ts')).staticPodService(cluster);
    default:
      return (await import('./hooks.ts')).hooksService(cluster);
  }
};

/** A shell where each member lives: over ssh, or here. */
export const shellsOf = async (host: Host, cluster: ClusterFile): Promise<(member: MemberSpec) => Shell> => {
  const { localShell, sshShell } = await import('./shell.ts');
  return (member) => (cluster.driver === 'ssh' ? sshShell(host, cluster, member) : localShell(host));
};
