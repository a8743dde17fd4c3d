import { after, next, adviceText } from '../../../core/next.ts';
import { compareVersions, minorOf } from '../../../api-specs/etcd/versions.ts';
import { cutText, AppError, messageOf } from '../../../core/problem.ts';
import { hexId } from '../../client/messages.ts';
import type { ListedMember, Status, Store } from '../../client/etcd-client.ts';
import type { GateCheck, MemberHash, MemberSpec } from '../../engine/model.ts';
import { sizeText } from '../../../core/format.ts';
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
  failVerdict,
  electionGraceMs,
  failCheck,
  passVerdict,
  keyOf,
  peerLinksWork,
  skip,
  unknownVerdict,
  watchProgress,
} from './connection-checks.ts';

/** A member that does not respond may respond to the next attempt. A version without hashes never does. */
const mayHash = async ({ store }: { readonly store: Store }): Promise<boolean> => {
  const versions = await store.versions().catch(() => undefined);
  return versions === undefined || !cannotHash(versions.server);
};
const mostHashTries = 5;
/** Every attempt blocks every member while it hashes, and a compaction needs some time to reach all members. */
const hashPauseMs = 250;
/**
 * Compares all data of this member with the other members at one revision (spec/store#measured-versions: from
 * 3.3 on).
 */
export const hashesAgree: Check = async (gate) => {
  const { member, store, others } = gate;
  const { db_size_bytes } = await store.status();
  if ((await store.row()).can.hashKv === false) return skip('this version cannot hash its data');
  if (db_size_bytes > mostHashedBytes)
    return skip(`hashing ${sizeText(db_size_bytes)} takes too long here; run opsctl kv endpoint hashkv`);
  if (others.length === 0) return skip('the cluster has one member');
  const may = await Promise.all(others.map(mayHash));
  const peers = others.filter((_, at) => may[at]);
  if (peers.length === 0) return skip('no other member runs a version that can hash its data');
  for (let tries = 0; tries < mostHashTries; tries += 1) {
    if (tries > 0) await gate.run.host.sleep(hashPauseMs);
    const { revision } = await store.range(keyOf(gate));
    const rows = await hashMembers([{ name: member.name, store }, ...peers], revision);
    const found = compareHashes(rows);
    if (found.kind !== 'moving' && rows.length > 1 && rows[0]?.name === member.name)
      return hashVerdict(gate, revision, rows, found);
  }
  const why = 'no other member returned a hash that can be compared at the same revision';
  return { ...unknownVerdict(why), isHopeless: true };
};
const dataDiffers = (message: string, odd: readonly string[]): AppError =>
  new AppError('stopped', message, {
    code: 'DATA_DIFFERS',
    tryThis: [next(['kv', 'replace-member', `${odd[0]}`], after(', then', ['kv', 'resume']))],
  });
const replaceText = ({ member }: Pick<Gate, 'member'>): string =>
  `opsctl kv replace-member ${member.name} gives it the data of the other members`;
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
          `different hashes at revision ${revision}, after a compaction, on different versions: ${found.detail}; compare them again when all members run ${run.plan.to}:`,
          ['kv', 'endpoint', 'hashkv'],
        ),
      ),
    });
    return passVerdict(`the versions hash the data after a compaction differently: ${found.detail}`);
  }
  if (found.kind !== 'different')
    return passVerdict(`same hash at revision ${revision} on ${rows.map(({ name }) => name).join(', ')}`);
  // This member agrees with the majority: its new version is not the cause.
  if (found.odd.length > 0 && !found.odd.includes(member.name))
    throw dataDiffers(
      `${found.odd.join(', ')} ${found.odd.length === 1 ? 'has' : 'have'} different data at revision ${revision}: ${found.detail}`,
      found.odd,
    );
  return failCheck(`different data at revision ${revision}: ${found.detail}; ${replaceText({ member })}`);
};

/**
 * Later patches of 3.4 and 3.5, and every 3.6, have /readyz. It is more reliable than /health, which returns
 * true on a member that cannot vote.
 */
