/** The order of the effects of operations, as one trace: journal lines, driver calls and requests. */
import { describe, expect, it } from 'vitest';
import { adviceText } from '../../../src/core/next.ts';
import { AppError } from '../../../src/core/problem.ts';
import { expectEachEffectMayFail } from '../../support/failing-effects.ts';
import type { SmallCluster } from '../../support/small-cluster.ts';
import { expectInOrder, expectNoneBetween } from '../../support/trace.ts';
import {
  defragWork,
  type Work,
  operationBed,
  performTraced,
  recoverWork,
  replaceWork,
  traceOperation,
  uncheckedChanges,
} from '../../support/traced-operation.ts';

const journal = (line: string): string => `write journal.jsonl: ${line}`;
const sync = 'sync journal.jsonl';
type Made = Awaited<ReturnType<typeof defragWork>>;
const traceOf = async (work: Made): Promise<readonly string[]> => {
  const traced = traceOperation(work.small);
  const { error } = await performTraced(work, traced);
  expect(error).toBeUndefined();
  return traced.entries;
};
const defragment = (name: string): string => `POST ${name} /v3/maintenance/defragment`;

describe('the order of a defragmentation', () => {
  it('one member after the other, the leader last, each after the health check of the one before', async () => {
    const work = await defragWork();
    const trace = await traceOf(work);
    expect(work.small.done.filter((one) => one.startsWith('defragment'))).toEqual([
      ...['defragment n2', 'defragment n3', 'defragment n1'],
    ]);
    for (const [one, next] of [
      ['n2', 'n3'],
      ['n3', 'n1'],
    ] as const)
      expectInOrder(
        trace,
        ...[journal(`begin ${one}.defrag`), sync, defragment(one), `${defragment(one)} done`],
        ...[journal(`end ${one}.defrag`), journal(`begin ${one}.check`), journal(`end ${one}.check`)],
        ...[journal(`begin ${next}.defrag`), sync, defragment(next)],
      );
    expect(uncheckedChanges(trace)).toEqual([]);
  });
  it('the leadership moves before the defragmentation of the leader', async () => {
    const trace = await traceOf(await defragWork());
    expectInOrder(
      trace,
      ...[journal('begin n1.move-leader'), 'POST n1 /v3/maintenance/transfer-leadership done'],
      ...[journal('end n1.move-leader'), journal('begin n1.defrag'), defragment('n1')],
    );
  });
  it('the other members are observed, then the lock is read, directly before a member is blocked', async () => {
    const trace = await traceOf(await defragWork());
    for (const name of ['n2', 'n3', 'n1']) {
      const from = trace.indexOf(journal(`begin ${name}.defrag`));
      const since = trace.slice(from, trace.indexOf(defragment(name)));
      const locked = since.lastIndexOf('read the lock done');
      for (const other of ['n1', 'n2', 'n3'].filter((one) => one !== name)) {
        const observed = since.lastIndexOf(`GET ${other} /health done`);
        expect(observed, `${name} after ${other}`).toBeGreaterThan(-1);
        expect(locked, `the lock for ${name}`).toBeGreaterThan(observed);
      }
    }
  });
  it('a member that went down after the plan stops the operation before the next defragmentation', async () => {
    const work = await defragWork();
    work.small.end('n3');
    const began = work.small.host.elapsed();
    const traced = traceOperation(work.small);
    const { error } = await performTraced(work, traced);
    expect(error).toMatchObject({ category: 'stopped', detail: { code: 'QUORUM' } });
    expect(work.small.done.filter((one) => one.startsWith('defragment'))).toEqual([]);
    // The members are observed again for 10 s, four times a second.
    expect(work.small.host.elapsed() - began).toBeGreaterThanOrEqual(10_000);
    expect(traced.entries.filter((one) => one === 'GET n1 /health').length).toBeLessThan(80);
  });
  it('a member that recovers from an election within ten seconds does not stop the operation', async () => {
    const work = await defragWork();
    const { host, members } = work.small;
    const n3 = members('n3');
    let reads = 0;
    work.small.state.replyOf = (name, call) => {
      if (n3.isHealthy || name !== 'n1' || call !== '/maintenance/status') return undefined;
      reads += 1;
      if (reads === 4) n3.isHealthy = true;
      return undefined;
    };
    n3.isHealthy = false;
    const began = host.elapsed();
    await traceOf(work);
    expect(work.small.done.filter((one) => one.startsWith('defragment'))).toHaveLength(3);
    expect([reads, host.elapsed() - began < 10_000]).toEqual([4, true]);
  });
  it('both locks are taken before the first line, and released after the last', async () => {
    const trace = await traceOf(await defragWork());
    expectInOrder(
      trace,
      ...['create lock done', 'POST n1 /v3/kv/txn done', journal('opened'), sync],
      ...['POST n1 /v3/kv/deleterange done', journal('closed done'), sync],
      ...['POST n1 /v3/lease/revoke done', 'remove lock done'],
    );
    // The keys of the operation are removed before its last line.
    const since = trace.slice(trace.indexOf(journal('closed done')));
    expect(since.filter((one) => one.includes('deleterange'))).toEqual([]);
  });
});

