import type { Host } from '../../platform/host.ts';
import { AppError } from '../../core/problem.ts';
import { momentText } from '../report/labels.ts';
import type { Owner } from '../types.ts';

/** What both locks say: who is at work, in which run. */
export type Held = { readonly run: string; readonly owner: Owner; readonly since: string };
export type Lock = {
  release(): Promise<void>;
  /** Throws LOCKED when it went to somebody else; what was deleted is written again. */
  hold(): Promise<void>;
};

export const ownerOf = (host: Host): Owner => {
  const [name, mark] = [host.env['USER'] ?? host.env['LOGNAME'], host.processes.startMark(host.pid)];
  // Started by a service or in a container there is often no name: then the number says who it was.
  const user = name ?? (host.uid < 0 ? undefined : host.uid === 0 ? 'root' : `uid ${host.uid}`);
  return {
    ...(user === undefined ? {} : { user }),
    host: host.hostname,
    pid: host.pid,
    ...(mark === undefined ? {} : { start_mark: mark }),
  };
};

export const taken = ({ owner, since, run }: Held, where: string, hint: string): AppError =>
  new AppError(
    'unsafe',
    `the cluster is locked by another operator: ${owner.user ?? 'somebody'} on ${owner.host}, process ${owner.pid}, since ${/^\d{4}-/.test(since) ? momentText(since) : since} (${where})`,
    { code: 'LOCKED', tryThis: [hint, 'opsctl kv status'], data: { run, owner } },
  );