export const isReady: Check = async ({ store }) => {
  const { status, text } = await store.connection.get('/readyz');
  if (status === 404) return skip('this version has no /readyz');
  return status === 200
    ? passVerdict('/readyz returned ok')
    : failVerdict(`/readyz returned ${status}: ${cutText(text.trim(), 200)}`);
};
const listMembers = (store: Store): Promise<ListedMember[] | undefined> =>
  store.members().catch(() => undefined);
const inWords = ({ id, is_learner }: ListedMember): string => `${hexId(id)}${is_learner ? ' (learner)' : ''}`;
const sortMembers = (rows: readonly ListedMember[]): string[] => rows.map(inWords).toSorted();
/**
 * The old version reads the members from its old data, the new version from its new data. Both may differ
 * after old faults that were repaired. So the first member of the new version must list exactly the members
 * that the others list, including learners.
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
    : skip('no other member returned its member list');
};
const sameAs = (whom: string, own: readonly ListedMember[], theirs: readonly ListedMember[]): Verdict => {
  const [here, there] = [sortMembers(own), sortMembers(theirs)];
  return here.join() === there.join()
    ? passVerdict(`lists the same ${own.length} members as ${whom}`)
    : failVerdict(`lists ${here.join(', ')}, but ${whom} lists ${there.join(', ')}`);
};

/**
 * The process may exit before its exit code is available. A start command may put the server into the
 * background before the server runs.
 */
const goneWithinMs = 1500;
const goneLookMs = 50;
/**
 * Over ssh every inspection has a cost. Between two failed checks, opsctl inspects the process at this
 * interval. The exit of a process is reported immediately in any case.
 */
const processLookMs = 250;
const wasJustSeen = ({ exit, lookedAt, run }: Gate): boolean =>
  exit === undefined && lookedAt !== undefined && run.host.elapsed() - lookedAt < processLookMs;
/**
 * While the service manager waits, only the time limit of the health check, which counts from the start, ends
 * the wait.
 */
const alive = (seen: Exclude<ProcessState, { state: 'gone' }>): Verdict =>
  seen.state === 'starting'
    ? { ...failVerdict(`it is still starting: ${seen.awaits}`), isStarting: true }
    : passVerdict('its process runs');
const processGone = ({ reason, exitCode }: Extract<ProcessState, { state: 'gone' }>): Verdict => ({
  ...failCheck(`its process does not exist${reason === undefined ? '' : `: ${reason}`}`),
  process: endedProcess(exitCode),
});
export const processRuns: Check = async (gate) => {
  const { run, member } = gate;
  const { host, driver } = run;
  if (wasJustSeen(gate)) return gate.lookedLike ?? passVerdict('its process runs');
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
    ...failCheck(`its process exited (${signal ?? `exit code ${code}`})`),
    process: endedProcess(code),
  };
};

const versionIsRight: Check = async ({ store, minor, exact }) => {
  const { server } = await store.versions();
  if (exact !== undefined && compareVersions(server, exact) !== 0)
    return failCheck(`runs ${server}, expected ${exact}: the started program has the wrong patch version`);
  return minorOf(server) === minor
    ? passVerdict(`runs ${server}`)
    : failCheck(`runs ${server}, expected ${minor}: the started program has the wrong minor version`);
};
/**
 * The IDs of a cluster derive from its first settings, so a single member that starts in an empty directory gets
 * the same IDs, and no other member has its data. Each start of a single member raises the term of its data by an
 * election, and an empty directory begins with the lowest term.
 */
const checkTerm = (before: number | undefined, { raft_term, leader_id }: Status): Verdict | undefined => {
  if (before === undefined) return undefined;
  if (leader_id === undefined) return failVerdict('has not elected itself yet');
  return raft_term > before
    ? undefined
    : failCheck(
        `is at raft term ${raft_term}, and its data was at term ${before}: it uses a different data directory`,
      );
};
/** spec/store#measured-upgrade: a member with a different data directory joins empty, with a new ID. */
const identityIsKept: Check = async ({ run, member, store }) => {
  const [before, status] = [identityOf(run, member.name), await store.status()];
  if (before.member_id !== undefined && status.member_id !== before.member_id)
    return failCheck(
      `is member ${hexId(status.member_id)}, but was ${hexId(before.member_id)}: it uses a different data directory`,
    );
  if (before.cluster_id !== undefined && status.cluster_id !== before.cluster_id)
    return failCheck(`is in cluster ${hexId(status.cluster_id)}, but was in ${hexId(before.cluster_id)}`);
  return (
    checkTerm(before.raft_term, status) ??
    passVerdict(`member ${hexId(status.member_id)} of cluster ${hexId(status.cluster_id)}, as before`)
  );
};
export const healthIsTrue: Check = async ({ store }) => {
  const health = await store.health();
  return health.is_healthy
    ? passVerdict('/health returned true')
    : failVerdict(`/health returned ${health.reason ?? 'false'}`);
};
const leaderIsKnown: Check = async ({ store }) => {
  const { leader_id } = await store.status();
  return leader_id === undefined
    ? failVerdict('knows no leader')
    : passVerdict(`follows ${hexId(leader_id)}`);
};
/**
 * A serializable read succeeds without a quorum (`spec/store#measured-answers`), so this read is
 * linearizable.
 */
