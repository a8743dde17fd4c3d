import { describe, expect, it } from 'vitest';
import type { Access } from '../../../../src/kv/engine/access.ts';
import { paceOf, startCanary } from '../../../../src/kv/upgrade/watch/canary.ts';
import { writeCounter } from '../../../../src/kv/upgrade/present/run-model.ts';
import type { Replacing } from '../../../../src/kv/upgrade/run.ts';
import type { Unstamped } from '../../../../src/kv/engine/model.ts';
import { fakeHost } from '../../../support/fake-host.ts';
import { clusterFile } from '../../../support/observations.ts';
import { covers } from '../../../support/covers.ts';
import { partlyMade } from '../../../support/context.ts';

/** Duration and result of each write, in order. Then the canary stops. */
const writes = async (...script: (readonly [ms: number, ok: boolean])[]) => {
  const host = fakeHost();
  const told: Unstamped[] = [];
  const counter = writeCounter();
  const asked: string[] = [];
  const begins: number[] = [];
  let isEmpty: () => void = () => {};
  const empty = new Promise<void>((resolve) => {
    isEmpty = resolve;
  });
  const store = (url: string) => ({
    put: async () => {
      asked.push(url.slice(-1));
      begins.push(host.elapsed());
      const [ms, ok] = script.shift() ?? [1, true];
      if (script.length === 0) isEmpty();
      host.advance(ms);
      if (!ok) throw new Error('away');
    },
    del: async () => {},
  });
  const canary = startCanary(host, clusterFile(), partlyMade<Access>({ store }), 'run', (event) => {
    told.push(event);
    counter.take(event, host.elapsed());
  });
  await empty;
  await canary.stop();
  return { report: counter.report(), asked, told, begins };
};

it('the canary rests three times as long as a write took, or longer if configured', async () => {
  const { begins } = await writes([1, true], [40, true], [100, true], [100, false], [1, true]);
  expect(begins.slice(0, 4).map((at) => at - (begins[0] ?? 0))).toEqual([0, 21, 181, 481]);
});

describe('the longest gap', () => {
  it('the longest gap is the wait of a client that always writes, without the pauses of the canary', async () => {
    expect((await writes([3, true], [7, true], [5, true])).report).toMatchObject({
      failed: 0,
      longest_gap_ms: 7,
    });
  });
  it('the longest gap continues while it tries one member after another', async () => {
    const { report, asked } = await writes([3, true], [40, false], [2, true]);
    expect(report).toMatchObject({ failed: 0, longest_gap_ms: 42 });
    expect(asked.slice(0, 3)).toEqual(['1', '1', '2']);
  });
  it('the longest gap continues over failed writes, including pauses', async () => {
    const { report } = await writes([3, true], [100, false], [100, false], [100, false], [50, true]);
    expect(report).toMatchObject({ failed: 1, longest_gap_ms: 370 });
  });
});

it(
  'the canary writes once a second at rest, ten times during a health check, and at the configured rate while a member is down',
  covers('defect/U-31'),
  () => {
    const replacing = new Map<string, Replacing>();
    const pace = paceOf(replacing, 20);
    expect(pace()).toBe(1000);
    replacing.set('n1', 'proved');
    expect(pace()).toBe(100);
    replacing.set('n2', 'changing');
    expect(pace()).toBe(50);
    expect(paceOf(new Map())()).toBe(1000);
    expect(paceOf(new Map([['n1', 'changing']]))()).toBe(20);
    expect(paceOf(new Map([['n1', 'proved']]), 5)()).toBe(200);
  },
);

describe('the report of the canary', () => {
  it('the report has the number of writes and failures, and their durations', async () => {
    const { report, told } = await writes(
      [3, true],
      [9.26, true],
      [5, true],
      [1, false],
      [1, false],
      [1, false],
    );
    expect(report).toMatchObject({ writes: 4, failed: 1, median_ms: 5, p99_ms: 9.3 });
    expect(told.slice(0, 2)).toEqual([
      { event: 'canary', ok: true, latency_ms: 3, member: 'n1' },
      { event: 'canary', ok: true, latency_ms: 9.3, member: 'n1' },
    ]);
    expect(told[3]).toEqual({ event: 'canary', ok: false, latency_ms: 3, member: 'n1', error: 'away' });
  });
  it('the report of failed writes has no times', async () => {
    const { report } = await writes([100, false], [100, false], [100, false]);
    expect(report).toEqual({ writes: 1, failed: 1, longest_gap_ms: 300 });
  });
  it('the canary continues with the member of the last successful write', async () => {
    const { asked, told } = await writes([1, false], [1, false], [1, true], [1, true], [1, false], [1, true]);
    expect(asked.slice(0, 6)).toEqual(['1', '2', '3', '3', '3', '1']);
    expect(told.map((event) => ('member' in event ? event.member : ''))).toEqual(['n3', 'n3', 'n1']);
  });
});

it('the canary removes its key through the member of the last successful write, and writes no more', async () => {
  const host = fakeHost();
  const [removed, wrote]: [string[], string[]] = [[], []];
  const store = (url: string) => ({
    put: async (key: string, value: string) => {
      wrote.push(`${key}=${value}`);
      if (url.endsWith('1')) throw new Error('away');
      if (wrote.length > 2) stopping ??= canary.stop();
    },
    del: async (key: string) => {
      removed.push(`${url.slice(-1)} ${key}`);
      throw new Error('no quorum');
    },
  });
  let stopping: ReturnType<typeof canary.stop> | undefined;
  let count = 0;
  const canary = startCanary(host, clusterFile(), partlyMade<Access>({ store }), 'run', () => {
    count += 1;
  });
  await expect
    .poll(
      async () => {
        await host.turn();
        return stopping === undefined;
      },
      { interval: 1 },
    )
    .toBe(false);
  await stopping;
  expect(removed).toEqual([`2 ${wrote[0]?.split('=')[0]}`]);
  expect(wrote.map((text) => text.split('=')[1])).toEqual(['0', '0', '1']);
  expect(count).toBe(2);
  // The canary sleeps in short intervals, so that it notices a change of the pace.
  expect(Math.max(...host.slept)).toBeLessThanOrEqual(50);
});

it('a canary that is stopped during its first write has made one', async () => {
  const host = fakeHost();
  const store = () => ({ put: async () => void host.advance(4), del: async () => {} });
  const counter = writeCounter();
  const canary = startCanary(host, clusterFile(), partlyMade<Access>({ store }), 'run', (event) =>
    counter.take(event, host.elapsed()),
  );
  await canary.stop();
  expect(counter.report()).toEqual({ writes: 1, failed: 0, longest_gap_ms: 4, median_ms: 4, p99_ms: 4 });
});
