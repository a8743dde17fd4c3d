import type { Exit } from '../../platform/host.ts';
import { AppError } from '../../core/problem.ts';
import { minorOf } from '../../api-specs/etcd/versions.ts';
import { mebibytes } from '../guards/guard.ts';
import { compareHashes, hashMembers, mostHashedBytes } from '../observe/hashes.ts';
import type { Comparison } from '../observe/hashes.ts';
import { alarmError, alarmMessages } from '../guards/no-alarms.ts';
import { lagLimits } from '../guards/members-keep-up.ts';
import { quorumOf } from '../guards/quorum-survives.ts';
import { hexId } from '../../etcd-client/etcd-client.ts';
import type { Status, Store } from '../../etcd-client/etcd-client.ts';
import { probeKey } from '../../etcd-client/own-keys.ts';
import { watchProgress } from './gate-time.ts';
import type { ProgressWatch } from './gate-time.ts';
import { MemberFailure, identityOf, memberOf } from '../run.ts';
import type { Run } from '../run.ts';
import type { GateCheck, MemberHash, MemberSpec } from '../types.ts';

const pollMs = 15;
type Verdict = {
  /** Null: the check could not be made, and nothing is held against the member for it. */
  readonly ok: boolean | null;
  readonly detail: string;
  /** No waiting will fix it. */
  readonly isFinal?: true;
  /** The process is not up yet: that says nothing against any other check. */
  readonly isStarting?: true;
};
const good = (detail: string): Verdict => ({ ok: true, detail });
const bad = (detail: string): Verdict => ({ ok: false, detail });
const skipped = (why: string): Verdict => ({ ok: null, detail: `skipped: ${why}` });
const failed = (detail: string): Verdict => ({ ok: false, detail, isFinal: true });

export type Gate = {
  readonly run: Run;
  readonly member: MemberSpec;
  readonly store: Store;
  readonly others: readonly { readonly name: string; readonly store: Store }[];
  /** The version it must run: the new one in the gate, the old one after a return. */
  readonly minor: string;
  /** Settles when the process this run started has ended; absent when this run did not start it. */
  exited?: Promise<Exit>;
  exit?: Exit;
  /** When the process was last seen, by `elapsed`, and how. */
  lookedAt?: number;
  lookedLike?: Verdict;
};
type Check = (gate: Gate) => Promise<Verdict>;

/** The process may be gone before its exit code has been noticed, and a start command that puts the server into the background before its server is there. */
const goneWithinMs = 1500;
const goneLookMs = 50;
/** Over ssh every look costs: between two failed checks the process is looked at this often, and its exit is noticed at once anyway. */
const processLookMs = 250;
const processRuns: Check = async (gate) => {
  const { run, member } = gate;
  const { host, driver } = run;
  if (
    gate.exit === undefined &&
    gate.lookedAt !== undefined &&
    host.elapsed() - gate.lookedAt < processLookMs
  )
    return gate.lookedLike ?? good('its process runs');
  const until = host.elapsed() + (gate.exited === undefined ? 0 : goneWithinMs);
  while (gate.exit === undefined) {
    const seen = await driver.process(member);
    if (seen.state !== 'gone') {
      gate.lookedAt = host.elapsed();
      // Whatever a service manager waits for: only the gate's time, which counts from the start, ends it.
      gate.lookedLike =
        seen.state === 'starting'
          ? { ...bad(`it is being started: ${seen.awaits}`), isStarting: true }
          : good('its process runs');
      return gate.lookedLike;
    }
    if (host.elapsed() >= until)
      return failed(
        seen.reason === undefined ? 'its process is not there' : `its process is not there: ${seen.reason}`,
      );
    await Promise.race([gate.exited, host.sleep(goneLookMs)]);
  }
  return failed(`its process ended (${gate.exit.signal ?? `exit code ${gate.exit.code}`})`);
};

