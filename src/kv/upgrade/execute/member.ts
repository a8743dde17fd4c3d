import { trustCall } from '../../../core/program-call.ts';
import { after, next } from '../../../core/next.ts';
import { minorOf } from '../../../api-specs/etcd/versions.ts';
import { cutText, AppError, messageOf } from '../../../core/problem.ts';
import { assertTrustedProgram } from '../../../platform/trust.ts';
import { hexId } from '../../client/messages.ts';
import type {
  ClusterFile,
  HostFacts,
  MemberStatus,
  MemberSpec,
  Observation,
  Placement,
  Step,
  Detail,
} from '../../engine/model.ts';
import { progressOf } from '../../engine/progress.ts';
import { stopGraceMs } from '../cluster/cluster-file.ts';
import { memberHookValues } from '../cluster/drivers.ts';
import { fillWords } from '../../../core/shell.ts';
import { memberRoomProblem } from '../guards/disk-space.ts';
import { connectionFinding } from '../guards/hosts.ts';
import { laggingFollowers, stopFinding } from '../guards/membership.ts';
import { alarmError, alarmMessages } from '../guards/store.ts';
import { observe } from '../observe/observe.ts';
import { recordPlacement, startVersion } from '../placement.ts';
import { kindOf, namesProgram } from '../plan-kind.ts';
import {
  type StepHandler,
  type Checking,
  identityOf,
  type LogEnd,
  MemberFailure,
  runningProcess,
  type StartedProcess,
  memberOf,
  type Run,
  getMemberStatus,
} from '../run.ts';
import { mayBeDown, type Which } from '../supervisors/driver.ts';
import { classify, killedText, newLines, withoutTokens } from '../watch/log-lines.ts';
import { type Gate, electionGraceMs, gateMs, recordAccess } from './connection-checks.ts';
import { openGate, passGate, stayStable } from './health-check.ts';

const hookMs = 600_000;
/** Runs a hook of the operator on the operator's machine. If a hook fails, the run stops. */
export const runHook = async (
  run: Run,
  name: 'before_member' | 'after_member',
  member: string,
): Promise<void> => {
  const line = run.cluster.hooks?.[name];
  if (line === undefined) return;
  const values = memberHookValues(memberOf(run, member), run.plan.to);
  const [command, ...words] = fillWords(line, values);
  await assertTrustedProgram(run.host, `the hook ${name}`, [command as string, ...words]);
  const done = await run.host.processes.run(...trustCall([command as string, ...words]), {
    timeoutMs: hookMs,
    keepsRunningOnCtrlC: true,
  });
  if (done.code === 0) return;
  const said = done.startError ?? done.stderr.trim().split('\n').at(-1) ?? '';
  throw new AppError(
    'stopped',
    `${member}: hook ${name} failed${said === '' ? ` (exit code ${done.code})` : `: ${said}`}`,
    { code: 'HOOK_FAILED' },
  );
};

const calmWithinMs = 100;
/**
 * While the leadership moves (two to five milliseconds, measured), writes get no response. A client that
 * writes all the time pauses between two writes, so the best moment is immediately after a write. Without
 * writes, any moment is good.
 */
export const waitForWriteGap = async (
  { host, access }: Pick<Run, 'host' | 'access'>,
  { client_url }: MemberSpec,
): Promise<void> => {
  const store = access.store(client_url);
  const index = async (): Promise<number | undefined> =>
    (await store.status().catch(() => undefined))?.raft_index;
  const until = host.elapsed() + calmWithinMs;
  const first = await index();
  // If a request is instantaneous (the simulator), the clock would not advance without a pause.
  while (host.elapsed() < until && (await index()) === first) await host.sleep(1);
};
const leaderPollMs = 20;
export const moveLeader: StepHandler = (run, step) =>
  handOver(run, step.member as string, step.target as string);
/**
 * Transfers the leadership from the leader to another member. A rejected transfer is reported, but is not an
 * error.
 */
