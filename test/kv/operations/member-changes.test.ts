/** Changes of the member list: their order as one trace, their retries with both sides of each limit, and stale lists. */
import { describe, expect, it } from 'vitest';
import { addPlan, promotePlan, removePlan, updatePlan } from '../../../src/kv/operations/membership-plan.ts';
import type { ListedMember } from '../../../src/kv/client/etcd-client.ts';
import type { ScriptedReply } from '../../support/fake-host.ts';
import { expectEachEffectMayFail } from '../../support/failing-effects.ts';
import type { SmallCluster } from '../../support/small-cluster.ts';
import { expectInOrder } from '../../support/trace.ts';
import {
  membershipWork,
  operationBed,
  performTraced,
  traceOperation,
  uncheckedChanges,
  type Work,
} from '../../support/traced-operation.ts';
import { clusterOf, observationOf } from './observed.ts';

const URL4 = 'http://n4.example:2380';
const LEARNER = '4004';
const joinLearner = ({ state }: SmallCluster): void => {
  state.listed.push({ ID: LEARNER, name: 'n4', peerURLs: [URL4], clientURLs: [], isLearner: true });
};
const listed = (id: string, patch: Partial<ListedMember> = {}): ListedMember => ({
  ...{ id, name: `n${id.at(-1)}`, peer_urls: [`http://n${id.at(-1)}.example:2380`] },
  ...{ client_urls: [], is_learner: false, ...patch },
});
const add = (isLearner = true): Promise<Work> =>
  membershipWork((input) => addPlan(input, { name: 'n4', peerUrls: [URL4], isLearner }));
const promote = (): Promise<Work> =>
  membershipWork(
    (input) => promotePlan(input, listed(LEARNER, { name: 'n4', is_learner: true })),
    joinLearner,
  );
const update = (): Promise<Work> =>
  membershipWork((input) => updatePlan(input, listed('1003'), ['http://other.example:2380']));
const remove = (): Promise<Work> => membershipWork((input) => removePlan(input, listed('1003')));
const all = [
  ['add', add, 'add', 'member list'],
  ['promote', promote, 'promote', 'votes'],
  ['update', update, 'update', 'new URL'],
  ['remove', remove, 'remove', 'gone'],
] as const;

const traceOf = async (work: Work): Promise<readonly string[]> => {
  const traced = traceOperation(work.small);
  const { error } = await performTraced(work, traced);
  expect(error).toBeUndefined();
  return traced.entries;
};
const changesIn = (trace: readonly string[]): string[] =>
  trace.filter((one) => /^POST n\d \/v3\/cluster\/member\/(?:add|remove|promote|update)$/.test(one));
const refusal = (message: string): ScriptedReply => ({
  status: 503,
  body: { error: message, code: 14, message },
});
/**
 * Every member rejects the change until this time after the first attempt, each time after `slowMs`. Returns the number of
 * attempts.
 */
const rejectUntil = (
  { small }: Work,
  call: string,
  ms: number,
  message: string,
  slowMs = 0,
): { count: number; readonly times: number[] } => {
  const attempts = { count: 0, times: [] as number[] };
  let from: number | undefined;
  let lastAt = Number.NEGATIVE_INFINITY;
  small.state.replyOf = (_, path) => {
    if (path !== `/cluster/member/${call}`) return undefined;
    from ??= small.host.elapsed();
    attempts.count += 1;
    if (small.host.elapsed() - lastAt > slowMs + 20) attempts.times.push(small.host.elapsed() - lastAt);
    lastAt = small.host.elapsed();
    if (small.host.elapsed() - from >= ms) return undefined;
    small.host.advance(slowMs);
    return refusal(message);
  };
  return attempts;
};

