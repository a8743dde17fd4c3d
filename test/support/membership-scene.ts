/** One sequence of membership changes for real members and for simulated members, with the response to each request. */
import type { ChildProcess } from 'node:child_process';
import { hangTimer } from './hang.ts';

export type Scene = {
  /** Client URLs of n1, n2 and n3. */
  readonly urls: readonly string[];
  readonly peerUrls: readonly string[];
  /** Client and peer URLs that no member uses. */
  readonly free: readonly string[];
  /** Starts an additional member with these flags, its name and its data directory. `data` names the directory. */
  start(name: string, data: string, flags: readonly string[]): ChildProcess;
  /** Stops the member and waits until n1 has detected the loss. `id` is the decimal member ID. */
  kill(name: string, id: string): Promise<void>;
};
export type Told = Record<string, { readonly status: number; readonly body: unknown }>;

const pause = (ms: number): Promise<void> => new Promise((next) => setTimeout(next, ms));
const base64 = (text: string): string => Buffer.from(text).toString('base64');
const post = async (url: string, path: string, body: unknown) => {
  const init = { method: 'POST', body: JSON.stringify(body), signal: AbortSignal.timeout(60_000) };
  const reply = await fetch(`${url}/v3${path}`, init);
  const text = await reply.text();
  // A stream returns one object per line. The first object is sufficient.
  return { status: reply.status, json: JSON.parse(text.split('\n')[0] ?? '') };
};
type Listed = { ID: string; name?: string; peerURLs: string[]; isLearner?: boolean };
export const listedAt = async (url: string): Promise<Listed[]> =>
  (await post(url, '/cluster/member/list', {})).json.members;
const idOf = async (url: string, peerUrl: string): Promise<string> =>
  (await listedAt(url)).find(({ peerURLs }) => peerURLs.includes(peerUrl))?.ID as string;
/** A change was applied, but its response was lost, for example to a timeout on a busy machine. */
export class AmbiguousResponse extends Error {}
export const eventually = async (what: string, holds: () => Promise<boolean>): Promise<void> => {
  const isMet = (): Promise<boolean> =>
    holds().catch((error: unknown) => {
      if (error instanceof AmbiguousResponse) throw error;
      return false;
    });
  for (const isHung = hangTimer(); !isHung(); ) {
    if (await isMet()) return;
    await pause(50);
  }
  throw new Error(`never came true: ${what}`);
};
const ended = async (child: ChildProcess): Promise<number | null> =>
  child.exitCode ?? new Promise((resolve) => child.once('exit', (code) => resolve(code)));

/** Ids, terms and revisions differ from run to run. */
const stable = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(stable);
  if (typeof value !== 'object' || value === null) return value;
  // The number of parts of a snapshot depends on its size.
  const entries = Object.entries(value).filter(([key]) => key !== 'remaining_bytes');
  const named = entries.map(([key, one]) => {
    if (
      ['ID', 'cluster_id', 'member_id', 'revision', 'raft_term', 'hash', 'blob', 'remaining_bytes'].includes(
        key,
      )
    )
      return [key, typeof one];
    return [key, stable(one)];
  });
  return Object.fromEntries(named);
};

const unknown = '1234';
/** Requests that the cluster rejects while all three members are present and no member joins. */
const refusals = (scene: Scene): readonly (readonly [string, string, unknown])[] => {
  const [first = '', second = ''] = scene.peerUrls;
  return [
    ['add without a URL', '/cluster/member/add', {}],
    ['add without a scheme', '/cluster/member/add', { peerURLs: ['10.0.0.4:2380'] }],
    ['add with a path', '/cluster/member/add', { peerURLs: ['http://10.0.0.4:2380/a'] }],
    ['add without a port', '/cluster/member/add', { peerURLs: ['http://10.0.0.4'] }],
    ['add with another scheme', '/cluster/member/add', { peerURLs: ['ftp://10.0.0.4:2380'] }],
    ['add a URL that a member has', '/cluster/member/add', { peerURLs: [first] }],
    ['promote nobody', '/cluster/member/promote', { ID: unknown }],
    ['update nobody', '/cluster/member/update', { ID: unknown, peerURLs: ['http://127.0.0.1:1'] }],
    ['update without a URL', '/cluster/member/update', { ID: unknown }],
    ['remove nobody', '/cluster/member/remove', { ID: unknown }],
    ['remove without an id', '/cluster/member/remove', {}],
    ['a second URL that is taken', '/cluster/member/add', { peerURLs: ['http://127.0.0.1:1', second] }],
  ];
};

