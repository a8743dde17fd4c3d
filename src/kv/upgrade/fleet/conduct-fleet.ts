import { AppError, problem } from '../../../core/problem.ts';
import { thisProcess, tryLock, unlock } from '../../../platform/file-lock.ts';
import { describeProcess, processState, waysPast } from '../../../platform/process-identity.ts';
import type { Host } from '../../../platform/host.ts';
import { checkCluster, upgradeCluster } from './fleet-child.ts';
import type { ChildDetail } from './fleet-child.ts';
import type { Fleet } from './fleet-file.ts';
import { doneBefore, fleetDirectory, inProgress, openFleetJournal } from './fleet-journal.ts';
import type { FleetJournal } from './fleet-journal.ts';
import { runFleet } from './run-fleet.ts';
import type { FleetRow } from './run-fleet.ts';

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
const locked = async (host: Host, directory: string): Promise<() => Promise<void>> => {
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

const upgraded = async (input: FleetInput, journal: FleetJournal, cluster: string, wasBegun: boolean) => {
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
  const release = await locked(host, directory);
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
        (cluster) => upgraded(input, journal, cluster, begun.has(cluster)),
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
