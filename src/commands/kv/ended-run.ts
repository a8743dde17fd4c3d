import type { Context } from '../../cli/command.ts';
import { recordResult, type Result } from '../../core/result.ts';
import type { EndpointValues } from './flags.ts';
import { openCluster, type Opened } from './open-cluster.ts';
import { takenOver } from './taken-over.ts';

/** Killed after its last line, it could not take its lock away; nobody waits for its lease. */
const dropLockOf = async ({ cluster, access }: Opened, run: string): Promise<void> => {
  const { dropLock } = await import('../../kv/engine/locks.ts');
  const stores = cluster.members.map(({ client_url }) => access.store(client_url));
  await dropLock(stores, run).catch(() => {});
};

/** The newest run, when it came to its end: a script that resumes after a crash may have been killed just after the last line. */
export const endedRun = async (context: Context, values: EndpointValues): Promise<Result | undefined> => {
  const opened = await openCluster(context, values, 'upgrade');
  const { isRolledBack } = await import('../../kv/engine/journal.ts');
  const { runs, unread } = await takenOver(context, opened);
  const [newest] = runs;
  // Another machine may have begun a newer one.
  if (newest === undefined && unread !== undefined) throw unread;
  if (newest === undefined || unread !== undefined) return undefined;
  const { run, entries } = newest;
  const last = entries.at(-1);
  const isDone = last?.kind === 'closed' && last.outcome === 'done';
  if (isDone || isRolledBack(entries)) await dropLockOf(opened, run);
  if (isDone)
    return recordResult({ run, outcome: 'done' }, { message: `nothing to go on with: run ${run} is done` });
  if (!isRolledBack(entries)) return undefined;
  const message = `nothing to go on with: run ${run} was rolled back to its end; opsctl kv upgrade begins a new one`;
  return recordResult({ run, outcome: 'rolled-back' }, { message, namesCommands: true }, 'rolled-back');
};
