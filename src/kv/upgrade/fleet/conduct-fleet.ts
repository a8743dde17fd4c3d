import { AppError, problem } from '../../../core/problem.ts';
import { thisProcess, tryLock, unlock } from '../../../platform/file-lock.ts';
import type { Host } from '../../../platform/host.ts';
import { describeProcess, processState, waysPast } from '../../../platform/process-identity.ts';
import type { Report } from '../../engine/model.ts';
import {
  doneBefore,
  type Fleet,
  fleetDirectory,
  type FleetJournal,
  type FleetRow,
  inProgress,
  openFleetJournal,
  runFleet,
  type Upgraded,
} from './fleet-file.ts';

/** One cluster's own run, as this program started again ended it. */
export type ChildDetail = {
  readonly exit_code: number | null;
  readonly message: string;
  readonly report?: Report;
};
type Ended = {
  readonly code: number | null;
  readonly answer: any;
  readonly message: string;
  /** Of the error object that a run with -o json ends its stderr with. */
  readonly error: string | undefined;
};
const parseLine = (text: string): any => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};
const runSelf = async (host: Host, words: readonly string[]): Promise<Ended> => {
  const [command, ...first] = host.self;
  // No signal: a Ctrl-C reaches the child by itself and ends it between two members.
  const { code, stdout, stderr } = await host.processes.run(command, [...first, ...words, '-o', 'json']);
  const last = stderr.trim().split('\n').at(-1) ?? '';
  const complaint = parseLine(last);
  const answer = parseLine(stdout);
  return {
    code,
    answer,
    error: complaint?.code,
    message: answer?.message ?? complaint?.message ?? last,
  };
};
/** Undefined when the cluster can be upgraded or is done; else what speaks against it. */
const checkCluster = async (host: Host, cluster: string): Promise<string | undefined> => {
  const { code, message } = await runSelf(host, [
    'kv',
    'upgrade',
    '--cluster',
    cluster,
    '--dry-run',
    '--yes',
  ]);
  return code === 0 ? undefined : `${cluster}: ${message}`;
};
const detailOf = ({ code, answer, message }: Ended): ChildDetail => ({
  exit_code: code,
  message,
  ...(answer?.run === undefined || answer?.members === undefined ? {} : { report: answer as Report }),
});
const isHeld = ({ answer, error }: Ended): boolean => answer?.outcome === 'held' || error === 'HELD';
const lockedForMs = 3_600_000;
const lockedPollMs = 2000;
/** The child of a fleet run that was killed may still be at work: it is waited for, and then looked at. */
const whenUnlocked = async (host: Host, words: readonly string[]): Promise<Ended> => {
  const until = host.elapsed() + lockedForMs;
  for (;;) {
    const ended = await runSelf(host, words);
    if (ended.error !== 'LOCKED' || host.elapsed() > until) return ended;
    await host.sleep(lockedPollMs);
  }
};
export type ChildOptions = {
  /** Flags that say what becomes of the last member. */
  readonly lastMember: readonly string[];
  /** A fleet run that was killed had begun with this cluster. */
  readonly wasBegun: boolean;
};
/** Upgrades one cluster, or goes on with what a fleet run that was killed had begun there. */
export const upgradeCluster = async (
  host: Host,
  cluster: string,
  { lastMember, wasBegun }: ChildOptions,
): Promise<Upgraded<ChildDetail>> => {
  const flags = ['--cluster', cluster, '--yes', ...lastMember];
  const resumed = wasBegun ? await whenUnlocked(host, ['kv', 'resume', ...flags]) : undefined;
  // It was killed before its own run had begun, or after that had come to its end: the plan says what is left.
  const isOver =
    resumed === undefined ||
    resumed.error === 'NO_RUN' ||
    (resumed.code === 0 && resumed.answer?.members === undefined);
  const ended = isOver ? await runSelf(host, ['kv', 'upgrade', ...flags]) : resumed;
  return { ok: ended.code === 0 || isHeld(ended), detail: detailOf(ended) };
};

