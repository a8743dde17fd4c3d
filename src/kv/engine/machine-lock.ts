import { join } from 'node:path';
import { lookAt, thisProcess, tryLock, unlock } from '../../platform/file-lock.ts';
import type { Holder, Seen } from '../../platform/file-lock.ts';
import { processState } from '../../platform/process-identity.ts';
import type { Host } from '../../platform/host.ts';
import { assertTrusted } from '../../platform/trust.ts';
import { AppError } from '../../core/problem.ts';
import { clusterDirectory } from './journal.ts';
import { taken } from './lock-holder.ts';
import type { Held, Lock } from './lock-holder.ts';

const pathOf = (state: string, cluster: string): string => join(clusterDirectory(state, cluster), 'lock');

const takenHere = (host: Host, path: string, seen: Seen<Holder & Held>): AppError => {
  const by = seen.kind === 'none' ? undefined : seen.by;
  if (by === undefined)
    return new AppError('unsafe', `another opsctl takes ${path} just now`, {
      code: 'LOCKED',
      tryThis: ['try again', 'opsctl kv status'],
    });
  // A shared home directory: opsctl cannot check a process of another machine or container, and never replaces its lock.
  const file = (seen.kind === 'held' ? seen.claim : undefined) ?? path;
  const hint =
    processState(host, by) === 'unknown'
      ? `wait until it has ended; if no opsctl runs on ${by.machine} and in its containers any more: rm ${file}`
      : 'wait until it has ended';
  const owner = by.owner ?? { host: by.machine, pid: by.pid };
  return taken({ ...by, owner, since: by.since ?? 'an unknown time' }, 'lock on this machine', hint);
};

/** A command that was killed while it took the lock leaves an empty one, which counts as left behind a second later. */
const beingTakenMs = 1500;
const pollMs = 100;
/** A lock that was left and could not be taken over has a claimant, who may have died before it wrote its name. */
const isBeingTaken = (seen: Seen<Holder & Held>): boolean => seen.kind !== 'held' || seen.by === undefined;

/** One operator at a time on this machine. A lock whose process has gone is taken over, by one of those that want it. */
export const lockMachine = async (
  host: Host,
  state: string,
  cluster: string,
  held: Held,
): Promise<Pick<Lock, 'release'>> => {
  const path = pathOf(state, cluster);
  await host.files.makeDirectory(clusterDirectory(state, cluster), 0o700);
  await assertTrusted(host, 'the state directory', clusterDirectory(state, cluster));
  const mine = { ...thisProcess(host), ...held };
  const until = host.elapsed() + beingTakenMs;
  let seen = await tryLock(host, path, mine);
  while (seen !== true && isBeingTaken(seen) && host.elapsed() < until) {
    await host.sleep(pollMs);
    seen = await tryLock(host, path, mine);
  }
  if (seen !== true) throw takenHere(host, path, seen);
  return { release: () => unlock(host, path, mine) };
};

/** Throws LOCKED when somebody on this machine is at work. Reads only. */
export const refuseOtherHere = async (host: Host, state: string, cluster: string): Promise<void> => {
  const path = pathOf(state, cluster);
  const seen = await lookAt<Holder & Held>(host, path);
  if (seen.kind === 'held') throw takenHere(host, path, seen);
};

/** Who is at work on this cluster from this machine just now. Reads only. */
export const whoIsAt = async (
  host: Host,
  state: string,
  cluster: string,
): Promise<(Holder & Held) | undefined> => {
  const seen = await lookAt<Holder & Held>(host, pathOf(state, cluster));
  return seen.kind === 'held' ? seen.by : undefined;
};
