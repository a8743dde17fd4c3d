import { type Advice, after, next } from '../../core/next.ts';
import { dirname, join } from 'node:path';
import { childPath, pathPart } from '../../core/file-name.ts';
import { AppError, writeFailureReason } from '../../core/problem.ts';
import type { Host, StepMark } from '../../platform/host.ts';
import { hexId } from '../client/messages.ts';
import type { JournalEntry, Observation, Outcome, UpgradeEvent } from './model.ts';

type Stamped = { readonly at: string };
export type Unstamped<E> = E extends Stamped ? Omit<E, 'at'> : never;
/**
 * When a line is flushed to disk: immediately, or with the next line if that line follows directly and
 * contains the same information.
 */
export type FsyncMode = 'now' | 'with-next';
/** A journal of lines for an upgrade or another operation. */
export type LineJournal<E extends Stamped> = {
  readonly path: string;
  readonly entries: readonly E[];
  /**
   * Returns after the line has been flushed to disk, so that the announced effect may start. Throws `stopped`
   * if the line cannot be written.
   */
  write(entry: Unstamped<E>): void;
  /**
   * Records an effect that happens even if the journal is not writable, for example because a member is down.
   * `failure` returns the error.
   */
  tell(entry: Unstamped<E>, forced?: FsyncMode): void;
  /** Returns the first error of `tell`. */
  failure(): AppError | undefined;
  close(): void;
};
export type ParsedLines<E> = { readonly entries: E[]; readonly wholeBytes: number };
/**
 * Parses complete lines. Omits an incomplete last line (power loss during a write), because opsctl never
 * acted on it.
 */
export const parseLines = <E>(
  text: string,
  asEntry: (line: unknown) => E,
  path = 'the journal',
  tryThis: readonly Advice[] = [
    next(['kv', 'status'], after('shows the current state; plan again with', ['kv', 'plan'])),
  ],
): ParsedLines<E> => {
  const entries: E[] = [];
  let wholeBytes = 0;
  for (const line of text.split(/(?<=\n)/)) {
    if (!line.endsWith('\n')) break;
    wholeBytes += Buffer.byteLength(line);
    try {
      entries.push(asEntry(JSON.parse(line)));
    } catch (cause) {
      throw new AppError('config', `line ${entries.length + 1} of ${path} cannot be read`, {
        code: 'JOURNAL_DAMAGED',
        cause,
        tryThis: [...tryThis],
      });
    }
  }
  return { entries, wholeBytes };
};
const unwritable = (path: string, cause: unknown): AppError =>
  new AppError('stopped', `cannot write the journal ${path}: ${writeFailureReason(cause)}`, {
    code: 'JOURNAL_UNWRITABLE',
    tryThis: [after('free space on its disk, then', ['kv', 'resume'])],
    cause,
  });
/** Returns the complete lines, and removes an incomplete last line from the file. */
const readWholeLines = async <E>(host: Host, path: string, asEntry: (line: unknown) => E): Promise<E[]> => {
  await host.files.makeDirectory(dirname(path), 0o700);
  const { entries, wholeBytes } = parseLines((await host.files.read(path)) ?? '', asEntry, path);
  const size = (await host.files.info(path))?.sizeBytes ?? 0;
  if (size > wholeBytes) await host.files.truncate(path, wholeBytes);
  return entries;
};
/** The wall clock may be set while a process runs, so durations within one process use its monotonic clock. */
const stampEntry = <E extends Stamped>(host: Host, entry: object): E => {
  const times = { at: new Date(host.now()).toISOString(), monotonic_ms: Math.round(host.elapsed()) };
  return { ...times, ...entry } as Stamped as E;
};
export const openLines = async <E extends Stamped>(
  host: Host,
  path: string,
  asEntry: (line: unknown) => E,
): Promise<LineJournal<E>> => {
  const entries = await readWholeLines(host, path, asEntry);
  const file = host.files.append(path, 0o600);
  let failure: AppError | undefined;
  const put = (entry: E, forced: FsyncMode): void => {
    try {
      file.write(`${JSON.stringify(entry)}\n`);
      if (forced === 'now') file.sync();
    } catch (error) {
      throw unwritable(path, error);
    }
  };
  const keep = (line: E): void => {
    entries.push(line);
    if ('step' in line) host.observeStep?.(line as E & StepMark);
  };
  const write = (entry: object): void => {
    const line = stampEntry<E>(host, entry);
    put(line, 'now');
    keep(line);
  };
  const tell = (entry: object, forced: FsyncMode = 'now'): void => {
    const line = stampEntry<E>(host, entry);
    try {
      put(line, forced);
    } catch (error) {
      failure ??= error as AppError;
    }
    // The effect has happened, so the next decisions of this run must know it.
    keep(line);
  };
  return { path, entries, write, tell, failure: () => failure, close: () => file.close() };
};

export type Journal = LineJournal<JournalEntry>;
/**
 * Returns the directory of one cluster with its runs and its lock. `state` is the directory of all clusters.
 */