const versionIsRight: Check = async ({ store, minor }) => {
  const { server } = await store.versions();
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

const healthIsTrue: Check = async ({ store }) => {
  const health = await store.health();
  return health.is_healthy ? good('/health says true') : bad(`/health says ${health.reason ?? 'false'}`);
};

const leaderIsKnown: Check = async ({ store }) => {
  const { leader_id } = await store.status();
  return leader_id === undefined ? bad('knows no leader') : good(`follows ${hexId(leader_id)}`);
};

const keyOf = ({ run, member }: Gate): string => probeKey(run.id, member.name);
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
  const lag = Math.max(
    0,
    ...rest.map(({ status }) => (status?.raft_index ?? 0) - (own.applied_index ?? own.raft_index)),
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
const noAlarm: Check = async ({ run, member, store }) => {
  const alarms = await store.alarms();
  const { members, listed } = run.plan.observation;
  const [said] = alarmMessages({ alarms, members, listed });
  if (said === undefined) return good('no alarm');
  throw alarmError(said, `; ${member.name} runs, and is not proved good yet`);
};

const mostHashTries = 5;
/** All data of this member against the others', at one revision (spec/store#measured-versions: from 3.3 on). */
const hashesAgree: Check = async (gate) => {
  const { member, store, others } = gate;
  const { db_size_bytes } = await store.status();
  if ((await store.row()).can.hashKv === false) return skipped('this version cannot hash its data');
  if (db_size_bytes > mostHashedBytes)
    return skipped(`${mebibytes(db_size_bytes)} take long to hash; opsctl kv endpoint hashkv does it`);
  for (let tries = 0; tries < mostHashTries; tries += 1) {
    const { revision } = await store.range(keyOf(gate));
    const rows = await hashMembers([{ name: member.name, store }, ...others], revision);
    const found = compareHashes(rows);
    if (found.kind !== 'moving' && rows.length > 1 && rows[0]?.name === member.name)
      return hashVerdict(gate, revision, rows, found);
  }
  return skipped('no other member could be asked at the same revision');
};
const hashVerdict = (
  { run, member }: Gate,
  revision: number,
  rows: readonly MemberHash[],
  found: Comparison,
): Verdict => {
  if (found.kind === 'unproved') {
    run.emit({
      event: 'note',
      level: 'warn',
      text: `different hashes at revision ${revision}, after a compaction, on different versions: ${found.detail}; compare them again when all run ${run.plan.to}: opsctl kv endpoint hashkv`,
    });
    return good(`different versions hash what a compaction left differently: ${found.detail}`);
  }
  if (found.kind !== 'different')
    return good(`same hash at revision ${revision} on ${rows.map(({ name }) => name).join(', ')}`);
  // This member is with the majority: its new version is not what has to go.
  if (found.odd.length > 0 && !found.odd.includes(member.name))
    throw new AppError(
      'stopped',
      `${found.odd.join(', ')} ${found.odd.length === 1 ? 'holds' : 'hold'} other data at revision ${revision}: ${found.detail}`,
      {
        code: 'DATA_DIFFERS',
        tryThis: [
          `remove ${found.odd[0]} from the cluster, add it again with an empty data directory, then opsctl kv resume`,
        ],
      },
    );
  return failed(
    `different data at revision ${revision}: ${found.detail}; remove ${member.name} and add it again with an empty data directory`,
  );
};

const checks: readonly (readonly [GateCheck, Check])[] = [
  ['process', processRuns],
  ['version', versionIsRight],
  ['identity', identityIsKept],
  // The leader first: /health asks the leader, and a member that knows none yet lets that question wait for a second.
  ['leader', leaderIsKnown],
  ['health', healthIsTrue],
  ['read', readWorks],
  ['write', writeWorks],
  ['read-back', readBackWorks],
  ['lag', hasCaughtUp],
  ['alarms', noAlarm],
  ['peers', peersAgree],
  ['hash', hashesAgree],
];

export const openGate = (run: Run, name: string, minor: string): Gate => {
  const member = memberOf(run, name);
  const others = run.cluster.members.filter(
    (other) => other.name !== name && run.plan.observation.members.some((seen) => seen.name === other.name),
  );
  return {
    run,
    member,
    minor,
    store: run.access.store(member.client_url),
    others: others.map(({ name: other, client_url }) => ({
      name: other,
      store: run.access.store(client_url),
    })),
  };
};

/** A check throws `stopped` when something else than this member is wrong: that ends the run, and the member stays as it is. */
const attempt = async (check: Check, gate: Gate): Promise<Verdict> =>
  check(gate).catch((error: unknown) => {
    if (error instanceof AppError && error.category === 'stopped') throw error;
    return bad(error instanceof Error ? error.message : String(error));
  });

/** An alarm may be why a check does not become good. */
const alarmsEveryMs = 1000;
/** Repeats one check until it is good, failed, or the time is over. The process is looked at every time. */
const passCheck = async (
  gate: Gate,
  check: Check,
  untilMs: number,
  progress: ProgressWatch,
): Promise<Verdict> => {
  const { host } = gate.run;
  let alarmsAt = host.elapsed() + alarmsEveryMs;
  for (;;) {
    const verdict = await attempt(check, gate);
    if (verdict.ok !== false || verdict.isFinal) return verdict;
    const alive = await attempt(processRuns, gate);
    if (!alive.ok && alive.isStarting !== true) return alive;
    if (host.elapsed() > alarmsAt) {
      await attempt(noAlarm, gate);
      alarmsAt = host.elapsed() + alarmsEveryMs;
    }
    await progress.look();
    if (host.elapsed() > untilMs && !progress.isMoving()) return verdict;
    await host.sleep(pollMs);
  }
};

/** Every check, in order, within `withinMs` together. Throws MemberFailure with the first that does not become good. */
export const passGate = async (
  gate: Gate,
  withinMs: number,
  onPassed: (check: GateCheck) => void = () => {},
): Promise<void> => {
  const { run, member } = gate;
  const until = run.host.elapsed() + withinMs;
  const progress = watchProgress(run, member.name);
  for (const [name, check] of checks) {
    const { ok, detail } = await passCheck(gate, check, until, progress);
    run.emit({ event: 'gate-check', member: member.name, check: name, ok, detail });
    if (ok === false)
      throw new MemberFailure(member.name, `${member.name} did not pass its gate: ${name}: ${detail}`);
    onPassed(name);
  }
  await gate.store.del(keyOf(gate)).catch(() => {});
};

const stablePollMs = 100;
/** An election takes one to two seconds, and every member is unhealthy meanwhile: that is no fault of this one. */
const unhealthyLimitMs = 5000;
/** spec/store#procedure-3: verify health of member and cluster; and again for a time, because a process may end late. */
export const stayStable = async (gate: Gate, forMs: number): Promise<void> => {
  const { run, member } = gate;
  const { host } = run;
  const until = host.elapsed() + forMs;
  let goodAt = host.elapsed();
  for (;;) {
    const alive = await attempt(processRuns, gate);
    const health = alive.ok ? await attempt(healthIsTrue, gate) : alive;
    if (health.ok) goodAt = host.elapsed();
    else if (alive.ok) await attempt(noAlarm, gate);
    if (alive.isFinal || host.elapsed() - goodAt > unhealthyLimitMs) {
      run.emit({
        event: 'gate-check',
        member: member.name,
        check: 'stable',
        ok: false,
        detail: health.detail,
      });
      throw new MemberFailure(member.name, `${member.name} was good and then was not: ${health.detail}`);
    }
    if (health.ok && host.elapsed() >= until) break;
    const left = until - host.elapsed();
    await host.sleep(left > 0 ? Math.min(stablePollMs, left) : stablePollMs);
  }
  run.emit({
    event: 'gate-check',
    member: member.name,
    check: 'stable',
    ok: true,
    detail: `good for ${forMs / 1000} s`,
  });
};
