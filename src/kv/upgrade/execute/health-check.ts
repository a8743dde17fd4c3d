import { after, next, adviceText } from '../../../core/next.ts';
import { compareVersions, minorOf } from '../../../api-specs/etcd/versions.ts';
import { AppError, messageOf } from '../../../core/problem.ts';
import { hexId } from '../../client/messages.ts';
import type { ListedMember, Status, Store } from '../../client/etcd-client.ts';
import type { GateCheck, MemberHash, MemberSpec } from '../../engine/model.ts';
import { mebibytes } from '../guards/guard.ts';
import { lagLimits, quorumOf } from '../guards/membership.ts';
import { alarmError, alarmMessages } from '../guards/store.ts';
import {
  cannotHash,
  compareHashes,
  type Comparison,
  hashMembers,
  mostHashedBytes,
} from '../observe/observe.ts';
import { type Checking, endedProcess, identityOf, MemberFailure, memberOf, runningProcess } from '../run.ts';
import type { ProcessState } from '../supervisors/driver.ts';
import {
  type Check,
  type Gate,
  type ProgressWatch,
  type Verdict,
  accessIsKept,
  bad,
  electionPatienceMs,
  failCheck,
  good,
  keyOf,
  peerLinksWork,
  skip,
  watchProgress,
} from './connection-checks.ts';

/** One that does not answer may do so in the next try; one of a version without hashes never will. */
const mayHash = async ({ store }: { readonly store: Store }): Promise<boolean> => {
  const versions = await store.versions().catch(() => undefined);
  return versions === undefined || !cannotHash(versions.server);
};
const mostHashTries = 5;
/** All data of this member against the others', at one revision (spec/store#measured-versions: from 3.3 on). */
export const hashesAgree: Check = async (gate) => {
  const { member, store, others } = gate;
  const { db_size_bytes } = await store.status();
  if ((await store.row()).can.hashKv === false) return skip('this version cannot hash its data');
  if (db_size_bytes > mostHashedBytes)
    return skip(`${mebibytes(db_size_bytes)} take long to hash; opsctl kv endpoint hashkv does it`);
  const may = await Promise.all(others.map(mayHash));
  const peers = others.filter((_, at) => may[at]);
  if (others.length > 0 && peers.length === 0)
    return skip('no other member runs a version that can hash its data');
  for (let tries = 0; tries < mostHashTries; tries += 1) {
    const { revision } = await store.range(keyOf(gate));
    const rows = await hashMembers([{ name: member.name, store }, ...peers], revision);
    const found = compareHashes(rows);
    if (found.kind !== 'moving' && rows.length > 1 && rows[0]?.name === member.name)
      return hashVerdict(gate, revision, rows, found);
  }
  return skip('no other member could be asked at the same revision');
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
      text: adviceText(
        after(
          `different hashes at revision ${revision}, after a compaction, on different versions: ${found.detail}; compare them again when all run ${run.plan.to}:`,
          ['kv', 'endpoint', 'hashkv'],
        ),
      ),
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
        tryThis: [next(['kv', 'replace-member', `${found.odd[0]}`], after(', then', ['kv', 'resume']))],
      },
    );
  return failCheck(
    `different data at revision ${revision}: ${found.detail}; opsctl kv replace-member ${member.name} gives it the data of the others`,
  );
};

/** Later patches of 3.4 and 3.5, and every 3.6: it says more than /health, which is true on a member that cannot vote. */
export const isReady: Check = async ({ store }) => {
  const { status, text } = await store.connection.get('/readyz');
  if (status === 404) return skip('this version has no /readyz');
  return status === 200
    ? good('/readyz says ok')
    : bad(`/readyz answers ${status}: ${text.trim().slice(0, 200)}`);
};
const listMembers = (store: Store): Promise<ListedMember[] | undefined> =>
  store.members().catch(() => undefined);
const inWords = ({ id, is_learner }: ListedMember): string => `${hexId(id)}${is_learner ? ' (learner)' : ''}`;
const sortMembers = (rows: readonly ListedMember[]): string[] => rows.map(inWords).toSorted();
/**
 * The version before kept the truth about members in its old data, the new one in its new data; the two may disagree after faults that were
 * mended long ago. So the first member of the new version must list exactly the members that the others list, learners too.
 */
export const membershipIsKept: Check = async ({ run, store, others }) => {
  const own = await store.members();
  for (const { name, store: other } of others) {
    const theirs = await listMembers(other);
    if (theirs !== undefined) return sameAs(name, own, theirs);
  }
  const before = run.plan.observation.listed;
  return others.length === 0 && before.length > 0
    ? sameAs('it did before', own, before)
    : skip('no other member could be asked for its list');
};
const sameAs = (whom: string, own: readonly ListedMember[], theirs: readonly ListedMember[]): Verdict => {
  const [here, there] = [sortMembers(own), sortMembers(theirs)];
  return here.join() === there.join()
    ? good(`lists the same ${own.length} members as ${whom}`)
    : bad(`lists ${here.join(', ')}, not the same as ${whom}: ${there.join(', ')}`);
};

