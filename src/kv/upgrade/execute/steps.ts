import { next } from '../../../core/next.ts';
import { limits } from '../../../core/limits.ts';
import { AppError, messageOf } from '../../../core/problem.ts';
import { assertTrustedProgram } from '../../../platform/trust.ts';
import type { Forced } from '../../engine/journal.ts';
import type { MemberSpec, Step, StepId, StepKind, Detail } from '../../engine/model.ts';
import { performInOrder, recordEnd, stepId, type StepRow } from '../../engine/steps.ts';
import { migrateConfig } from '../configuration/migrate.ts';
import { mebibytes } from '../guards/guard.ts';
import { v2CheckLine } from '../guards/store.ts';
import { configOn } from '../placement.ts';
import { kindOf } from '../plan-kind.ts';
import { detailText } from '../present/text.ts';
import { type Act, MemberFailure, memberOf, type Run, seenIn, stopReason } from '../run.ts';
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
/**
 * Only between a member's stop and its start. The member gets the running version back when there is v2 data, and when that cannot be told:
 * an answer that is not understood is no proof.
 */
export const checkData: Act = async (run, { member: name }) => {
  const member = memberOf(run, name as string);
  const [program, ...args] = v2CheckLine(run.cluster, member.data_dir as string);
  await assertTrustedProgram(run.host, 'utl_binary', [program]);
  const done = await run.host.processes.run(program, args, {
    timeoutMs: withinMs,
    maxBytes: limits.checkOutputBytes,
  });
  const said = `${done.stdout}\n${done.stderr}`;
  const found = clean.exec(said);
  if (done.code === 0 && found !== null)
    return { v2_data: 'none', looked_into: found[1] === 'v2store' ? 'snapshot' : 'snapshot and log' };
  const line =
    said
      .split('\n')
      .map((one) => one.trim())
      .findLast((one) => one !== '') ??
    done.startError ??
    'no answer';
  const isDirty = /detected custom/.test(said);
  throw new MemberFailure(
    member.name,
    isDirty
      ? `${member.name} holds v2 data, and ${run.plan.to} would not start with it: ${line}`
      : `${member.name}: whether it holds v2 data could not be told: ${line}`,
  );
};

const nameOf = (step: Step): string => step.member as string;
const copyData: Act = async (run, step) => {
  const member = memberOf(run, nameOf(step));
  const walDir = walDirOf(member, seenIn(run.plan.observation, member.name).host);
  const ending = `.before-${run.plan.to}-${run.id}`;
  const { path, files, bytes } = await run.driver.copyData(member, ending, walDir);
  return { copy: path, copied: `${files} files, ${mebibytes(bytes)}` };
};
/** A restart may bring a text of its own, from this machine. */
const newConfigOf = async (
  { host, plan }: Pick<Run, 'host' | 'plan'>,
  { name, new_config_file: path }: MemberSpec,
): Promise<string | undefined> => {
  if (kindOf(plan) !== 'restart' || path === undefined) return undefined;
  const text = await host.files.read(path);
  if (text === undefined)
    throw new MemberFailure(name, `${name}: its new configuration ${path} is not there any more`);
  return text;
};
/** The text that was kept before the stop: a second try starts from it, not from a half-migrated file. */
const configure: Act = async (run, step) => {
  const { driver, plan } = run;
  const member = memberOf(run, nameOf(step));
  const path = member.config_file as string;
  const before = (await configOn(run, member)) ?? (await driver.readFile(member, path));
  if (before === undefined)
    throw new MemberFailure(member.name, `${member.name}: its configuration file is not there any more`);
  const wanted = await newConfigOf(run, member);
  const { text, changes } =
    wanted === undefined
      ? await migrateConfig(before, plan.to)
      : { text: wanted, changes: [`${member.new_config_file} put in its place`] };
  await driver.writeFile(member, path, text);
  return { changes };
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
      tryThis: [next(['kv', 'resume'])],
    });
  return { waited_seconds: seconds };
};