export const clusterDirectory = (state: string, cluster: string): string =>
  childPath(state, pathPart(cluster));
export const runDirectory = (state: string, cluster: string, run: string): string =>
  childPath(clusterDirectory(state, cluster), pathPart(run));
const JOURNAL = 'journal.jsonl';
/** Checks the whole id, because the id of a run on another machine comes from the store. */
export const isRunId = (text: unknown): text is string =>
  typeof text === 'string' && /^\d{8}T\d{6}Z(?:-[0-9a-z]+)*$/.test(text);
/**
 * Parses the lines of a journal. Omits an incomplete last line (power loss during a write), which
 * `wholeBytes` does not count.
 */
export const parseJournal = (text: string, path?: string): ParsedLines<JournalEntry> =>
  parseLines(text, asEntry, path);
/** The parts of a plan that a report reads. */
export const planShape = {
  cluster: 'text',
  from: 'text',
  to: 'text',
  order: ['text'],
  options: 'record',
  steps: [{ id: 'text', kind: 'text' }],
  observation: { members: [{ name: 'text' }] },
} as const;
/** The end of a step needs the name of the step. A line without it is corrupted. */
export const asEntry = (line: unknown): JournalEntry => {
  const entry = currentEntry(line) as JournalEntry | null;
  if (typeof entry?.kind !== 'string' || (entry.kind === 'end' && typeof entry.step !== 'string'))
    throw new Error('it is not a journal entry');
  return entry;
};
export const openJournal = (host: Host, directory: string): Promise<Journal> =>
  openLines(host, join(directory, JOURNAL), asEntry);
export type FoundRun = {
  readonly run: string;
  readonly directory: string;
  readonly entries: readonly JournalEntry[];
};
/** Returns whether a name is one of a run or an operation. Other files may be in their directories. */
export const startsWithRunTime = (name: string): boolean => /^\d{8}T\d{6}Z/.test(name);
/** Returns the directories of the runs, newest first. */
const runNames = async (host: Host, state: string, cluster: string): Promise<string[]> =>
  (await host.files.list(clusterDirectory(state, cluster))).filter(startsWithRunTime).sort().reverse();
/** Returns the runs of a cluster, newest first. */
export const findRuns = async (host: Host, state: string, cluster: string): Promise<FoundRun[]> => {
  const names = await runNames(host, state, cluster);
  const runs = await Promise.all(
    names.map(async (run) => {
      const path = join(runDirectory(state, cluster, run), JOURNAL);
      const text = await host.files.read(path);
      return text === undefined
        ? []
        : [{ run, directory: runDirectory(state, cluster, run), entries: parseJournal(text, path).entries }];
    }),
  );
  return runs.flat().filter(({ entries }) => entries[0]?.kind === 'opened');
};
export const unfinishedError = ({ run }: FoundRun): AppError =>
  new AppError('unsafe', `no changes were made: run ${run} of this cluster is unfinished`, {
    code: 'UNFINISHED_RUN',
    tryThis: [next(['kv', 'resume']), next(['kv', 'rollback']), next(['kv', 'abort'])],
  });
/** `by`: who holds the run. A fleet reads it from the error object. */
export const heldRunError = ({ run }: FoundRun, by: string): AppError =>
  new AppError(
    'unsafe',
    `no changes were made: run ${run} of this cluster is held, and its members may run two versions`,
    {
      code: 'HELD_RUN',
      data: { run, held_by: by },
      tryThis: [
        next(['kv', 'resume'], 'continues it'),
        next(['kv', 'rollback']),
        next(['kv', 'abort'], 'abandons it without changing members'),
      ],
    },
  );
/** Returns the newest run if it is unfinished. */
export const openRun = (runs: readonly FoundRun[]): FoundRun | undefined => {
  const newest = runs[0];
  return newest !== undefined && !isFinal(newest.entries) ? newest : undefined;
};
/**
 * Returns whether the run is done, rolled back by the operator, or aborted. A held, stopped or failed run can
 * be resumed.
 */
export const isFinal = (entries: readonly JournalEntry[]): boolean => {
  const last = entries.at(-1);
  return last?.kind === 'closed' && (final.has(last.outcome) || isRolledBack(entries));
};
const final: ReadonlySet<Outcome> = new Set(['done', 'aborted', 'refused']);
/** The action that the operator requested last. */
export const lastAction = (entries: readonly JournalEntry[]): 'upgrade' | 'rollback' =>
  entries.findLast((entry) => entry.kind === 'opened' || entry.kind === 'resumed')?.action ?? 'upgrade';
/**
 * Returns whether the operator rolled back the whole run. A run that reverted one failed member has the same
 * outcome but is unfinished.
 */
