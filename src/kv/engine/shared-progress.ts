import { next } from '../../core/next.ts';
import { join } from 'node:path';
import { childPath, pathPart } from '../../core/file-name.ts';
import { AppError, messageOf } from '../../core/problem.ts';
import type { Host } from '../../platform/host.ts';
import { firstAnswer, type Store } from '../client/etcd-client.ts';
import type { ClusterFile, JournalEntry, MemberSeen, Owner, Plan } from './model.ts';
import { currentEntry } from './earlier-names.ts';
import { findRuns, type FoundRun, isRunId, runDirectory } from './journal.ts';

/** What another machine needs to go on with a run when the one that began it is gone: its journal, without what only explains it. */
type SharedProgress = {
  readonly format: 1;
  readonly cluster: string;
  readonly run: string;
  readonly written_at: string;
  readonly entries: readonly JournalEntry[];
};

/** Next to the lock. */
const progressKey = 'opsctl/upgrade-progress';
const fileIn = (directory: string, { name }: ClusterFile): string =>
  childPath(directory, pathPart(`${name}.upgrade-progress.json`));
/** A journal of hundreds of steps has a few ten kilobytes; a store takes values up to 1.5 MiB. */
const mostBytes = 512 * 1024;

const memberOf = ({ host, listed_ids: _, ...member }: MemberSeen): MemberSeen =>
  host?.v2_bytes === undefined ? member : { ...member, host: { v2_bytes: host.v2_bytes } };
/** Commands and configurations may hold secrets and are made anew from the cluster file. */
const planOf = (plan: Plan): Plan => ({
  ...plan,
  findings: [],
  steps: plan.steps.map(({ replaces: _, ...step }) => ({ ...step, commands: [] })),
  observation: { ...plan.observation, members: plan.observation.members.map(memberOf) },
});
const entryOf = (entry: JournalEntry): JournalEntry =>
  entry.kind === 'opened' ? { ...entry, plan: planOf(entry.plan) } : entry;

/** Pure. */
const sharedText = (cluster: string, run: string, at: string, entries: readonly JournalEntry[]): string =>
  JSON.stringify({
    format: 1,
    cluster,
    run,
    written_at: at,
    entries: entries.map(entryOf),
  } satisfies SharedProgress);

/** Undefined for anything that is not progress of this format and cluster. Pure. */
const sharedFrom = (text: string | undefined, cluster: string): SharedProgress | undefined => {
  try {
    const found = JSON.parse(text ?? '') as SharedProgress;
    const isOurs = found.format === 1 && found.cluster === cluster && isRunId(found.run);
    return isOurs && Array.isArray(found.entries)
      ? { ...found, entries: found.entries.map((entry) => currentEntry(entry) as JournalEntry) }
      : undefined;
  } catch {
    return undefined;
  }
};

export type Sharing = {
  readonly host: Host;
  readonly cluster: ClusterFile;
  readonly stores: readonly Store[];
  readonly run: string;
  readonly entries: readonly JournalEntry[];
};
export type Shared = {
  /** After a line of the journal: written soon, never waited for. */
  touch(): void;
  /** Before a member is stopped: afterwards whoever takes over has to know it. */
  flush(): Promise<void>;
  /** The run is over, or leaves its progress for whoever goes on with it. */
  end(isOver: boolean): Promise<void>;
};

const writeFile = async ({ host, cluster }: Sharing, text: string): Promise<void> => {
  const directory = cluster.snapshot_dir;
  if (directory === undefined) return;
  await host.files
    .makeDirectory(directory, 0o700)
    .then(() => host.files.replace(fileIn(directory, cluster), `${text}\n`, 0o600))
    .catch(() => {});
};

const removeFile = ({ host, cluster }: Pick<Sharing, 'host' | 'cluster'>): Promise<void> =>
  cluster.snapshot_dir === undefined
    ? Promise.resolve()
    : host.files.remove(fileIn(cluster.snapshot_dir, cluster)).catch(() => {});

