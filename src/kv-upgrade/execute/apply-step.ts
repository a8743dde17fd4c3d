import { AppError } from '../../core/problem.ts';
import { minorOf } from '../../api-specs/etcd/versions.ts';
import { filled } from '../cluster/command-line.ts';
import { migrateConfig } from '../configuration/migrate.ts';
import { recordPlacement } from '../placement/placements.ts';
import { configOn, startVersion } from '../placement/switch-version.ts';
import { mayBeDown } from '../supervisors/driver.ts';
import type { Which } from '../supervisors/driver.ts';
import { openGate, passGate, stayStable } from './gate.ts';
import type { Gate } from './gate.ts';
import { memberRoomProblem } from '../guards/disk-space.ts';
import { gateMs } from './gate-time.ts';
import { observe } from '../observe/observe.ts';
import { notReadyToLead } from '../guards/members-keep-up.ts';
import { alarmError, alarmMessages } from '../guards/no-alarms.ts';
import { stopFinding } from '../guards/quorum-survives.ts';
import { hexId } from '../../etcd-client/etcd-client.ts';
import { MemberFailure, identityOf, memberOf, seenIn } from '../run.ts';
import type { Act, Detail, Run } from '../run.ts';
import { confirm } from './confirm.ts';
import { markLog } from './log-excerpt.ts';
import { takeSnapshot } from './take-snapshot.ts';
import type {
  ClusterFile,
  HostFacts,
  MemberSeen,
  MemberSpec,
  Observation,
  Placement,
  Step,
  StepKind,
} from '../types.ts';

const hookMs = 600_000;
export const graceMs = ({ timeouts }: ClusterFile): number => (timeouts?.stop_seconds ?? 120) * 1000;
const nameOf = (step: Step): string => step.member as string;

const calmWithinMs = 100;
/**
 * A write that arrives while the leadership moves is answered by nobody (two to five milliseconds, measured). A client that writes all the time
 * pauses between two of its writes: the moment just after one is the best there is. Without writes any moment is good.
 */
const justAfterWrite = async ({ host, access }: Run, { client_url }: MemberSpec): Promise<void> => {
  const store = access.store(client_url);
  const index = async (): Promise<number | undefined> =>
    (await store.status().catch(() => undefined))?.raft_index;
  const until = host.elapsed() + calmWithinMs;
  const first = await index();
  while (host.elapsed() < until && (await index()) === first);
};

const leaderPollMs = 20;
const moveLeader: Act = async (run, step) => {
  const { host, access } = run;
  const target = { name: step.target as string, ...identityOf(run, step.target as string) };
  const store = access.store(memberOf(run, nameOf(step)).client_url, 5000);
  await justAfterWrite(run, memberOf(run, nameOf(step)));
  try {
    await store.moveLeader(target.member_id as string);
  } catch (error) {
    // The stop hands the leadership over too (spec/store#measured-upgrade): a refused transfer is no reason to end the run.
    run.emit({
      event: 'note',
      level: 'warn',
      text: `leadership not moved: ${error instanceof Error ? error.message : String(error)}; ${nameOf(step)} hands it over when it stops`,
    });
    return { moved: false };
  }
  const until = host.elapsed() + 5000;
  while (host.elapsed() < until) {
    if ((await store.status().catch(() => undefined))?.leader_id === target.member_id) break;
    await host.sleep(leaderPollMs);
  }
  run.emit({ event: 'leader-changed', from: nameOf(step), to: target.name });
  return { moved: true };
};

const transfereesWithinMs = 10_000;
const transfereesPollMs = 100;
/** What only time may fix gets some. */
export const patienceMs = 3000;
/** A member without a process does not come back by waiting: the run looks again at once, and gives it its old version back when it is one of ours. */
const hasGone = async (run: Run, { members }: Observation): Promise<boolean> => {
  const away = members.filter(({ is_reachable }) => !is_reachable);
  const states = await Promise.all(away.map(({ name }) => run.driver.process(memberOf(run, name))));
  return states.some(({ state }) => state === 'gone');
};

/**
 * The last look before a member goes down: nothing that was seen earlier counts here. A leader hands over when it is asked to end (spec/store#measured-upgrade),
 * and drops every write until its heir has all entries: with an heir far behind that takes seconds, so it waits for them first.
 */