export const isRolledBack = (entries: readonly JournalEntry[]): boolean => {
  const last = entries.at(-1);
  return last?.kind === 'closed' && last.outcome === 'rolled-back' && lastAction(entries) === 'rollback';
};
const secondMs = 1000;
const stampOf = (ms: number): string => new Date(ms).toISOString().replace(/[-:]/g, '').replace(/\.\d+/, '');
export const nextRunId = async (host: Host, state: string, cluster: string): Promise<string> =>
  idAfter(host, (await runNames(host, state, cluster))[0]);
/**
 * Returns an id such as `20261121T060102Z-1a2b`. It sorts after the newest id even if the clock was set back
 * or both runs start in the same second, because `kv resume` resumes the newest run.
 */
export const idAfter = (host: Host, newest: string | undefined): string => {
  const last = newest?.slice(0, stampOf(0).length);
  const now = stampOf(host.now());
  const after = (stamp: string): string =>
    stampOf(Date.parse(stamp.replace(/^(....)(..)(..)T(..)(..)(..)Z$/, '$1-$2-$3T$4:$5:$6Z')) + secondMs);
  const time = last === undefined || last < now ? now : after(last);
  return `${time}-${Buffer.from(host.random(2)).toString('hex')}`;
};

/**
 * Earlier names in journals, plans, reports and events, with the current names. opsctl reads old files as if
 * they used the current names.
 */
const journalKinds: Readonly<Record<string, string>> = {
  returning: 'reverting',
  returned: 'reverted',
  'no-way-back': 'crossing-confirmed',
};
const levels: Readonly<Record<string, string>> = { stop: 'fail' };
/** Renamed guards. `--accept` accepts both names. */
const guardNames: Readonly<Record<string, string>> = { 'data-folders': 'data-directories' };
export const currentGuard = (name: string): string => guardNames[name] ?? name;
type Row = Record<string, unknown>;
const isRow = (value: unknown): value is Row =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const renameStep = (names: Readonly<Record<string, string>>, value: unknown): unknown =>
  typeof value === 'string' ? (names[value] ?? value) : value;
const currentFinding = (finding: unknown): unknown =>
  isRow(finding)
    ? {
        ...finding,
        level: renameStep(levels, finding['level']),
        guard: renameStep(guardNames, finding['guard']),
      }
    : finding;
/** Renames the findings in a plan file, in the plan of a journal, or in a report. */
export const withCurrentFindings = <T>(holder: T): T => {
  if (!isRow(holder)) return holder;
  const { findings, options } = holder;
  const accept = isRow(options) ? options['accept'] : undefined;
  return {
    ...holder,
    ...(Array.isArray(findings) ? { findings: findings.map(currentFinding) } : {}),
    ...(isRow(options) && Array.isArray(accept)
      ? { options: { ...options, accept: accept.map((name: unknown) => renameStep(guardNames, name)) } }
      : {}),
  };
};
/** Renames the values of one journal line. */
export const currentEntry = (entry: unknown): unknown =>
  isRow(entry)
    ? {
        ...entry,
        kind: renameStep(journalKinds, entry['kind']),
        ...(entry['plan'] === undefined ? {} : { plan: withCurrentFindings(entry['plan']) }),
      }
    : entry;
/** Renames the values of one event of a run. */
export const currentEvent = (event: unknown): unknown =>
  isRow(event)
    ? {
        ...event,
        event: renameStep(journalKinds, event['event']),
        ...(event['plan'] === undefined ? {} : { plan: withCurrentFindings(event['plan']) }),
      }
    : event;

const hex = (id: string): string => (/^\d+$/.test(id) ? hexId(id) : id);
const idKeys = ['member_id', 'cluster_id', 'leader_id'] as const;
/** Returns the observation with hexadecimal IDs, as every command and the ctl program print them. */
export const withHexIds = (observation: Observation): Observation => ({
  ...observation,
  members: observation.members.map((member) => ({
    ...member,
    ...Object.fromEntries(
      idKeys.flatMap((key) => (member[key] === undefined ? [] : [[key, hex(member[key])]])),
    ),
    ...(member.listed_ids === undefined ? {} : { listed_ids: member.listed_ids.map(hex) }),
  })),
  listed: observation.listed.map((one) => ({ ...one, id: hex(one.id) })),
  alarms: observation.alarms.map((one) => ({ ...one, member_id: hex(one.member_id) })),
});
type Printed = {
  readonly observation: Observation;
  readonly values?: { readonly member_id?: string };
};
/** Returns a plan for the output. The journal and the digest contain the decimal IDs of the API. */
export const planWithHexIds = <T extends Printed>(plan: T): T => ({
  ...plan,
  observation: withHexIds(plan.observation),
  ...(plan.values?.member_id === undefined
    ? {}
    : { values: { ...plan.values, member_id: hex(plan.values.member_id) } }),
});
/** Returns an event for the output. */
export const eventWithHexIds = (event: UpgradeEvent): UpgradeEvent => {
  if (event.event === 'run-started') return { ...event, plan: planWithHexIds(event.plan) };
  return event.event === 'observed' ? { ...event, observation: withHexIds(event.observation) } : event;
};
