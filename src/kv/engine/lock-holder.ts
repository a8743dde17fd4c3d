import type { Host } from '../../platform/host.ts';
import { type ProcessIdentity, thisProcessIdentity } from '../../platform/process-identity.ts';
import { AppError } from '../../core/problem.ts';
import { momentText } from '../upgrade/present/labels.ts';
import type { Owner } from './types.ts';

/** What both locks say: who is at work, in which run. */
export type Held = { readonly run: string; readonly owner: Owner; readonly since: string };
export type Lock = {
  release(): Promise<void>;
  /** Throws LOCKED when it went to somebody else; what was deleted is written again. */
  hold(): Promise<void>;
};

export const ownerOf = (host: Host): Owner => {
  const name = host.env['USER'] ?? host.env['LOGNAME'];
  const { pid, machine, mark, machineId, bootId, pidNamespace } = thisProcessIdentity(host);
  // Started by a service or in a container there is often no name: then the number says who it was.
  const user = name ?? (host.uid < 0 ? undefined : host.uid === 0 ? 'root' : `uid ${host.uid}`);
  return {
    ...(user === undefined ? {} : { user }),
    host: machine,
    pid,
    ...(mark === undefined ? {} : { start_mark: mark }),
    ...(machineId === undefined ? {} : { machine_id: machineId }),
    ...(bootId === undefined ? {} : { boot_id: bootId }),
    ...(pidNamespace === undefined ? {} : { pid_namespace: pidNamespace }),
  };
};

export const processOf = (owner: Owner): ProcessIdentity => ({
  pid: owner.pid,
  machine: owner.host,
  mark: owner.start_mark,
  machineId: owner.machine_id,
  bootId: owner.boot_id,
  pidNamespace: owner.pid_namespace,
});

export const taken = ({ owner, since, run }: Held, where: string, hint: string): AppError =>
  new AppError(
    'unsafe',
    `the cluster is locked by another operator: ${owner.user ?? 'somebody'} on ${owner.host}, process ${owner.pid}, since ${/^\d{4}-/.test(since) ? momentText(since) : since} (${where})`,
    { code: 'LOCKED', tryThis: [hint, 'opsctl kv status'], data: { run, owner } },
  );
