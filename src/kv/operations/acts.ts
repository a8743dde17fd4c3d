import { AppError } from '../../core/problem.ts';
import { firstAnswer } from '../client/first-response.ts';
import { probeKey } from '../client/own-keys.ts';
import { compactActs } from './act.ts';
import { defragActs } from './defrag-act.ts';
import { storeOf } from './member.ts';
import type { Act, Acts, Operation } from './types.ts';

const storesOf = ({ cluster, checking }: Operation) =>
  cluster.members.map(({ client_url }) => checking.access.store(client_url));
const raised = async (operation: Operation) =>
  (await firstAnswer(storesOf(operation), (store) => store.alarms())).filter(
    ({ alarm }) => alarm === 'NOSPACE',
  );

/** History is gone and the files are as small as they get: what is left are the keys. */
const stillFull = (message: string, cause?: unknown): AppError =>
  new AppError('stopped', message, {
    code: 'NO_SPACE',
    tryThis: [
      'delete keys, or raise --quota-backend-bytes on every member; then opsctl kv recover-space again',
    ],
    cause,
  });
const isFull = (error: unknown): boolean => error instanceof AppError && error.detail.code === 'NO_SPACE';

/** Each alarm by the member that raised it. One that comes back at once says that the keys themselves are too many. */
const disarm: Act = async (operation) => {
  const alarms = await raised(operation);
  for (const alarm of alarms) await firstAnswer(storesOf(operation), (store) => store.disarm(alarm));
  const left = await raised(operation);
  if (left.length > 0) throw stillFull('the alarm NOSPACE is raised again at once');
  operation.say(`${alarms.length} alarm${alarms.length === 1 ? '' : 's'} disarmed`);
  return { disarmed: alarms.length };
};

/** Nothing is told as recovered that was not written and read. */
const verifyWrite: Act = async (operation) => {
  const { cluster, plan } = operation;
  for (const { name } of cluster.members) {
    const [store, key] = [storeOf(operation, name), probeKey(plan.id, name)];
    await store.put(key, plan.id).catch((error: unknown) => {
      throw isFull(error) ? stillFull(`${name} takes no write yet: the keys fill the quota`, error) : error;
    });
    const { kvs } = await store.range(key);
    if (kvs[0]?.value !== plan.id)
      throw new AppError('stopped', `${name} took a write and does not show it`, {
        code: 'NOT_PROVEN',
        tryThis: ['opsctl kv status'],
      });
    await store.del(key);
  }
  const left = await raised(operation);
  if (left.length > 0) throw stillFull('the writes raised the alarm NOSPACE again');
  return { members: cluster.members.map(({ name }) => name) };
};

export const recoverActs: Acts = { ...compactActs, ...defragActs, disarm, 'verify-write': verifyWrite };
