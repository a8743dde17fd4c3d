import { AppError } from '../../../core/problem.ts';
import type { Store } from '../../client/etcd-client.ts';
import { mebibytes } from '../guards/guard.ts';
import { cannotHash, compareHashes, hashMembers, mostHashedBytes } from '../observe/hashes.ts';
import type { Comparison } from '../observe/hashes.ts';
import type { MemberHash } from '../../engine/types.ts';
import { failed, good, keyOf, skipped } from './gate-verdict.ts';
import type { Check, Gate, Verdict } from './gate-verdict.ts';

/** One that does not answer may do so in the next try; one of a version without hashes never will. */
const mayHash = async ({ store }: { readonly store: Store }): Promise<boolean> => {
  const versions = await store.versions().catch(() => undefined);
  return versions === undefined || !cannotHash(versions.server);
};

const mostHashTries = 5;
/** All data of this member against the others', at one revision (spec/store#measured-versions: from 3.3 on). */
export const hashesAgree: Check = async (gate) => {
  const { member, store, others } = gate;
  const { db_size_bytes } = await store.status();
  if ((await store.row()).can.hashKv === false) return skipped('this version cannot hash its data');
  if (db_size_bytes > mostHashedBytes)
    return skipped(`${mebibytes(db_size_bytes)} take long to hash; opsctl kv endpoint hashkv does it`);
  const may = await Promise.all(others.map(mayHash));
  const peers = others.filter((_, at) => may[at]);
  if (others.length > 0 && peers.length === 0)
    return skipped('no other member runs a version that can hash its data');
  for (let tries = 0; tries < mostHashTries; tries += 1) {
    const { revision } = await store.range(keyOf(gate));
    const rows = await hashMembers([{ name: member.name, store }, ...peers], revision);
    const found = compareHashes(rows);
    if (found.kind !== 'moving' && rows.length > 1 && rows[0]?.name === member.name)
      return hashVerdict(gate, revision, rows, found);
  }
  return skipped('no other member could be asked at the same revision');
};
const hashVerdict = (
  { run, member }: Gate,
  revision: number,
  rows: readonly MemberHash[],
  found: Comparison,
): Verdict => {
  if (found.kind === 'unproved') {
    run.emit({
      event: 'note',
      level: 'warn',
      text: `different hashes at revision ${revision}, after a compaction, on different versions: ${found.detail}; compare them again when all run ${run.plan.to}: opsctl kv endpoint hashkv`,
    });
    return good(`different versions hash what a compaction left differently: ${found.detail}`);
  }
  if (found.kind !== 'different')
    return good(`same hash at revision ${revision} on ${rows.map(({ name }) => name).join(', ')}`);
  // This member is with the majority: its new version is not what has to go.
  if (found.odd.length > 0 && !found.odd.includes(member.name))
    throw new AppError(
      'stopped',
      `${found.odd.join(', ')} ${found.odd.length === 1 ? 'holds' : 'hold'} other data at revision ${revision}: ${found.detail}`,
      {
        code: 'DATA_DIFFERS',
        tryThis: [`opsctl kv replace-member ${found.odd[0]}, then opsctl kv resume`],
      },
    );
  return failed(
    `different data at revision ${revision}: ${found.detail}; opsctl kv replace-member ${member.name} gives it the data of the others`,
  );
};
