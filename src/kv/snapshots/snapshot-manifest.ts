/** What is known of a stored snapshot: its name, and the manifest that stands beside it as `NAME.json`. */
export type SnapshotManifest = {
  readonly format: 1;
  readonly cluster: string;
  readonly member: string;
  /** ISO time. */
  readonly taken_at: string;
  readonly revision: number;
  readonly total_key: number;
  /** The value that the store's own tools print. */
  readonly hash: string;
  readonly size_bytes: number;
  /** Of the whole file. */
  readonly file_sha256: string;
  /** When the stored copy was last verified, and how. */
  readonly verified_at?: string;
  readonly verified_by?: 'checksum' | 'trial restore';
};
export type StoredSnapshot = {
  readonly name: string;
  readonly cluster: string;
  readonly taken_at: string;
  readonly revision: number;
  readonly size_bytes: number;
  /** Absent when the file beside it is missing or cannot be read: then nothing says that it was verified. */
  readonly manifest?: SnapshotManifest;
};

const namePattern = /^(.+)-(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z-r(\d+)\.db$/;

/** `prod-20261122T040000Z-r1234.db`: sorts by time within a cluster. */
export const snapshotName = (cluster: string, takenMs: number, revision: number): string => {
  const stamp = new Date(takenMs).toISOString().replace(/[-:]/g, '').replace(/\.\d+/, '');
  return `${cluster}-${stamp}-r${revision}.db`;
};

/** What a name says; undefined for a file that is none of ours. Such files are neither listed nor removed. */
export const parseName = (
  name: string,
): Pick<StoredSnapshot, 'cluster' | 'taken_at' | 'revision'> | undefined => {
  const found = namePattern.exec(name);
  if (found === null) return undefined;
  const [, cluster = '', year, month, day, hour, minute, second, revision] = found;
  const taken_at = `${year}-${month}-${day}T${hour}:${minute}:${second}.000Z`;
  return Number.isNaN(Date.parse(taken_at)) ? undefined : { cluster, taken_at, revision: Number(revision) };
};

export const manifestName = (name: string): string => `${name}.json`;

/** The manifest of a file's text; undefined when it is none. */
export const parseManifest = (text: string | undefined): SnapshotManifest | undefined => {
  if (text === undefined) return undefined;
  try {
    const manifest = JSON.parse(text) as Partial<SnapshotManifest>;
    const isWhole =
      manifest.format === 1 &&
      typeof manifest.file_sha256 === 'string' &&
      typeof manifest.size_bytes === 'number' &&
      typeof manifest.revision === 'number';
    return isWhole ? (manifest as SnapshotManifest) : undefined;
  } catch {
    return undefined;
  }
};