export const handOver = async (run: Checking, name: string, to: string): Promise<Detail> => {
  const { host, access } = run;
  const target = { name: to, ...identityOf(run, to) };
  const store = access.store(memberOf(run, name).client_url, 5000);
  await waitForWriteGap(run, memberOf(run, name));
  try {
    await store.moveLeader(target.member_id as string);
  } catch (error) {
    // The stop transfers the leadership as well (spec/store#measured-upgrade), so a rejected transfer is not
    // a reason to end the run.
    run.emit({
      event: 'note',
      level: 'warn',
      text: `leader transfer failed: ${messageOf(error)}; ${name} transfers the leadership when it stops`,
    });
    return { moved: false };
  }
  const until = host.elapsed() + 5000;
  while (host.elapsed() < until) {
    if ((await store.status().catch(() => undefined))?.leader_id === target.member_id) break;
    await host.sleep(leaderPollMs);
  }
  run.emit({ event: 'leader-changed', from: name, to: target.name });
  return { moved: true };
};

/**
 * The binary may have changed since the plan. A binary of an incorrect version must not use the data
 * directory (spec/store#measured-upgrade: the servers do not refuse it).
 */
export const refuseWrongBinary = async (run: Run, name: string): Promise<void> =>
  wrongBinary(run, name, await hostOf(run, name, false));
export const hostOf = (run: Run, name: string, sizes: boolean): Promise<HostFacts> =>
  run.driver.facts(memberOf(run, name), { sizes, isPatient: true });
export const wrongBinary = (
  run: Run,
  name: string,
  { new_binary_version: version, new_binary_error: error }: HostFacts,
): void => {
  if (version !== undefined && minorOf(version) === run.plan.to) return;
  if (kindOf(run.plan) === 'restart' && !namesProgram(memberOf(run, name))) return;
  const what = version === undefined ? `does not report its version: ${error ?? 'unknown'}` : `is ${version}`;
  throw new AppError(
    'stopped',
    `${name}: the new binary ${what}; the target of the ${kindOf(run.plan)} is ${run.plan.to}`,
    {
      code: 'WRONG_BINARY',
      tryThis: [`put a ${run.plan.to} binary there`],
    },
  );
};

const transfereesWithinMs = 10_000;
const transfereesPollMs = 100;
/**
 * Waiting does not help a member without a process. The run observes the cluster again immediately, and
 * reverts the member if it was upgraded.
 */
const hasGone = async (run: Run, { members }: Observation): Promise<boolean> => {
  const away = members.filter(({ is_reachable }) => !is_reachable);
  const states = await Promise.all(away.map(({ name }) => run.driver.process(memberOf(run, name))));
  return states.some(({ state }) => state === 'gone');
};
/**
 * The last check before a member is stopped. Earlier observations do not count here. A leader transfers its
 * leadership at a stop request (spec/store#measured-upgrade), and drops every write until the new leader has
 * all entries. If the new leader is far behind, this takes seconds, so the leader waits for it first.
 */
export const safeToStop = async (run: Run, name: string): Promise<MemberStatus> => {
  const { host, cluster, access, plan } = run;
  const until = host.elapsed() + transfereesWithinMs;
  const patientUntil = host.elapsed() + electionGraceMs;
  for (;;) {
    const observation = await observe({ host, cluster, access });
    const [alarm] = alarmMessages(observation);
    if (alarm !== undefined) throw alarmError(alarm, `: ${name} was not stopped`);
    const { accept } = plan.options;
    const finding = stopFinding(observation, name, accept) ?? connectionFinding(observation, accept);
    if (finding !== undefined) {
      // An election, including the transfer before this stop, makes members unhealthy for a moment.
      if (host.elapsed() > patientUntil || (await hasGone(run, observation)))
        throw new AppError('stopped', finding.message, { code: 'QUORUM', tryThis: [finding.hint as string] });
      await host.sleep(transfereesPollMs);
      continue;
    }
    const seen = getMemberStatus(observation, name);
    const behind = laggingFollowers(observation.members, seen);
    if (behind.length === 0) return seen;
    if (host.elapsed() > until) {
      run.emit({
        event: 'note',
        level: 'warn',
        text: `${name} is the leader, and ${behind.join(', ')} did not catch up with it within 10 s; stopping it anyway`,
      });
      return seen;
    }
    await host.sleep(transfereesPollMs);
  }
};