/** What the steps of one member pass on: `start` opens the gate, which sees when that very process ends. */
type Sequence = { gate?: Gate };
type UpgradeStepRow = StepRow<Run, Step, Sequence> & {
  /** Clients of the member may notice the step: test writes are more frequent meanwhile. */
  readonly isReplacing: boolean;
};
const saveSnapshot: Act = (run, step) => takeSnapshot(run, step);
const startNew: UpgradeStepRow['run'] = async (run, step, shared) => {
  shared.gate = await startMember(run, nameOf(step), 'new');
  return undefined;
};
/** While the member is watched, the snapshot of the next member is taken; both have to be over before anything else begins. */
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
 * Every kind of step. Before its stop a member is as it was, so a run that was asked to stop need not begin it. From its stop on the member is
 * brought to its end: its gate, or its old version.
 */
export const stepTable: Readonly<Record<StepKind, UpgradeStepRow>> = {
  'enable-downgrade': {
    run: enableDowngrade,
    mayAbort: false,
    isDownTime: false,
    isReplacing: false,
    onFailure: 'stop',
  },
  // The plan shows it; the decision before it ends the run.
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
  // A check that fails reverts the member. Any other error concerns something else: the member stays as it is.
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
      `${member === undefined ? '' : `${member}: `}${kind} was not begun: ${message}`,
      detail,
    );
  }
};
/** The journal and whoever watches the run get the begin of the step, and how it ended. */
const recordStep = async (
  run: Run,
  step: Step,
  forced: Forced,
  effect: () => Promise<Detail | undefined>,
): Promise<void> => {
  const { host, plan, journal } = run;
  const began = host.elapsed();
  beginStep(run, step);
  const numberOf = (wanted: StepId): number => plan.steps.findIndex(({ id }) => id === wanted) + 1;
  // A leader transfer that was not planned, because the leader has changed, counts with the stop that it comes before.
  const number = numberOf(step.id) || numberOf(stepId(step.member ?? '', 'stop'));
  run.emit({ event: 'step-started', step, number, count: plan.steps.length });
  try {
    const detail = detailText(await recordEnd(journal, step.id, effect, forced));
    run.emit({ event: 'step-finished', step, duration_ms: Math.round(host.elapsed() - began), detail });
  } catch (error) {
    run.emit({ event: 'step-failed', step, reason: messageOf(error) });
    throw error;
  }
};
/** Whatever goes wrong between its stop and its start must not leave the member down: it gets its old version back. */
const revertOn = (step: Step, error: unknown): unknown => {
  if (error instanceof MemberFailure || mayBeDown(error)) return error;
  const name = nameOf(step);
  const reason = messageOf(error);
  return new MemberFailure(
    name,
    `${name}: could not ${step.title.replace(` of ${name}`, '')}: ${reason.replace(`${name}: `, '')}`,
  );
};
/** From a stop to the start that follows it, lines wait for the disk only where they must be there before the start. */
const forcedOf = ({ member }: Step, next: Step | undefined): Forced =>
  next !== undefined && next.member === member && stepTable[next.kind].isDownTime ? 'with-next' : 'now';
/** Stopped before a crash of ours: since then its clients have been without it. */
const recordEarlierStop = ({ host, journal, state }: Run, name: string): void => {
  const stop = journal.entries.findLast(
    (entry) => (entry.kind === 'begin' && entry.step === stepId(name, 'stop')) || entry.kind === 'reverted',
  );
  if (stop?.kind === 'begin')
    state.recordStop(name, host.elapsed() - Math.max(0, host.now() - Date.parse(stop.at)));
};
/** A resume may begin with a member that is down: its stop, which looks at the program, is not part of these steps. */
const prepareStopped = async (run: Run, steps: readonly Step[]): Promise<void> => {
  const name = steps[0]?.member;
  const has = (wanted: StepKind): boolean => steps.some(({ kind }) => kind === wanted);
  if (name === undefined || !has('start') || has('stop')) return;
  await refuseWrongBinary(run, name);
  recordEarlierStop(run, name);
};
/** A member's steps without a pause: between its stop and its gate nothing else is looked at, because every moment is down time. */
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