describe('the order of a change of the member list', () => {
  it.each(all)('%s: line, lock, request, and the list that shows it before the end', async (kind, make) => {
    const trace = await traceOf(await make());
    const [change = 'no change', ...others] = changesIn(trace);
    expect(others).toEqual([]);
    const list = trace.slice(trace.indexOf(`${change} done`)).find((one) => one.endsWith('/member/list'));
    expectInOrder(
      trace,
      ...[`write journal.jsonl: begin ${kind}`, 'sync journal.jsonl', 'read the lock done', change],
      ...[`${change} done`, `${list} done`, `write journal.jsonl: end ${kind}`],
    );
    expect(uncheckedChanges(trace)).toEqual([]);
  });
  it('the removed and the updated member receive no request of the change', async () => {
    for (const make of [remove, update]) {
      const [change] = changesIn(await traceOf(await make()));
      expect(change).toMatch(/^POST n[12] /);
    }
  });
  it('a member that is listed with another name receives no request of its change', async () => {
    const named = listed('1001', { name: 'an-earlier-name' });
    const changes = [
      await membershipWork((input) => updatePlan(input, named, ['http://other.example:2380'])),
      await membershipWork((input) => removePlan(input, named)),
    ];
    for (const work of changes) expect(changesIn(await traceOf(work))[0]).toMatch(/^POST n[23] /);
  });
  it('the leadership of a removed leader moves before its removal', async () => {
    const trace = await traceOf(await membershipWork((input) => removePlan(input, listed('1001'))));
    expectInOrder(
      trace,
      ...['write journal.jsonl: begin move-leader', 'POST n1 /v3/maintenance/transfer-leadership done'],
      ...['write journal.jsonl: end move-leader', 'write journal.jsonl: begin remove'],
    );
    expect(changesIn(trace)[0]).toMatch(/^POST n[23] /);
  });
  it('a member that is already added, removed or promoted is not changed again', async () => {
    const added = await add();
    joinLearner(added.small);
    const removed = await remove();
    removed.small.state.listed.pop();
    const promoted = await promote();
    for (const one of promoted.small.state.listed) one.isLearner = false;
    for (const work of [added, removed, promoted]) expect(changesIn(await traceOf(work))).toEqual([]);
  });
  it('another owner of the lock prevents the change', async () => {
    for (const [, make] of all) {
      const work = await make();
      const { small } = work;
      const take = small.host.network.request.bind(small.host.network);
      let isTaken = false;
      Object.assign(small.host.network, {
        request: async (one: Parameters<typeof take>[0]) => {
          const reply = await take(one);
          if (!isTaken && one.url.endsWith('/kv/txn')) {
            isTaken = true;
            for (const [key, value] of small.keys)
              if (key.startsWith('opsctl/upgrade-lock'))
                value.value = JSON.stringify({
                  run: 'other',
                  owner: { host: 'other', pid: 1 },
                  since: 'now',
                });
          }
          return reply;
        },
      });
      const { error } = await performTraced(work, traceOperation(small));
      expect(error).toMatchObject({ detail: { code: 'LOCKED' } });
      expect(small.done.filter((one) => /^(?:add|remove|promote|update)/.test(one))).toEqual([]);
    }
  });
});

