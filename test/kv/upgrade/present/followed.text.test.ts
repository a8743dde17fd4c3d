import { describe, expect, it } from 'vitest';
import { AppError } from '../../../../src/core/problem.ts';
import { makeShowAdvice, type ShowAdvice } from '../../../../src/core/next.ts';
import { crossingText, eventQueue, followRun } from '../../../../src/kv/upgrade/present/live.ts';
import { holdRun, topData, topWatch } from '../../../../src/kv/upgrade/present/status.ts';
import type { Report, UpgradeEvent } from '../../../../src/kv/engine/model.ts';
import { clusterDirectory } from '../../../../src/kv/engine/journal.ts';
import { lockMachine, ownerOf } from '../../../../src/kv/engine/locks.ts';
import { fakeHost } from '../../../support/fake-host.ts';
import { away, observed, seen } from '../../../support/observations.ts';
import { smallCluster } from '../../../support/small-cluster.ts';
import { partlyMade } from '../../../support/context.ts';
import { wrapQuestion } from '../../../../src/core/format.ts';

const event = (text: string): UpgradeEvent => ({
  ...{ event: 'note', level: 'info', text, at: '', elapsed_ms: 0 },
});
const textsOf = async (rows: AsyncIterable<unknown>): Promise<string[]> => {
  const found: string[] = [];
  for await (const row of rows) found.push((row as { text: string }).text);
  return found;
};
const report = partlyMade<Report>({
  members: [{ name: 'n1', version_after: '3.5.1' }],
  next: ['resume'],
});

describe('the events of a run', () => {
  it('wait for a slow reader in their order, and end with the run', async () => {
    const queue = eventQueue();
    queue.push(event('a'));
    const rows = queue.rows();
    expect(await rows.next()).toEqual({ done: false, value: event('a') });
    // A pending read resolves when the event happens and not when the run finishes.
    let next: unknown;
    void rows.next().then((row) => (next = row.value));
    queue.push(event('b'));
    await new Promise((resolve) => setImmediate(resolve));
    expect(next).toEqual(event('b'));
    const texts = textsOf(rows);
    queue.push(event('c'));
    queue.push(event('d'));
    await new Promise((resolve) => setImmediate(resolve));
    queue.end();
    expect(await texts).toEqual(['c', 'd']);
  });

  const following = (ending: { category?: 'stopped'; error?: AppError }) =>
    followRun(new AbortController().signal, async (sink) => {
      sink(event('a'));
      return { ending, report };
    });

  it('events are rows, and the run determines the exit code', async () => {
    const good = following({});
    if (good.kind !== 'rows') throw new Error('no rows');
    expect(await textsOf(good.rows as AsyncIterable<unknown>)).toEqual(['a']);
    expect(good.exit?.()).toBe('done');
    const stopped = following({ category: 'stopped' });
    if (stopped.kind !== 'rows') throw new Error('no rows');
    await textsOf(stopped.rows as AsyncIterable<unknown>);
    expect(stopped.exit?.()).toBe('stopped');
  });

  it('events end with the error of the run, which lists each member', async () => {
    const failed = following({ error: new AppError('stopped', 'no', { code: 'X' }) });
    if (failed.kind !== 'rows') throw new Error('no rows');
    await expect(textsOf(failed.rows as AsyncIterable<unknown>)).rejects.toMatchObject({
      detail: {
        code: 'X',
        data: { members: [{ name: 'n1', version: '3.5.1', state: null }], next: ['resume'] },
      },
    });
  });

  it('events without a reader stop the run, which is awaited', async () => {
    let reason: unknown;
    const result = followRun(new AbortController().signal, async (sink, signal) => {
      sink(event('a'));
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      reason = signal.reason;
      return { ending: { category: 'stopped' }, report };
    });
    if (result.kind !== 'rows') throw new Error('no rows');
    for await (const _ of result.rows as AsyncIterable<unknown>) break;
    expect(reason).toMatchObject({ detail: { code: 'READER_GONE' } });
    expect(result.unread?.()).toBe('stopped');
  });
});

