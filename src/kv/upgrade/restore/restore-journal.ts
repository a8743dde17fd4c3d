import { join } from 'node:path';
import { shapeBy } from '../../../core/shape.ts';
import { storedLines } from '../../../core/text.ts';
import type { Host } from '../../../platform/host.ts';
import { clusterDirectory } from '../../engine/journal.ts';
import type { RestorePlan } from './plan.ts';

/** One line each, fsynced. A restore that was killed goes on where it was: what was built is not built again, what was swapped is not swapped again. */
export type RestoreEntry =
  | {
      readonly kind: 'opened';
      readonly at: string;
      readonly to: string;
      readonly snapshot: string;
      readonly file_sha256: string;
      readonly members: readonly string[];
    }
  | { readonly kind: 'built'; readonly at: string; readonly member: string }
  | { readonly kind: 'stopping'; readonly at: string }
  | { readonly kind: 'swapped'; readonly at: string; readonly member: string; readonly kept: string }
  | { readonly kind: 'starting'; readonly at: string }
  /** The rebuilt members did not become healthy: the next restore builds anew. */
  | { readonly kind: 'failed'; readonly at: string; readonly reason: string }
  | { readonly kind: 'closed'; readonly at: string; readonly revision: number };
type Unstamped = RestoreEntry extends infer E ? (E extends RestoreEntry ? Omit<E, 'at'> : never) : never;

const shapeOf = shapeBy('kind', {
  opened: { to: 'text', snapshot: 'text', file_sha256: 'text', members: ['text'] },
  built: { member: 'text' },
  swapped: { member: 'text', kept: 'text' },
});
const pathOf = (state: string, cluster: string): string =>
  join(clusterDirectory(state, cluster), 'restore.jsonl');

/** The last restore of a cluster; a torn last line was never acted on. Damage is an error: what was swapped must not be swapped again. */
export const readRestore = async (
  host: Host,
  state: string,
  cluster: string,
): Promise<readonly RestoreEntry[]> => {
  const path = pathOf(state, cluster);
  const text = (await host.files.read(path).catch(() => undefined)) ?? '';
  const { values } = storedLines(
    path,
    text,
    ['look at the data directories of the members, then move the file away to restore anew'],
    shapeOf,
  );
  return values as readonly RestoreEntry[];
};

export type RestoreJournal = {
  /** Members were being stopped when it was killed. */
  readonly wasStopping: boolean;
  isBuilt(member: string): boolean;
  /** Where the directory before is kept, when it was swapped already. */
  keptOf(member: string): string | undefined;
  write(entry: Unstamped): void;
  close(): void;
};

/** Goes on with an unfinished restore of the same snapshot to the same version; else it begins anew. */
export const openRestore = async (host: Host, state: string, plan: RestorePlan): Promise<RestoreJournal> => {
  const path = pathOf(state, plan.cluster);
  const before = await readRestore(host, state, plan.cluster);
  const [first] = before;
  const goesOn =
    first?.kind === 'opened' &&
    first.file_sha256 === plan.snapshot.file_sha256 &&
    first.to === plan.to &&
    before.at(-1)?.kind !== 'closed' &&
    before.at(-1)?.kind !== 'failed';
  const entries: RestoreEntry[] = goesOn ? [...before] : [];
  await host.files.makeDirectory(clusterDirectory(state, plan.cluster), 0o700);
  await host.files.replace(path, entries.map((entry) => `${JSON.stringify(entry)}\n`).join(''), 0o600);
  const file = host.files.append(path, 0o600);
  const write = (entry: Unstamped): void => {
    const line = { at: new Date(host.now()).toISOString(), ...entry } as RestoreEntry;
    file.write(`${JSON.stringify(line)}\n`);
    file.sync();
    entries.push(line);
  };
  if (!goesOn)
    write({
      kind: 'opened',
      to: plan.to,
      snapshot: plan.snapshot.path,
      file_sha256: plan.snapshot.file_sha256,
      members: plan.members.map(({ name }) => name),
    });
  return {
    wasStopping: entries.some(({ kind }) => kind === 'stopping'),
    isBuilt: (member) => entries.some((entry) => entry.kind === 'built' && entry.member === member),
    keptOf: (member) => {
      const entry = entries.findLast((one) => one.kind === 'swapped' && one.member === member);
      return entry?.kind === 'swapped' ? entry.kept : undefined;
    },
    write,
    close: () => file.close(),
  };
};

/** What status says of the last restore; undefined when there was none. Pure. */
export const restoreLine = (
  entries: readonly RestoreEntry[],
):
  | { readonly outcome: 'interrupted' | 'restored'; readonly at: string; readonly text: string }
  | undefined => {
  const [first, last] = [entries[0], entries.at(-1)];
  if (first?.kind !== 'opened' || last === undefined) return undefined;
  if (last.kind === 'closed')
    return {
      outcome: 'restored',
      at: last.at,
      text: `restored to ${first.to} at revision ${last.revision} from ${first.snapshot}`,
    };
  if (last.kind === 'failed')
    return {
      outcome: 'interrupted',
      at: last.at,
      text: `the restore to ${first.to} failed: ${last.reason}\n  again: opsctl kv restore --snapshot ${first.snapshot} --to ${first.to}`,
    };
  const swapped = entries.filter(({ kind }) => kind === 'swapped').length;
  const wasStopped = entries.some(({ kind }) => kind === 'stopping');
  const where = !wasStopped
    ? 'before any member was stopped'
    : `with the members stopped, ${swapped} of ${first.members.length} data directories swapped`;
  return {
    outcome: 'interrupted',
    at: last.at,
    text: `the restore to ${first.to} was interrupted ${where}\n  go on: opsctl kv restore --snapshot ${first.snapshot} --to ${first.to}`,
  };
};