/**
 * A member of another cluster at the same URL is never stopped. A member that was removed and added since the
 * plan is stopped, and the run uses its new ID from now on.
 */
const noteIdentity = (run: Run, step: Step, { name, member_id, cluster_id }: MemberStatus): void => {
  const before = identityOf(run, name);
  if (before.cluster_id !== undefined && cluster_id !== undefined && cluster_id !== before.cluster_id)
    throw new AppError(
      'stopped',
      `${name} is now in cluster ${hexId(cluster_id)}, but was in ${hexId(before.cluster_id)}: it was not stopped`,
      {
        code: 'OTHER_CLUSTER',
        tryThis: [next(['kv', 'member', 'list']), 'check client_url in the cluster file'],
      },
    );
  if (member_id === undefined || before.member_id === undefined || member_id === before.member_id) return;
  run.emit({
    event: 'note',
    level: 'warn',
    text: `${name} is now member ${hexId(member_id)}, but was ${hexId(before.member_id)} when the plan was created`,
  });
  run.journal.write({ kind: 'begin', step: step.id, note: { member_id } });
};
/** A member without peers gets its data from its own directory only, and its IDs do not show which directory that is. */
const noteTerm = ({ cluster, journal }: Run, step: Step, { raft_term }: MemberStatus): void => {
  if (cluster.members.length === 1 && raft_term !== undefined)
    journal.write({ kind: 'begin', step: step.id, note: { raft_term } });
};
/** The member did not respond when this stop was decided, and responds now: the run saves it first. */
const refuseUnsaved = ({ journal, plan }: Run, { name, is_reachable }: MemberStatus): void => {
  const wasDown = plan.observation.members.some((one) => one.name === name && !one.is_reachable);
  if (!wasDown || !is_reachable || progressOf(journal.entries).snapshots.has(name)) return;
  throw new AppError('stopped', `${name} responds again and has no snapshot yet: it was not stopped`, {
    code: 'QUORUM',
    tryThis: [next(['kv', 'resume'])],
  });
};
/**
 * Runs the last checks that can refuse the stop, then writes the record. After the stop, only the record
 * contains the settings of the member.
 */
const lastLook = async (run: Run, step: Step, placement: Placement): Promise<MemberStatus> => {
  const [lock, look] = await Promise.allSettled([run.holdLock(), safeToStop(run, placement.member)]);
  // The lock counts first: the report of a lost lock is more important than observations of a cluster that
  // another run changes.
  if (lock.status === 'rejected') throw lock.reason;
  if (look.status === 'rejected') throw look.reason;
  const seen = look.value;
  refuseUnsaved(run, seen);
  noteIdentity(run, step, seen);
  noteTerm(run, step, seen);
  await recordPlacement(run, placement);
  return seen;
};
const refuseFullDisk = ({ plan }: Run, name: string, facts: HostFacts): void => {
  const room = memberRoomProblem(name, facts, plan.options);
  if (room !== undefined)
    throw new AppError('stopped', `${room} on the disk of its data directory; it was not stopped`, {
      code: 'DISK',
      tryThis: ['free space there'],
    });
};
const stopIgnored = ({ name }: MemberSpec, cluster: ClusterFile): AppError =>
  new AppError(
    'stopped',
    `${name} did not exit within ${stopGraceMs(cluster) / 1000} s after the request to stop; it was not killed`,
    {
      code: 'STOP_IGNORED',
      tryThis: [
        'read its log',
        after('stop it by hand, then', ['kv', 'resume']),
        next(['kv', 'resume', '--kill-after-grace']),
      ],
    },
  );