describe('the order of a replacement', () => {
  const at = (path: string): RegExp => new RegExp(`^POST n\\d /v3/cluster/member/${path}$`);
  const first = (trace: readonly string[], pattern: RegExp): string =>
    trace.find((one) => pattern.test(one)) ?? `no ${pattern.source}`;
  it('stop, remove, keep the data, add, start, promote: each is done before the next line', async () => {
    const trace = await traceOf(await replaceWork());
    const [removed, added, promoted] = ['remove', 'add', 'promote'].map((one) => first(trace, at(one)));
    expectInOrder(
      trace,
      ...[journal('begin n1.stop'), sync, 'driver stop n1', 'driver stop n1 done', journal('end n1.stop')],
      ...[journal('begin n1.remove'), sync, `${removed}`, `${removed} done`, journal('end n1.remove')],
      ...[journal('begin n1.set-aside'), sync, 'set the data aside', journal('end n1.set-aside')],
      ...[journal('begin n1.add'), sync, `${added}`, `${added} done`, journal('end n1.add')],
      ...[
        journal('begin n1.start'),
        sync,
        'driver start n1',
        'driver start n1 done',
        journal('end n1.start'),
      ],
      ...[journal('end n1.catch-up'), journal('begin n1.promote'), sync, `${promoted}`, `${promoted} done`],
      ...[
        journal('end n1.promote'),
        journal('begin n1.check'),
        journal('end n1.check'),
        journal('closed done'),
      ],
    );
    expect(uncheckedChanges(trace)).toEqual([]);
    expectNoneBetween(trace, journal('opened'), journal('closed done'), /^driver (?:stop|kill) n[23]$/);
  });
  it('no membership change is sent to the member that is being replaced', async () => {
    const trace = await traceOf(await replaceWork());
    const changes = trace.filter((one) =>
      /^POST n\d \/v3\/cluster\/member\/(?:add|remove|promote)$/.test(one),
    );
    expect(changes).toHaveLength(3);
    expect(changes.filter((one) => one.startsWith('POST n1 '))).toEqual([]);
  });
  it('a membership change has ten seconds', async () => {
    const work = await replaceWork();
    await traceOf(work);
    const changes = work.small.host.requests.filter(({ url }) => /member\/(?:add|remove|promote)$/.test(url));
    expect(changes.map(({ timeoutMs }) => timeoutMs)).toEqual([10_000, 10_000, 10_000]);
  });
  it('a member that makes no progress for two minutes stops the replacement, and does not vote', async () => {
    const work = await replaceWork();
    work.small.members('n1').entriesBehind = 50_000;
    const began = work.small.host.elapsed();
    const { error } = await performTraced(work, traceOperation(work.small));
    expect(error).toMatchObject({ detail: { code: 'NOT_CAUGHT_UP' } });
    expect(work.small.host.elapsed() - began).toBeGreaterThanOrEqual(120_000);
    expect(work.small.done.filter((one) => one.startsWith('promote'))).toEqual([]);
    // A pause of 200 ms follows each read.
    const reads = work.small.host.requests.filter(({ url }) => url.endsWith('/maintenance/status')).length;
    expect(reads).toBeLessThan(3 * (120_000 / 200) + 100);
  });
  it('a member that does not stop remains a member, and the error contains the seconds that it had', async () => {
    const work = await replaceWork();
    work.small.members('n1').ignoresStop = true;
    const { error } = await performTraced(work, traceOperation(work.small));
    expect(error).toMatchObject({ detail: { code: 'STOP_IGNORED' } });
    expect(error?.message).toMatch(/^n1 .* (?:30|60|90|120) s\b/);
    expect(work.small.done.filter((one) => one.startsWith('remove'))).toEqual([]);
  });
  /** Starts the process again, or makes it ignore its stop, when the journal contains this line. */
  const performAt = async (work: Made, line: string, act: () => void) => {
    const { host } = work.small;
    const append = host.files.append.bind(host.files);
    Object.assign(host.files, {
      append: (...given: Parameters<typeof append>) => {
        const file = append(...given);
        const write = (data: string | Uint8Array): void => {
          if (String(data).includes(line)) act();
          file.write(data);
        };
        return { ...file, write };
      },
    });
    const traced = traceOperation(work.small);
    const { error } = await performTraced(work, traced);
    return { error, trace: traced.entries };
  };
  const aside = '"begin","step":"n1.set-aside"';
  it('a process that was started again exits before its data is moved, and the lock is read before', async () => {
    const work = await replaceWork();
    const { error, trace } = await performAt(work, aside, () => {
      work.small.members('n1').isUp = true;
    });
    expect(error).toBeUndefined();
    expectInOrder(
      trace,
      ...[journal('begin n1.set-aside'), 'read the lock done', 'driver stop n1', 'driver stop n1 done'],
      ...['set the data aside', journal('end n1.set-aside')],
    );
    expect(uncheckedChanges(trace)).toEqual([]);
  });
  it('a process that was started again and does not exit keeps its data', async () => {
    const work = await replaceWork();
    const { error, trace } = await performAt(work, aside, () => {
      Object.assign(work.small.members('n1'), { isUp: true, ignoresStop: true });
    });
    expect(error).toMatchObject({ category: 'stopped', detail: { code: 'STOP_IGNORED' } });
    expect(error?.message).toContain('data was not moved');
    const since = trace.slice(trace.indexOf(journal('begin n1.set-aside')));
    expect(since.filter((one) => /^(?:driver|set) /.test(one))).toEqual([
      'driver stop n1',
      'driver stop n1 done',
    ]);
  });
  it('a member that exited before it caught up is started again, and is read after its start', async () => {
    const work = await replaceWork();
    const { error, trace } = await performAt(work, '"begin","step":"n1.catch-up"', () => {
      work.small.members('n1').isUp = false;
    });
    expect(error).toBeUndefined();
    const from = trace.indexOf(journal('begin n1.catch-up'));
    const since = trace.slice(from).filter((one) => /^(?:driver start n1|POST n1 .*status)/.test(one));
    expect(since.slice(0, 3)).toEqual([
      ...['driver start n1', 'driver start n1 done', 'POST n1 /v3/maintenance/status'],
    ]);
  });
  it('a member that is behind at first is read again until it has caught up, and is promoted after it', async () => {
    const work = await replaceWork();
    const { host, members, state } = work.small;
    let reads = 0;
    const { error, trace } = await performAt(work, '"begin","step":"n1.catch-up"', () => {
      members('n1').entriesBehind = 50_000;
      state.replyOf = (name, call) => {
        if (name === 'n1' && call === '/maintenance/status' && ++reads === 4) members('n1').entriesBehind = 0;
        return undefined;
      };
    });
    expect(error).toBeUndefined();
    expect([reads >= 4, host.elapsed() > 0]).toEqual([true, true]);
    expectInOrder(
      trace,
      ...[journal('begin n1.catch-up'), ...Array(4).fill('POST n1 /v3/maintenance/status done')],
      ...[journal('end n1.catch-up'), first(trace, at('promote'))],
    );
  });
  it.each([
    [280_000, undefined],
    [Number.POSITIVE_INFINITY, 'in sync'],
  ])('a promotion that the leader rejects for %i ms', async (rejectedMs, expected) => {
    const work = await replaceWork();
    const { host, state } = work.small;
    let from: number | undefined;
    state.replyOf = (_, call) => {
      if (call !== '/cluster/member/promote') return undefined;
      from ??= host.elapsed();
      if (host.elapsed() - from >= rejectedMs) return undefined;
      host.advance(3000);
      const message = 'etcdserver: can only promote a learner member which is in sync with leader';
      return { status: 503, body: { error: message, code: 9, message } };
    };
    const { error } = await performTraced(work, traceOperation(work.small));
    if (expected === undefined) expect(error).toBeUndefined();
    else expect(error?.message).toContain(expected);
    const tookMs = host.elapsed() - (from ?? 0);
    expect(tookMs).toBeGreaterThanOrEqual(expected === undefined ? rejectedMs : 300_000);
    expect(tookMs).toBeLessThan(330_000);
  });
  it('another member that goes down after the stop keeps the member in the member list', async () => {
    const work = await replaceWork();
    const { driver } = work.small;
    const stop = driver.stop.bind(driver);
    Object.assign(driver, {
      stop: async (...given: Parameters<typeof stop>) => {
        const isStopped = await stop(...given);
        work.small.end('n3');
        return isStopped;
      },
    });
    const { error } = await performTraced(work, traceOperation(work.small));
    expect(error).toMatchObject({ detail: { code: 'QUORUM' } });
    expect(work.small.done).toEqual(['stop n1']);
  });
  it('an alarm of the removed member that stays raised stops the replacement', async () => {
    const work = await replaceWork();
    const { state, members } = work.small;
    const alarm = { memberID: members('n1').id, alarm: 'CORRUPT' };
    Object.defineProperty(state, 'alarms', { get: () => [alarm], set: () => {} });
    const at = work.plan.steps.findIndex(({ kind }) => kind === 'set-aside');
    const disarm = { id: 'disarm', kind: 'disarm', title: 'disarm' } as const;
    const steps = [...work.plan.steps.slice(0, at), disarm, ...work.plan.steps.slice(at)];
    const { error } = await performTraced(
      { ...work, plan: { ...work.plan, steps } },
      traceOperation(work.small),
    );
    expect(error).toMatchObject({ detail: { code: 'NOT_PROVEN' } });
    expect(work.small.done.filter((one) => /^(?:set aside|add|start)/.test(one))).toEqual([]);
  });
  it('another member that went down after the plan keeps the member in the cluster', async () => {
    const work = await replaceWork();
    work.small.end('n3');
    const { error } = await performTraced(work, traceOperation(work.small));
    expect(error).toMatchObject({ detail: { code: 'QUORUM' } });
    expect(work.small.done).toEqual([]);
  });
  it('the configuration file contains the current members before the member starts', async () => {
    const work = await replaceWork([], true);
    const trace = await traceOf(work);
    expectInOrder(trace, 'driver writeFile n1', 'driver writeFile n1 done', 'driver start n1');
    expect(work.small.host.files.readNow('/etc/n1.yaml')).toMatch(
      /^# the file of n1\nname: n1\ninitial-cluster: .*n3=http:\/\/n3.example:2380.*\ninitial-cluster-state: existing\n$/,
    );
  });
  it('the member starts with the names and the peer URLs of the current members', async () => {
    const started: string[] = [];
    await traceOf(await replaceWork(started));
    const urls = ['n1', 'n2', 'n3'].map((name) => `${name}=http://${name}.example:2380`);
    const flag = started.find((word) => word.startsWith('--initial-cluster=')) ?? '';
    expect(flag.replace('--initial-cluster=', '').split(',').sort()).toEqual(urls);
    expect(started).toContain('--initial-cluster-state=existing');
  });
});

