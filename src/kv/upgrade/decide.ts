import { type Advice, after } from '../../core/next.ts';
import { minorOf, rowOf } from '../../api-specs/etcd/versions.ts';
import type { Finding, MemberStatus, MemberStep, Observation, Plan, Step, StepId } from '../engine/model.ts';
import { hasFreshSnapshot, type Progress } from '../engine/progress.ts';
import { memberOfStep, stepId } from '../engine/steps.ts';
import { connectionFinding } from './guards/hosts.ts';
import { isGood, repairOf, stopFinding } from './guards/membership.ts';
import { alarmMessages } from './guards/store.ts';
import { crosses, isSwitched, kindOf, isReadyFor } from './plan-kind.ts';

/**
 * old: runs the old version · stopping: stop requested, still running · stopped: stopped by opsctl · started:
 * new version, health check pending · done: health check passed · `fallen`: down after its health check ·
 * `sick`: down, but not stopped by opsctl.
 */
type State = 'old' | 'stopping' | 'stopped' | 'started' | 'done' | 'fallen' | 'sick';
const wasDown = ({ observation }: Plan, name: string): boolean =>
  observation.members.some((member) => member.name === name && !member.is_reachable);
const stateOf = (plan: Plan, progress: Progress, seen: MemberStatus): State => {
  const { begun, ended } = progress;
  const { name } = seen;
  // opsctl does not change a finished member or a member that the plan does not name. It only waits for that
  // member.
  const isThrough = ended.has(stepId(name, 'gate')) || !plan.order.includes(name);
  if (seen.is_reachable && !isSwitched(plan, progress, seen)) return 'old';
  if (isThrough) return seen.is_reachable ? 'done' : 'fallen';
  if (seen.is_reachable) return 'started';
  if (begun.has(stepId(name, 'start'))) return seen.host?.is_running === true ? 'started' : 'stopped';
  if (begun.has(stepId(name, 'stop'))) return seen.host?.is_running === true ? 'stopping' : 'stopped';
  if (!wasDown(plan, name)) return 'sick';
  // The operator accepted the state of this member, and it is upgraded first. If it still runs, it must be stopped.
  return seen.host?.is_running === false ? 'stopped' : 'old';
};
export type Decision =
  /** `isCrossing`: with these steps the last member of the old version is replaced. */
  | {
      readonly kind: 'steps';
      readonly member?: string;
      readonly steps: readonly Step[];
      readonly isCrossing?: true;
    }
  /**
   * `hasFallen`: the member had passed its health check; its service manager may restart it within a moment.
   */
  | { readonly kind: 'revert'; readonly member: string; readonly reason: string; readonly hasFallen?: true }
  /**
   * The member passed its health check, its process has ended, and the cluster's version has moved: only the
   * new version can start.
   */
  | { readonly kind: 'restart'; readonly member: string; readonly steps: readonly Step[] }
  /** A revert started, but the cluster's version has moved since: the revert is impossible or not needed. */
  | { readonly kind: 'drop-revert'; readonly member: string; readonly reason: string }
  /** After this member is replaced, the cluster's version moves. No confirmation exists yet. */
  | { readonly kind: 'ask'; readonly member: string }
  | { readonly kind: 'hold'; readonly member: string; readonly isLast: boolean }
  | { readonly kind: 'refuse'; readonly findings: readonly Finding[] }
  | { readonly kind: 'done' };
const remaining: Readonly<Record<Exclude<State, 'fallen' | 'sick'>, readonly Step['kind'][]>> = {
  old: ['snapshot', 'move-leader', 'stop', 'copy-data', 'check-data', 'configure', 'start', 'gate', 'settle'],
  stopping: ['stop', 'copy-data', 'check-data', 'configure', 'start', 'gate', 'settle'],
  stopped: ['copy-data', 'check-data', 'configure', 'start', 'gate', 'settle'],
  started: ['gate', 'settle'],
  done: ['settle'],
};
/**
 * The last member of the plan has no wait. If the leader changed, another member may be last, and then this
 * member waits like the others.
 */
