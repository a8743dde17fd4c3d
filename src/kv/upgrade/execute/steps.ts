import { hideOwnVariables, trustCall } from '../../../core/program-call.ts';
import { minorOf } from '../../../api-specs/etcd/versions.ts';
import { next } from '../../../core/next.ts';
import { limits } from '../../../core/limits.ts';
import { AppError, messageOf } from '../../../core/problem.ts';
import type { Host } from '../../../platform/host.ts';
import { assertTrustedProgram } from '../../../platform/trust.ts';
import type { FsyncMode } from '../../engine/journal.ts';
import type { ClusterFile, MemberSpec, Step, StepKind, Detail } from '../../engine/model.ts';
import { performInOrder, recordEnd, stepId, type StepRow } from '../../engine/steps.ts';
import { migrateConfig } from '../configuration/migrate.ts';
import { stepNumber } from '../decide.ts';
import { sizeText } from '../../../core/format.ts';
import { v2CheckLine } from '../guards/store.ts';
import { configOn } from '../placement.ts';
import { kindOf } from '../plan-kind.ts';
import { detailText } from '../present/text.ts';
import { type StepHandler, MemberFailure, memberOf, type Run, getMemberStatus, stopReason } from '../run.ts';
import { mayBeDown } from '../supervisors/driver.ts';
import { walDirOf } from '../supervisors/wal-directory.ts';
import { confirm, enableDowngrade } from './confirm.ts';
import type { Gate } from './connection-checks.ts';
import {
  moveLeader,
  openNewGate,
  prove,
  refuseWrongBinary,
  runHook,
  startMember,
  stopMember,
} from './member.ts';
import { beginEarlySnapshot, type EarlySnapshot, takeSnapshot } from './snapshot.ts';

const withinMs = 120_000;
const clean = /No custom content found in (both v2store and WAL records|v2store)/;
/** `line`: what was read if there is no v2 data, otherwise the last line of the output. */
type V2Data = { readonly state: 'none' | 'found' | 'unknown'; readonly line: string };
/**
 * Reads the data directory of a stopped member. Output that is not understood is not proof of the absence of
 * v2 data.
 */
export const readV2Data = async (host: Host, cluster: ClusterFile, member: MemberSpec): Promise<V2Data> => {
  const [program, ...args] = v2CheckLine(cluster, member.data_dir as string);
  await assertTrustedProgram(host, 'utl_binary', [program]);
  const done = await host.processes.run(...trustCall([program, ...args]), {
    env: hideOwnVariables(host),
    timeoutMs: withinMs,
    keepsRunningOnCtrlC: true,
    maxBytes: limits.checkOutputBytes,
  });
  const said = `${done.stdout}\n${done.stderr}`;
  const found = clean.exec(said);
  if (done.code === 0 && found !== null)
    return { state: 'none', line: found[1] === 'v2store' ? 'snapshot' : 'snapshot and log' };
  const line =
    said
      .split('\n')
      .map((one) => one.trim())
      .findLast((one) => one !== '') ??
    done.startError ??
    'no response';
  return { state: /detected custom/.test(said) ? 'found' : 'unknown', line };
};
/** Runs between a member's stop and its start. A member with v2 data returns to the old version. */
export const checkData: StepHandler = async (run, { member: name }) => {
  const member = memberOf(run, name as string);
  const { state, line } = await readV2Data(run.host, run.cluster, member);
  if (state === 'none') return { v2_data: 'none', looked_into: line };
  throw new MemberFailure(
    member.name,
    state === 'found'
      ? `${member.name} has v2 data, and ${run.plan.to} would not start with it: ${line}`
      : `${member.name}: cannot determine whether it has v2 data: ${line}`,
  );
};

