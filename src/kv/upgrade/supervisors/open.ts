import { stopGraceMs } from '../cluster/stop-grace.ts';
import type { Host } from '../../../platform/host.ts';
import type { ClusterFile, DriverKind, MemberSpec } from '../../engine/types.ts';
import { withDelayedElection } from './delayed-election.ts';
import type { Driver } from './driver.ts';
import type { Service } from './service.ts';
import type { Shell } from './shell.ts';

/** The driver that the cluster file names. Only what it needs is loaded. `state`: the directory of this user's state. */
export const openDriver = async (host: Host, cluster: ClusterFile, state?: string): Promise<Driver> => {
  const kind = cluster.driver ?? 'local';
  const size = cluster.members.length;
  if (kind === 'local') return withDelayedElection((await import('./local.ts')).localDriver(host), size);
  const { scriptDriver } = await import('./script-driver.ts');
  const by = kind === 'ssh' ? (cluster.ssh?.then ?? 'local') : kind;
  const shells = await shellsOf(host, cluster, state);
  const driver = scriptDriver(host, cluster, shells, await serviceOf(by, cluster));
  const patient =
    kind === 'ssh'
      ? (await import('./reconnect.ts')).reconnecting(driver, host, stopGraceMs(cluster))
      : driver;
  // Units, containers and hooks have an environment of their own.
  return by === 'local' ? withDelayedElection(patient, size) : patient;
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
export const shellsOf = async (
  host: Host,
  cluster: ClusterFile,
  state?: string,
): Promise<(member: MemberSpec) => Shell> => {
  if (cluster.driver !== 'ssh') {
    const { localShell } = await import('./shell.ts');
    return () => localShell(host);
  }
  const { openSsh, sshShell } = await import('./ssh.ts');
  const ssh = openSsh(host, cluster, state);
  return (member) => sshShell(ssh, member);
};
