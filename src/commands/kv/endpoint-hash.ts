import { int } from '../../core/field.ts';
import { rowsResult } from '../../core/result.ts';
import type { Result } from '../../core/result.ts';
import type { MemberHash } from '../../kv-upgrade/types.ts';
import { defineCommand, type Context } from '../../cli/command.ts';
import { endpointFlags, openCluster } from './cluster.ts';
import { reasonOf, stores } from './endpoint.ts';
import type { Named } from './endpoint.ts';

type Failed = { readonly endpoint: string; readonly error: string };
type Hashed = {
  readonly endpoint: string;
  readonly hash: number;
  readonly revision: number;
  readonly compact_revision: number;
  readonly version: string;
};

/** Each member's newest revision is another one while somebody writes: the lowest of them is one that all have. */
const commonRevision = async (asked: readonly Named[]): Promise<number> => {
  const seen = await Promise.all(
    asked.map(({ store }) =>
      store.status().then(
        ({ revision }) => revision,
        () => 0,
      ),
    ),
  );
  const known = seen.filter((revision) => revision > 0);
  return known.length === 0 ? 0 : Math.min(...known);
};

const hashOf = async ({ endpoint, store }: Named, revision: number): Promise<Hashed | Failed> => {
  try {
    const { server } = await store.versions();
    const { hash, compact_revision } = await store.hashKv(revision);
    return { endpoint, hash, revision, compact_revision, version: server };
  } catch (error) {
    return { endpoint, error: reasonOf(error) };
  }
};

/** Whether the hashes say that the members hold the same data, in words when they do not. */
const judge = async (context: Context, rows: readonly Hashed[]): Promise<boolean> => {
  const { compareHashes } = await import('../../kv-upgrade/observe/hashes.ts');
  const found = compareHashes(
    rows.map(
      ({ endpoint, version, hash, compact_revision }): MemberHash => ({
        name: endpoint,
        server: version,
        hash,
        compact_revision,
      }),
    ),
  );
  if (found.kind === 'moving')
    context.log.warn('a compaction is under way: the hashes cannot be compared; ask again');
  if (found.kind === 'unproved')
    context.log.warn('different versions after a compaction: a different hash proves nothing here');
  if (found.kind !== 'different') return true;
  const who =
    found.odd.length === 0
      ? 'the members hold'
      : `${found.odd.join(', ')} ${found.odd.length === 1 ? 'holds' : 'hold'}`;
  context.log.warn(`${who} different data at revision ${rows[0]?.revision}`);
  return false;
};

export const endpointHash = defineCommand({
  path: ['kv', 'endpoint', 'hashkv'],
  summary: 'Hash the keyspace of every endpoint at one revision, and compare',
  about:
    'All endpoints are asked for the same revision, so that their hashes can be compared. Versions from 3.3 on can. A member does nothing else while it hashes. ' +
    'Exit code 20 when an endpoint does not answer or the members hold different data.',
  flags: {
    ...endpointFlags,
    rev: {
      field: int({ min: 1 }),
      summary: 'Revision up to which keys are hashed (default: the newest that all endpoints have)',
      value: 'revision',
    },
  },
  examples: [
    {
      line: 'opsctl kv endpoint hashkv --endpoints localhost:2379,localhost:22379',
      says: 'the same hash on both when they hold the same data',
    },
    {
      line: 'opsctl kv endpoint hashkv --cluster cluster.yaml --rev 1200 -o json',
      says: 'with revision, compaction and version of each',
    },
  ],
  run: async (context, values) => {
    const asked = await stores(context, await openCluster(context, values));
    const revision = values.rev ?? (await commonRevision(asked));
    const rows: (Hashed | Failed)[] = [];
    // One after the other: never more than one member pauses.
    for (const named of asked) rows.push(await hashOf(named, revision));
    const hashed = rows.filter((row): row is Hashed => 'hash' in row);
    const isGood = (await judge(context, hashed)) && hashed.length === rows.length;
    return {
      ...rowsResult(rows, { columns: ['endpoint', 'hash', 'error'], name: 'endpoint' }),
      exit: () => (isGood ? 'done' : 'no'),
    } as Result;
  },
});