const withSettle = ({ steps, order }: Plan, name: string): readonly Step[] => {
  const model = steps.find((step) => step.kind === 'settle');
  const id = stepId(name, 'settle');
  return model === undefined || !order.includes(name) || steps.some((step) => step.id === id)
    ? steps
    : [...steps, { ...model, id, member: name }];
};
const changing: readonly Step['kind'][] = ['stop', 'copy-data', 'check-data', 'configure', 'start'];
type InsertedKind = 'snapshot' | 'stop';
const inserted = {
  snapshot: {
    title: (name: string) => `save and verify a snapshot of ${name}`,
    why: 'a backup before a member is changed',
  },
  stop: { title: (name: string) => `stop ${name}`, why: 'it runs again, or has not exited yet' },
} as const satisfies Record<InsertedKind, unknown>;
const insertedKinds: readonly InsertedKind[] = ['snapshot', 'stop'];
const insertedStep = (name: string, kind: InsertedKind): Step => {
  const { title, why } = inserted[kind];
  return { id: stepId(name, kind), kind, member: name, title: title(name), why, commands: [] };
};
/** Returns the step of a journal line. The plan does not contain a step that the state of a member required. */
export const stepIn = (plan: Plan, id: string): Step | undefined => {
  const planned = plan.steps.find((step) => step.id === id);
  if (planned !== undefined) return planned;
  const settling = memberOfStep(id, 'settle');
  if (settling !== undefined) return withSettle(plan, settling).find((step) => step.id === id);
  for (const kind of insertedKinds) {
    const name = memberOfStep(id, kind);
    if (plan.observation.members.some((member) => member.name === name))
      return insertedStep(name as string, kind);
  }
  return undefined;
};
const laterKinds = ({ kind }: Pick<Step, 'kind'>): readonly Step['kind'][] =>
  remaining.old.slice(Math.max(0, remaining.old.indexOf(kind)));
/** Returns the number of a step in the plan. A step that the plan does not contain has the number of the next step. */
export const stepNumber = (
  { steps }: Pick<Plan, 'steps'>,
  step: Pick<Step, 'id' | 'kind' | 'member'>,
): number => {
  const at = steps.findIndex(({ id }) => id === step.id);
  if (at >= 0) return at + 1;
  const kinds = laterKinds(step);
  const next = steps.findIndex(({ member, kind }) => member === step.member && kinds.includes(kind));
  if (next >= 0) return next + 1;
  return Math.max(1, steps.findLastIndex(({ member }) => member === step.member) + 1);
};
/**
 * A member that was down when the plan was made has no stop step and no snapshot step, but it may have been
 * started since. A member that responds is never stopped without its snapshot.
 */
const withInserted = (steps: readonly Step[], { name, is_reachable }: MemberStatus): readonly Step[] => {
  const at = steps.findIndex(({ kind, member }) => member === name && changing.includes(kind));
  if (at < 0) return steps;
  const has = (kind: MemberStep['kind']): boolean => steps.some(({ id }) => id === stepId(name, kind));
  const own = [
    ...(is_reachable && !has('snapshot') ? [insertedStep(name, 'snapshot')] : []),
    ...(has('stop') ? [] : [insertedStep(name, 'stop')]),
  ];
  return steps.toSpliced(at, 0, ...own);
};
const stepsFor = (
  plan: Plan,
  progress: Progress,
  { taken_at, members }: Pick<Observation, 'taken_at' | 'members'>,
  name: string,
  state: keyof typeof remaining,
  isLast: boolean,
): Step[] => {
  const { begun, ended } = progress;
  const isSaved = hasFreshSnapshot(progress, name, Date.parse(taken_at));
  const seen = members.find((member) => member.name === name) as MemberStatus;
  return withInserted(withSettle(plan, name), seen).filter(({ id, kind, member }) => {
    if (member !== name || !remaining[state].includes(kind)) return false;
    if (kind === 'settle') return !isLast && !ended.has(id);
    if (kind === 'snapshot') return !isSaved && seen.is_reachable;
    if (kind !== 'copy-data' && kind !== 'check-data') return true;
    // After the new version has used the directory, a copy no longer contains the old state, unless the member
    // runs the old version again. An earlier copy then lacks the latest writes.
    return state === 'old' || !begun.has(stepId(name, 'start'));
  });
};
const refusal = (guard: string, member: string, message: string, hint: Advice): Decision => ({
  kind: 'refuse',
  findings: [{ guard, level: 'fail', member, message, hint }],
});
/**
 * A reachable member that is unhealthy, usually because it is cut off from its peers. Stopping it would cost
 * no quorum, but it could not pass its health check afterwards, and then no other member may stop. opsctl
 * does not report a member again that the operator has accepted.
 */
