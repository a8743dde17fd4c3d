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

/** A small generator, so that a failing schedule can be run again by its number. */
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

/** Two machines, or two containers of one machine, that share the home directory: neither sees the processes of the other. */
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

test('1,000 schedules of two machines or namespaces lose no refresh and repeat none', async () => {
  for (let seed = 0; seed < (isSoak ? 50_000 : 1000); seed++) {
    const pick = chooser(seed);
    const run = await runSchedule(['refresh', 'refresh'], true, pick, elsewhere(pick(2) === 1));
    const found = brokenPromises(run, ['refresh']);
    if (Object.values(run.outcomes).some(({ ok }) => !ok)) found.push('a refresh failed');
    expect(found, `seed ${seed} ${JSON.stringify(run.outcomes)}\n${run.trace}`).toEqual([]);
  }
});