describe('the commands after an operation that stopped', () => {
  it('end with the command of the operation, once', async () => {
    const work = await replaceWork();
    work.small.members('n1').ignoresStop = true;
    const { error } = await performTraced(work, traceOperation(work.small));
    const texts = (error?.detail.tryThis ?? []).map((one) => adviceText(one));
    expect(texts.filter((text) => text === work.plan.command).length).toBeLessThanOrEqual(1);
    expect(texts.at(-1)).toContain(work.plan.command);
    const other = await defragWork();
    other.small.end('n3');
    const stopped = await performTraced(other, traceOperation(other.small));
    const commands = (stopped.error?.detail.tryThis ?? []).map((one) => adviceText(one));
    expect([commands.length > 1, commands.at(-1)]).toEqual([true, other.plan.command]);
  });
  it('contain the command of the operation once, next to another one', async () => {
    const work = await defragWork();
    const { command, steps } = work.plan;
    const failing = async (): Promise<never> => {
      throw new AppError('stopped', 'on purpose', { tryThis: ['read the log of n2', command] });
    };
    const acts = (): ReturnType<Work['acts']> => ({ [steps[0]?.kind ?? '']: failing });
    const { error } = await performTraced({ ...work, acts }, traceOperation(work.small));
    const texts = (error?.detail.tryThis ?? []).map((one) => adviceText(one));
    expect([error?.message, texts]).toEqual(['on purpose', ['read the log of n2', command]]);
  });
});