const sickMember = (plan: Plan, { members }: Observation): Decision | undefined => {
  const sick = members.find(({ is_reachable, is_healthy }) => is_reachable && !is_healthy);
  if (sick === undefined || plan.options.accept.includes('all-members-healthy')) return undefined;
  const why = sick.health_reason ?? sick.errors[0] ?? '/health reports it';
  return refusal(
    'all-members-healthy',
    sick.name,
    `${sick.name} is not healthy: ${why}`,
    after('read its log and check whether its peers reach it; then', ['kv', 'resume']),
  );
};
/** Decides the action for the next member that still runs the old version. */
const nextOld = (
  plan: Plan,
  progress: Progress,
  observation: Observation,
  name: string,
  oldCount: number,
): Decision => {
  const [alarm] = alarmMessages(observation);
  if (alarm !== undefined)
    return refusal('no-alarms', alarm.member, alarm.message, after(`${alarm.hint}; then`, ['kv', 'resume']));
  const sick = sickMember(plan, observation);
  if (sick !== undefined) return sick;
  const { accept } = plan.options;
  const finding = stopFinding(observation, name, accept) ?? connectionFinding(observation, accept);
  if (finding !== undefined) return { kind: 'refuse', findings: [finding] };
  const isLast = oldCount === 1;
  const { hold_last, hold_after = Number.POSITIVE_INFINITY } = plan.options;
  if ((isLast && hold_last) || upgradedIn(plan, progress, observation).length >= hold_after)
    return { kind: 'hold', member: name, isLast };
  const isCrossing = isLast && crosses(plan);
  if (isCrossing && !progress.isCrossingConfirmed) return { kind: 'ask', member: name };
  const own = stepsFor(plan, progress, observation, name, 'old', isLast);
  const steps = withHandOver({ plan, progress, observation, name }, own);
  return isCrossing
    ? { kind: 'steps', member: name, steps, isCrossing: true }
    : { kind: 'steps', member: name, steps };
};
/** Returns the members of the plan that run the new version now. */
export const upgradedIn = (
  plan: Plan,
  progress: Progress,
  { members }: Pick<Observation, 'members'>,
): string[] =>
  plan.order.filter((name) =>
    members.some((seen) => seen.name === name && seen.is_reachable && isSwitched(plan, progress, seen)),
  );
/**
 * Returns whether the run has passed the point of no return (spec/store#states-4). The old version can start
 * until the cluster's version moves, but not afterwards.
 */
const hasMoved = (
  plan: Pick<Plan, 'to' | 'kind'>,
  { hasCrossed }: Pick<Progress, 'hasCrossed'>,
  { members }: Pick<Observation, 'members'>,
): boolean =>
  crosses(plan) &&
  (hasCrossed || members.some(({ cluster_version }) => minorOf(cluster_version) === plan.to));
type HandOver = {
  readonly plan: Plan;
  readonly progress: Progress;
  readonly observation: Observation;
  readonly name: string;
};
const slowMs = 50;
/**
 * Every write waits for the leader, so the new leader is an upgraded member that does not respond much more
 * slowly than the others.
 */
const transfereeOf = ({ plan, progress, observation, name: leader }: HandOver): string | undefined => {
  const able = observation.members.filter(
    (seen) => seen.name !== leader && seen.is_healthy && isSwitched(plan, progress, seen),
  );
  const best = Math.min(...able.map(({ latency_ms = 0 }) => latency_ms));
  return able.find(({ latency_ms = 0 }) => latency_ms <= best + slowMs)?.name;
};
/**
 * The leader may have changed since the plan: only the current leader transfers its leadership, to an
 * upgraded member.
 */
const withHandOver = (handOver: HandOver, steps: readonly Step[]): Step[] => {
  const { observation, name } = handOver;
  const seen = observation.members.find((member) => member.name === name) as MemberStatus;
  const target = transfereeOf(handOver);
  const rest = steps.filter(({ kind }) => kind !== 'move-leader');
  if (!seen.is_leader || target === undefined || rowOf(seen.server_version)?.can.moveLeader !== true)
    return rest;
  const move: Step = {
    id: stepId(name, 'move-leader'),
    kind: 'move-leader',
    member: name,
    target,
    title: `transfer the leadership from ${name} to ${target}`,
    why: 'an upgraded member is the leader from now on',
    commands: [],
  };
  return rest.flatMap((step) => (step.kind === 'stop' ? [move, step] : [step]));
};
const isIll = ({ members }: Pick<Observation, 'members'>, name: string): boolean =>
  members.some((member) => member.name === name && !isGood(member));