it('the question before the point of no return shows every member, what yes does and what no means', () => {
  const members = [
    seen('n1'),
    seen('n2', { is_healthy: false, server_version: '3.4.45' }),
    away('n3'),
    seen('n4'),
  ];
  const text = (upgraded: string[], show?: ShowAdvice) =>
    crossingText(
      { from: '3.3', to: '3.4', cluster: 'test' },
      { member: 'n1', upgraded, goodForMs: 12_000, observation: observed(members) },
      show,
    );
  expect(wrapQuestion(text(['n2', 'n3']), 1000).split('\n')).toEqual([
    'Point of no return: n1 is the last member on 3.3.',
    '  Now:  n1 3.3.25, leader · n2 3.4.45, unhealthy · n3 no response, down · n4 3.3.25; n2, n3 on 3.4, all healthy for 12.0 s.',
    '  Yes:  n1 is replaced and the cluster becomes 3.4; after that, only kv restore can return to 3.3.',
    '  No:   the run holds here without any loss: opsctl kv resume continues it, opsctl kv rollback reverts it.',
  ]);
  expect(text([])).toContain('n1 is the only member of test');
  // The prompt is the only place that wraps: it indents each additional line once.
  expect(
    wrapQuestion(text(['n2']), 80)
      .split('\n')
      .filter((line) => /^ {4}\S/.test(line)).length,
  ).toBe(3);
  expect(
    text(['n2'])
      .split('\n')
      .every((line) => /^( {2}(Now|Yes|No):|Point)/.test(line)),
  ).toBe(true);
  // A terminal breaks a longer line within a word, so a command that fills a line is alone on it.
  const cluster = `--cluster /${'d'.repeat(60)}`;
  const long = makeShowAdvice((words) => `opsctl ${words.join(' ')} ${cluster}`);
  expect(
    wrapQuestion(text(['n2'], long), 80)
      .split('\n')
      .filter((line) => line.length > 70),
  ).toEqual([`    opsctl kv resume ${cluster}`, `    opsctl kv rollback ${cluster}`]);
});

describe('a run that is watched', () => {
  const at = async (owner: object, answers: boolean[] = []) => {
    const host = fakeHost({ answers });
    const signals: [number, string][] = [];
    const processes = {
      ...host.processes,
      signal: (pid: number, signal: string) => signals.push([pid, signal]) > 0,
    };
    const held = { run: 'r', owner: { ...ownerOf(host), ...owner }, since: '2026-01-01T00:00:00Z' };
    const machine = (owner as { host?: string }).host ?? host.hostname;
    await lockMachine({ ...host, hostname: machine }, '/state', 'test', held);
    return { said: await holdRun({ ...host, processes }, '/state', 'test'), signals };
  };

  it('a watched run is asked to stop only after a confirmation, and only on its own machine', async () => {
    expect(await holdRun(fakeHost(), '/state', 'test')).toMatch(/^no run is in progress on this machine/);
    expect((await at({ host: 'elsewhere' })).said).toBe(
      'the run is in progress on elsewhere: press Ctrl-C there',
    );
    expect(await at({}, [false])).toEqual({ said: 'not confirmed; the run continues', signals: [] });
    const stopped = await at({}, [true]);
    expect(stopped.signals).toEqual([[4242, 'SIGINT']]);
    expect(stopped.said).toMatch(/^the run stops after its current step/);
  });

  it('a watched run has no writes before its canary has made one', async () => {
    const small = smallCluster();
    let answer = (_: undefined): void => {};
    const answered = new Promise<undefined>((resolve) => {
      answer = resolve;
    });
    const store = (...asked: Parameters<typeof small.access.store>) => ({
      ...small.access.store(...asked),
      put: () => answered,
    });
    const access = { ...small.access, store } as unknown as typeof small.access;
    const watch = topWatch({ host: small.host, state: '/state', cluster: small.cluster, access }, true);
    expect(topData(await watch.look()).canary).toEqual({ writes: 0, failed: 0, lastMs: 0, longestMs: 0 });
    answer(undefined);
    await watch.stop();
  });

  it('a watched run is shown with the members, its worker and the writes of a canary', async () => {
    const small = smallCluster();
    const watched = { host: small.host, state: '/state', cluster: small.cluster, access: small.access };
    const alone = await topWatch(watched, false).look();
    expect(Object.keys(alone)).toEqual(['observation']);
    expect(topData(alone)).toMatchObject({ cluster: 'test', last_run: null });
    expect(topData(alone)).not.toHaveProperty('canary');
    const directory = `${clusterDirectory('/state', 'test')}/20260101T000000Z-1`;
    await small.host.files.replace(`${directory}/journal.jsonl`, '', 0o600);
    const held = { run: 'r', owner: ownerOf(small.host), since: '2026-01-01T00:00:00Z' };
    await lockMachine(small.host, '/state', 'test', held);
    const watch = topWatch(watched, true);
    for (let i = 0; i < 3; i += 1) await small.host.sleep(1000);
    const state = await watch.look();
    await watch.stop();
    expect(state.worker).toBe('in progress on testhost, process 4242');
    expect(state.canary?.writes).toBeGreaterThanOrEqual(2);
    expect(state.canary).toMatchObject({ failed: 0 });
    expect(topData({ ...state, run: { run: 'r', directory, entries: [] } })).toMatchObject({
      last_run: { run: 'r', entries: 0, worker: 'in progress on testhost, process 4242' },
      canary: { failed: 0 },
    });
  });
});