const onLearner: readonly (readonly [string, string, unknown])[] = [
  ['put', '/kv/put', { key: base64('a'), value: base64('b') }],
  ['range', '/kv/range', { key: base64('nothing') }],
  ['serializable range', '/kv/range', { key: base64('nothing'), serializable: true }],
  ['txn', '/kv/txn', {}],
  ['lease grant', '/lease/grant', { TTL: '60' }],
  ['lease list', '/lease/leases', {}],
  ['member list', '/cluster/member/list', {}],
  ['member remove', '/cluster/member/remove', { ID: unknown }],
  ['alarms', '/maintenance/alarm', {}],
  ['defragment', '/maintenance/defragment', {}],
  ['hashkv', '/maintenance/hashkv', {}],
  ['snapshot', '/maintenance/snapshot', {}],
  ['move leader', '/maintenance/transfer-leadership', { targetID: unknown }],
  ['auth status', '/auth/status', {}],
];

export const membershipScene = async (scene: Scene): Promise<Told> => {
  const told: Told = {};
  const { urls, peerUrls, free } = scene;
  const [url = '', other = ''] = urls;
  const tell = async (what: string, at: string, path: string, body: unknown): Promise<any> => {
    for (let tries = 0; ; tries += 1) {
      const { status, json } = await post(at, path, body).catch((error) => ({
        status: 0,
        json: String(error),
      }));
      told[what] = { status, body: stable(json) };
      // During an election the response shows the election, not the rule. The cluster did not accept the request.
      if (!/etcdserver: (no leader|not leader)/.test(JSON.stringify(json)) || tries >= 600) return json;
      await pause(50);
    }
  };
  /**
   * Repeats a change until it succeeds. If the change was applied although its response was lost, a repetition
   * fails for another reason: the scene must then start again with a new cluster.
   */
  const change = (
    what: string,
    request: { readonly at: string; readonly path: string; readonly body: unknown },
    isApplied: () => Promise<boolean>,
  ): Promise<void> =>
    eventually(what, async () => {
      await tell(what, request.at, request.path, request.body);
      if (told[what]?.status === 200) return true;
      if (await isApplied()) throw new AmbiguousResponse(what);
      return false;
    });
  const [clientUrl = '', peerUrl = '', , spare = ''] = free;
  for (const [what, path, body] of refusals(scene)) await tell(what, url, path, body);
  // A cluster adds no member within five seconds of a start. The remaining wait depends on the machine.
  const add = { peerURLs: [peerUrl], isLearner: true };
  let added: any;
  const isListed = async (wanted: (member: Listed) => boolean): Promise<boolean> =>
    (await listedAt(url)).some(wanted);
  await eventually('the learner is added', async () => {
    added = await tell('add a learner', url, '/cluster/member/add', add);
    if (told['add a learner']?.status === 200) return true;
    if (await isListed(({ peerURLs }) => peerURLs.includes(peerUrl))) throw new AmbiguousResponse('add');
    return false;
  });
  const id: string = added.member.ID;
  // A member ID is derived from the URLs and the second of the addition. A duplicate ID would be rejected for a different reason.
  await pause(1_100);
  await tell('add the same again', url, '/cluster/member/add', add);
  await tell('add a second learner', url, '/cluster/member/add', { ...add, peerURLs: [spare] });
  await tell('promote one that has not started', url, '/cluster/member/promote', { ID: id });
  await tell('promote a voter', url, '/cluster/member/promote', {
    ID: await idOf(url, peerUrls[0] as string),
  });
  await tell('update to a URL that a member has', url, '/cluster/member/update', {
    ID: id,
    peerURLs: [peerUrls[1]],
  });
  const members = [...peerUrls.map((one, i) => `n${i + 1}=${one}`), `n4=${peerUrl}`];
  const listening = ['--listen-client-urls', clientUrl, '--advertise-client-urls', clientUrl];
  const joining = [...listening, '--listen-peer-urls', peerUrl, '--initial-advertise-peer-urls', peerUrl];
  const existing = [...joining, '--initial-cluster-state', 'existing', '--initial-cluster'];
  const short = scene.start('n4', 'short', [...existing, `n4=${peerUrl},${members[0]}`]);
  told['start with too few members'] = { status: (await ended(short)) ?? -1, body: undefined };
  const strange = scene.start('n4', 'strange', [
    ...existing,
    [...members.slice(0, 2), `n3=${spare}`, members[3]].join(','),
  ]);
  told['start with a wrong member'] = { status: (await ended(strange)) ?? -1, body: undefined };
  let child = scene.start('n4', 'joined', [...existing, members.join(',')]);
  const isNamed = async (): Promise<boolean> => (await listedAt(url)).some(({ name }) => name === 'n4');
  await eventually('the learner has started', isNamed);
  await eventually(
    'the learner answers',
    async () => (await post(clientUrl, '/maintenance/status', {})).status === 200,
  );
  for (const [what, path, body] of onLearner) await tell(`learner: ${what}`, clientUrl, path, body);
  told['learner: status'] = {
    status: 200,
    body: (await post(clientUrl, '/maintenance/status', {})).json.isLearner,
  };
  for (const page of ['health', 'readyz']) {
    const reply = await fetch(`${clientUrl}/${page}`);
    told[`learner: ${page}`] = { status: reply.status, body: await reply.text() };
  }
  await change('promote', { at: other, path: '/cluster/member/promote', body: { ID: id } }, () =>
    isListed((one) => one.ID === id && one.isLearner !== true),
  );
  await tell('promote again', url, '/cluster/member/promote', { ID: id });
  // The member that received the request applies the promotion first. The promoted member applies it shortly afterwards.
  await eventually('the new member knows that it votes', async () => {
    const { json } = await post(clientUrl, '/maintenance/status', {});
    return json.isLearner !== true;
  });
  await tell('put at the new member', clientUrl, '/kv/put', { key: base64('a'), value: base64('b') });
  await eventually('a member is updated', async () => {
    await tell('update', url, '/cluster/member/update', { ID: id, peerURLs: [peerUrl, spare] });
    return told['update']?.status === 200;
  });
  await change(
    'remove',
    { at: url, path: '/cluster/member/remove', body: { ID: id } },
    async () => !(await isListed((one) => one.ID === id)),
  );
  told['the removed member ends'] = { status: (await ended(child)) ?? -1, body: undefined };
  child = scene.start('n4', 'joined', [...existing, members.join(',')]);
  told['a removed member starts again'] = { status: (await ended(child)) ?? -1, body: undefined };
  await tell('remove it twice', url, '/cluster/member/remove', { ID: id });
  const [second, third] = [await idOf(url, peerUrls[1] as string), await idOf(url, peerUrls[2] as string)];
  await scene.kill('n3', third);
  // The stopped member may have been the leader. A change that is proposed before its successor has applied all entries is dropped.
  await eventually('n1 follows a leader that is there and has applied everything', async () => {
    const { json } = await post(url, '/maintenance/status', {});
    const followed = ![undefined, '0', third].includes(json.leader);
    return followed && json.raftAppliedIndex === json.raftIndex;
  });
  const voter = { peerURLs: [spare] };
  await tell('remove a good one beside a dead one', url, '/cluster/member/remove', { ID: second });
  const learner = await tell('add a learner beside a dead one', url, '/cluster/member/add', {
    ...voter,
    isLearner: true,
  });
  if (learner.member !== undefined) {
    await tell('remove that learner', url, '/cluster/member/remove', { ID: learner.member.ID });
    const seen = await post(url, '/cluster/member/add', voter).catch((error) => ({
      status: 0,
      json: String(error),
    }));
    told['add beside a dead one'] = { status: seen.status, body: stable(seen.json) };
    return told;
  }
  await tell('add beside a dead one', url, '/cluster/member/add', voter);
  await tell('remove the dead one', url, '/cluster/member/remove', { ID: third });
  return told;
};
