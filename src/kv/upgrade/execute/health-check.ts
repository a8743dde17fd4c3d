import { compareVersions, minorOf } from '../../../api-specs/etcd/versions.ts';
import { alarmError, alarmMessages } from '../guards/no-alarms.ts';
import { lagLimits } from '../guards/members-keep-up.ts';
import { quorumOf } from '../guards/quorum-survives.ts';
import { hexId } from '../../client/hex-id.ts';
import type { Status } from '../../client/etcd-client.ts';
import { identityOf } from '../run.ts';
import type { GateCheck } from '../../engine/types.ts';
import { bad, failed, good, keyOf } from './gate-verdict.ts';
import type { Check, Gate } from './gate-verdict.ts';
import { accessIsKept } from './connection-checks.ts';
import { peerLinksWork } from './peer-link-check.ts';
import { hashesAgree } from './hash-check.ts';
import { isReady, membershipIsKept } from './membership-check.ts';
import { processRuns } from './process-check.ts';

const versionIsRight: Check = async ({ store, minor, exact }) => {
  const { server } = await store.versions();
  if (exact !== undefined && compareVersions(server, exact) !== 0)
    return failed(`runs ${server}, not ${exact}: the wrong program was started`);
  return minorOf(server) === minor
    ? good(`runs ${server}`)
    : failed(`runs ${server}, not ${minor}: the wrong program was started`);
};

/** spec/store#measured-upgrade: a member with another data directory joins empty, under another id. */
const identityIsKept: Check = async ({ run, member, store }) => {
  const [before, status] = [identityOf(run, member.name), await store.status()];
  if (before.member_id !== undefined && status.member_id !== before.member_id)
    return failed(
      `is member ${hexId(status.member_id)}, was ${hexId(before.member_id)}: not the same data directory`,
    );
  if (before.cluster_id !== undefined && status.cluster_id !== before.cluster_id)
    return failed(`is in cluster ${hexId(status.cluster_id)}, was in ${hexId(before.cluster_id)}`);
  return good(`member ${hexId(status.member_id)} of cluster ${hexId(status.cluster_id)}, as before`);
};

export const healthIsTrue: Check = async ({ store }) => {
  const health = await store.health();
  return health.is_healthy ? good('/health says true') : bad(`/health says ${health.reason ?? 'false'}`);
};

const leaderIsKnown: Check = async ({ store }) => {
  const { leader_id } = await store.status();
  return leader_id === undefined ? bad('knows no leader') : good(`follows ${hexId(leader_id)}`);
};

/** A serializable read answers without a quorum (spec/store#measured-answers), so the read is linearizable. */
const readWorks: Check = async (gate) => {
  const { revision } = await gate.store.range(keyOf(gate));
  return good(`linearizable read at revision ${revision}`);
};
const writeWorks: Check = async (gate) => {
  const { revision } = await gate.store.put(keyOf(gate), gate.run.id);
  return good(`a write through it made revision ${revision}`);
};
const readBackWorks: Check = async (gate) => {
  const readers = gate.others.length > 0 ? gate.others : [{ name: gate.member.name, store: gate.store }];
  const found = await Promise.all(
    readers.map(async ({ name, store }) => ({
      name,
      ok: await store.range(keyOf(gate)).then(
        ({ kvs }) => kvs[0]?.value === gate.run.id,
        () => false,
      ),
    })),
  );
  // A third member that is away is not this member's fault: one witness is enough here, the next stop is guarded by itself.
  const seen = found.filter(({ ok }) => ok).map(({ name }) => name);
  return seen.length > 0
    ? good(`read back through ${seen.join(', ')}`)
    : bad(`${found.map(({ name }) => name).join(', ')} did not show its write`);
};

const statuses = async ({
  store,
  others,
}: Gate): Promise<{
  readonly own: Status;
  readonly rest: readonly { readonly name: string; readonly status?: Status }[];
}> => {
  const [own, ...rest] = await Promise.all([
    store.status(),
    ...others.map(async ({ name, store: other }) => ({
      name,
      status: await other.status().catch(() => undefined),
    })),
  ]);
  return { own: own as Status, rest: rest as { name: string; status?: Status }[] };
};
const hasCaughtUp: Check = async (gate) => {
  const { own, rest } = await statuses(gate);
  const reached = own.applied_index ?? own.raft_index;
  const lag = Math.max(
    0,
    ...rest.flatMap(({ status }) => (status === undefined ? [] : status.raft_index - reached)),
  );
  return lag > lagLimits.warn
    ? bad(`${lag} entries behind`)
    : good(lag === 0 ? 'caught up' : `${lag} entries behind while writes go on`);
};
const peersAgree: Check = async (gate) => {
  const { own, rest } = await statuses(gate);
  const away = rest
    .filter(({ status }) => status === undefined || status.leader_id !== own.leader_id)
    .map(({ name }) => name);
  const together = rest.length + 1 - away.length;
  const said = `${together} of ${rest.length + 1} members follow the same leader${away.length === 0 ? '' : ` (not ${away.join(', ')})`}`;
  return together >= quorumOf(rest.length + 1) ? good(said) : bad(said);
};
/** Raised while this member is in work, it makes every member unhealthy or refuses every write: neither version of this one would be better. */
export const noAlarm: Check = async ({ run, member, store }) => {
  const alarms = await store.alarms();
  if (alarms.length === 0) return good('no alarm');
  const { members, listed: before } = run.plan.observation;
  const [said] = alarmMessages({ alarms, members, listed: await store.members().catch(() => before) });
  if (said === undefined) return good('no alarm');
  throw alarmError(said, `; ${member.name} runs, and is not proved good yet`);
};

export type Checks = readonly (readonly [GateCheck, Check])[];
/** In the order in which they count. Those of one stage need nothing of each other: their first tries are made at the same time. */
export const stages: readonly Checks[] = [
  [['process', processRuns]],
  [['version', versionIsRight]],
  // The leader before the health: /health asks the leader, and a member that knows none yet lets that question wait for a second.
  [
    ['identity', identityIsKept],
    ['leader', leaderIsKnown],
  ],
  [
    ['health', healthIsTrue],
    ['access', accessIsKept],
  ],
  [
    ['ready', isReady],
    ['read', readWorks],
    ['write', writeWorks],
  ],
  [
    ['read-back', readBackWorks],
    ['lag', hasCaughtUp],
    ['alarms', noAlarm],
    ['peers', peersAgree],
    ['membership', membershipIsKept],
    ['hash', hashesAgree],
    ['peer-links', peerLinksWork],
  ],
];
