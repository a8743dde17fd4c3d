import { childPath, pathPart } from '../../core/file-name.ts';
import { dirname, join } from 'node:path';
import { AppError } from '../../core/problem.ts';
import { whyUnwritable } from '../../core/write-failure.ts';
import { storedObject } from '../../core/text.ts';
import type { Host } from '../../platform/host.ts';
import type { Minor } from '../../api-specs/etcd/versions.ts';
import type { Journal } from '../engine/journal.ts';
import type { Placement } from '../engine/placement-types.ts';

/** By the version that was left: a rollback or a restore to it starts from this record, whichever run wrote it. */
type Kept = Readonly<Record<string, Placement>>;

/** Beside the runs of a cluster: a member may have been upgraded by an earlier run than the one that brings it back. */
const recordPath = (runDirectory: string, member: string): string =>
  childPath(join(dirname(runDirectory), 'placements'), pathPart(`${member}.json`));

const readKept = async ({ files }: Pick<Host, 'files'>, path: string): Promise<Kept> => {
  const text = await files.read(path);
  // Without it nobody knows what to go back to: it is never taken for empty, and never written over.
  return text === undefined
    ? {}
    : storedObject<Kept>(path, text, {}, [
        'look at what the member runs, then move the file away: opsctl kv status',
      ]);
};

type Owner = { readonly host: Host; readonly directory: string; readonly journal: Journal };

const unwritable = (member: string, path: string, cause: unknown): AppError =>
  new AppError(
    'stopped',
    `${member} was not stopped: the record ${path} of what it runs with cannot be written: ${whyUnwritable(cause)}`,
    {
      code: 'PLACEMENT_UNWRITABLE',
      tryThis: ['make room on its disk, then opsctl kv resume'],
      cause,
    },
  );

/** Written before the stop: after it the record is the only thing that says what the member ran with. */
export const recordPlacement = async (
  { host, directory, journal }: Owner,
  placement: Placement,
): Promise<void> => {
  const path = recordPath(directory, placement.member);
  const kept = await readKept(host, path);
  const text = `${JSON.stringify({ ...kept, [placement.previous.minor]: placement }, null, 2)}\n`;
  try {
    await host.files.makeDirectory(dirname(path), 0o700);
    await host.files.replace(path, text, 0o600);
  } catch (error) {
    throw unwritable(placement.member, path, error);
  }
  journal.write({ kind: 'placed', placement });
};

/** What the member ran with on `from`: as this run recorded it, else as the last run did that took it away from that version. */
export const placementOf = async (
  {
    host,
    directory,
    journal,
  }: Pick<Owner, 'host' | 'directory'> & { readonly journal?: Pick<Journal, 'entries'> },
  member: string,
  from: Minor,
): Promise<Placement | undefined> => {
  const entry = journal?.entries.findLast(
    (one) =>
      one.kind === 'placed' && one.placement.member === member && one.placement.previous.minor === from,
  );
  if (entry?.kind === 'placed') return entry.placement;
  return (await readKept(host, recordPath(directory, member)))[from];
};
