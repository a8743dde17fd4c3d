/** The order of an upgrade of a stopped cluster, its limits, and its failures. */
import { describe, expect, it } from 'vitest';
import { expectEachEffectMayFail } from '../../support/failing-effects.ts';
import type { SmallCluster } from '../../support/small-cluster.ts';
import { expectInOrder } from '../../support/trace.ts';
import {
  offlineWork,
  operationBed,
  performTraced,
  traceOperation,
  type Work,
} from '../../support/traced-operation.ts';
import { naming } from '../../support/facts.ts';

const NAMES = ['n1', 'n2', 'n3'] as const;
const journal = (line: string): string => `write journal.jsonl: ${line}`;
const sync = 'sync journal.jsonl';
const traceOf = async (work: Work): Promise<readonly string[]> => {
  const traced = traceOperation(work.small);
  const { error } = await performTraced(work, traced);
  expect(error).toBeUndefined();
  return traced.entries;
};
const errorOf = async (work: Work, signal?: AbortSignal) =>
  (await performTraced(work, traceOperation(work.small), signal)).error;

describe('the order of an upgrade of a stopped cluster', () => {
  it('copies the data of each member and keeps its programs before any member starts', async () => {
    const trace = await traceOf(await offlineWork());
    for (const name of NAMES)
      expectInOrder(
        trace,
        ...[journal(`begin ${name}.copy-data`), sync, `driver copyData ${name}`],
        ...[`driver copyData ${name} done`, `driver stage ${name}`, `driver stage ${name} done`],
        ...[journal(`end ${name}.copy-data`), journal('end verify-stopped'), journal('begin start'), sync],
        ...[`driver activate ${name}`, `driver activate ${name} done`, `driver start ${name}`],
        ...[`driver start ${name} done`, journal('end start'), journal(`begin ${name}.check`)],
        ...[journal(`end ${name}.check`), journal('begin verify-version'), journal('closed done')],
      );
  });
  it('starts all members before it waits for one of them', async () => {
    const trace = await traceOf(await offlineWork());
    const last = Math.max(...NAMES.map((name) => trace.indexOf(`driver start ${name}`)));
    const first = Math.min(...NAMES.map((name) => trace.indexOf(`driver start ${name} done`)));
    expect(last).toBeLessThan(first);
  });
  it('starts each member as the owner of its data', async () => {
    const started: string[] = [];
    await traceOf(await offlineWork(started));
    expect(started).toEqual(NAMES.map((name) => `${name} new {"uid":7,"gid":8}`));
  });
  it('writes the configuration of each member after its copy and before the start, and keeps its comments', async () => {
    const work = await offlineWork([], true);
    for (const name of NAMES)
      await work.small.host.files.replace(`/etc/${name}.yaml`, `# own\nname: ${name}\n`);
    const trace = await traceOf(work);
    for (const name of NAMES) {
      expectInOrder(
        trace,
        ...[
          journal(`end ${name}.copy-data`),
          journal(`begin ${name}.configure`),
          `driver readFile ${name} done`,
        ],
        ...[`driver writeFile ${name}`, `driver writeFile ${name} done`, journal(`end ${name}.configure`)],
        ...[journal('begin start')],
      );
      expect(work.small.host.files.readNow(`/etc/${name}.yaml`)).toBe(`# own\nname: ${name}\n`);
    }
  });
  it('a configuration file that disappeared stops the upgrade before the start', async () => {
    const work = await offlineWork([], true);
    for (const name of ['n1', 'n2'])
      await work.small.host.files.replace(`/etc/${name}.yaml`, `name: ${name}\n`);
    expect(await errorOf(work)).toMatchObject({
      message: expect.stringContaining('n3: /etc/n3.yaml'),
      detail: { code: 'OFFLINE_UNFINISHED' },
    });
    expect(work.small.done.filter((one) => one.startsWith('start'))).toEqual([]);
  });
  it('a member that was started before its copy is not copied', async () => {
    const work = await offlineWork();
    work.small.members('n2').isUp = true;
    expect(await errorOf(work)).toMatchObject({ detail: { code: 'OFFLINE_UNFINISHED' } });
    expect(work.small.done).toEqual([]);
  });
});

