import { dirname, join } from 'node:path';
import { AppError } from '../../core/problem.ts';
import { saveSnapshot } from '../../etcd-client/snapshot.ts';
import type { Verified } from '../../etcd-client/snapshot.ts';
import { openStore } from '../../etcd-client/etcd-client.ts';
import type { Status } from '../../etcd-client/etcd-client.ts';
import { mebibytes } from '../guards/guard.ts';
import { memberOf } from '../run.ts';
import type { Act, Run } from '../run.ts';
import { seeDirectory, snapshotDirectory } from '../observe/snapshot-space.ts';
import type { ClusterFile, MemberSpec } from '../types.ts';

/** Without a byte for so long a stream is dead: packets that are lost say nothing. */
const silenceMs = ({ timeouts }: ClusterFile): number => (timeouts?.snapshot_seconds ?? 8) * 1000;

const fileErrors = ['ENOSPC', 'EDQUOT', 'EROFS', 'EACCES', 'EIO', 'EFBIG'];
/** A file of this machine that cannot be written: the error of the system names neither the member nor the path. */
const aboutFile = (name: string, what: string, error: unknown): unknown => {
  const { code, message } = error as Error & { code?: string };
  if (error instanceof AppError || !fileErrors.includes(code ?? '')) return error;
  const tryThis = ['make room on its disk, or name another directory with snapshot_dir in the cluster file'];
  return new AppError('stopped', `${name}: ${message} (${what})`, { code: 'DISK', tryThis, cause: error });
};

/** What was free when the run was planned may be gone: better said at once than after a gigabyte. */
const refuseLittleRoom = async (
  host: Run['host'],
  name: string,
  path: string,
  wanted: number,
): Promise<void> => {
  const { free_bytes: free } = await seeDirectory(host.files, dirname(path));
  if (free === undefined || free >= wanted) return;
  throw new AppError(
    'stopped',
    `${name}: no room for its snapshot ${path}: ${mebibytes(free)} free, ${mebibytes(wanted)} wanted`,
    {
      code: 'DISK',
      tryThis: ['make room there, or name another directory with snapshot_dir in the cluster file'],
    },
  );
};

const tries = 2;
/** Cut off on its way: the next one may come through. What the member refuses or this machine cannot write stays as it is. */
const wasCut = (error: unknown): error is AppError =>
  error instanceof AppError && error.category === 'network';

type Saved = { readonly status: Status; readonly verified: Verified };
const save = async (run: Run, member: MemberSpec, path: string): Promise<Saved> => {
  const { host, access, cluster } = run;
  const store = openStore(host, {
    url: member.client_url,
    tls: access.tls,
    user: access.user,
    timeoutMs: silenceMs(cluster),
    signal: run.members.signal(),
  });
  // A member that does not answer is found out at once; only the stream itself may take its time.
  const status = await access.store(member.client_url).status();
  await refuseLittleRoom(host, member.name, path, status.db_size_bytes);
  try {
    await host.files.makeDirectory(dirname(path), 0o700);
    return { status, verified: await saveSnapshot(host, store, path) };
  } catch (error) {
    throw aboutFile(member.name, `its snapshot ${path}`, error);
  }
};

const saveOrRetry = async (run: Run, member: MemberSpec, path: string): Promise<Saved> => {
  for (let left = tries; ; left -= 1) {
    try {
      return await save(run, member, path);
    } catch (error) {
      if (!wasCut(error)) throw error;
      if (left === 1 || run.signal.aborted)
        throw new AppError('stopped', `${member.name}: no snapshot of it could be saved: ${error.message}`, {
          code: error.detail.code ?? 'SNAPSHOT_CUT',
          tryThis:
            error.detail.code === 'DEADLINE_EXCEEDED'
              ? [
                  'look at the network to it; timeouts.snapshot_seconds in the cluster file lets a stream be silent for longer',
                ]
              : (error.detail.tryThis ?? []),
          cause: error,
        });
      run.emit({
        event: 'note',
        level: 'warn',
        text: `the snapshot of ${member.name} was cut off (${error.message}): once more`,
      });
    }
  }
};

export const takeSnapshot: Act = async (run, { member: name }) => {
  const { host, cluster } = run;
  const member = memberOf(run, name as string);
  const began = host.elapsed();
  const path = join(snapshotDirectory(cluster, run.directory), `${cluster.name}-${member.name}-${run.id}.db`);
  const { status, verified } = await saveOrRetry(run, member, path);
  const { revision, raft_index } = status;
  const snapshot = {
    member: member.name,
    path,
    ...verified,
    revision,
    raft_index,
    duration_ms: Math.round(host.elapsed() - began),
  };
  run.journal.write({ kind: 'snapshot', snapshot });
  run.emit({ event: 'snapshot-saved', snapshot });
  return { path, revision, size_bytes: verified.size_bytes };
};