const restartKinds: readonly Step['kind'][] = ['start', 'gate'];
/**
 * Handles a new version whose process exited after its health check. Until the cluster's version moves, the
 * old version can start, even if no other member runs it. Afterwards only the new version can start. A member
 * without a process is not merely cut off.
 */
const fallenMember = (
  plan: Plan,
  progress: Progress,
  observation: Observation,
  states: ReadonlyMap<string, State>,
): Decision | undefined => {
  const hasEnded = (name: string): boolean =>
    observation.members.find((seen) => seen.name === name)?.host?.is_running === false;
  const member = plan.order.find((name) => states.get(name) === 'fallen' && hasEnded(name));
  if (member === undefined) return undefined;
  if (hasMoved(plan, progress, observation)) {
    const steps = plan.steps.filter((step) => step.member === member && restartKinds.includes(step.kind));
    return { kind: 'restart', member, steps };
  }
  return {
    kind: 'revert',
    member,
    reason: `${member} passed its health check on ${plan.to}, but its process has exited since`,
    hasFallen: true,
  };
};
const unanswering = (name: string, { members }: Observation): Decision =>
  refusal(
    'all-members-healthy',
    name,
    `${name} does not respond, and this run did not stop it`,
    after(
      `${repairOf(
        members.filter((seen) => seen.name === name),
        'start it',
      )}, then`,
      ['kv', 'resume'],
    ),
  );
/** A member that runs a version outside of the plan. */
const foreignVersion = (plan: Plan, { members }: Observation): Decision | undefined => {
  const wrong = members.find(
    ({ server_version }) =>
      server_version !== undefined && ![plan.from, plan.to].includes(minorOf(server_version) as never),
  );
  return wrong === undefined
    ? undefined
    : refusal(
        'version-path',
        wrong.name,
        `${wrong.name} runs ${wrong.server_version}, neither ${plan.from} nor ${plan.to}`,
        'another user changed its binary; restore the expected one',
      );
};
/**
 * Finishes a member that was changed, before any other. This must not pass the point of no return without a
 * confirmation: the last member of the old version is stopped only after the confirmation. Without a
 * confirmation, the member went down for another reason, or before the plan.
 */
const openMember = (
  plan: Plan,
  { begun, isCrossingConfirmed }: Progress,
  states: ReadonlyMap<string, State>,
  name: string,
  steps: readonly Step[],
  observation: Observation,
): Decision => {
  const isLast = [...states.values()].every((state) => state !== 'old');
  const isStarted = states.get(name) === 'started' || begun.has(stepId(name, 'start'));
  if (!isLast || isStarted || !crosses(plan) || isCrossingConfirmed)
    return { kind: 'steps', member: name, steps };
  return plan.options.hold_last === true ? unanswering(name, observation) : { kind: 'ask', member: name };
};
/**
 * Returns whether a snapshot protects the next change. Before the first change of the run, it must be fresh.
 * The snapshot of an unhealthy member does not count, because it may lack the latest writes.
 */
const isProtected = (plan: Plan, progress: Progress, observation: Observation): boolean => {
  const hasChanged = [...progress.begun].some(
    (id) => memberOfStep(id, 'stop') !== undefined || memberOfStep(id, 'start') !== undefined,
  );
  const good = [...plan.observation.members, ...observation.members].filter(isGood);
  const now = Date.parse(observation.taken_at);
  return [...progress.snapshots.keys()].some(
    (name) =>
      good.some((member) => member.name === name) && (hasChanged || hasFreshSnapshot(progress, name, now)),
  );
};
/**
 * spec/store#procedure-2: no step changes a member before a verified snapshot of a healthy member exists. A
 * member that is down or unhealthy does not have one, so another member is saved first.
 */