const nameOf = (step: Step): string => step.member as string;
const copyData: StepHandler = async (run, step) => {
  const member = memberOf(run, nameOf(step));
  const seen = getMemberStatus(run.plan.observation, member.name);
  const walDir = walDirOf(member, seen.host, minorOf(seen.server_version));
  const ending = `.before-${run.plan.to}-${run.id}`;
  const { path, files, bytes } = await run.driver.copyData(member, ending, walDir);
  return { copy: path, copied: `${files} files, ${sizeText(bytes)}` };
};
/** A restart may use a different configuration text from this machine. */
const newConfigOf = async (
  { host, plan }: Pick<Run, 'host' | 'plan'>,
  { name, new_config_file: path }: MemberSpec,
): Promise<string | undefined> => {
  if (kindOf(plan) !== 'restart' || path === undefined) return undefined;
  const text = await host.files.read(path);
  if (text === undefined)
    throw new MemberFailure(name, `${name}: its new configuration ${path} no longer exists`);
  return text;
};
/**
 * The text that was stored before the stop: a second attempt starts from it, not from a half-migrated file.
 */
const configure: StepHandler = async (run, step) => {
  const { driver, plan } = run;
  const member = memberOf(run, nameOf(step));
  const path = member.config_file as string;
  const before = (await configOn(run, member)) ?? (await driver.readFile(member, path));
  if (before === undefined)
    throw new MemberFailure(member.name, `${member.name}: its configuration file no longer exists`);
  const wanted = await newConfigOf(run, member);
  const { text, changes } =
    wanted === undefined
      ? await migrateConfig(before, plan.to)
      : { text: wanted, changes: [`replaced by ${member.new_config_file}`] };
  await driver.writeFile(member, path, text);
  return { changes };
};
const settle: StepHandler = async (run, step) => {
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
      tryThis: [next(['kv', 'resume'])],
    });
  return { waited_seconds: seconds };
};

/**
 * Data that the steps of one member share: `start` opens the gate, which reports the exit of that process.
 */
type Sequence = { gate?: Gate };
type UpgradeStepRow = StepRow<Run, Step, Sequence> & {
  /** Clients of the member may notice this step, so test writes are more frequent. */
  readonly isReplacing: boolean;
};
const saveSnapshot: StepHandler = (run, step) => takeSnapshot(run, step);
const startNew: UpgradeStepRow['run'] = async (run, step, shared) => {
  shared.gate = await startMember(run, nameOf(step), 'new');
  return undefined;
};
/**
 * opsctl takes the snapshot of the next member while it watches this member. Both must end before the next
 * step starts.
 */
const verifyMember: UpgradeStepRow['run'] = async (run, step, { gate }) => {
  const name = nameOf(step);
  let early: EarlySnapshot | undefined;
  try {
    const detail = await prove(run, gate ?? openNewGate(run, name), () => {
      early = beginEarlySnapshot(run, step, (snapshot, signal) =>
        recordStep(run, snapshot, 'now', () => takeSnapshot(run, snapshot, signal)),
      );
    });
    await runHook(run, 'after_member', name);
    await early?.wait();
    return detail;
  } finally {
    await early?.cancel();
  }
};
/**
 * Every kind of step. A member is unchanged before its stop, so a run with a requested stop does not start
 * it. After its stop, the run finishes the member: with a passed health check or with its old version.
 */
export const stepTable: Readonly<Record<StepKind, UpgradeStepRow>> = {
  'enable-downgrade': {
    run: enableDowngrade,
    mayAbort: false,
    isDownTime: false,
    isReplacing: false,
    onFailure: 'stop',
  },
  // Only shown in the plan: the decision before it ends the run.
  hold: {
    run: async () => undefined,
    mayAbort: false,
    isDownTime: false,
    isReplacing: false,
    onFailure: 'stop',
  },
  snapshot: { run: saveSnapshot, mayAbort: true, isDownTime: false, isReplacing: false, onFailure: 'stop' },
  'move-leader': { run: moveLeader, mayAbort: true, isDownTime: false, isReplacing: true, onFailure: 'stop' },
  stop: { run: stopMember, mayAbort: true, isDownTime: false, isReplacing: true, onFailure: 'stop' },
  'copy-data': { run: copyData, mayAbort: false, isDownTime: true, isReplacing: true, onFailure: 'revert' },
  'check-data': { run: checkData, mayAbort: false, isDownTime: true, isReplacing: true, onFailure: 'revert' },
  configure: { run: configure, mayAbort: false, isDownTime: true, isReplacing: true, onFailure: 'revert' },
  start: { run: startNew, mayAbort: false, isDownTime: true, isReplacing: true, onFailure: 'revert' },
  // A failed check reverts the member. Any other error has a cause outside of the member, so the member stays
  // unchanged.
  gate: { run: verifyMember, mayAbort: false, isDownTime: true, isReplacing: true, onFailure: 'as-thrown' },
  settle: { run: settle, mayAbort: false, isDownTime: false, isReplacing: false, onFailure: 'stop' },
  confirm: { run: confirm, mayAbort: false, isDownTime: false, isReplacing: false, onFailure: 'stop' },
};