describe('a change of the member list that the cluster does not accept yet', () => {
  const limits = [
    ['add', add, 15_000, 'etcdserver: unhealthy cluster'],
    ['update', update, 15_000, 'etcdserver: re-configuration failed due to not enough started members'],
    ['remove', remove, 15_000, 'etcdserver: too many requests'],
    [
      'promote',
      promote,
      300_000,
      'etcdserver: can only promote a learner member which is in sync with leader',
    ],
  ] as const;
  it.each(limits)('%s is repeated until the cluster accepts it', async (kind, make, limitMs, message) => {
    const work = await make();
    const [slowMs, lastMs] = [limitMs / 100, limitMs * 0.93];
    const attempts = rejectUntil(work, kind, lastMs, message, slowMs);
    const began = work.small.host.elapsed();
    await traceOf(work);
    expect(work.small.host.elapsed() - began).toBeGreaterThanOrEqual(lastMs);
    // A pause of 250 ms follows each attempt.
    expect(attempts.times.length).toBeGreaterThan(5);
    expect(Math.min(...attempts.times)).toBeGreaterThanOrEqual(slowMs + 250);
    expect(attempts.count).toBeLessThanOrEqual(3 * Math.ceil(lastMs / (slowMs + 250)) + 3);
  });
  it.each(limits)('%s stops after its limit', async (kind, make, limitMs, message) => {
    const work = await make();
    rejectUntil(work, kind, Number.POSITIVE_INFINITY, message, limitMs / 100);
    const began = work.small.host.elapsed();
    const { error } = await performTraced(work, traceOperation(work.small));
    expect(error?.message).toContain(message.replace('etcdserver: ', ''));
    const tookMs = work.small.host.elapsed() - began;
    expect(tookMs).toBeGreaterThanOrEqual(limitMs);
    expect(tookMs).toBeLessThan(limitMs * 1.05 + 2000);
  });
  it('another error is not repeated', async () => {
    for (const [kind, make] of all) {
      const work = await make();
      const attempts = rejectUntil(
        work,
        kind,
        Number.POSITIVE_INFINITY,
        'etcdserver: member ID already exist',
      );
      const { error } = await performTraced(work, traceOperation(work.small));
      expect(error).toBeDefined();
      expect(attempts.count).toBeLessThanOrEqual(3);
    }
  });
  it('Ctrl-C ends the repetition', async () => {
    for (const [kind, make, , message] of limits) {
      const work = await make();
      const stop = new AbortController();
      const attempts = rejectUntil(work, kind, Number.POSITIVE_INFINITY, message);
      const { replyOf } = work.small.state;
      work.small.state.replyOf = (...given) => {
        const reply = replyOf?.(...given);
        if (attempts.count === 2) stop.abort(new Error('Ctrl-C'));
        return reply;
      };
      const began = work.small.host.elapsed();
      const { error } = await performTraced(work, traceOperation(work.small), stop.signal);
      expect(error).toBeDefined();
      expect(work.small.host.elapsed() - began).toBeLessThan(5000);
    }
  });
});

describe('the member list after a change', () => {
  /** The members return the list from before the change until this time after the change. */
  const listLate = ({ small }: Work, ms: number): void => {
    const before = structuredClone(small.state.listed);
    let changedAt: number | undefined;
    small.state.replyOf = (_, call) => {
      if (/member\/(?:add|remove|promote|update)$/.test(call)) changedAt ??= small.host.elapsed();
      if (call !== '/cluster/member/list' || changedAt === undefined) return undefined;
      return small.host.elapsed() - changedAt < ms ? { body: { members: before } } : undefined;
    };
  };
  it.each(all)('%s waits for a list that shows it', async (_, make) => {
    const work = await make();
    listLate(work, 14_500);
    const began = work.small.host.elapsed();
    await traceOf(work);
    expect(work.small.host.elapsed() - began).toBeGreaterThanOrEqual(14_500);
  });
  it.each(all)('%s stops if the list never shows it', async (_, make) => {
    const work = await make();
    listLate(work, Number.POSITIVE_INFINITY);
    const began = work.small.host.elapsed();
    const { error } = await performTraced(work, traceOperation(work.small));
    expect(error).toMatchObject({ category: 'stopped', detail: { code: 'NOT_PROVEN' } });
    const tookMs = work.small.host.elapsed() - began;
    expect(tookMs).toBeGreaterThanOrEqual(15_000);
    expect(tookMs).toBeLessThan(17_000);
  });
  it('Ctrl-C ends the wait', async () => {
    for (const [, make] of all) {
      const work = await make();
      listLate(work, Number.POSITIVE_INFINITY);
      const { replyOf } = work.small.state;
      const stop = new AbortController();
      let count = 0;
      work.small.state.replyOf = (...given) => {
        const reply = replyOf?.(...given);
        if (reply !== undefined && ++count === 2) stop.abort(new Error('Ctrl-C'));
        return reply;
      };
      const began = work.small.host.elapsed();
      await performTraced(work, traceOperation(work.small), stop.signal);
      expect(work.small.host.elapsed() - began).toBeLessThan(5000);
    }
  });
});

