import { manifestName, parseManifest, parseName } from './snapshot-manifest.ts';
import type { SnapshotManifest, StoredSnapshot } from './snapshot-manifest.ts';
import type { Destination } from './destination-types.ts';
import { retained } from './catalog.ts';
import type { Retention, Sorted } from './catalog.ts';

const readAtOnce = 8;

/** Every snapshot of the cluster that is stored there, oldest first; of all clusters without a name. Other files are left alone. */
export const catalogue = async (destination: Destination, cluster?: string): Promise<StoredSnapshot[]> => {
  const files = await destination.names();
  const names = new Set(files.map(({ name }) => name));
  const ours = files.flatMap(({ name, sizeBytes }) => {
    const parsed = parseName(name);
    if (parsed === undefined || (cluster !== undefined && parsed.cluster !== cluster)) return [];
    return [{ name, size_bytes: sizeBytes, ...parsed }];
  });
  const found: StoredSnapshot[] = [];
  for (let i = 0; i < ours.length; i += readAtOnce)
    found.push(
      ...(await Promise.all(
        ours.slice(i, i + readAtOnce).map(async (one) => {
          const text = names.has(manifestName(one.name))
            ? await destination.text(manifestName(one.name))
            : undefined;
          const manifest = parseManifest(text);
          return manifest === undefined ? one : { ...one, manifest };
        }),
      )),
    );
  return found.sort((a, b) => (a.taken_at < b.taken_at ? -1 : 1));
};

export const writeManifest = (destination: Destination, name: string, manifest: SnapshotManifest) =>
  destination.putText(manifestName(name), `${JSON.stringify(manifest, null, 2)}\n`);

/** Which snapshots would go. Nothing is removed. */
export const prunePlan = async (
  destination: Destination,
  cluster: string,
  retention: Retention,
  nowMs: number,
): Promise<Sorted> => retained(await catalogue(destination, cluster), retention, nowMs);

/** The snapshot first: a manifest without one is not listed, a snapshot without one is listed as not verified. */
export const removeSnapshots = async (
  destination: Destination,
  snapshots: readonly StoredSnapshot[],
): Promise<void> => {
  for (const { name } of snapshots) {
    await destination.remove(name);
    await destination.remove(manifestName(name));
  }
};