describe('the order of a recovery of space', () => {
  it('the history goes first, the alarm after the last file, and each member proves a write at the end', async () => {
    const work = await recoverWork();
    const trace = await traceOf(work);
    const compacted =
      trace.find((one) => /^POST n\d \/v3\/kv\/compaction done$/.test(one)) ?? 'no compaction';
    expectInOrder(
      trace,
      ...[compacted, journal('end compact'), defragment('n2'), defragment('n3'), `${defragment('n1')} done`],
      ...[journal('end n1.check'), journal('begin disarm'), sync, 'disarm at n1', 'disarm at n1 done'],
      ...['POST n1 /v3/maintenance/alarm', journal('end disarm')],
      journal('begin verify-write'),
      ...['n1', 'n2', 'n3'].flatMap((name) => [
        ...[`POST ${name} /v3/kv/put`, `POST ${name} /v3/kv/put done`, `POST ${name} /v3/kv/range done`],
        ...[`POST ${name} /v3/kv/deleterange`, `POST ${name} /v3/kv/deleterange done`],
      ]),
      ...[journal('end verify-write'), journal('closed done')],
    );
    expect(work.small.state.alarms).toEqual([]);
    const disarming = trace.slice(
      trace.indexOf(journal('begin disarm')),
      trace.indexOf(journal('end disarm')),
    );
    const alarms = disarming.filter((one) => /^(?:disarm at|POST n\d \/v3\/maintenance\/alarm)/.test(one));
    const lists = alarms.map((one) => (one.startsWith('disarm') ? 'disarm' : 'list'));
    expect(lists.join(' ')).toMatch(/^(?:list )+(?:disarm )+(?:list ?)+$/);
  });
});

