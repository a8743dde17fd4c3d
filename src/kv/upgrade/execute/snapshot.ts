import { escapePattern } from '../../../core/text.ts';
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
import { decide } from '../decide.ts';
import { sizeText } from '../../../core/format.ts';
import { observe, seeDirectory, snapshotDirectory } from '../observe/observe.ts';
import { memberOf, type Run } from '../run.ts';
import { storeFile } from '../../snapshots/catalog.ts';

/** If a stream sends no byte for this long, it counts as broken. A short loss of packets does not. */
const silenceMs = ({ timeouts }: ClusterFile): number => (timeouts?.snapshot_seconds ?? 8) * 1000;
/** An error of the system about a file on this machine names the path, not the member. */
const aboutMember = (name: string, error: unknown): unknown => {
  if (!(error instanceof Error) || error instanceof AppError || writeFailure(error) === undefined)
    return error;
  const tryThis = ['free space on its disk, or set snapshot_dir in the cluster file to another directory'];
  return new AppError('stopped', `${name}: cannot write its snapshot: ${error.message}`, {
    code: 'DISK',
    tryThis,
    cause: error,
  });
};
/** The free space may have changed since the plan: report this immediately, not after a gigabyte. */
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
    `${name}: not enough space for its snapshot ${path}: ${sizeText(free)} free, ${sizeText(wanted)} required`,
    {
      code: 'DISK',
      tryThis: ['free space there, or set snapshot_dir in the cluster file to another directory'],
    },
  );
};
const tries = 2;
/**
 * The connection was interrupted: the next attempt may succeed. An error of the member or of this machine
 * stays unchanged.
 */
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
  // This request detects a member that does not respond immediately; only the stream has a long timeout.
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
  'check the network to it; a larger timeouts.snapshot_seconds in the cluster file allows longer gaps in the stream';
const notSaved = (name: string, error: AppError): AppError => {
  const { code = 'SNAPSHOT_CUT', tryThis = [] } = error.detail;
  return new AppError('stopped', `${name}: cannot save its snapshot: ${error.message}`, {
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
        text: `the snapshot of ${member.name} was interrupted (${error.message}); requesting it again`,
      });
    }
  }
};
/**
 * Uploads the snapshot to the bucket of the cluster file, then deletes the local copy. The member has not
 * been changed yet.
 */
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
    throw new AppError('stopped', `${member}: cannot store its snapshot: ${error.message}`, {
      ...error.detail,
      tryThis: [...(error.detail.tryThis ?? []), next(['kv', 'resume'])],
      cause: error,
    });
  } finally {
    destination.close();
  }
};
/** A killed process leaves a partial file. Only the owner of the locks writes snapshots of this member. */
const removePartial = async (
  { host: { files }, cluster }: Run,
  member: string,
  file: string,
): Promise<void> => {
  const directory = dirname(file);
  const partial = new RegExp(
    `^\\.${escapePattern(`${cluster.name}-${member}`)}-\\d{8}T\\d{6}Z[^.]*\\.db\\.[^/]+\\.tmp$`,
  );
  const names = await files.list(directory).catch(() => []);
  for (const name of names)
    if (partial.test(name)) await files.remove(childPath(directory, pathPart(name))).catch(() => {});
};
/** `signal` cancels a snapshot that was started early. */
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

/**
 * The snapshot of the next member, taken while the previous member is watched. `wait` resolves when the
 * snapshot has ended, successfully or not; `cancel` stops it.
 */
export type EarlySnapshot = { wait(): Promise<void>; cancel(): Promise<void> };
const none: EarlySnapshot = { wait: async () => {}, cancel: async () => {} };
/**
 * Returns the snapshot step of the next member if this health check had ended; undefined if the next member
 * does not start with a snapshot. Pure.
 */
export const snapshotAfter = (
  plan: Plan,
  entries: readonly JournalEntry[],
  { id }: Step,
  observation: Observation,
): Step | undefined => {
  const ended: JournalEntry = { kind: 'end', step: id, at: observation.taken_at };
  const decision = decide(plan, progressOf([...entries, ended]), observation);
  if (decision.kind === 'steps') return decision.steps.find(({ kind }) => kind === 'snapshot');
  // A flag can confirm the question before the last member in advance.
  return decision.kind === 'ask'
    ? plan.steps.find(({ kind, member }) => kind === 'snapshot' && member === decision.member)
    : undefined;
};
/**
 * Returns whether no wait follows this member. If a wait follows, the snapshot step runs in its turn, because
 * an early snapshot would be outdated. A plan waits after every member or after none.
 */
const isSoon = ({ plan, window }: Run): boolean =>
  window === undefined && plan.steps.every(({ kind }) => kind !== 'settle');
type Take = (step: Step, signal: AbortSignal) => Promise<void>;
/**
 * Starts the snapshot of the next member. A failure is ignored here: its own step repeats the snapshot and
 * reports the error. `take` is the step with its lines of the journal.
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
  text: `the snapshot of the next member was not saved in advance (${messageOf(error)}): opsctl saves it in its own step`,
});