const safeToStop = async (run: Run, name: string): Promise<MemberSeen> => {
  const { host, cluster, access, plan } = run;
  const until = host.elapsed() + transfereesWithinMs;
  const patientUntil = host.elapsed() + patienceMs;
  for (;;) {
    const observation = await observe({ host, cluster, access });
    const [alarm] = alarmMessages(observation);
    if (alarm !== undefined) throw alarmError(alarm, `: ${name} was not stopped`);
    const finding = stopFinding(observation, name, plan.options.accept);
    if (finding !== undefined) {
      // An election, the hand-over before this stop too, makes members unhealthy for a moment.
      if (host.elapsed() > patientUntil || (await hasGone(run, observation)))
        throw new AppError('stopped', finding.message, { code: 'QUORUM', tryThis: [finding.hint as string] });
      await host.sleep(transfereesPollMs);
      continue;
    }
    const seen = seenIn(observation, name);
    const behind = notReadyToLead(observation.members, seen);
    if (behind.length === 0) return seen;
    if (host.elapsed() > until) {
      run.emit({
        event: 'note',
        level: 'warn',
        text: `${name} leads, and ${behind.join(', ')} did not catch up with it within 10 s; it is stopped anyway`,
      });
      return seen;
    }
    await host.sleep(transfereesPollMs);
  }
};

/** The binary may have been changed since the plan: a wrong one must not get near the data directory (spec/store#measured-upgrade: the servers do not refuse it). */
export const refuseWrongBinary = async (run: Run, name: string): Promise<void> =>
  wrongBinary(run, name, await hostOf(run, name, false));
const hostOf = (run: Run, name: string, sizes: boolean): Promise<HostFacts> =>
  run.driver.facts(memberOf(run, name), { sizes });
const wrongBinary = (
  run: Run,
  name: string,
  { new_binary_version: version, new_binary_error: error }: HostFacts,
): void => {
  if (version !== undefined && minorOf(version) === run.plan.to) return;
  const what =
    version === undefined ? `cannot be asked for its version: ${error ?? 'unknown'}` : `is ${version}`;
  throw new AppError('stopped', `${name}: the new binary ${what}; the upgrade goes to ${run.plan.to}`, {
    code: 'WRONG_BINARY',
    tryThis: ['put the right binary there'],
  });
};

/** Hooks of the operator's own, on the operator's machine. One that fails stops the run: it was put there for a reason. */
export const runHook = async (
  run: Run,
  name: 'before_member' | 'after_member',
  member: string,
): Promise<void> => {
  const line = run.cluster.hooks?.[name];
  if (line === undefined) return;
  const spec = memberOf(run, member);
  const [command, ...words] = filled(line, {
    name: member,
    client_url: spec.client_url,
    data_dir: spec.data_dir,
    host: spec.host,
    to: run.plan.to,
  });
  const done = await run.host.processes.run(command as string, words, { timeoutMs: hookMs });
  if (done.code === 0) return;
  const said = done.startError ?? done.stderr.trim().split('\n').at(-1) ?? '';
  throw new AppError(
    'stopped',
    `${member}: hook ${name} failed${said === '' ? ` (exit code ${done.code})` : `: ${said}`}`,
    { code: 'HOOK_FAILED' },
  );
};

/** Another cluster's member behind the same URL is never stopped; one that was removed and added since the plan is, and is known by its new id from now on. */
const noteIdentity = (run: Run, step: Step, { name, member_id, cluster_id }: MemberSeen): void => {
  const before = identityOf(run, name);
  if (before.cluster_id !== undefined && cluster_id !== undefined && cluster_id !== before.cluster_id)
    throw new AppError(
      'stopped',
      `${name} is in cluster ${hexId(cluster_id)} now, was in ${hexId(before.cluster_id)}: it was not stopped`,
      {
        code: 'OTHER_CLUSTER',
        tryThis: ['opsctl kv member list', 'check client_url in the cluster file'],
      },
    );
  if (member_id === undefined || before.member_id === undefined || member_id === before.member_id) return;
  run.emit({
    event: 'note',
    level: 'warn',
    text: `${name} is member ${hexId(member_id)} now, was ${hexId(before.member_id)} when this was planned`,
  });
  run.journal.write({ kind: 'begin', step: step.id, note: { member_id } });
};

/** Everything that may still say no, and then the record: after the stop it is the only thing that says what the member ran with. */
const lastLook = async (run: Run, step: Step, placement: Placement): Promise<MemberSeen> => {
  await run.holdLock();
  const seen = await safeToStop(run, placement.member);
  noteIdentity(run, step, seen);
  await recordPlacement(run, placement);
  return seen;
};

