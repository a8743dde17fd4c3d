import { messageOf } from '../../../core/error-message.ts';
import { identityOf, memberOf } from '../run.ts';
import type { Act, Checking, Detail, Run } from '../run.ts';
import type { MemberSpec } from '../../engine/types.ts';

const calmWithinMs = 100;
/**
 * A write that arrives while the leadership moves is answered by nobody (two to five milliseconds, measured). A client that writes all the time
 * pauses between two of its writes: the moment just after one is the best there is. Without writes any moment is good.
 */
export const justAfterWrite = async (
  { host, access }: Pick<Run, 'host' | 'access'>,
  { client_url }: MemberSpec,
): Promise<void> => {
  const store = access.store(client_url);
  const index = async (): Promise<number | undefined> =>
    (await store.status().catch(() => undefined))?.raft_index;
  const until = host.elapsed() + calmWithinMs;
  const first = await index();
  // Where a request takes no time (the simulator), the clock would stand still without a pause.
  while (host.elapsed() < until && (await index()) === first) await host.sleep(1);
};

const leaderPollMs = 20;
export const moveLeader: Act = (run, step) => handOver(run, step.member as string, step.target as string);

/** From the leader to another member. A refused transfer is told, and no error. */
export const handOver = async (run: Checking, name: string, to: string): Promise<Detail> => {
  const { host, access } = run;
  const target = { name: to, ...identityOf(run, to) };
  const store = access.store(memberOf(run, name).client_url, 5000);
  await justAfterWrite(run, memberOf(run, name));
  try {
    await store.moveLeader(target.member_id as string);
  } catch (error) {
    // The stop hands the leadership over too (spec/store#measured-upgrade): a refused transfer is no reason to end the run.
    run.emit({
      event: 'note',
      level: 'warn',
      text: `leadership not moved: ${messageOf(error)}; ${name} hands it over when it stops`,
    });
    return { moved: false };
  }
  const until = host.elapsed() + 5000;
  while (host.elapsed() < until) {
    if ((await store.status().catch(() => undefined))?.leader_id === target.member_id) break;
    await host.sleep(leaderPollMs);
  }
  run.emit({ event: 'leader-changed', from: name, to: target.name });
  return { moved: true };
};