describe('the plan to add a learner', () => {
  it.each([
    ['one member of 3.3', { server_version: '3.3.27' }, ['learners-are-known']],
    ['a member of 3.3 that does not respond', { server_version: '3.3.27', is_reachable: false }, []],
    ['members of 3.5 only', {}, []],
  ] as const)('with %s', (_, patch, refused) => {
    const observation = observationOf(3, (one) => (one.name === 'n2' ? { ...one, ...patch } : one));
    const made = addPlan(
      { id: 'r1', observation, cluster: clusterOf(observation) },
      { name: 'n4', peerUrls: [URL4], isLearner: true },
    );
    const guards = 'refused' in made ? made.refused.map(({ guard }) => guard) : [];
    expect(guards.filter((guard) => guard === 'learners-are-known')).toEqual(refused);
  });
});

describe('a peer URL of another member', () => {
  it.each([
    ['one of its two URLs', ['http://a:2380', 'http://b:2380'], ['http://b:2380', 'http://c:2380'], true],
    ['its only URL', ['http://a:2380'], ['http://a:2380'], true],
    ['none of its URLs', ['http://a:2380', 'http://b:2380'], ['http://c:2380'], false],
  ])('is refused: %s', (_, peer_urls, peerUrls, isRefused) => {
    const seen = observationOf(3);
    const observation = {
      ...seen,
      listed: seen.listed.map((one) => (one.name === 'n2' ? { ...one, peer_urls } : one)),
    };
    const input = { id: 'u1', observation, cluster: clusterOf(observation) };
    const guardsOf = (made: ReturnType<typeof addPlan>): string[] =>
      'refused' in made
        ? made.refused.map(({ guard }) => guard).filter((one) => one === 'peer-url-is-new')
        : [];
    const refused = isRefused ? ['peer-url-is-new'] : [];
    expect(guardsOf(addPlan(input, { name: 'n4', peerUrls, isLearner: true }))).toEqual(refused);
    expect(guardsOf(updatePlan(input, listed('1003'), peerUrls))).toEqual(refused);
    expect(guardsOf(updatePlan(input, listed('1002', { peer_urls }), peerUrls))).toEqual([]);
  });
});

describe('the plan to change the peer URLs of a learner', () => {
  it.each([
    ['3.4.45', 'refused'],
    ['3.5.30', 'refused'],
    ['3.5.31', 'accepted'],
    ['3.6.11', 'refused'],
    ['3.6.12', 'accepted'],
    ['3.6.13', 'accepted'],
  ])('with %s is %s, even if only one member runs that version', (version, verdict) => {
    const guards = (isLearner: boolean, others: string): string[] => {
      const observation = observationOf(3, (one) => ({
        ...one,
        server_version: one.name === 'n2' ? version : others,
      }));
      const member = listed('1003', { is_learner: isLearner });
      const input = { id: 'u1', observation, cluster: clusterOf(observation) };
      const made = updatePlan(input, member, ['http://other.example:2380']);
      return 'refused' in made ? made.refused.map(({ guard, message }) => `${guard} ${message}`) : [];
    };
    const refused = verdict === 'refused' ? [expect.stringMatching(`^learner-is-kept .*${version}`)] : [];
    expect(guards(true, version)).toEqual(refused);
    expect(guards(true, '3.6.12')).toEqual(refused);
    expect(guards(false, version)).toEqual([]);
  });
});

describe('every effect of a change of the member list fails once', () => {
  const goals = {
    add: ({ state }: SmallCluster) =>
      state.listed.filter(({ peerURLs }) => peerURLs.includes(URL4)).length === 1
        ? []
        : ['n4 is not added once'],
    promote: ({ state }: SmallCluster) =>
      state.listed.some(({ isLearner }) => isLearner) ? ['n4 does not vote'] : [],
    update: ({ state }: SmallCluster) =>
      state.listed.some(({ peerURLs }) => peerURLs[0] === 'http://other.example:2380')
        ? []
        : ['n3 has its old URL'],
    remove: ({ state }: SmallCluster) =>
      state.listed.some(({ ID }) => ID === '1003') ? ['n3 is still a member'] : [],
  };
  it.each(all)('%s can be repeated until the list shows it', async (kind, make) => {
    await expectEachEffectMayFail(operationBed(make, goals[kind]), 6);
  });
});
