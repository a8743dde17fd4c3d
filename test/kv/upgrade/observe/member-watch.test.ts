import { expect, it } from 'vitest';
import { AppError } from '../../../../src/core/problem.ts';
import type { Access } from '../../../../src/kv/engine/access.ts';
import { isMemberEnded, watchMembers } from '../../../../src/kv/upgrade/observe/member-watch.ts';
import type { Driver, ProcessState } from '../../../../src/kv/upgrade/supervisors/driver.ts';
import { fakeHost } from '../../../support/fake-host.ts';
import { clusterFile } from '../../../support/observations.ts';
import { partlyMade } from '../../../support/context.ts';
import { covers } from '../../../support/covers.ts';

/**
 * A healthy member with the listed process state at each observation. The watch stops at the end of the list.
 */
const watched = async (looks: readonly ProcessState[]) => {
  const host = fakeHost({});
  const left = [...looks];
  let isOver = (): void => {};
  const over = new Promise<void>((resolve) => {
    isOver = resolve;
  });
  const driver = partlyMade<Driver>({
    kind: 'docker',
    process: async () => {
      if (left.length === 1) isOver();
      return left.shift() ?? looks.at(-1);
    },
  });
  const access = partlyMade<Access>({
    store: () => ({ health: async () => ({ is_healthy: true }) }),
  });
  const members = watchMembers({ host, driver, access, cluster: clusterFile() });
  members.add('n1');
  const addedAt = host.elapsed();
  const alarm = members.signal();
  await over;
  await members.finish();
  return { members, alarm, addedAt };
};
const running = (pid?: number): ProcessState => ({ state: 'running', ...(pid === undefined ? {} : { pid }) });

it(
  'a process that its service manager started again between two looks has not been good since its gate',
  covers('spec/store#choices-6'),
  async () => {
    const { members, alarm, addedAt } = await watched([running(1), running(1), running(2), running(3)]);
    expect(members.restartsOf('n1')).toBe(2);
    // The soak time restarts, so a wait for ten healthy seconds continues.
    expect(members.goodSince(['n1'])).toBeGreaterThan(addedAt);
    // The process exists, so the watch does not restart it.
    expect(alarm.aborted).toBe(false);
  },
);

it('one process, or a process with an unknown ID, is always healthy', async () => {
  for (const pid of [7, undefined]) {
    const { members, addedAt } = await watched([running(pid), running(pid), running(pid)]);
    expect([members.restartsOf('n1'), members.goodSince(['n1'])]).toEqual([0, addedAt]);
  }
});

it('a process that is gone raises the alarm', async () => {
  const { members, alarm } = await watched([running(1), { state: 'gone' }, { state: 'gone' }]);
  expect([alarm.aborted, members.goodSince(['n1'])]).toEqual([true, undefined]);
});

/** A watch of members with changeable states and health. `looks` waits for a number of observations of n1. */
const watching = (kind: 'local' | 'docker' = 'docker') => {
  const host = fakeHost({});
  const states = new Map<string, ProcessState>();
  const healthy = new Map<string, boolean | Error>();
  const asked: number[] = [];
  let waiting: [number, () => void] | undefined;
  let count = 0;
  const driver = partlyMade<Driver>({
    kind,
    process: async ({ name }: { name: string }) => {
      count += name === 'n1' ? 1 : 0;
      if (waiting !== undefined && count >= waiting[0]) waiting[1]();
      return states.get(name) ?? running(1);
    },
  });
  const health = (url: string) => async () => {
    const name = clusterFile().members.find(({ client_url }) => client_url === url)?.name as string;
    if (name === 'n1') asked.push(host.elapsed());
    const is_healthy = healthy.get(name) ?? true;
    if (is_healthy instanceof Error) throw is_healthy;
    return { is_healthy };
  };
  const access = partlyMade<Access>({ store: (url: string) => ({ health: health(url) }) });
  const members = watchMembers({ host, driver, access, cluster: clusterFile() });
  const looks = (more: number) =>
    new Promise<void>((resolve) => {
      waiting = [count + more + 1, resolve];
    });
  return { host, members, states, healthy, asked, looks };
};