export type FleetInput = {
  readonly host: Host;
  readonly fleet: Fleet;
  /** Absolute path of the fleet file. */
  readonly file: string;
  /** Directory of this program's state. */
  readonly state: string;
  readonly lastMember: readonly string[];
  readonly signal: AbortSignal;
  readonly info: (text: string) => void;
  readonly label: (cluster: string) => string;
  readonly confirm: () => Promise<void>;
};
const checkedAtOnce = 4;
/** Every cluster is looked at before the first one is touched; those that a killed run had begun are looked at by their resume. */
const checkAll = async ({ host, fleet }: FleetInput, begun: ReadonlySet<string>): Promise<void> => {
  const clusters = fleet.clusters.filter((cluster) => !begun.has(cluster));
  const problems: string[] = [];
  for (let i = 0; i < clusters.length; i += checkedAtOnce) {
    const found = await Promise.all(
      clusters.slice(i, i + checkedAtOnce).map((cluster) => checkCluster(host, cluster)),
    );
    problems.push(...found.flatMap((one) => one ?? []));
  }
  if (problems.length === 0) return;
  throw new AppError(
    'unsafe',
    `refused, nothing was changed: ${problems.length} of ${fleet.clusters.length} clusters ${problems.length === 1 ? 'is' : 'are'} not ready`,
    {
      code: 'FLEET_NOT_READY',
      problems: problems.map((text) => problem('', 'rule', text)),
      tryThis: ['fix what is named, then the same command again: clusters that are done are left alone'],
    },
  );
};
/** The same fleet is run once at a time on this machine. */
const lockFleet = async (host: Host, directory: string): Promise<() => Promise<void>> => {
  const [path, mine] = [`${directory}/lock`, thisProcess(host)];
  await host.files.makeDirectory(directory, 0o700);
  const seen = await tryLock(host, path, mine);
  if (seen !== true) {
    const held = seen.kind === 'held' ? seen : undefined;
    const isUnknown = held?.by !== undefined && processState(host, held.by) === 'unknown';
    const who = held?.by === undefined ? 'another command' : describeProcess(host, held.by);
    throw new AppError(
      'unsafe',
      `refused, nothing was changed: ${who} is already upgrading this fleet, or was interrupted`,
      {
        code: 'LOCKED',
        tryThis: isUnknown
          ? waysPast(host, held?.by, held?.claim ?? path)
          : ['wait until that run has finished'],
      },
    );
  }
  return () => unlock(host, path, mine);
};
const upgradeOneCluster = async (
  input: FleetInput,
  journal: FleetJournal,
  cluster: string,
  wasBegun: boolean,
) => {
  const { host, lastMember, info, label } = input;
  info(`${label(cluster)}: ${wasBegun ? 'goes on' : 'begins'}`);
  journal.write({ kind: 'began', cluster });
  const done = await upgradeCluster(host, cluster, { lastMember, wasBegun });
  const { message } = done.detail;
  journal.write({ kind: 'ended', cluster, outcome: done.ok ? 'done' : 'failed', message });
  info(`${label(cluster)}: ${message}`);
  return done;
};
const tellBefore = ({ fleet, info, label }: FleetInput, { before }: FleetJournal): void => {
  if (before.length === 0) return;
  const done = doneBefore(before).length;
  const open = [...inProgress(before)].map(label);
  const begun = open.length === 0 ? '' : `; begun and not ended: ${open.join(', ')}`;
  info(
    `going on with a run of ${fleet.name} that was interrupted: ${done} of ${fleet.clusters.length} clusters were done${begun}`,
  );
};
/** A fleet's run, or what is left of one that was killed. What is done is found out by looking at each cluster, not from the journal. */
export async function* conductFleet(input: FleetInput): AsyncGenerator<FleetRow<ChildDetail>> {
  const { host, fleet, file, state, signal } = input;
  const directory = fleetDirectory(state, file, fleet.name);
  const release = await lockFleet(host, directory);
  try {
    const journal = await openFleetJournal(host, directory);
    try {
      const begun = inProgress(journal.before);
      tellBefore(input, journal);
      await checkAll(input, begun);
      await input.confirm();
      if (journal.before.length === 0)
        journal.write({ kind: 'opened', fleet: fleet.name, clusters: fleet.clusters });
      yield* runFleet(
        fleet,
        (cluster) => upgradeOneCluster(input, journal, cluster, begun.has(cluster)),
        () => !signal.aborted,
      );
      journal.write({ kind: 'closed' });
    } finally {
      journal.close();
    }
  } finally {
    await release();
  }
}

/** What the command prints of one cluster. */
export const fleetRow = ({ cluster, outcome, detail }: FleetRow<ChildDetail>, label: string) => ({
  cluster: label,
  file: cluster,
  outcome: detail?.report?.outcome === 'held' ? 'held' : outcome,
  message: detail?.message ?? 'not started: a cluster before it failed, or it was asked to stop',
  duration_ms: detail?.report?.duration_ms ?? null,
  exit_code: detail?.exit_code ?? null,
  report: detail?.report ?? null,
});
