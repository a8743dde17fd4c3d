import { compareHashes } from '../upgrade/observe/hashes.ts';
import type { MemberHash } from '../engine/types.ts';
import { type Endpoint, reasonOf } from './endpoint.ts';

type Failed = { readonly endpoint: string; readonly error: string };
type Hashed = {
  readonly endpoint: string;
  readonly hash: number;
  readonly revision: number;
  readonly compact_revision: number;
  readonly version: string;
};
type Verdict = { readonly isSame: boolean; readonly warning?: string };

/** Each member's newest revision is another one while somebody writes: the lowest of them is one that all have. */
const commonRevision = async (endpoints: readonly Endpoint[]): Promise<number> => {
  const seen = await Promise.all(
    endpoints.map(({ store }) =>
      store.status().then(
        ({ revision }) => revision,
        () => 0,
      ),
    ),
  );
  const known = seen.filter((revision) => revision > 0);
  return known.length === 0 ? 0 : Math.min(...known);
};

const hashOf = async ({ endpoint, store }: Endpoint, revision: number): Promise<Hashed | Failed> => {
  try {
    const { server } = await store.versions();
    const { hash, compact_revision } = await store.hashKv(revision);
    return { endpoint, hash, revision, compact_revision, version: server };
  } catch (error) {
    return { endpoint, error: reasonOf(error) };
  }
};

/** Every endpoint at one revision: the one that was asked for, else the newest that all have. */
export const hashedAt = async (
  endpoints: readonly Endpoint[],
  asked: number | undefined,
): Promise<(Hashed | Failed)[]> => {
  const revision = asked ?? (await commonRevision(endpoints));
  const rows: (Hashed | Failed)[] = [];
  // One after the other: never more than one member pauses.
  for (const endpoint of endpoints) rows.push(await hashOf(endpoint, revision));
  return rows;
};

/** Whether the hashes say that the members hold the same data, in words when they do not. An endpoint without a hash proves nothing. */
export const hashVerdict = (rows: readonly (Hashed | Failed)[]): Verdict => {
  const hashed = rows.filter((row): row is Hashed => 'hash' in row);
  const found = compareHashes(
    hashed.map(
      ({ endpoint, version, hash, compact_revision }): MemberHash => ({
        name: endpoint,
        server: version,
        hash,
        compact_revision,
      }),
    ),
  );
  const isSame = found.kind !== 'different' && hashed.length === rows.length;
  if (found.kind === 'moving')
    return { isSame, warning: 'a compaction is under way: the hashes cannot be compared; ask again' };
  if (found.kind === 'unproved')
    return {
      isSame,
      warning: 'different versions after a compaction: a different hash proves nothing here',
    };
  if (found.kind !== 'different') return { isSame };
  const who =
    found.odd.length === 0
      ? 'the members hold'
      : `${found.odd.join(', ')} ${found.odd.length === 1 ? 'holds' : 'hold'}`;
  return { isSame, warning: `${who} different data at revision ${hashed[0]?.revision}` };
};
