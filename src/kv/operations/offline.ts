import { next } from '../../core/next.ts';
import { type Minor, minorOf } from '../../api-specs/etcd/versions.ts';
import { AppError, awaitAll, messageOf } from '../../core/problem.ts';
import type { Detail, MemberSpec, MemberStatus, Placement } from '../engine/model.ts';
import { migrateConfig } from '../upgrade/configuration/migrate.ts';
import { gateMs } from '../upgrade/execute/connection-checks.ts';
import { openGate, passGate } from '../upgrade/execute/health-check.ts';
import { logExcerpt } from '../upgrade/execute/member.ts';
import { sizeText } from '../../core/format.ts';
import { type LogEnd, memberOf, MemberFailure, runningProcess } from '../upgrade/run.ts';
import { walDirOf } from '../upgrade/supervisors/wal-directory.ts';
import {
  endedSteps,
  keptCopies,
  type Operation,
  type OperationStepHandler,
  type OperationStepHandlers,
} from './journal.ts';
import { memberStep, observeNow } from './membership.ts';
import { runningFindings } from './offline-plan.ts';

const unfinishedError = (operation: Operation, message: string, cause?: unknown): AppError => {
  const kept = keptCopies({ plan: operation.plan, entries: operation.journal.entries });
  return new AppError('stopped', message, {
    code: 'OFFLINE_UNFINISHED',
    tryThis: [
      ...(kept.length === 0 ? [] : [`the data before the upgrade is kept: ${kept.join(', ')}`]),
      next(['kv', 'status']),
    ],
    cause,
  });
};
const wayOf = ({ plan }: Operation): { readonly from: Minor; readonly to: Minor } =>
  plan.values as { readonly from: Minor; readonly to: Minor };
const hostOf = ({ plan }: Operation, name: string): MemberStatus['host'] =>
  plan.observation.members.find((one) => one.name === name)?.host;
/** Throws if a member was started after the plan, for example while the question was open. */
const refuseRunning = async (operation: Operation): Promise<void> => {
  const { checking, cluster } = operation;
  const [running] = await runningFindings({ cluster, driver: checking.driver }, await observeNow(operation));
  if (running !== undefined) throw unfinishedError(operation, running.message);
};
const copyData: OperationStepHandler = async (operation, step): Promise<Detail> => {
  await refuseRunning(operation);
  const { checking, plan, say } = operation;
  const { from, to } = wayOf(operation);
  const spec = memberOf(checking, memberStep(step));
  const ending = `.before-offline-${from}-${plan.id}`;
  const walDir = walDirOf(spec, hostOf(operation, spec.name), from);
  const { path, files, bytes } = await checking.driver.copyData(spec, ending, walDir);
  const placement = await checking.driver.stage(spec, { from, to, run: plan.id });
  say(`copied the data of ${spec.name} to ${path} (${files} files, ${sizeText(bytes)})`);
  return { copy: path, files, bytes, placement };
};
const configure: OperationStepHandler = async (operation, step): Promise<Detail> => {
  const { driver } = operation.checking;
  const spec = memberOf(operation.checking, memberStep(step));
  const path = spec.config_file as string;
  const before = await driver.readFile(spec, path);
  if (before === undefined) throw unfinishedError(operation, `${spec.name}: ${path} no longer exists`);
  const { text, changes } = await migrateConfig(before, wayOf(operation).to);
  await driver.writeFile(spec, path, text);
  return { changes };
};
/** No process shows the user of a stopped member, so the owner of the data runs the new version. */
const placementFor = (operation: Operation, name: string): Placement | undefined => {
  const copied = endedSteps(operation.journal.entries).get(`${name}.copy-data`)?.detail;
  const staged = copied?.['placement'] as Placement | undefined;
  const place = hostOf(operation, name)?.data_place;
  if (staged === undefined || staged.runs_as !== undefined) return staged;
  return place?.uid === undefined || place.gid === undefined
    ? staged
    : { ...staged, runs_as: { uid: place.uid, gid: place.gid } };
};
/** The end of each log before the start: older lines were not written by the new version. */
type Marks = Map<string, LogEnd>;
const startMember = async (operation: Operation, spec: MemberSpec, marks: Marks): Promise<void> => {
  const { driver } = operation.checking;
  const placement = placementFor(operation, spec.name);
  const end = await driver.logTail(spec, 1).catch(() => undefined);
  marks.set(spec.name, end?.slice(-1));
  await driver.activate(spec, 'new', placement);
  await driver.start(spec, 'new', placement);
};
/** Returns the members without a process. Throws if a process runs another version, or cannot be inspected. */
const stoppedMembers = async (operation: Operation): Promise<MemberSpec[]> => {
  const { checking, cluster } = operation;
  const { to } = wayOf(operation);
  const seen = await observeNow(operation);
  const found = await Promise.all(
    cluster.members.map(async (spec) => ({ spec, state: await checking.driver.process(spec) })),
  );
  for (const { spec, state } of found) {
    const version = seen.members.find(({ name }) => name === spec.name)?.server_version;
    if (state.state === 'unknown')
      throw unfinishedError(operation, `opsctl cannot inspect ${spec.name}: ${state.reason}`);
    if (version !== undefined && minorOf(version) !== to)
      throw unfinishedError(
        operation,
        `${spec.name} runs ${version}, but this upgrade started ${to}; stop every member first: the upgrade then starts again with new copies`,
      );
  }
  return found.flatMap(({ spec, state }) => (state.state === 'gone' ? [spec] : []));
};
/** Separate from the start: only a start that no running member preceded may be continued later. */
const verifyStopped: OperationStepHandler = async (operation): Promise<undefined> => {
  await refuseRunning(operation);
};
const startAll =
  (marks: Marks): OperationStepHandler =>
  async (operation): Promise<Detail> => {
    const stopped = await stoppedMembers(operation);
    await awaitAll(stopped.map((spec) => startMember(operation, spec, marks))).catch((error: unknown) => {
      throw unfinishedError(operation, messageOf(error), error);
    });
    return { started: stopped.map(({ name }) => name) };
  };