/** The process may be gone before its exit code has been noticed, and a start command that puts the server into the background before its server is there. */
const goneWithinMs = 1500;
const goneLookMs = 50;
/** Over ssh every look costs: between two failed checks the process is looked at this often, and its exit is noticed at once anyway. */
const processLookMs = 250;
const wasJustSeen = ({ exit, lookedAt, run }: Gate): boolean =>
  exit === undefined && lookedAt !== undefined && run.host.elapsed() - lookedAt < processLookMs;
/** Whatever a service manager waits for: only the gate's time, which counts from the start, ends it. */
const alive = (seen: Exclude<ProcessState, { state: 'gone' }>): Verdict =>
  seen.state === 'starting'
    ? { ...bad(`it is being started: ${seen.awaits}`), isStarting: true }
    : good('its process runs');
const processGone = ({ reason, exitCode }: Extract<ProcessState, { state: 'gone' }>): Verdict => ({
  ...failCheck(`its process is not there${reason === undefined ? '' : `: ${reason}`}`),
  process: endedProcess(exitCode),
});
export const processRuns: Check = async (gate) => {
  const { run, member } = gate;
  const { host, driver } = run;
  if (wasJustSeen(gate)) return gate.lookedLike ?? good('its process runs');
  const until = host.elapsed() + (gate.exited === undefined ? 0 : goneWithinMs);
  while (gate.exit === undefined) {
    const seen = await driver.process(member);
    if (seen.state !== 'gone') {
      gate.lookedAt = host.elapsed();
      gate.lookedLike = alive(seen);
      return gate.lookedLike;
    }
    if (host.elapsed() >= until) return processGone(seen);
    await Promise.race([gate.exited, host.sleep(goneLookMs)]);
  }
  const { code, signal } = gate.exit;
  return {
    ...failCheck(`its process ended (${signal ?? `exit code ${code}`})`),
    process: endedProcess(code),
  };
};

const versionIsRight: Check = async ({ store, minor, exact }) => {
  const { server } = await store.versions();
  if (exact !== undefined && compareVersions(server, exact) !== 0)
    return failCheck(`runs ${server}, not ${exact}: the wrong program was started`);
  return minorOf(server) === minor
    ? good(`runs ${server}`)
    : failCheck(`runs ${server}, not ${minor}: the wrong program was started`);
};
/** spec/store#measured-upgrade: a member with another data directory joins empty, under another id. */
const identityIsKept: Check = async ({ run, member, store }) => {
  const [before, status] = [identityOf(run, member.name), await store.status()];
  if (before.member_id !== undefined && status.member_id !== before.member_id)
    return failCheck(
      `is member ${hexId(status.member_id)}, was ${hexId(before.member_id)}: not the same data directory`,
    );
  if (before.cluster_id !== undefined && status.cluster_id !== before.cluster_id)
    return failCheck(`is in cluster ${hexId(status.cluster_id)}, was in ${hexId(before.cluster_id)}`);
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
  // A learner follows the leader, and it does not vote: it is no part of the majority.
  const voters = rest.filter(({ status }) => status?.is_learner !== true);
  const away = voters
    .filter(({ status }) => status === undefined || status.leader_id !== own.leader_id)
    .map(({ name }) => name);
  const size = voters.length + (own.is_learner ? 0 : 1);
  const together = size - away.length;
  const kind = voters.length === rest.length && !own.is_learner ? 'members' : 'voting members';
  const said = `${together} of ${size} ${kind} follow the same leader${away.length === 0 ? '' : ` (not ${away.join(', ')})`}`;
  return together >= quorumOf(size) ? good(said) : bad(said);
};
/** Raised while this member is in work, it makes every member unhealthy or refuses every write: neither version of this one would be better. */
const noAlarm: Check = async ({ run, member, store }) => {
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

/** A start that takes longer than this does not wait for a heartbeat. */
const forMs = 1000;
const everyMs = 15;
/**
 * Linearizable reads through the other members, one at a time, until `over` or for a second. A member that starts serves clients once it has
 * heard its leader. The leader sends a heartbeat every interval (100 ms), and at once for a read that needs a quorum: with
 * them the member is down for a shorter time (spec/store#measured-upgrade-6). What they answer is of no interest.
 */
export const readThroughOthers = async (gate: Gate, over: AbortSignal): Promise<void> => {
  const { host } = gate.run;
  const until = host.elapsed() + forMs;
  for (let at = 0; gate.others.length > 0 && !over.aborted && host.elapsed() < until; ) {
    const began = host.elapsed();
    const { store } = gate.others[at % gate.others.length] as Gate['others'][number];
    const isAnswered = await store.range(keyOf(gate)).then(
      () => true,
      () => false,
    );
    if (!isAnswered) at += 1;
    // On a busy machine the member needs the time itself.
    await host.sleep(Math.max(everyMs, host.elapsed() - began), over).catch(() => {});
  }
};

/** From one look to the next at least this, and as long as the look took: on a busy machine the member needs the time itself. */
const pollMs = 15;
export const openGate = (run: Checking, name: string, minor: string): Gate => {
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
    return bad(messageOf(error));
  });
