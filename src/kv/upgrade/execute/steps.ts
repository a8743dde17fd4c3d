import { limits } from '../../../core/limits.ts';
import { AppError, messageOf } from '../../../core/problem.ts';
import { assertTrustedProgram } from '../../../platform/trust.ts';
import type { Forced } from '../../engine/journal.ts';
import type { MemberSpec, Step, StepId, StepKind } from '../../engine/model.ts';
import { stepId } from '../../engine/steps.ts';
import { migrateConfig } from '../configuration/migrate.ts';
import { mebibytes } from '../guards/guard.ts';
import { v2CheckLine } from '../guards/store.ts';
import { configOn } from '../placement.ts';
import { kindOf } from '../plan-kind.ts';
import { detailText } from '../present/text.ts';
import { type Act, type Detail, MemberFailure, memberOf, type Run, seenIn, stopReason } from '../run.ts';
import { mayBeDown } from '../supervisors/driver.ts';
import { walDirOf } from '../supervisors/wal-directory.ts';
import { confirm, enableDowngrade } from './confirm.ts';
import type { Gate } from './health-verdict.ts';
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
      tryThis: ['opsctl kv resume'],
    });
  return { waited_seconds: seconds };
};
/** What each kind of step does. `start` and `gate` share a process (startMember, prove); `hold` is the decision before it. */
export const acts: Readonly<Partial<Record<StepKind, Act>>> = {
  snapshot: (run, step) => takeSnapshot(run, step),
  'move-leader': moveLeader,
  stop: stopMember,
  'copy-data': copyData,
  'check-data': checkData,
  configure,
  settle,
  confirm,
  'enable-downgrade': enableDowngrade,
};

/** From its stop on a member is down: then it is brought to its end even when the journal cannot be written any more. */
const whileDown: readonly StepKind[] = ['copy-data', 'check-data', 'configure', 'start', 'gate'];
const begin = ({ journal }: Run, { id, kind, member }: Step): void => {
  const entry = { kind: 'begin', step: id } as const;
  try {
    if (whileDown.includes(kind)) journal.tell(entry);
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
/** Down time: from a stop to the start that follows it no more waits for the disk than what must be there before the start. */
const forcedOf = (step: Step, next: Step | undefined): Forced =>
  next !== undefined && next.member === step.member && whileDown.includes(next.kind) ? 'with-next' : 'now';
const within = async (
  run: Run,
  step: Step,
  forced: Forced,
  act: () => Promise<Detail | undefined>,
): Promise<void> => {
  const began = run.host.elapsed();
  begin(run, step);
  const numberOf = (wanted: StepId): number => run.plan.steps.findIndex(({ id }) => id === wanted) + 1;
  // A hand-over that was not planned, because the leader has changed, counts with the stop it comes before.
  const number = numberOf(step.id) || numberOf(stepId(step.member ?? '', 'stop'));
  run.emit({ event: 'step-started', step, number, count: run.plan.steps.length });
  try {
    const detail = await act();
    run.journal.tell({ kind: 'end', step: step.id, detail }, forced);
    run.emit({
      event: 'step-finished',
      step,
      duration_ms: Math.round(run.host.elapsed() - began),
      detail: detailText(detail),
    });
  } catch (error) {
    const reason = messageOf(error);
    run.journal.tell({ kind: 'failed', step: step.id, reason });
    run.emit({ event: 'step-failed', step, reason });
    throw error;
  }
};
/** Whatever goes wrong between its stop and its start must not leave the member down: it gets its old version back. */
const memberIsDown =
  (step: Step) =>
  (error: unknown): never => {
    if (error instanceof MemberFailure || mayBeDown(error)) throw error;
    const name = step.member as string;
    const reason = messageOf(error);
    throw new MemberFailure(
      name,
      `${name}: could not ${step.title.replace(` of ${name}`, '')}: ${reason.replace(`${name}: `, '')}`,
    );
  };
const untouched: ReadonlySet<Step['kind']> = new Set(['snapshot', 'move-leader', 'stop']);
/** Stopped before a crash of ours: since then its clients have been without it. */
const downSinceBefore = ({ host, journal, downSince }: Run, name: string): void => {
  const stop = journal.entries.findLast(
    (entry) => (entry.kind === 'begin' && entry.step === stepId(name, 'stop')) || entry.kind === 'reverted',
  );
  if (stop?.kind === 'begin')
    downSince.set(name, host.elapsed() - Math.max(0, host.now() - Date.parse(stop.at)));
};
/** A member's steps without a pause: between its stop and its gate nothing else is looked at, because every moment is down time. */
export const performSteps = async (run: Run, steps: readonly Step[]): Promise<void> => {
  try {
    await inOrder(run, steps);
  } finally {
    for (const { member } of steps) if (member !== undefined) run.replacing.delete(member);
  }
};
/** While the member is watched the next one's snapshot is taken; both have to be over before anything else begins. */
const verifyMember = async (run: Run, step: Step, gate: Gate): Promise<Detail> => {
  let early: EarlySnapshot | undefined;
  try {
    const detail = await prove(run, gate, () => {
      early = beginEarlySnapshot(run, step, (snapshot, signal) =>
        within(run, snapshot, 'now', () => takeSnapshot(run, snapshot, signal)),
      );
    });
    await runHook(run, 'after_member', step.member as string);
    await early?.wait();
    return detail;
  } finally {
    await early?.cancel();
  }
};
const touching: ReadonlySet<StepKind> = new Set(['move-leader', 'stop', ...whileDown]);
const inOrder = async (run: Run, steps: readonly Step[]): Promise<void> => {
  let gate: Gate | undefined;
  const first = steps[0];
  // A resume begins here with a member that is down: its stop, which looks at the binary, is not part of these steps.
  if (
    first?.member !== undefined &&
    steps.some(({ kind }) => kind === 'start') &&
    steps.every(({ kind }) => kind !== 'stop')
  )
    await refuseWrongBinary(run, first.member).then(() => downSinceBefore(run, first.member as string));
  for (const [at, step] of steps.entries()) {
    const name = step.member as string;
    // Until its stop the member is as it was: asked to end, the run need not begin it. After that it is brought to its end.
    if (run.signal.aborted && untouched.has(step.kind)) throw stopReason(run);
    if (touching.has(step.kind)) run.replacing.set(name, 'changing');
    else run.replacing.delete(name);
    await within(run, step, forcedOf(step, steps[at + 1]), async () => {
      if (step.kind === 'gate') return verifyMember(run, step, gate ?? openNewGate(run, name));
      if (step.kind === 'copy-data' || step.kind === 'check-data' || step.kind === 'configure')
        return acts[step.kind]?.(run, step).catch(memberIsDown(step));
      if (step.kind !== 'start') return acts[step.kind]?.(run, step);
      gate = await startMember(run, name, 'new');
      return undefined;
    });
  }
};