export const stopMember: StepHandler = async (run, step) => {
  const { host, driver, cluster } = run;
  const member = memberOf(run, step.member as string);
  const facts = await hostOf(run, member.name, run.plan.options.copy_data);
  wrongBinary(run, member.name, facts);
  refuseFullDisk(run, member.name, facts);
  await runHook(run, 'before_member', member.name);
  await recordAccess(run, step);
  // The new version is staged next to the running version: if a check below fails, the member and its start
  // after a crash are unchanged.
  const placement = await driver.stage(member, { from: run.plan.from, to: run.plan.to, run: run.id });
  const seen = await lastLook(run, step, placement).catch(async (error: unknown) => {
    await driver.discard(member, placement).catch(() => {});
    throw error;
  });
  await run.shareProgress();
  if (seen.is_leader && cluster.members.length > 1) await waitForWriteGap(run, member);
  const began = host.elapsed();
  run.state.recordStop(member.name, began);
  run.members.remove(member.name);
  run.emit({ event: 'member-down', member: member.name, was_leader: seen.is_leader });
  if (await driver.stop(member, stopGraceMs(cluster))) return { took_ms: Math.round(host.elapsed() - began) };
  if (!run.canKill) throw stopIgnored(member, cluster);
  await driver.kill(member);
  return { took_ms: Math.round(host.elapsed() - began), killed: true };
};

const tailLines = 400;
const mostCharacters = 300;
type Logged = Pick<Run, 'driver' | 'cluster'> & {
  readonly state: Pick<Run['state'], 'logMark' | 'isStarted'>;
};
const tailOf = (run: Pick<Run, 'driver' | 'cluster'>, name: string): Promise<readonly string[]> =>
  run.driver.logTail(memberOf(run, name), tailLines).catch(() => []);
const endOf = (run: Pick<Run, 'driver' | 'cluster'>, name: string, timeoutMs?: number): Promise<LogEnd> =>
  run.driver.logTail(memberOf(run, name), tailLines, timeoutMs).then(
    (lines) => lines.slice(-1),
    () => undefined,
  );
