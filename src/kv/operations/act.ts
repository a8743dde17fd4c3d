import { AppError } from '../../core/problem.ts';
import type { Store } from '../client/etcd-client.ts';
import { firstAnswer } from '../client/first-response.ts';
import { isCompacted } from '../client/compacted-revision.ts';
import { observeNow } from './member.ts';
import type { Act, Acts, Detail, Operation } from './types.ts';

/** Removing much history takes long, and the answer comes when it is done. */
const compactMs = 600_000;

const inUseOf = async (operation: Operation): Promise<Record<string, number>> => {
  const { members } = await observeNow(operation);
  return Object.fromEntries(
    members.flatMap(({ name, db_in_use_bytes, db_size_bytes }) => {
      const bytes = db_in_use_bytes ?? db_size_bytes;
      return bytes === undefined ? [] : [[name, bytes]];
    }),
  );
};

/** Somebody else, or this operation before a crash, was faster: what was wanted is so. */
const compactOnce = (store: Store, revision: number): Promise<boolean> =>
  store.compact(revision, true).then(
    () => true,
    (error: unknown) => {
      if (isCompacted(error)) return false;
      throw error;
    },
  );

export const compact: Act = async (operation): Promise<Detail> => {
  const { plan, cluster, checking, host, say } = operation;
  const revision = plan.values.revision as number;
  const before = await inUseOf(operation);
  const began = host.elapsed();
  const stores = cluster.members.map(({ client_url }) => checking.access.store(client_url, compactMs));
  const isOurs = await firstAnswer(stores, (store) => compactOnce(store, revision));
  const after = await inUseOf(operation);
  const took_ms = Math.round(host.elapsed() - began);
  const freed = Object.entries(before).map(
    ([name, bytes]) => `${name} ${(Math.max(0, bytes - (after[name] ?? bytes)) / 2 ** 20).toFixed(1)} MiB`,
  );
  say(
    isOurs
      ? `compacted to revision ${revision} in ${took_ms} ms; free inside the files: ${freed.join(', ')}; opsctl kv defrag gives it back to the disk`
      : `revision ${revision} was compacted already`,
  );
  return { revision, took_ms, in_use_before: before, in_use_after: after };
};

/** Ended by Ctrl-C: nothing was removed yet. */
const wait: Act = async ({ host, plan, signal }) => {
  await host.sleep(plan.values.wait_ms ?? 0, signal).catch((cause: unknown) => {
    throw new AppError('stopped', 'stopped while it waited: nothing was removed', { code: 'STOPPED', cause });
  });
  return undefined;
};

export const compactActs: Acts = { wait, compact };