const stopMember: Act = async (run, step) => {
  const { host, driver, cluster } = run;
  const member = memberOf(run, nameOf(step));
  const facts = await hostOf(run, member.name, run.plan.options.copy_data);
  wrongBinary(run, member.name, facts);
  const room = memberRoomProblem(member.name, facts, run.plan.options);
  if (room !== undefined)
    throw new AppError('stopped', `${room} on the disk of its data directory; it was not stopped`, {
      code: 'DISK',
      tryThis: ['make room there'],
    });
  await runHook(run, 'before_member', member.name);
  // Beside what runs: when anything below says no, the member and whatever a crash would start are as before.
  const placement = await driver.stage(member, { from: run.plan.from, to: run.plan.to, run: run.id });
  const seen = await lastLook(run, step, placement).catch(async (error: unknown) => {
    await driver.discard(member, placement).catch(() => {});
    throw error;
  });
  await run.shareProgress();
  if (seen.is_leader && cluster.members.length > 1) await justAfterWrite(run, member);
  const began = host.elapsed();
  run.downSince.set(member.name, began);
  run.members.remove(member.name);
  run.emit({ event: 'member-down', member: member.name, was_leader: seen.is_leader });
  if (await driver.stop(member, graceMs(cluster))) return { took_ms: Math.round(host.elapsed() - began) };
  if (!run.canKill) {
    throw new AppError(
      'stopped',
      `${member.name} did not end within ${graceMs(cluster) / 1000} s after it was asked to; it was not killed`,
      {
        code: 'STOP_IGNORED',
        tryThis: [
          'read its log',
          'end it by hand, then opsctl kv resume',
          'opsctl kv resume --kill-after-grace',
        ],
      },
    );
  }
  await driver.kill(member);
  return { took_ms: Math.round(host.elapsed() - began), killed: true };
};

const copyData: Act = async (run, step) => {
  const member = memberOf(run, nameOf(step));
  const to = `${member.data_dir}.before-${run.plan.to}-${run.id}`;
  await run.driver.copyData(member, to);
  return { copy: to };
};

/** The text that was kept before the stop: a second try starts from it, not from a half-migrated file. */
const configure: Act = async (run, step) => {
  const { driver, plan } = run;
  const member = memberOf(run, nameOf(step));
  const path = member.config_file as string;
  const before = (await configOn(run, member)) ?? (await driver.readFile(member, path));
  if (before === undefined)
    throw new MemberFailure(member.name, `${member.name}: its configuration file is not there any more`);
  const { text, changes } = await migrateConfig(before, plan.to);
  await driver.writeFile(member, path, text);
  return { changes };
};

/** Starts a member; the gate that is handed back sees when this very process ends. */
export const startMember = async (run: Run, name: string, which: Which): Promise<Gate> => {
  const gate = openGate(run, name, which === 'new' ? run.plan.to : run.plan.from);
  await markLog(run, name);
  const started = await startVersion(run, memberOf(run, name), which, run.plan.from).catch(
    (error: unknown) => {
      if (mayBeDown(error)) throw error;
      throw new MemberFailure(
        name,
        `${name} could not be started: ${error instanceof Error ? error.message : String(error)}`,
      );
    },
  );
  gate.exited = started.exited?.then((exit) => (gate.exit = exit));
  return gate;
};

/** The member's gate, and the time in which it must stay good. The last member stays under watch while the cluster's version is awaited. */
export const prove = async (run: Run, gate: Gate): Promise<Detail> => {
  const { name } = gate.member;
  let down_ms: number | undefined;
  await passGate(gate, gateMs(run, name), (check) => {
    const since = run.downSince.get(name);
    if (check !== 'health' || since === undefined) return;
    down_ms = Math.round(run.host.elapsed() - since);
    run.downSince.delete(name);
    run.emit({ event: 'member-up', member: name, down_ms });
  });
  await stayStable(gate, run.plan.options.stable_seconds * 1000);
  // Reverted to the old version there is nothing to watch for: it has been good for long.
  if (gate.minor === run.plan.to) run.members.add(name, gate.exited);
  return { down_ms, version: (await gate.store.versions()).server };
};

const settle: Act = async (run, step) => {
  const seconds = step.wait_seconds ?? 0;
  const ended = run.members.signal();
  const either = AbortSignal.any([run.signal, ended]);
  const until = run.host.elapsed() + seconds * 1000;
  for (let left = seconds * 1000; left > 0 && !run.signal.aborted; left = until - run.host.elapsed()) {
    run.emit({ event: 'waiting', step, remaining_ms: Math.round(left), reason: step.why });
    await run.host.sleep(Math.min(left, 5000), either).catch(() => {});
    ended.throwIfAborted();
  }
  if (run.signal.aborted)
    throw new AppError('stopped', 'stopped while waiting', {
      code: 'INTERRUPTED',
      tryThis: ['opsctl kv resume'],
    });
  return { waited_seconds: seconds };
};

/** What each kind of step does. `start` and `gate` share a process (startMember, prove); `hold` is the decision before it. */
export const acts: Readonly<Partial<Record<StepKind, Act>>> = {
  snapshot: takeSnapshot,
  'move-leader': moveLeader,
  stop: stopMember,
  'copy-data': copyData,
  configure,
  settle,
  confirm,
};