/** Marks the end of the log before a start: older lines were not written by the process that starts now. */
export const markLog = async (run: Run, name: string): Promise<LogEnd> => {
  const mark = await endOf(run, name);
  run.state.markLog(name, mark);
  const line = mark?.[0] ?? null;
  run.journal.tell(
    { kind: 'log-marked', member: name, line, ...(mark === undefined ? { is_unread: true } : {}) },
    'with-next',
  );
  return mark;
};
/** The member is stopped while this run reads the other logs, and an unread log only makes a check slower. */
const otherLogsMs = 2000;
/** Marks all logs: the next lines of the other members show their connections to the process that starts now. */
const markLogs = async (run: Run, { member, others }: Gate): Promise<ReadonlyMap<string, LogEnd>> => {
  const mark = async (name: string) =>
    [name, await (name === member.name ? markLog(run, name) : endOf(run, name, otherLogsMs))] as const;
  return new Map(await Promise.all([member, ...others].map(({ name }) => mark(name))));
};
/** A line of a Go stack trace shows the position, not the cause. */
const isOfTrace = (line: string): boolean =>
  /^\s|^goroutine \d|^created by |^[\w./()*-]+\((\{|0x|\.\.\.|\))/.test(line);
const isError = (line: string): boolean => {
  const found = classify(line);
  return found !== undefined && !found.expected && !isOfTrace(line);
};
/** The last line that reports an error, else the last line. Pure. */
export const tellingLine = (lines: readonly string[]): string | undefined =>
  lines.findLast(isError) ?? lines.at(-1);
/** Marks of the starts that the journal of an interrupted run contains. Pure. */
export const storedMarks = (entries: Run['journal']['entries']): Map<string, LogEnd> =>
  new Map(
    entries.flatMap((entry): [string, LogEnd][] => {
      if (entry.kind !== 'log-marked') return [];
      if (entry.is_unread === true) return [[entry.member, undefined]];
      return [[entry.member, entry.line === null ? [] : [entry.line]]];
    }),
  );
/**
 * Quotes the log of the last started process, which usually contains the reason. The log of the previous
 * version does not count.
 */
export const logExcerpt = async (run: Logged, name: string, started: StartedProcess): Promise<string> => {
  const mark = run.state.logMark(name);
  const lines = await tailOf(run, name);
  const fresh = mark === undefined ? lines : newLines(mark, lines);
  const line = tellingLine(fresh);
  const shown = cutText(withoutTokens(line ?? ''), mostCharacters);
  const mayBeKilled = started.hasEnded && started.exitCode === undefined;
  if (line !== undefined && (isError(line) || mark === undefined || !mayBeKilled))
    return run.state.isStarted(name) && mark === undefined
      ? ` (the end of its log, perhaps from before this start: ${shown})`
      : ` (the end of its log: ${shown})`;
  // A server that exits or panics logs it. Without such a line and without an exit code, another cause ended
  // the process.
  if (line !== undefined)
    return ` (the end of its log: ${shown}; the log contains no error of this start, so ${killedText})`;
  return mark === undefined || lines.length === 0 ? '' : ' (it wrote no line to its log)';
};
const olderThanCluster = /cannot be downgraded|invalid downgrade/;
/**
 * Servers refuse to start below the cluster's version and log this. It proves that the version moved if no
 * member responds.
 */
export const refusedDowngrade = async (run: Run, name: string): Promise<boolean> => {
  const mark = run.state.logMark(name);
  const lines = await tailOf(run, name);
  // Without a mark a line may be from before this start, so it is not evidence.
  return mark !== undefined && newLines(mark, lines).some((line) => olderThanCluster.test(line));
};

/** A restart may change the patch version, which the minor version does not show. */
export const openNewGate = (run: Run, name: string): Gate => {
  const seen = getMemberStatus(run.plan.observation, name);
  const exact =
    kindOf(run.plan) === 'restart' ? (seen.host?.new_binary_version ?? seen.server_version) : undefined;
  return { ...openGate(run, name, run.plan.to), ...(exact === undefined ? {} : { exact }) };
};
export const openOldGate = (run: Run, name: string): Gate => {
  const exact =
    kindOf(run.plan) === 'restart' ? getMemberStatus(run.plan.observation, name).server_version : undefined;
  return {
    ...openGate(run, name, run.plan.from),
    isOld: true,
    ...(exact === undefined ? {} : { exact }),
  };
};
/** Starts a member. The returned gate reports the exit of this process. */
export const startMember = async (run: Run, name: string, which: Which): Promise<Gate> => {
  const gate = which === 'new' ? openNewGate(run, name) : openOldGate(run, name);
  gate.marks = await markLogs(run, gate);
  const started = await startVersion(run, memberOf(run, name), which, run.plan.from).catch(
    (error: unknown) => {
      if (mayBeDown(error)) throw error;
      throw new MemberFailure(name, `${name} could not be started: ${messageOf(error)}`, runningProcess);
    },
  );
  gate.exited = started.exited?.then((exit) => (gate.exit = exit));
  return gate;
};
/**
 * Runs the health check of the member and its soak time. opsctl keeps watching the last member while it waits
 * for the cluster's version. `onGood`: called when the soak time starts.
 */
export const prove = async (run: Run, gate: Gate, onGood: () => void = () => {}): Promise<Detail> => {
  const { name } = gate.member;
  let down_ms: number | undefined;
  await passGate(gate, gateMs(run, name), (check) => {
    const since = check === 'health' ? run.state.endDownTime(name) : undefined;
    if (since === undefined) return;
    down_ms = Math.round(run.host.elapsed() - since);
    run.emit({ event: 'member-up', member: name, down_ms });
  });
  run.state.markReplacing(name, 'proved');
  onGood();
  await stayStable(gate, run.plan.options.stable_seconds * 1000);
  // A member that runs the old version again needs no watch: that version has already proved stable.
  if (gate.isOld !== true) run.members.add(name, gate.exited);
  return { down_ms, version: (await gate.store.versions()).server };
};
