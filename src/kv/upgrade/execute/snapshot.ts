import { next } from '../../../core/next.ts';
import { dirname } from 'node:path';
import { childPath, pathPart } from '../../../core/file-name.ts';
import { AppError, messageOf, writeFailure } from '../../../core/problem.ts';
import { openStore, type Status } from '../../client/etcd-client.ts';
import { saveSnapshot, type Verified } from '../../client/snapshot.ts';
import type {
  ClusterFile,
  JournalEntry,
  MemberSpec,
  Observation,
  Plan,
  Step,
  Unstamped,
  Detail,
} from '../../engine/model.ts';
import { progressOf } from '../../engine/progress.ts';
import { openDestination } from '../../snapshots/destination.ts';
import { storeFile } from '../../snapshots/schedule.ts';
import { decide } from '../decide.ts';
import { mebibytes } from '../guards/guard.ts';
import { observe } from '../observe/observe.ts';
import { seeDirectory, snapshotDirectory } from '../observe/snapshot-source.ts';
import { memberOf, type Run } from '../run.ts';

/** Without a byte for so long a stream is dead: packets that are lost say nothing. */
const silenceMs = ({ timeouts }: ClusterFile): number => (timeouts?.snapshot_seconds ?? 8) * 1000;
/** A file of this machine that cannot be written: the error of the system names the path, not the member. */
const aboutMember = (name: string, error: unknown): unknown => {
  if (!(error instanceof Error) || error instanceof AppError || writeFailure(error) === undefined)
    return error;
  const tryThis = ['make room on its disk, or name another directory with snapshot_dir in the cluster file'];
  return new AppError('stopped', `${name}: its snapshot could not be written: ${error.message}`, {
    code: 'DISK',
    tryThis,
    cause: error,
  });
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
const save = async (run: Run, member: MemberSpec, path: string, signal: AbortSignal): Promise<Saved> => {
  const { host, access, cluster } = run;
  const store = openStore(host, {
    url: member.client_url,
    tls: access.tls,
    user: access.user,
    timeoutMs: silenceMs(cluster),
    signal: AbortSignal.any([run.members.signal(), signal]),
  });
  // A member that does not answer is found out at once; only the stream itself may take its time.
  const status = await access.store(member.client_url).status();
  await refuseLittleRoom(host, member.name, path, status.db_size_bytes);
  try {
    await host.files.makeDirectory(dirname(path), 0o700);
    return { status, verified: await saveSnapshot(host, store, path) };
  } catch (error) {
    throw aboutMember(member.name, error);
  }
};
const silentStream =
  'look at the network to it; timeouts.snapshot_seconds in the cluster file lets a stream be silent for longer';
const notSaved = (name: string, error: AppError): AppError => {
  const { code = 'SNAPSHOT_CUT', tryThis = [] } = error.detail;
  return new AppError('stopped', `${name}: no snapshot of it could be saved: ${error.message}`, {
    code,
    tryThis: code === 'DEADLINE_EXCEEDED' ? [silentStream] : tryThis,
    cause: error,
  });
};
const saveOrRetry = async (
  run: Run,
  member: MemberSpec,
  path: string,
  signal: AbortSignal,
): Promise<Saved> => {
  for (let left = tries; ; left -= 1) {
    try {
      return await save(run, member, path, signal);
    } catch (error) {
      if (!wasCut(error)) throw error;
      if (left === 1 || run.signal.aborted || signal.aborted) throw notSaved(member.name, error);
      run.emit({
        event: 'note',
        level: 'warn',
        text: `the snapshot of ${member.name} was cut off (${error.message}): once more`,
      });
    }
  }
};
/** Into the bucket that the cluster file names; the copy on this machine goes when the bucket has it. Nothing of the member was touched yet. */
const storedAway = async (run: Run, member: string, file: string, { status }: Saved): Promise<string> => {
  const { host, cluster, signal } = run;
  const where = cluster.snapshot_url;
  if (where === undefined) return file;
  const destination = await openDestination(host, where, {
    ...cluster.s3,
    workDirectory: dirname(file),
    flag: 'snapshot_dir',
  });
  try {
    const takenMs = host.now();
    const storing = { host, cluster: cluster.name, member, destination, signal, takenMs };
    const { place } = await storeFile({ ...storing, atStart: status.revision }, file);
    await host.files.remove(file);
    return place;
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    throw new AppError('stopped', `${member}: its snapshot could not be stored: ${error.message}`, {
      ...error.detail,
      tryThis: [...(error.detail.tryThis ?? []), next(['kv', 'resume'])],
      cause: error,
    });
  } finally {
    destination.close();
  }
};
const patternText = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
/** A process that was killed leaves what it had: nobody else writes snapshots of this member while the locks are held. */
const removePartial = async (
  { host: { files }, cluster }: Run,
  member: string,
  file: string,
): Promise<void> => {
  const directory = dirname(file);
  const partial = new RegExp(
    `^\\.${patternText(`${cluster.name}-${member}`)}-\\d{8}T\\d{6}Z[^.]*\\.db\\.[^/]+\\.tmp$`,
  );
  const names = await files.list(directory).catch(() => []);
  for (const name of names)
    if (partial.test(name)) await files.remove(childPath(directory, pathPart(name))).catch(() => {});
};
/** `signal` breaks off a snapshot that was begun ahead of its turn. */
export const takeSnapshot = async (
  run: Run,
  { member: name }: Step,
  signal: AbortSignal = new AbortController().signal,
): Promise<Detail> => {
  const { host, cluster } = run;
  const member = memberOf(run, name as string);
  const began = host.elapsed();
  const file = childPath(
    snapshotDirectory(cluster, run.directory),
    pathPart(`${cluster.name}-${member.name}-${run.id}.db`),
  );
  await removePartial(run, member.name, file);
  const saved = await saveOrRetry(run, member, file, signal);
  const { status, verified } = saved;
  const path = await storedAway(run, member.name, file, saved);
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

/** The snapshot of the next member while the one before it is watched. `wait` ends with it, however it ended; `cancel` breaks it off. */
export type EarlySnapshot = { wait(): Promise<void>; cancel(): Promise<void> };
const none: EarlySnapshot = { wait: async () => {}, cancel: async () => {} };
/** What would be decided if this health check had ended: the snapshot step of the member that follows, when it begins with one. Pure. */
export const snapshotAfter = (
  plan: Plan,
  entries: readonly JournalEntry[],
  { id }: Step,
  observation: Observation,
): Step | undefined => {
  const ended: JournalEntry = { kind: 'end', step: id, at: observation.taken_at };
  const decision = decide(plan, progressOf([...entries, ended]), observation);
  if (decision.kind === 'steps') return decision.steps.find(({ kind }) => kind === 'snapshot');
  // The question before the last member is answered at once where a flag answers it.
  return decision.kind === 'ask'
    ? plan.steps.find(({ kind, member }) => kind === 'snapshot' && member === decision.member)
    : undefined;
};
/** Nothing waits between this member and the next one: a snapshot that would be old by then is taken when its turn comes. A plan waits after every member or after none. */
const isSoon = ({ plan, window }: Run): boolean =>
  window === undefined && plan.steps.every(({ kind }) => kind !== 'settle');
type Take = (step: Step, signal: AbortSignal) => Promise<void>;
/**
 * Begins the snapshot of the next member. A failure is no failure of anything yet: its step takes it again, and says what is wrong. `take` is the
 * step with its lines of the journal.
 */
export const beginEarlySnapshot = (run: Run, gate: Step, take: Take): EarlySnapshot => {
  const { host, cluster, access, plan, journal } = run;
  if (!isSoon(run)) return none;
  const over = new AbortController();
  const taking = (async () => {
    const step = snapshotAfter(plan, journal.entries, gate, await observe({ host, cluster, access }));
    if (step !== undefined && !over.signal.aborted && !run.signal.aborted) await take(step, over.signal);
  })().catch((error: unknown) => {
    if (!over.signal.aborted) run.emit(tookNone(error));
  });
  return {
    wait: () => taking,
    cancel: async () => {
      over.abort();
      await taking;
    },
  };
};
const tookNone = (error: unknown): Unstamped => ({
  event: 'note',
  level: 'info',
  text: `the next member's snapshot was not taken ahead (${messageOf(error)}): it is taken when its turn comes`,
});
