import { expect, test } from 'vitest';
import { runSchedule } from './environment.ts';
import type { Host } from '../../../src/platform/host.ts';
import type { OperationName } from './operations.ts';
import { brokenPromises } from './promises.ts';
import { everySchedule } from './scheduler.ts';

const isSoak = process.env['OPSCTL_SOAK'] === '1';
const all: readonly OperationName[] = [
  'refresh',
  'login',
  'addScope',
  'logout',
  'sessionsRevoked',
  'tokenRevoked',
];
const pairs: (readonly [OperationName, OperationName, boolean])[] = all.flatMap((left, i) =>
  all
    .slice(i)
    .flatMap((right) =>
      (left === 'refresh' ? [true, false] : [true]).map((rotates) => [left, right, rotates] as const),
    ),
);
pairs.push(['addScope', 'addOther', true]);

const check = async (names: readonly OperationName[], rotates: boolean, choose: (of: number) => number) => {
  const run = await runSchedule(names, rotates, choose);
  expect(brokenPromises(run, names), `${JSON.stringify(run.outcomes)}\n${run.trace}`).toEqual([]);
};

test.each(pairs)(
  '%s and %s on one account, rotation %s: every schedule keeps the promises',
  async (left, right, rotates) => {
    const count = await everySchedule((choose) => check([left, right], rotates, choose), 20_000);
    expect(count).toBeGreaterThan(1);
  },
);

/** A small random number generator, so that the number of a failing schedule reproduces it. */
const chooser = (seed: number) => {
  let state = seed * 2_654_435_761 + 1;
  return (of: number): number => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return (state >>> 8) % of;
  };
};

test('three operations on one account: sampled schedules keep the promises', async () => {
  const names: OperationName[] = [...all, 'addOther'];
  for (let seed = 0; seed < (isSoak ? 20_000 : 300); seed++) {
    const pick = chooser(seed);
    const three = [0, 1, 2].map(() => names[pick(names.length)] as OperationName);
    await check(three, pick(2) === 1, pick);
  }
});

/** Two machines, or two containers of one machine, that share the home directory: neither can see the processes of the other. */
const elsewhere =
  (hasOwnHostName: boolean) =>
  (host: Host, index: number): Host => {
    const place = index % 2;
    const pid = 4242 + index;
    return {
      ...host,
      pid,
      hostname: hasOwnHostName ? `host-${place}` : 'host',
      processes: {
        ...host.processes,
        isAlive: (other) => other === pid,
        startMark: (other) => (other === pid ? `mark-${pid}` : undefined),
        scope: () => ({ machineId: 'id', bootId: 'boot', pidNamespace: `pid:[${place}]` }),
      },
    };
  };

/** One of eight environments with one home: two host names, two machine IDs (machines or containers), two PID namespaces. */
const places = Array.from({ length: 8 }, (_, at) => ({
  hostname: `host-${at & 1}`,
  machineId: `machine-${(at >> 1) & 1}`,
  pidNamespace: `pid:[${at >> 2}]`,
}));
/** Each operation is a process of its environment. Processes of different environments may share a process ID and a start mark. */
const atPlaces =
  (chosen: readonly number[], pids: readonly number[]) =>
  (host: Host, index: number): Host => {
    const { hostname, ...scope } = places[chosen[index] ?? 0] ?? { hostname: 'host' };
    const isHere = (other: number): boolean =>
      pids.some((pid, at) => pid === other && chosen[at] === chosen[index]);
    return {
      ...host,
      pid: pids[index] ?? 0,
      hostname,
      processes: {
        ...host.processes,
        isAlive: isHere,
        startMark: (other) => (isHere(other) ? `mark-${other}` : undefined),
        scope: () => ({ ...scope, bootId: 'boot' }),
      },
    };
  };

test('1,000 schedules of three refreshes at eight places with equal process IDs lose no refresh', async () => {
  const seenPlaces = new Set<string>();
  for (let seed = 0; seed < (isSoak ? 50_000 : 1000); seed++) {
    const pick = chooser(seed + 7_000);
    const chosen = [0, 1, 2].map(() => pick(places.length));
    // Within one environment the IDs differ; between environments they are often equal.
    const pids = chosen.map((place, at) =>
      chosen.indexOf(place) === at && pick(2) === 1 ? 4242 : 5000 + at,
    );
    seenPlaces.add(chosen.join());
    const run = await runSchedule(['refresh', 'refresh', 'refresh'], true, pick, atPlaces(chosen, pids));
    const found = brokenPromises(run, ['refresh']);
    if (Object.values(run.outcomes).some(({ ok }) => !ok)) found.push('a refresh failed');
    expect(found, `seed ${seed}, places ${chosen}, ${JSON.stringify(run.outcomes)}\n${run.trace}`).toEqual(
      [],
    );
  }
  expect(seenPlaces.size).toBeGreaterThan(200);
});

test('1,000 schedules of two machines or namespaces lose no refresh and repeat none', async () => {
  for (let seed = 0; seed < (isSoak ? 50_000 : 1000); seed++) {
    const pick = chooser(seed);
    const run = await runSchedule(['refresh', 'refresh'], true, pick, elsewhere(pick(2) === 1));
    const found = brokenPromises(run, ['refresh']);
    if (Object.values(run.outcomes).some(({ ok }) => !ok)) found.push('a refresh failed');
    expect(found, `seed ${seed} ${JSON.stringify(run.outcomes)}\n${run.trace}`).toEqual([]);
  }
});
