import { expect, test } from 'vitest';
import { watchLogs } from '../../../../src/kv/upgrade/watch/log-lines.ts';
import { fakeHost } from '../../../support/fake-host.ts';
import { runOn } from '../../../support/upgrade-run.ts';

const panic = (n: number): string => `panic: runtime error: number ${n}`;

test('every new line of each member is reported once, during the run and at its end, without earlier ones', async () => {
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
  logs.n1?.push(panic(3), 'a line that means nothing');
  await expect
    .poll(
      async () => {
        await run.host.turn();
        return lines().length === 0;
      },
      { interval: 1 },
    )
    .toBe(false);
  expect(lines()).toEqual([['n1', panic(3)]]);
  logs.n3?.push(panic(4));
  await watch.finish();
  expect(lines()).toEqual([
    ['n1', panic(3)],
    ['n3', panic(4)],
  ]);
});

test('a line is reported with its meaning, without its tokens, and with at most 500 characters', async () => {
  const log: string[] = ['before'];
  const asked: number[] = [];
  const driver = {
    logTail: async ({ name }: { readonly name: string }, lines: number) => {
      asked.push(lines);
      return name === 'n2' ? log : [];
    },
  };
  const run = runOn(fakeHost(), {}, driver);
  const watch = await watchLogs(run);
  log.push('invalid auth token: secret', `panic: ${'x'.repeat(600)}`, '{"level":"error","msg":"odd"}');
  await watch.finish();
  expect(run.told).toEqual([
    {
      ...{ event: 'log-line', member: 'n2', line: 'invalid auth token: ***' },
      ...{ expected: true, meaning: 'a token became invalid when the previous process exited' },
    },
    {
      ...{ event: 'log-line', member: 'n2', line: `panic: ${'x'.repeat(492)}…` },
      ...{ expected: false, meaning: 'the server panicked' },
    },
    { event: 'log-line', member: 'n2', line: '{"level":"error","msg":"odd"}', expected: false },
  ]);
  expect(new Set(asked)).toEqual(new Set([400]));
});

test('lines before the first successful read of a log are not reported as lines of the run', async () => {
  let isAway = true;
  const log: string[] = [panic(1)];
  const logTail = async ({ name }: { readonly name: string }) => {
    if (isAway) throw new Error('no ssh');
    return name === 'n1' ? log : [];
  };
  const run = runOn(fakeHost(), {}, { logTail });
  const watch = await watchLogs(run);
  isAway = false;
  for (let i = 0; i < 3; i += 1) await run.host.turn();
  log.push(panic(2));
  await watch.finish();
  expect(run.told).toMatchObject([{ line: panic(2) }]);
});

test('a log that is temporarily unreadable continues at its position', async () => {
  let isAway = false;
  const log: string[] = [panic(1)];
  const logTail = async ({ name }: { readonly name: string }) => {
    if (isAway) throw new Error('no ssh');
    return name === 'n1' ? log : [];
  };
  const run = runOn(fakeHost(), {}, { logTail });
  const watch = await watchLogs(run);
  isAway = true;
  for (let i = 0; i < 3; i += 1) await run.host.turn();
  isAway = false;
  log.push(panic(2));
  await watch.finish();
  expect(run.told).toMatchObject([{ line: panic(2) }]);
});