const readWorks: Check = async (gate) => {
  const { revision } = await gate.store.range(keyOf(gate));
  return passVerdict(`linearizable read at revision ${revision}`);
};
const writeWorks: Check = async (gate) => {
  const { revision } = await gate.store.put(keyOf(gate), gate.run.id);
  return passVerdict(`a write through it created revision ${revision}`);
};
type Read = { readonly name: string; readonly revision: number | undefined };
/** Returns the revision of the test write as this member stores it; undefined if it did not return the write. */
const readWrite = async (gate: Gate, { name, store }: Gate['others'][number]): Promise<Read> => {
  const kv = await store.range(keyOf(gate)).then(
    ({ kvs: [first] }) => first,
    () => undefined,
  );
  return { name, revision: kv?.value === gate.run.id ? kv.mod_revision : undefined };
};
/** A repeated write that is applied between two reads differs once. */
const mostDifferences = 3;
/**
 * Compares the revisions under which the members store one entry. They count the same entries, so the revisions
 * are equal, also while clients write. A member that skipped or repeated an entry differs forever.
 */
const compareRevisions = (gate: Gate, own: Read, seen: readonly Read[]): Verdict => {
  const odd = seen.filter(({ revision }) => revision !== own.revision).map(({ name }) => name);
  gate.differences = odd.length === 0 ? 0 : (gate.differences ?? 0) + 1;
  const names = seen.map(({ name }) => name).join(', ');
  if (odd.length === 0) return passVerdict(`read back through ${names} at revision ${own.revision}`);
  const rows = [own, ...seen].map(({ name, revision }) => `${name} ${revision}`).join(', ');
  const detail = `the members store the same write at different revisions: ${rows}`;
  if (gate.differences < mostDifferences) return failVerdict(detail);
  // This member agrees with the majority: its new version is not the cause.
  if (odd.length * 2 < seen.length + 1)
    throw dataDiffers(
      `${odd.join(', ')} ${odd.length === 1 ? 'has' : 'have'} other revisions: ${detail}`,
      odd,
    );
  return failCheck(`${detail}; ${replaceText(gate)}`);
};
const readBackWorks: Check = async (gate) => {
  const itself = { name: gate.member.name, store: gate.store };
  const [own, ...found] = await Promise.all([itself, ...gate.others].map((one) => readWrite(gate, one)));
  // An unavailable third member is not a fault of this member. One witness is enough here, because a separate
  // guard protects the next stop.
  const seen = found.filter(({ revision }) => revision !== undefined);
  if (own?.revision !== undefined && seen.length > 0) return compareRevisions(gate, own, seen);
  if (own?.revision !== undefined && found.length === 0) return passVerdict(`read back through ${own.name}`);
  const silent = own?.revision === undefined ? [itself] : gate.others;
  return failVerdict(`${silent.map(({ name }) => name).join(', ')} did not return its write`);
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
    ? failVerdict(`${lag} entries behind`)
    : passVerdict(lag === 0 ? 'caught up' : `${lag} entries behind while writes continue`);
};
const peersAgree: Check = async (gate) => {
  const { own, rest } = await statuses(gate);
  // A learner follows the leader but does not vote, so it does not count towards the majority.
  const voters = rest.filter(({ status }) => status?.is_learner !== true);
  const away = voters
    .filter(({ status }) => status === undefined || status.leader_id !== own.leader_id)
    .map(({ name }) => name);
  const size = voters.length + (own.is_learner ? 0 : 1);
  const together = size - away.length;
  const kind = voters.length === rest.length && !own.is_learner ? 'members' : 'voting members';
  const said = `${together} of ${size} ${kind} follow the same leader${away.length === 0 ? '' : ` (not ${away.join(', ')})`}`;
  return together >= quorumOf(size) ? passVerdict(said) : failVerdict(said);
};
/**
 * An alarm that is raised during the work on this member makes every member unhealthy or rejects every write.
 * Neither version of this member would change that.
 */
