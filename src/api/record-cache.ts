import { childPath, pathPart } from '../core/file-name.ts';
import { join } from 'node:path';
import type { SeenKind, SeenRecords } from './seen-records.ts';
import type { Settings } from '../config/settings.ts';
import type { Host } from '../platform/host.ts';

/** Enough for a person who presses TAB; the newest stay. */
const MOST = 2000;
type Entry = readonly [id: string, seenMs: number, ...names: string[]];

const oneLine = (text: string): string => text.replaceAll(/\s+/g, ' ').trim();
const parse = (text: string | undefined): Entry[] =>
  (text ?? '')
    .split('\n')
    .map((line) => line.split('\t'))
    .flatMap(([id = '', at = '', ...names]): Entry[] => (id === '' ? [] : [[id, Number(at), ...names]]));

/** The list after a run: what was seen is new, what was deleted is gone, and a full list leaves nothing else. Pure. */
export const merged = (before: readonly Entry[], seen: SeenKind, now: number): Entry[] => {
  const fresh = [...seen.known.values()].map(({ id, names }): Entry => [id, now, ...names.map(oneLine)]);
  const kept = seen.isWhole ? [] : before.filter(([id]) => !seen.known.has(id) && !seen.gone.has(id));
  return [...fresh, ...kept].slice(0, MOST);
};

/** Writes what TAB offers: a line for each record of a kind, in the cache of the profile. A cache that cannot be written is no reason to fail. */
export const writeSeen = async (
  host: Host,
  { directories }: Settings,
  { kinds }: SeenRecords,
): Promise<void> => {
  const directory = join(directories.cache, 'records');
  try {
    await host.files.makeDirectory(directory, 0o700);
    for (const [kind, seen] of kinds) {
      if (!/^[a-z-]+$/.test(kind)) continue;
      const path = childPath(directory, pathPart(kind));
      const entries = merged(parse(await host.files.read(path)), seen, host.now());
      await host.files.replace(path, entries.map((entry) => `${entry.join('\t')}\n`).join(''), 0o600);
    }
  } catch {
    // Completion offers what it knew before.
  }
};
