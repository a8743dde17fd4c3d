import { join } from 'node:path';
import type { Host } from '../../platform/host.ts';
import { AppError } from '../../core/problem.ts';
import type { JournalEntry, Outcome } from '../types.ts';
import { currentEntry } from './earlier-names.ts';

type Unstamped = JournalEntry extends infer E ? (E extends JournalEntry ? Omit<E, 'at'> : never) : never;
export type Journal = {
  readonly path: string;
  readonly entries: readonly JournalEntry[];
  /** Returns when the line is on the disk: what it announces may happen now. Throws `stopped` when it cannot be written. */
  write(entry: Unstamped): void;
  /** For what happens in any case, because a member is down or the effect is there already: a line that cannot be written is remembered in `failure`. */
  tell(entry: Unstamped): void;
  /** The first line that could not be told. */
  failure(): AppError | undefined;
  close(): void;
};

/** Directory of everything about one cluster: runs, lock. `state` is the directory of all clusters. */
export const clusterDirectory = (state: string, cluster: string): string => join(state, cluster);
export const runDirectory = (state: string, cluster: string, run: string): string =>
  join(clusterDirectory(state, cluster), run);
const fileName = 'journal.jsonl';

/** Lines of a journal; a torn last line (power cut in the middle of a write) is left out and said. */
export const parseJournal = (
  text: string,
): { readonly entries: JournalEntry[]; readonly wholeBytes: number } => {
  const entries: JournalEntry[] = [];
  let wholeBytes = 0;
  for (const line of text.split(/(?<=\n)/)) {
    if (!line.endsWith('\n')) break;
    wholeBytes += Buffer.byteLength(line);
    try {
      entries.push(currentEntry(JSON.parse(line)) as JournalEntry);
    } catch (cause) {
      throw new AppError('config', `line ${entries.length + 1} of the journal cannot be read`, {
        code: 'JOURNAL_DAMAGED',
        cause,
        tryThis: ['opsctl kv status shows what is true; plan again with opsctl kv plan'],
      });
    }
  }
  return { entries, wholeBytes };
};

const unwritable = (path: string, cause: unknown): AppError =>
  new AppError(
    'stopped',
    `the journal ${path} cannot be written: ${cause instanceof Error ? cause.message : String(cause)}`,
    {
      code: 'JOURNAL_UNWRITABLE',
      tryThis: ['make room on its disk, then opsctl kv resume'],
      cause,
    },
  );

export const openJournal = async (host: Host, directory: string): Promise<Journal> => {
  await host.files.makeDirectory(directory, 0o700);
  const path = join(directory, fileName);
  const { entries, wholeBytes } = parseJournal((await host.files.read(path)) ?? '');
  const size = (await host.files.info(path))?.sizeBytes ?? 0;
  if (size > wholeBytes) await host.files.truncate(path, wholeBytes);
  const file = host.files.append(path, 0o600);
  let failure: AppError | undefined;
  const stamped = (entry: Unstamped): JournalEntry =>
    ({ at: new Date(host.now()).toISOString(), ...entry }) as JournalEntry;
  const put = (entry: JournalEntry): void => {
    try {
      file.write(`${JSON.stringify(entry)}\n`);
      file.sync();
    } catch (error) {
      throw unwritable(path, error);
    }
  };
  const write = (entry: Unstamped): void => {
    const line = stamped(entry);
    put(line);
    entries.push(line);
  };
  const tell = (entry: Unstamped): void => {
    const line = stamped(entry);
    try {
      put(line);
    } catch (error) {
      failure ??= error as AppError;
    }
    // It happened all the same: what this run decides next must know of it.
    entries.push(line);
  };
  return { path, entries, write, tell, failure: () => failure, close: () => file.close() };
};

export type FoundRun = {
  readonly run: string;
  readonly directory: string;
  readonly entries: readonly JournalEntry[];
};
/** Directories of runs, newest first. */
const runNames = async (host: Host, state: string, cluster: string): Promise<string[]> =>
  (await host.files.list(clusterDirectory(state, cluster)).catch(() => []))
    .filter((name) => /^\d{8}T\d{6}Z/.test(name))
    .sort()
    .reverse();

/** Runs of a cluster, newest first. */
export const findRuns = async (host: Host, state: string, cluster: string): Promise<FoundRun[]> => {
  const directory = clusterDirectory(state, cluster);
  const names = await runNames(host, state, cluster);
  const runs = await Promise.all(
    names.map(async (run) => {
      const text = await host.files.read(join(directory, run, fileName));
      return text === undefined
        ? []
        : [{ run, directory: join(directory, run), entries: parseJournal(text).entries }];
    }),
  );
  return runs.flat().filter(({ entries }) => entries[0]?.kind === 'opened');
};

/** The newest run, when it crashed or is at work: its journal was never closed, and it may have left a member down. */
export const crashedRun = async (
  host: Host,
  state: string,
  cluster: string,
): Promise<FoundRun | undefined> => {
  const [newest] = await findRuns(host, state, cluster);
  return newest === undefined || newest.entries.at(-1)?.kind === 'closed' ? undefined : newest;
};
export const unfinishedError = ({ run }: FoundRun): AppError =>
  new AppError(
    'unsafe',
    `refused, nothing was changed: run ${run} of this cluster was not brought to an end`,
    {
      code: 'UNFINISHED_RUN',
      tryThis: ['opsctl kv resume', 'opsctl kv rollback', 'opsctl kv abort'],
    },
  );

/** The newest run, when it was not brought to an end. */
export const openRun = (runs: readonly FoundRun[]): FoundRun | undefined => {
  const newest = runs[0];
  return newest !== undefined && !isFinal(newest.entries) ? newest : undefined;
};

/** done, rolled back by the operator, aborted: over. Held, stopped and failed runs can go on. */
export const isFinal = (entries: readonly JournalEntry[]): boolean => {
  const last = entries.at(-1);
  return last?.kind === 'closed' && (final.has(last.outcome) || isRolledBack(entries));
};
const final: ReadonlySet<Outcome> = new Set(['done', 'aborted', 'refused']);
/** By the operator, to the end. A member that was given back because it failed leaves its run open under the same word. */
export const isRolledBack = (entries: readonly JournalEntry[]): boolean => {
  const [last, begun] = [
    entries.at(-1),
    entries.findLast((entry) => entry.kind === 'opened' || entry.kind === 'resumed'),
  ];
  return last?.kind === 'closed' && last.outcome === 'rolled-back' && begun?.action === 'rollback';
};

const stampOf = (ms: number): string => new Date(ms).toISOString().replace(/[-:]/g, '').replace(/\.\d+/, '');
/** `20261121T060102Z-1a2b`: sorts by time, and after every run that is there, also when the clock was set back since: the newest run is the one that is resumed. */
export const nextRunId = async (host: Host, state: string, cluster: string): Promise<string> => {
  const last = (await runNames(host, state, cluster))[0]?.slice(0, stampOf(0).length);
  const now = stampOf(host.now());
  const after = (stamp: string): string =>
    stampOf(Date.parse(stamp.replace(/^(....)(..)(..)T(..)(..)(..)Z$/, '$1-$2-$3T$4:$5:$6Z')) + 1000);
  const time = last === undefined || last < now ? now : after(last);
  return `${time}-${Buffer.from(host.random(2)).toString('hex')}`;
};