const noAlarm: Check = async ({ run, member, store }) => {
  const alarms = await store.alarms();
  if (alarms.length === 0) return passVerdict('no alarm');
  const { members, listed: before } = run.plan.observation;
  const [said] = alarmMessages({ alarms, members, listed: await store.members().catch(() => before) });
  if (said === undefined) return passVerdict('no alarm');
  throw alarmError(said, `; ${member.name} runs, but has not passed its health check yet`);
};
export type Checks = readonly (readonly [GateCheck, Check])[];
/**
 * Checks in the order of their importance. The checks of one stage are independent, so their first attempts
 * run in parallel.
 */
export const stages: readonly Checks[] = [
  [['process', processRuns]],
  [['version', versionIsRight]],
  // The leader comes before the health: /health needs the leader, and a member that knows no leader yet
  // delays that request for a second.
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

/** A start that needs more time does not depend on a heartbeat. */
const forMs = 1000;
const everyMs = 15;
/**
 * Sends linearizable reads through the other members, without parallel reads, until `over` or for a second. A
 * member that starts serves clients after it has received a heartbeat of its leader. The leader sends a
 * heartbeat every interval (100 ms), and immediately for a read that needs a quorum, so these reads reduce
 * the down time (spec/store#measured-upgrade-6). The result of a read is ignored.
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
    // On a busy machine the member needs the CPU time.
    await host.sleep(Math.max(everyMs, host.elapsed() - began), over).catch(() => {});
  }
};

/**
 * Minimum time between two attempts; a slow attempt extends it to its duration. On a busy machine the member
 * needs the CPU time.
 */
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
/**
 * A check throws `stopped` if the cause is outside of this member: the run ends, and the member stays
 * unchanged.
 */
const attempt = async (check: Check, gate: Gate): Promise<Verdict> =>
  check(gate).catch((error: unknown) => {
    if (error instanceof AppError && error.category === 'stopped') throw error;
    return failVerdict(messageOf(error));
  });
const stablePollMs = 150;
/** An alarm may be the reason why a check does not pass. */
const alarmsEveryMs = 1000;
/**
 * A member and its peers need some seconds to log or to count their connections. After this time, a check
 * without a result reports this.
 */
const unknownPatienceMs = 5000;
const isOver = ({ ok, isFinal, isUnknown, isPending, isHopeless }: Verdict, isPatient: boolean): boolean =>
  isUnknown === true
    ? isHopeless === true || (!isPatient && isPending !== true)
    : ok !== false || isFinal === true;
/**
 * Repeats one check until it passes, fails, or the time is over; `first` is the verdict of its first attempt.
 * Each attempt also checks the process.
 */
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
    // A pending check ends by itself after some seconds, even if the time limit is shorter.
    if (host.elapsed() > untilMs && !progress.isMoving() && verdict.isPending !== true) return verdict;
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
/**
 * Runs all checks in order within `withinMs` in total. Throws MemberFailure with the first check that does
 * not pass.
 */
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
      // The first response: the member has received a heartbeat of its leader.
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
/** The checks after the first healthy response count towards the soak time. */
const stableUntil = ({ goodSince, run: { host } }: Gate, forMs: number): number =>
  (goodSince ?? host.elapsed()) + forMs;
/**
 * spec/store#procedure-3: verifies the health of member and cluster for a time, because a process may exit
 * late.
 */
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
    if (alive.isFinal || host.elapsed() - goodAt > electionGraceMs) {
      run.emit({
        event: 'gate-check',
        member: member.name,
        check: 'stable',
        ok: false,
        detail: health.detail,
      });
      throw gateFailure(member, 'was healthy, then unhealthy', health);
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
