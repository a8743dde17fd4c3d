import { childPath, pathPart } from '../../../core/file-name.ts';
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { AppError } from '../../../core/problem.ts';
import { misfit, shapeBy } from '../../../core/shape.ts';
import type { Host } from '../../../platform/host.ts';
import type { ClusterOutcome } from './run-fleet.ts';
import { limits } from '../../../core/limits.ts';
import { parseLines } from '../../engine/line-journal.ts';

/** The lines of a fleet's journal: a run that was killed is continued from it. */
export type FleetEntry =
  | {
      readonly kind: 'opened';
      readonly at: string;
      readonly fleet: string;
      readonly clusters: readonly string[];
    }
  /** Before the cluster's own run begins. */
  | { readonly kind: 'began'; readonly at: string; readonly cluster: string }
  | {
      readonly kind: 'ended';
      readonly at: string;
      readonly cluster: string;
      readonly outcome: ClusterOutcome;
      readonly message: string;
    }
  | { readonly kind: 'closed'; readonly at: string };
type Unstamped = FleetEntry extends infer E ? (E extends FleetEntry ? Omit<E, 'at'> : never) : never;

export type FleetJournal = {
  readonly path: string;
  /** Of the run that was cut off; empty for a new one. */
  readonly before: readonly FleetEntry[];
  write(entry: Unstamped): void;
  close(): void;
};

/** One directory a fleet file: files of one name in two places are two fleets. */
export const fleetDirectory = (state: string, file: string, name: string): string =>
  childPath(
    join(state, 'fleets'),
    pathPart(
      `${name.replace(/[^A-Za-z0-9._-]/g, '-')}-${createHash('sha256').update(file).digest('hex').slice(0, 8)}`,
    ),
  );

const MOVE_IT = 'move it aside: each cluster has its own journal';
const shapeOf = shapeBy('kind', {
  opened: { fleet: 'text', clusters: ['text'] },
  began: { cluster: 'text' },
  ended: { cluster: 'text', outcome: 'text', message: 'text' },
});
/** Where a line were left out, a cluster whose run is unfinished would not be seen to be: damage is told, as in every journal. */
const asEntry = (line: unknown): FleetEntry => {
  const wrong = misfit(line, { kind: 'text', ...(shapeOf(line) as object) });
  if (wrong !== undefined) throw new Error(wrong);
  return line as FleetEntry;
};

/** The lines of a run that was never closed. Pure. */
const interrupted = (entries: readonly FleetEntry[]): readonly FleetEntry[] =>
  entries.slice(entries.findLastIndex(({ kind }) => kind === 'closed') + 1);

/** Clusters whose own run was begun and of which no end is known: their runs may be unfinished, or still going on. Pure. */
export const inProgress = (entries: readonly FleetEntry[]): ReadonlySet<string> => {
  const open = new Set<string>();
  for (const entry of entries) {
    if (entry.kind === 'began') open.add(entry.cluster);
    if (entry.kind === 'ended') open.delete(entry.cluster);
  }
  return open;
};

/** Clusters that are done by what was written; each is looked at again all the same. Pure. */
export const doneBefore = (entries: readonly FleetEntry[]): readonly string[] =>
  entries.flatMap((entry) => (entry.kind === 'ended' && entry.outcome === 'done' ? [entry.cluster] : []));

/** Opened under a lock: the same fleet is run once at a time. */
export const openFleetJournal = async (host: Host, directory: string): Promise<FleetJournal> => {
  await host.files.makeDirectory(directory, 0o700);
  const path = join(directory, 'journal.jsonl');
  const size = (await host.files.info(path))?.sizeBytes ?? 0;
  if (size > limits.fleetJournalBytes)
    throw new AppError(
      'config',
      `the journal of the fleet ${path} has more than ${limits.fleetJournalBytes} bytes`,
      {
        code: 'JOURNAL_DAMAGED',
        tryThis: [MOVE_IT],
      },
    );
  const text = (await host.files.read(path)) ?? '';
  const { entries, wholeBytes } = parseLines(text, asEntry, path, [MOVE_IT]);
  if (wholeBytes < Buffer.byteLength(text)) await host.files.truncate(path, wholeBytes);
  const file = host.files.append(path, 0o600);
  return {
    path,
    before: interrupted(entries),
    write: (entry) => {
      file.write(`${JSON.stringify({ at: new Date(host.now()).toISOString(), ...entry })}\n`);
      file.sync();
    },
    close: () => file.close(),
  };
};