describe('every effect of an operation fails once', () => {
  const counted = ({ done }: SmallCluster, ...wanted: readonly string[]): string[] =>
    wanted.filter((one) => !done.includes(one)).map((one) => `${one} is missing`);
  const all = ['defragment n1', 'defragment n2', 'defragment n3'];
  it('a defragmentation can be repeated until every member is done', async () => {
    await expectEachEffectMayFail(
      operationBed(defragWork, (small) => counted(small, ...all)),
      12,
    );
  });
  it('a recovery can be repeated until the alarm is off', async () => {
    const goal = (small: SmallCluster): string[] => [
      ...counted(small, 'compact 5', ...all),
      ...small.state.alarms.map(({ alarm }) => `${alarm} is raised`),
    ];
    await expectEachEffectMayFail(operationBed(recoverWork, goal), 12);
  });
  it('a replacement can be repeated until the member votes again', async () => {
    const goal = ({ state, members }: SmallCluster): string[] => {
      const listed = state.listed.filter(({ name }) => name === 'n1');
      return [
        ...(state.listed.length === 3 && listed.length === 1
          ? []
          : [`${state.listed.length} members are listed`]),
        ...(listed.some(({ isLearner }) => isLearner) ? ['n1 does not vote'] : []),
        ...(members('n1').isUp ? [] : ['n1 is down']),
      ];
    };
    await expectEachEffectMayFail(
      operationBed(() => replaceWork(), goal),
      12,
    );
  });
});
