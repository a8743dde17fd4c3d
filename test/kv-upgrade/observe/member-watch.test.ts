import { expect, it } from 'vitest';
import type { Access } from '../../../src/kv-upgrade/observe/access.ts';
import { watchMembers } from '../../../src/kv-upgrade/observe/member-watch.ts';
import type { Driver, ProcessState } from '../../../src/kv-upgrade/supervisors/driver.ts';
import { fakeHost } from '../../support/fake-host.ts';
import { clusterFile } from '../../support/observations.ts';

/** A healthy member whose process is another one at each look that the list says; the watch ends with the list. */
const watched = async (looks: readonly ProcessState[]) => {
  const host = fakeHost({});
  const left = [...looks];
  let isOver = (): void => {};
  const over = new Promise<void>((resolve) => {
    isOver = resolve;
  });
  const driver = {
    kind: 'docker',
    process: async () => {
      if (left.length === 1) isOver();
      return left.shift() ?? looks.at(-1);
    },
  } as unknown as Driver;
  const access = { store: () => ({ health: async () => ({ is_healthy: true }) }) } as unknown as Access;
  const members = watchMembers({ host, driver, access, cluster: clusterFile() });
  members.add('n1');
  const addedAt = host.elapsed();
  const alarm = members.signal();
  await over;
  await members.finish();
  return { members, alarm, addedAt };
};
const running = (pid?: number): ProcessState => ({ state: 'running', ...(pid === undefined ? {} : { pid }) });

it('a process that its service manager started again between two looks has not been good since its gate', async () => {
  const { members, alarm, addedAt } = await watched([running(1), running(1), running(2), running(3)]);
  expect(members.restartsOf('n1')).toBe(2);
  // Its good time begins again: what waits for ten good seconds waits on.
  expect(members.goodSince(['n1'])).toBeGreaterThan(addedAt);
  // It is there: nothing has to be brought up.
  expect(alarm.aborted).toBe(false);
});

it('one process, and one whose id nobody tells, are good all the time', async () => {
  for (const pid of [7, undefined]) {
    const { members, addedAt } = await watched([running(pid), running(pid), running(pid)]);
    expect([members.restartsOf('n1'), members.goodSince(['n1'])]).toEqual([0, addedAt]);
  }
});

it('a process that is gone raises the alarm', async () => {
  const { members, alarm } = await watched([running(1), { state: 'gone' }, { state: 'gone' }]);
  expect([alarm.aborted, members.goodSince(['n1'])]).toEqual([true, undefined]);
});