const checkMember =
  (marks: Marks): OperationStepHandler =>
  async (operation, step) => {
    const { to } = wayOf(operation);
    const name = memberStep(step);
    const state = {
      logMark: (member: string) => marks.get(member),
      isStarted: (member: string) => marks.has(member),
    };
    const checking = { ...operation.checking, state };
    // A member that exited after its start, for example in a resumed upgrade, is started again.
    const spec = memberOf(checking, name);
    if (!marks.has(name) && (await checking.driver.process(spec)).state === 'gone') {
      await stoppedMembers(operation);
      await startMember(operation, spec, marks);
    }
    try {
      // No member ran before these starts, so the lines of each member show connections to current processes.
      await passGate({ ...openGate(checking, name, to), isStarted: true, marks }, gateMs(checking, name));
    } catch (error) {
      const started = error instanceof MemberFailure ? (error.process ?? runningProcess) : runningProcess;
      const excerpt = await logExcerpt({ ...checking, state }, name, started);
      throw unfinishedError(
        operation,
        `the cluster does not run ${to}: ${messageOf(error)}${excerpt}`,
        error,
      );
    }
    return undefined;
  };
const pollMs = 200;
const versionWithinMs = 60_000;
const verifyVersion: OperationStepHandler = async (operation): Promise<Detail> => {
  const { host, signal } = operation;
  const { to } = wayOf(operation);
  const until = host.elapsed() + versionWithinMs;
  for (;;) {
    const { members, cluster_version } = await observeNow(operation);
    const late = members.find((member) => minorOf(member.cluster_version) !== to);
    if (late === undefined) return { cluster_version };
    if (host.elapsed() >= until || signal.aborted)
      throw unfinishedError(
        operation,
        `${late.name} reports cluster ${late.cluster_version ?? 'unknown'}, not ${to}`,
      );
    await host.sleep(pollMs);
  }
};
/** The steps of one process. */
export const makeOfflineActs = (): OperationStepHandlers => {
  const marks: Marks = new Map();
  return {
    'copy-data': copyData,
    configure,
    'verify-stopped': verifyStopped,
    start: startAll(marks),
    check: checkMember(marks),
    'verify-version': verifyVersion,
  };
};