const beginStep = ({ journal }: Run, { id, kind, member }: Step): void => {
  const entry = { kind: 'begin', step: id } as const;
  try {
    if (stepTable[kind].isDownTime) journal.tell(entry);
    else journal.write(entry);
  } catch (error) {
    const { message, detail } = error as AppError;
    throw new AppError(
      'stopped',
      `${member === undefined ? '' : `${member}: `}${kind} was not started: ${message}`,
      detail,
    );
  }
};
/** Records the start and the result of the step in the journal and reports them as events. */
const recordStep = async (
  run: Run,
  step: Step,
  forced: FsyncMode,
  effect: () => Promise<Detail | undefined>,
): Promise<void> => {
  const { host, plan, journal } = run;
  const began = host.elapsed();
  beginStep(run, step);
  run.emit({ event: 'step-started', step, number: stepNumber(plan, step), count: plan.steps.length });
  try {
    const detail = detailText(await recordEnd(journal, step.id, effect, forced));
    run.emit({ event: 'step-finished', step, duration_ms: Math.round(host.elapsed() - began), detail });
  } catch (error) {
    run.emit({ event: 'step-failed', step, reason: messageOf(error) });
    throw error;
  }
};
/**
 * An error between the stop and the start must not leave the member down: the member returns to its old
 * version.
 */
const revertOn = (step: Step, error: unknown): unknown => {
  if (error instanceof MemberFailure || mayBeDown(error)) return error;
  const name = nameOf(step);
  const reason = messageOf(error);
  return new MemberFailure(
    name,
    `${name}: could not ${step.title.replace(` of ${name}`, '')}: ${reason.replace(`${name}: `, '')}`,
  );
};
/** Between a stop and the next start, a line is forced to disk only if the start depends on it. */
const forcedOf = ({ member }: Step, next: Step | undefined): FsyncMode =>
  next !== undefined && next.member === member && stepTable[next.kind].isDownTime ? 'with-next' : 'now';
/** The member was stopped before a crash of opsctl: its clients have been without it since then. */
const recordEarlierStop = ({ host, journal, state }: Run, name: string): void => {
  const stop = journal.entries.findLast(
    (entry) => (entry.kind === 'begin' && entry.step === stepId(name, 'stop')) || entry.kind === 'reverted',
  );
  if (stop?.kind === 'begin')
    state.recordStop(name, host.elapsed() - Math.max(0, host.now() - Date.parse(stop.at)));
};
/**
 * A resume may start with a member that is down. Its stop step, which checks the program, is not part of
 * these steps.
 */
const prepareStopped = async (run: Run, steps: readonly Step[]): Promise<void> => {
  const name = steps[0]?.member;
  const has = (wanted: StepKind): boolean => steps.some(({ kind }) => kind === wanted);
  if (name === undefined || !has('start') || has('stop')) return;
  await refuseWrongBinary(run, name);
  recordEarlierStop(run, name);
};
/**
 * Performs a member's steps without a pause: no observation runs between its stop and its health check,
 * because it would add down time.
 */
export const performSteps = async (run: Run, steps: readonly Step[]): Promise<void> => {
  const shared: Sequence = {};
  try {
    await prepareStopped(run, steps);
    await performInOrder(steps, {
      rowOf: ({ kind }) => stepTable[kind],
      signal: run.signal,
      stopReason: () => stopReason(run),
      perform: (step, row, next) => {
        if (row.isReplacing) run.state.markReplacing(nameOf(step), 'changing');
        else if (step.member !== undefined) run.state.markReplaced(step.member);
        return recordStep(run, step, forcedOf(step, next), () =>
          row.run(run, step, shared).catch((error: unknown) => {
            throw row.onFailure === 'revert' ? revertOn(step, error) : error;
          }),
        );
      },
    });
  } finally {
    for (const { member } of steps) if (member !== undefined) run.state.markReplaced(member);
  }
};