const stablePollMs = 150;
/** An alarm may be why a check does not become good. */
const alarmsEveryMs = 1000;
/** A member and its peers need some seconds to log or to count their connections. After this time a check that sees nothing reports so. */
const unknownPatienceMs = 5000;
const isOver = ({ ok, isFinal, isUnknown }: Verdict, isPatient: boolean): boolean =>
  isUnknown === true ? !isPatient : ok !== false || isFinal === true;
/** Repeats one check until it passes, fails, or the time is over; `first` is the verdict of its first try. Each try checks the process too. */
const passCheck = async (
  gate: Gate,
  check: Check,
  untilMs: number,
  progress: ProgressWatch,
  first: Verdict,
): Promise<Verdict> => {
  const { host } = gate.run;
  let alarmsAt = host.elapsed() + alarmsEveryMs;
  let [verdict, tookMs] = [first, 0];
  const unknownUntil = Math.min(untilMs, host.elapsed() + unknownPatienceMs);
  for (;;) {
    if (isOver(verdict, host.elapsed() < unknownUntil)) return verdict;
    if (verdict.ok === false) gate.goodSince = host.elapsed();
    const alive = await attempt(processRuns, gate);
    if (!alive.ok && alive.isStarting !== true) return alive;
    if (host.elapsed() > alarmsAt && gate.skips?.has('alarms') !== true) {
      await attempt(noAlarm, gate);
      alarmsAt = host.elapsed() + alarmsEveryMs;
    }
    await progress.look();
    if (host.elapsed() > untilMs && !progress.isMoving()) return verdict;
    await host.sleep(Math.max(pollMs, Math.min(tookMs, stablePollMs)));
    const began = host.elapsed();
    verdict = await attempt(check, gate);
    tookMs = host.elapsed() - began;
  }
};
const gateFailure = (
  { name }: MemberSpec,
  what: string,
  { detail, process = runningProcess }: Verdict,
): MemberFailure => new MemberFailure(name, `${name} ${what}: ${detail}`, process);
/** Every check, in order, within `withinMs` together. Throws MemberFailure with the first that does not become good. */
export const passGate = async (
  gate: Gate,
  withinMs: number,
  onPassed: (check: GateCheck) => void = () => {},
): Promise<void> => {
  const { run, member } = gate;
  const until = run.host.elapsed() + withinMs;
  const progress = watchProgress(run, member.name);
  const answering = new AbortController();
  const passStage = async (stage: Checks): Promise<void> => {
    const first = await Promise.all(stage.map(([, check]) => attempt(check, gate)));
    for (const [at, [name, check]] of stage.entries()) {
      const verdict = await passCheck(gate, check, until, progress, first[at] as Verdict);
      const { ok, detail, isUnknown } = verdict;
      run.emit({ event: 'gate-check', member: member.name, check: name, ok, detail });
      if (isUnknown === true)
        run.emit({ event: 'note', level: 'warn', text: `${member.name}: ${name}: ${detail}` });
      if (ok === false) throw gateFailure(member, `did not become healthy: ${name}`, verdict);
      if (name === 'health') gate.goodSince = run.host.elapsed();
      onPassed(name);
      // Its first answer: it has heard its leader.
      if (name === 'version') answering.abort();
    }
  };
  void readThroughOthers(gate, answering.signal);
  try {
    for (const stage of stages) await passStage(stage.filter(([one]) => gate.skips?.has(one) !== true));
  } finally {
    answering.abort();
  }
  await gate.store.del(keyOf(gate)).catch(() => {});
};
/** The checks since its health are part of the time in which it has to stay good. */
const stableUntil = ({ goodSince, run: { host } }: Gate, forMs: number): number =>
  (goodSince ?? host.elapsed()) + forMs;
/** spec/store#procedure-3: verify health of member and cluster; and again for a time, because a process may end late. */
export const stayStable = async (gate: Gate, forMs: number): Promise<void> => {
  const { run, member } = gate;
  const { host } = run;
  const until = stableUntil(gate, forMs);
  let goodAt = host.elapsed();
  for (;;) {
    const alive = await attempt(processRuns, gate);
    const health = alive.ok ? await attempt(healthIsTrue, gate) : alive;
    if (health.ok) goodAt = host.elapsed();
    else if (alive.ok) await attempt(noAlarm, gate);
    if (alive.isFinal || host.elapsed() - goodAt > electionPatienceMs) {
      run.emit({
        event: 'gate-check',
        member: member.name,
        check: 'stable',
        ok: false,
        detail: health.detail,
      });
      throw gateFailure(member, 'was good and then was not', health);
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
