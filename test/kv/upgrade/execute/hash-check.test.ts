import { describe, expect, it } from 'vitest';
import { hashesAgree } from '../../../../src/kv/upgrade/execute/health-check.ts';
import type { Gate } from '../../../../src/kv/upgrade/execute/connection-checks.ts';
import { fakeHost } from '../../../support/fake-host.ts';
import { clusterFile } from '../../../support/observations.ts';
import { runOn } from '../../../support/upgrade-run.ts';
import { naming } from '../../../support/facts.ts';
import { partlyMade } from '../../../support/context.ts';

/**
 * Consecutive hash responses of one member. The last one repeats. `undefined`: the member does not respond.
 */
type Says = readonly (readonly [hash: number, compacted: number] | undefined)[];
/**
 * n2 is being checked; the other members follow in order. `server`: their versions, if they differ from n2.
 */
const comparing = async (says: readonly Says[], servers: readonly string[] = []) => {
  let ranges = 0;
  const storeOf = (answers: Says, server: string) => {
    let asked = 0;
    return {
      status: async () => ({ db_size_bytes: 1 }),
      row: async () => ({ can: { hashKv: true } }),
      versions: async () => ({ server }),
      range: async () => {
        ranges += 1;
        return { revision: ranges };
      },
      hashKv: async () => {
        const answer = answers[Math.min(asked, answers.length - 1)];
        asked += 1;
        if (answer === undefined) throw new Error('no response');
        return { hash: answer[0], compact_revision: answer[1] };
      },
    };
  };
  const stores = says.map((answers, at) => storeOf(answers, servers[at] ?? '3.5.30'));
  const host = fakeHost();
  const run = runOn(host);
  const began = host.elapsed();
  const gate = partlyMade<Gate>({
    ...{ run, member: clusterFile().members[1], minor: '3.5', store: stores[0] },
    others: stores.slice(1).map((store, at) => ({ name: `n${at * 2 + 1}`, store })),
  });
  const verdict = await hashesAgree(gate).catch((error: unknown) => error);
  return { verdict, ranges, told: run.told, waitedMs: host.elapsed() - began };
};
/** The gate does not repeat the attempts, because each one blocks every member. */
const nobody = { ok: null, detail: naming('unknown', 'revision'), isUnknown: true, isHopeless: true };

describe('the hash of a member next to the hashes of others', () => {
  it('the hash is requested again during a compaction, five times', async () => {
    const [before, after] = [8, 9];
    const never = await comparing([[[7, before]], [[7, after]]]);
    expect([never.verdict, never.ranges, never.waitedMs]).toEqual([nobody, 5, 1000]);
    const own: Says = [...Array<readonly [number, number]>(4).fill([7, before]), [7, after]];
    const late = await comparing([own, [[7, after]]]);
    expect(late.verdict).toEqual({ ok: true, detail: naming('5', 'n2', 'n1', 'hash', 'revision') });
  });
  it('the hash cannot be compared if no other member, or the member itself, responds', async () => {
    expect((await comparing([[[7, 0]], [undefined]])).verdict).toEqual(nobody);
    expect((await comparing([[undefined], [[7, 0]], [[7, 0]]])).verdict).toEqual(nobody);
  });
  it('a member without others is not compared', async () => {
    const { verdict, ranges } = await comparing([[[7, 0]]]);
    expect([verdict, ranges]).toEqual([{ ok: null, detail: naming('skipped', 'member') }, 0]);
  });
  it('one other member with hash support is enough; without one the check is skipped', async () => {
    expect((await comparing([[[7, 0]], [[7, 0]]], ['3.5.30', '3.2.32'])).verdict).toEqual({
      ok: null,
      detail: naming('skipped', 'version', 'hash'),
    });
    expect((await comparing([[[7, 0]], [[7, 0]]])).verdict).toMatchObject({ ok: true });
  });
  it('a different hash on another version after a compaction is reported and proves no difference', async () => {
    const { verdict, told } = await comparing([[[7, 4]], [[8, 4]], [[8, 4]]], ['3.5.30', '3.4.45', '3.4.45']);
    const detail = 'n2 (3.5.30) 00000007, n1 (3.4.45) 00000008, n3 (3.4.45) 00000008';
    expect(verdict).toEqual({
      ok: true,
      detail: naming(detail, 'versions', 'hash', 'compaction'),
    });
    expect(told).toMatchObject([
      { event: 'note', level: 'warn', text: naming('1', 'hashes', 'compare', 'endpoint') },
    ]);
  });
  it('a hash that differs from the only other one fails the member, because the correct one is unknown', async () => {
    const { verdict, told } = await comparing([[[7, 0]], [[8, 0]]]);
    expect(verdict).toMatchObject({
      ...{ ok: false, isFinal: true },
      detail: naming('1', 'n2', 'different', 'revision', 'members'),
    });
    expect(told).toEqual([]);
  });
  it('a hash that differs from two others fails the member; a difference of another member stops the run', async () => {
    const odd = await comparing([[[8, 0]], [[7, 0]], [[7, 0]]]);
    expect(odd.verdict).toMatchObject({ ok: false, isFinal: true });
    const other = await comparing([[[7, 0]], [[7, 0]], [[8, 0]]]);
    expect(other.verdict).toMatchObject({
      message: naming('n3', 1),
      detail: { code: 'DATA_DIFFERS', tryThis: [naming('opsctl kv replace-member n3', 'opsctl kv resume')] },
    });
    const both = await comparing([[[7, 0]], [[7, 0]], [[7, 0]], [[8, 0]], [[9, 0]]]);
    expect(both.verdict).toMatchObject({ message: naming('n5', 'n7') });
  });
});