it('a member that is not watched is not good, and all together are good since the last of them', async () => {
  const { members, host } = watching();
  expect([members.isWatched('n1'), members.goodSince(['n1']), members.restartsOf('n1')]).toEqual([
    false,
    undefined,
    0,
  ]);
  members.add('n1');
  const at = host.elapsed();
  host.advance(500);
  members.add('n2');
  expect([members.goodSince(['n1']), members.goodSince(['n1', 'n2']), members.goodSince([])]).toEqual([
    at,
    at + 500,
    0,
  ]);
  expect(members.goodSince(['n1', 'n3'])).toBeUndefined();
  members.remove('n1');
  expect([members.isWatched('n1'), members.isWatched('n2'), members.goodSince(['n1'])]).toEqual([
    false,
    true,
    undefined,
  ]);
  await members.finish();
});

it('an exited process is reported with its name until it runs again', async () => {
  const { members, states, looks } = watching();
  members.add('n1');
  const alarm = members.signal();
  states.set('n1', { state: 'gone' });
  await looks(1);
  expect(alarm.aborted).toBe(true);
  expect(isMemberEnded(alarm.reason)).toBe(true);
  expect((alarm.reason as AppError).message).toBe(
    'n1 passed its health check, but its process has exited since',
  );
  expect([isMemberEnded(new Error('x')), isMemberEnded(new AppError('stopped', 'x', {}))]).toEqual([
    false,
    false,
  ]);
  // A new listener waits for the next exit.
  const next = members.signal();
  expect([next === alarm, next.aborted, members.signal() === next]).toEqual([false, false, true]);
  await looks(2);
  expect(next.aborted).toBe(false);
  states.set('n1', running(1));
  await looks(2);
  expect(members.goodSince(['n1'])).toBeDefined();
  states.set('n1', { state: 'gone' });
  await looks(1);
  expect(next.aborted).toBe(true);
  await members.finish();
});

it('the exit of a process that this run started counts immediately, except during its replacement', async () => {
  const { members } = watching();
  const exit = { code: 1, signal: null };
  members.add('n1', Promise.resolve(exit));
  const first = members.signal();
  await Promise.resolve();
  await Promise.resolve();
  expect([first.aborted, members.goodSince(['n1'])]).toEqual([true, undefined]);
  const second = members.signal();
  members.add('n1', Promise.resolve(exit));
  members.remove('n1');
  members.add('n1');
  await Promise.resolve();
  await Promise.resolve();
  expect([second.aborted, members.goodSince(['n1']) === undefined]).toEqual([false, false]);
  await members.finish();
});

it('an unhealthy or unresponsive member is healthy again after its next good response', async () => {
  const { members, healthy, looks, host } = watching();
  members.add('n1');
  for (const bad of [false, new Error('late')]) {
    healthy.set('n1', bad);
    await looks(2);
    expect(members.goodSince(['n1'])).toBeUndefined();
    healthy.set('n1', true);
    const before = host.elapsed();
    await looks(2);
    expect(members.goodSince(['n1'])).toBeGreaterThanOrEqual(before);
  }
  await members.finish();
});

it('a starting process is not a restart, and neither is one with an unknown ID', async () => {
  const { members, states, looks } = watching();
  members.add('n1');
  await looks(2);
  states.set('n1', { state: 'starting', awaits: 'x', pid: 9 });
  await looks(2);
  expect(members.restartsOf('n1')).toBe(0);
  states.set('n1', running());
  await looks(2);
  states.set('n1', running(1));
  await looks(2);
  expect(members.restartsOf('n1')).toBe(0);
  states.set('n1', running(2));
  await looks(2);
  expect(members.restartsOf('n1')).toBe(1);
  await members.finish();
});

it('local processes are checked four times a second, and their health once', async () => {
  const near = watching('local');
  near.members.add('n1');
  await near.looks(9);
  await near.members.finish();
  expect(new Set(near.host.slept)).toEqual(new Set([250]));
  expect(near.asked.slice(0, 3)).toEqual([250, 1250, 2250]);
  const far = watching('docker');
  far.members.add('n1');
  await far.looks(3);
  await far.members.finish();
  expect(new Set(far.host.slept)).toEqual(new Set([2000]));
  expect(far.asked.slice(0, 2)).toEqual([2000, 4000]);
});