const withFirstSnapshot = (
  plan: Plan,
  progress: Progress,
  observation: Observation,
  decision: Decision,
): Decision => {
  if (decision.kind !== 'steps' || !decision.steps.some(({ kind }) => changing.includes(kind)))
    return decision;
  const { members } = observation;
  const own = members.find(({ name }) => name === decision.member);
  const savesItself = decision.steps.some(({ kind }) => kind === 'snapshot');
  if (own === undefined || isProtected(plan, progress, observation)) return decision;
  // The run has already changed this member, and saved it before if it was healthy: it only finishes the member.
  const hasStop = decision.steps.some(({ kind }) => kind === 'stop');
  const hasBegun = (kind: 'start' | 'stop'): boolean => progress.begun.has(stepId(own.name, kind));
  if (!hasStop && (hasBegun('start') || (hasBegun('stop') && !isIll(plan.observation, own.name))))
    return decision;
  if (savesItself && (isGood(own) || members.length === 1)) return decision;
  const position = ({ name }: MemberStatus): number => {
    const at = plan.steps.findIndex(({ id }) => id === stepId(name, 'snapshot'));
    return at < 0 ? plan.steps.length : at;
  };
  const [good] = members
    .filter((member) => member !== own && isGood(member))
    .toSorted((a, b) => position(a) - position(b));
  if (good === undefined)
    return refusal(
      'all-members-healthy',
      own.name,
      `no healthy member can be saved before ${own.name} is changed`,
      after('start or repair another member, then', ['kv', 'resume']),
    );
  const id: StepId = stepId(good.name, 'snapshot');
  const step = plan.steps.find((one) => one.id === id) ?? insertedStep(good.name, 'snapshot');
  return { kind: 'steps', member: good.name, steps: [step] };
};
/**
 * Decides the next action from the plan, the journal and the current state. A first run and a resume use the
 * same rules. Pure.
 */
export const decide = (plan: Plan, progress: Progress, observation: Observation): Decision =>
  withFirstSnapshot(plan, progress, observation, decideNext(plan, progress, observation));
/**
 * An accepted unhealthy member comes first. The current leader comes last: its stop could move the leadership to
 * a member that still must stop.
 */
const nextToChange = (plan: Plan, observation: Observation, old: readonly string[]): string | undefined =>
  old.find((name) => isIll(plan.observation, name) && isIll(observation, name)) ??
  old.find((name) => !observation.members.some((seen) => seen.name === name && seen.is_leader)) ??
  old[0];
const decideNext = (plan: Plan, progress: Progress, observation: Observation): Decision => {
  if (progress.reverting !== undefined)
    return hasMoved(plan, progress, observation)
      ? { kind: 'drop-revert', ...progress.reverting }
      : { kind: 'revert', ...progress.reverting };
  const states = new Map(observation.members.map((seen) => [seen.name, stateOf(plan, progress, seen)]));
  const names = [...plan.order, ...[...states.keys()].filter((name) => !plan.order.includes(name))];
  const old = names.filter((name) => states.get(name) === 'old');
  const steps = (name: string): Step[] =>
    stepsFor(
      plan,
      progress,
      observation,
      name,
      states.get(name) as keyof typeof remaining,
      old.every((other) => other === name),
    );
  const first = (...wanted: State[]): string | undefined =>
    names.find((name) => wanted.includes(states.get(name) as State));
  const foreign = foreignVersion(plan, observation);
  if (foreign !== undefined) return foreign;
  // Members that opsctl stopped come first: no other member may stop until they run again.
  const open = first('stopping', 'stopped', 'started');
  if (open !== undefined) return openMember(plan, progress, states, open, steps(open), observation);
  const broken = first('fallen', 'sick');
  if (broken !== undefined)
    return fallenMember(plan, progress, observation, states) ?? unanswering(broken, observation);
  const settling = names.find((name) => states.get(name) === 'done' && steps(name).length > 0);
  if (settling !== undefined) return { kind: 'steps', member: settling, steps: steps(settling) };
  const next = nextToChange(plan, observation, old);
  // Before the first stop, and again if another user canceled it: members would reject the older version.
  const enabling = plan.steps.filter(({ kind }) => kind === 'enable-downgrade');
  if (next !== undefined && kindOf(plan) === 'downgrade' && !isReadyFor(plan.to, observation.members))
    return { kind: 'steps', steps: enabling };
  if (next !== undefined) return nextOld(plan, progress, observation, next, old.length);
  const confirm = plan.steps.filter(({ kind }) => kind === 'confirm' && !progress.ended.has('confirm'));
  return confirm.length > 0 ? { kind: 'steps', steps: confirm } : { kind: 'done' };
};
