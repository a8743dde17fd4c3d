import { expect, test } from 'vitest';
import { watchLogs } from '../../../src/kv-upgrade/watch/log-watch.ts';
import { fakeHost } from '../../support/fake-host.ts';
import { runOn } from '../../support/upgrade-run.ts';

const panic = (n: number): string => `panic: runtime error: number ${n}`;

test('each new line of each member is told once, while the run is and at its end, and none from before', async () => {
  const logs: Record<string, string[]> = { n1: [panic(1)], n2: [], n3: [panic(2)] };
  const run = runOn(
    fakeHost(),
    {},
    {
      logTail: async ({ name }) => {
        if (name === 'n2') throw new Error('n2 has no log');
        return logs[name] ?? [];
      },
    },
  );
  const lines = () => run.told.flatMap((one) => (one.event === 'log-line' ? [[one.member, one.line]] : []));
  const watch = await watchLogs(run);
  expect(lines()).toEqual([]);
  logs['n1']?.push(panic(3), 'a line that means nothing');
  while (lines().length === 0) await run.host.turn();
  expect(lines()).toEqual([['n1', panic(3)]]);
  logs['n3']?.push(panic(4));
  await watch.finish();
  expect(lines()).toEqual([
    ['n1', panic(3)],
    ['n3', panic(4)],
  ]);
});