describe('an upgrade of a stopped cluster that fails', () => {
  it('a member that does not start does not prevent the start of the others, and the copies are named', async () => {
    const work = await offlineWork();
    work.small.members('n1').startError = 'new';
    const error = await errorOf(work);
    expect(error).toMatchObject({
      message: expect.stringContaining('new does not start'),
      detail: {
        code: 'OFFLINE_UNFINISHED',
        tryThis: [expect.stringContaining('n3: '), expect.anything(), expect.anything()],
      },
    });
    expect(work.small.done.filter((one) => one.startsWith('start'))).toHaveLength(3);
    expect(NAMES.map((name) => work.small.members(name).isUp)).toEqual([false, true, true]);
  });
  it('a member that stays unhealthy stops the upgrade at its check, with the lines of its log since the start', async () => {
    const work = await offlineWork();
    work.small.members('n2').sick = 'new';
    const log = ['fatal: the old version found a fault'];
    Object.assign(work.small.driver, {
      activate: async ({ name }: { name: string }) => {
        if (name === 'n2') log.push('the new version is loaded');
      },
      logTail: async ({ name }: { name: string }) => (name === 'n2' ? [...log] : []),
    });
    const error = await errorOf(work);
    expect(error).toMatchObject({
      message: naming('not', '3.5', 'n2', 'healthy'),
      detail: { code: 'OFFLINE_UNFINISHED' },
    });
    expect(error?.message).toContain('the new version is loaded');
    expect(error?.message).not.toContain('the old version found a fault');
  });
  it('a member that exited after its start is started again when the upgrade is repeated', async () => {
    const started: string[] = [];
    const work = await offlineWork(started);
    work.small.members('n2').sick = 'new';
    expect(await errorOf(work)).toBeDefined();
    work.small.members('n2').sick = undefined;
    work.small.end('n2');
    started.length = 0;
    await traceOf(work);
    expect(started).toEqual(['n2 new {"uid":7,"gid":8}']);
  });
});

describe('the version of a cluster that was upgraded while it was stopped', () => {
  /** The members report the old version of the cluster until this time after the first look of the last step. */
  const moveAfter = ({ small }: Work, ms: number): { from: () => number } => {
    small.state.hasNoMonitor = true;
    const { host } = small;
    const request = host.network.request.bind(host.network);
    let from = Number.POSITIVE_INFINITY;
    Object.assign(host.network, {
      request: async (one: Parameters<typeof request>[0]) => {
        const lines = host.files.readNow('/state/test/operations/20260102T030405Z-0001/journal.jsonl') ?? '';
        if (lines.includes('"step":"verify-version"')) from = Math.min(from, host.elapsed());
        if (host.elapsed() - from >= ms) small.state.hasNoMonitor = false;
        return request(one);
      },
    });
    return { from: () => from };
  };
  it('is awaited for a minute', async () => {
    const work = await offlineWork();
    const { from } = moveAfter(work, 59_000);
    await traceOf(work);
    expect(work.small.host.elapsed() - from()).toBeGreaterThanOrEqual(59_000);
  });
  it('stops the upgrade after a minute, and names the member', async () => {
    const work = await offlineWork();
    const { from } = moveAfter(work, Number.POSITIVE_INFINITY);
    expect(await errorOf(work)).toMatchObject({
      message: expect.stringMatching(/^n1 reports cluster 3\.4\.0, not 3\.5/),
      detail: { code: 'OFFLINE_UNFINISHED' },
    });
    const tookMs = work.small.host.elapsed() - from();
    expect(tookMs).toBeGreaterThanOrEqual(60_000);
    expect(tookMs).toBeLessThan(63_000);
  });
  it('is read several times a second, and Ctrl-C ends the wait', async () => {
    const work = await offlineWork();
    const { from } = moveAfter(work, Number.POSITIVE_INFINITY);
    const stop = new AbortController();
    const { host } = work.small;
    const request = host.network.request.bind(host.network);
    let looks = 0;
    Object.assign(host.network, {
      request: async (one: Parameters<typeof request>[0]) => {
        const reply = await request(one);
        if (Number.isFinite(from()) && one.url.endsWith('/version')) looks += 1;
        if (looks === 20) stop.abort(new Error('Ctrl-C'));
        return reply;
      },
    });
    expect(await errorOf(work, stop.signal)).toMatchObject({ detail: { code: 'OFFLINE_UNFINISHED' } });
    expect(host.elapsed() - from()).toBeLessThan(5000);
  });
});

describe('every effect of an upgrade of a stopped cluster fails once', () => {
  it('the upgrade can be repeated until every member runs the new version', async () => {
    const goal = ({ members }: SmallCluster): string[] =>
      NAMES.filter((name) => !members(name).isUp || members(name).which !== 'new').map(
        (name) => `${name} does not run the new version`,
      );
    await expectEachEffectMayFail(
      operationBed(() => offlineWork(), goal),
      12,
    );
  });
});
