/** The effects of an operation are sequential: each change and each pause is complete before the next effect begins. */
import { expect, it } from 'vitest';
import type { Driver } from '../../../src/kv/upgrade/supervisors/driver.ts';
import type { ListedMember } from '../../../src/kv/client/etcd-client.ts';
import { addPlan, promotePlan, removePlan, updatePlan } from '../../../src/kv/operations/membership-plan.ts';
import type { Host, HttpRequest } from '../../../src/platform/host.ts';
import { pause, type SlowHost, slowHost } from '../../support/slow-host.ts';
import { expectInOrder, traceHost } from '../../support/trace.ts';
import {
  compactWork,
  defragWork,
  membershipWork,
  offlineWork,
  performTraced,
  recoverWork,
  replaceWork,
  type Work,
} from '../../support/traced-operation.ts';

const URL4 = 'http://n4.example:2380';
const listed = (id: string, patch: Partial<ListedMember> = {}): ListedMember => ({
  ...{ id, name: `n${id.at(-1)}`, peer_urls: [`http://n${id.at(-1)}.example:2380`] },
  ...{ client_urls: [], is_learner: false, ...patch },
});
const promote = (): Promise<Work> =>
  membershipWork(
    (input) => promotePlan(input, listed('4004', { name: 'n4', is_learner: true })),
    ({ state }) => {
      state.listed.push({ ID: '4004', name: 'n4', peerURLs: [URL4], clientURLs: [], isLearner: true });
    },
  );
const offline = async (): Promise<Work> => {
  const work = await offlineWork([], true);
  for (const name of ['n1', 'n2', 'n3'])
    await work.small.host.files.replace(`/etc/${name}.yaml`, `name: ${name}\n`);
  return work;
};

/** The removed member had an alarm, which stays in the cluster without it. */
const replaceAlarmed = async (): Promise<Work> => {
  const work = await replaceWork([], true);
  const { host, state, members } = work.small;
  state.alarms.push({ memberID: members('n1').id, alarm: 'CORRUPT' });
  const { request } = host.network;
  const network = {
    ...host.network,
    request: async (one: HttpRequest) => {
      if (String(one.body ?? '').includes('DEACTIVATE')) await pause(100);
      return request(one);
    },
  };
  Object.assign(host, { network });
  const at = work.plan.steps.findIndex(({ kind }) => kind === 'set-aside');
  const disarm = { id: 'disarm', kind: 'disarm', title: 'disarm' } as const;
  const steps = [...work.plan.steps.slice(0, at), disarm, ...work.plan.steps.slice(at)];
  return { ...work, plan: { ...work.plan, steps } };
};
const CALLS = ['stop', 'kill', 'stage', 'activate', 'discard', 'start', 'copyData', 'writeFile'] as const;
const slowDriver = (driver: Driver, { slow }: SlowHost): Driver => {
  const made = { ...driver } as unknown as Record<string, (...args: unknown[]) => Promise<unknown>>;
  for (const name of CALLS) {
    const original = made[name] as (...args: unknown[]) => Promise<unknown>;
    made[name] = (member, ...rest) =>
      slow(`driver ${name} ${(member as { name: string }).name}`, () => original(member, ...rest));
  }
  return made as unknown as Driver;
};

/** An observation asks all members at the same time. Some of its requests write and delete the key of a probe. */
const OBSERVES =
  /^(?:GET|POST \/v3\/(?:maintenance\/(?:status|alarm|hashkv)|cluster\/member\/list|kv\/(?:range|put|deleterange)))\b/;
const HEARTBEAT = /^(?:POST \/v3\/lease\/keepalive|sleep 15000)$/;
/** The members of a stopped cluster start together, because one alone has no quorum. */
const STARTS = /^driver (?:activate|start) n\d$/;
const mayOverlap = (sentence: string): boolean => {
  const [later = '', earlier = ''] = sentence.split(' began before the end of ');
  const areReads = OBSERVES.test(earlier) && (OBSERVES.test(later) || later.startsWith('sleep '));
  const isStart = STARTS.test(earlier) && STARTS.test(later) && earlier.at(-1) !== later.at(-1);
  return areReads || isStart || HEARTBEAT.test(earlier) || HEARTBEAT.test(later);
};

/** Performs the operation with slow effects. `onLine` receives each line of the journal. */
const performSlow = async (work: Work, onLine: (line: string) => void = () => undefined) => {
  const { small } = work;
  const slow = slowHost(small.host);
  const append: Host['files']['append'] = (...given) => {
    const file = slow.host.files.append(...given);
    const write: typeof file.write = (data) => {
      onLine(String(data));
      file.write(data);
    };
    return { ...file, write };
  };
  const traced = traceHost({ ...slow.host, files: { ...slow.host.files, append } });
  Object.assign(small, { driver: slowDriver(small.driver, slow) });
  const { error } = await performTraced(work, traced);
  expect([error, slow.pending()]).toEqual([undefined, []]);
  const overlaps = [...new Set(slow.overlaps)].filter((one) => !mayOverlap(one));
  return { overlaps, entries: traced.entries };
};

it.each<readonly [string, () => Promise<Work>]>([
  ['defragmentation', defragWork],
  ['compaction', () => compactWork(1000)],
  ['recovery of space', recoverWork],
  ['replacement of a member', () => replaceWork([], true)],
  ['replacement of a member with an alarm', replaceAlarmed],
  ['upgrade of a stopped cluster', offline],
  [
    'new member',
    () => membershipWork((input) => addPlan(input, { name: 'n4', peerUrls: [URL4], isLearner: false })),
  ],
  ['promotion', promote],
  ['new peer URL', () => membershipWork((input) => updatePlan(input, listed('1003'), [URL4]))],
  ['removal', () => membershipWork((input) => removePlan(input, listed('1003')))],
])(
  'no effect of a %s begins before the end of the previous one, and its last message follows its last change',
  async (name, make) => {
    const { entries, overlaps } = await performSlow(await make());
    expect(overlaps).toEqual([]);
    const change =
      /^(?:driver (?:stop|start) |POST \/v3\/(?:maintenance\/defragment|kv\/compaction|cluster\/member\/(?!list)))/;
    // No message reports the end of this change, only the lock.
    if (name === 'new peer URL') return;
    const lastMessage = entries.findLastIndex((one) => one.startsWith('say '));
    expect(entries.slice(lastMessage).filter((one) => change.test(one))).toEqual([]);
  },
);

it('a cluster version that comes late is read again after each pause', async () => {
  const work = await offline();
  const { host, state } = work.small;
  state.hasNoMonitor = true;
  let isRead = false;
  const { overlaps } = await performSlow(work, (line) => {
    isRead ||= /"begin".*"verify-version"/.test(line);
    if (isRead && !state.hasMoved)
      void host.sleep(2000).then(() => {
        state.hasMoved = true;
      });
  });
  expect([overlaps, state.hasMoved]).toEqual([[], true]);
});
it('a leadership that returned is moved away again before its member is defragmented', async () => {
  const work = await defragWork();
  const { state } = work.small;
  const { entries, overlaps } = await performSlow(work, (line) => {
    if (/"begin".*"n1.defrag"/.test(line)) state.leader = 'n1';
  });
  expect(overlaps).toEqual([]);
  expectInOrder(
    entries,
    ...['write journal.jsonl: begin n1.defrag', 'POST /v3/maintenance/transfer-leadership'],
    ...['POST /v3/maintenance/transfer-leadership done', 'POST /v3/maintenance/defragment'],
  );
});