/** Nothing of it may stop a run: the journal on this machine is what counts, and this is for the day when this machine is gone. */
export const shareProgress = (sharing: Sharing): Shared => {
  const { host, cluster, stores, run, entries } = sharing;
  let [written, isOver] = [0, false];
  let writing: Promise<void> | undefined;
  const write = async (): Promise<void> => {
    const count = entries.length;
    const text = sharedText(cluster.name, run, new Date(host.now()).toISOString(), entries);
    // What is too long is as done as what was written: it would be tried for ever.
    if (Buffer.byteLength(text) <= mostBytes) {
      await firstAnswer(stores, (store) => store.put(progressKey, text)).catch(() => {});
      await writeFile(sharing, text);
    }
    written = count;
  };
  const soon = (): Promise<void> => {
    writing ??= write().finally(() => {
      writing = undefined;
      if (!isOver && written < entries.length) void soon();
    });
    return writing;
  };
  const flush = async (): Promise<void> => {
    for (let tries = 0; written < entries.length && tries < 2; tries += 1) await soon();
  };
  return {
    touch: () => {
      if (!isOver) void soon();
    },
    flush,
    end: async (isFinal) => {
      if (!isFinal) return flush();
      isOver = true;
      await writing;
      await removeShared({ host, cluster, stores });
    },
  };
};

export const removeShared = async (sharing: Pick<Sharing, 'host' | 'cluster' | 'stores'>): Promise<void> => {
  await firstAnswer(sharing.stores, (store) => store.del(progressKey)).catch(() => {});
  await removeFile(sharing);
};

export const PROGRESS_UNREAD = 'PROGRESS_UNREAD';
/** Nobody knows then whether another machine has a run of this cluster. */
const unread = (cluster: string, error: unknown): AppError =>
  new AppError(
    error instanceof AppError ? error.category : 'network',
    `it could not be read from the store whether another machine has an unfinished run of cluster ${cluster}: ${messageOf(error)}`,
    {
      code: PROGRESS_UNREAD,
      retryable: true,
      cause: error,
      tryThis: [next(['kv', 'status']), 'run the same command on the machine that began the run'],
    },
  );

/**
 * A run of this cluster that was begun on another machine, or that went on there: as it is written in the store, else beside the snapshots.
 * Throws PROGRESS_UNREAD where the store did not say, and nothing lies beside the snapshots.
 */
export const sharedRun = async (
  { host, cluster, stores }: Pick<Sharing, 'host' | 'cluster' | 'stores'>,
  state: string,
): Promise<(FoundRun & { readonly owner?: Owner }) | undefined> => {
  const kept = await Promise.any(
    stores.map((store) => store.range(progressKey, { isSerializable: true })),
  ).catch((error: AggregateError) => unread(cluster.name, error.errors[0]));
  const file =
    cluster.snapshot_dir === undefined
      ? undefined
      : await host.files.read(fileIn(cluster.snapshot_dir, cluster)).catch(() => undefined);
  const stored = kept instanceof AppError ? undefined : kept.kvs[0]?.value;
  const found = [sharedFrom(stored, cluster.name), sharedFrom(file, cluster.name)]
    .filter((one) => one !== undefined)
    .toSorted((a, b) => b.entries.length - a.entries.length)[0];
  if (found === undefined && kept instanceof AppError) throw kept;
  if (found === undefined) return undefined;
  const runs = await findRuns(host, state, cluster.name);
  const known = runs.find(({ run }) => run === found.run);
  if (known !== undefined && known.entries.length >= found.entries.length) return undefined;
  const begun = found.entries.findLast((entry) => entry.kind === 'opened' || entry.kind === 'resumed');
  const { run, entries } = found;
  const shared = { run, entries, directory: runDirectory(state, cluster.name, run) };
  return begun === undefined ? shared : { ...shared, owner: begun.owner };
};

/** From now on this machine has its journal, and can resume it, roll it back or give it up. */
export const adoptRun = async (
  sharing: Pick<Sharing, 'host' | 'cluster' | 'stores'>,
  state: string,
): Promise<{ readonly run: string; readonly owner?: Owner } | undefined> => {
  const shared = await sharedRun(sharing, state);
  if (shared === undefined) return undefined;
  const { files } = sharing.host;
  await files.makeDirectory(shared.directory, 0o700);
  const lines = shared.entries.map((entry) => `${JSON.stringify(entry)}\n`).join('');
  await files.replace(join(shared.directory, 'journal.jsonl'), lines, 0o600);
  return shared;
};
