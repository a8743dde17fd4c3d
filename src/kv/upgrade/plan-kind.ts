import { type Advice, next } from '../../core/next.ts';
import { resolve } from 'node:path';
import { minorOf } from '../../api-specs/etcd/versions.ts';
import { AppError, problem } from '../../core/problem.ts';
import type { Host } from '../../platform/host.ts';
import { withCurrentFindings } from '../engine/earlier-names.ts';
import type {
  ClusterFile,
  Hooks,
  MemberStatus,
  MemberSpec,
  Plan,
  PlanKind,
  PlanOptions,
  Refusal,
} from '../engine/model.ts';
import type { Progress } from '../engine/progress.ts';
import { stepId } from '../engine/steps.ts';
import { hasVersions, hopView, runningView } from './path.ts';

/** The limits of a downgrade. The command prints them before the start. */
export const downgradeLimits: readonly string[] = [
  'the path is one minor version, from 3.6 to 3.5; every member must respond; the data of every key remains',
  'until the downgrade ends, no 3.6 member can be added, because an empty member does not start',
  'remove settings that only 3.6 knows: 3.5 does not start with unknown flags, and ignores unknown keys of the file',
  'until the last member runs 3.5, the downgrade can be canceled and a member can return to 3.6; after that, kv upgrade returns to 3.6',
  'if it fails, run kv restore with a snapshot of 3.6 or 3.5',
];

type Kinded = Pick<Plan, 'kind'>;
/** Plans of earlier versions have no kind: they are upgrades. */
export const kindOf = ({ kind }: Kinded): PlanKind => kind ?? 'upgrade';
/**
 * Only an upgrade passes a point of no return (spec/store#measured-later-9). A restart does not change the
 * cluster version.
 */
export const crosses = (plan: Kinded): boolean => kindOf(plan) === 'upgrade';
/**
 * Returns whether a reachable member runs the target of the plan. Its version shows this, except in a
 * restart, which keeps the minor version. There, a recorded start shows it, because a member between its stop
 * and its start does not respond.
 */
export const isSwitched = (
  plan: Pick<Plan, 'kind' | 'to' | 'order'>,
  { begun }: Pick<Progress, 'begun'>,
  { name, server_version }: Pick<MemberStatus, 'name' | 'server_version'>,
): boolean =>
  kindOf(plan) === 'restart'
    ? !plan.order.includes(name) || begun.has(stepId(name, 'start'))
    : minorOf(server_version) === plan.to;
/** For messages: the version of a member before and after. */
export const oldWay = (plan: Kinded & Pick<Plan, 'from'>): string =>
  kindOf(plan) === 'restart' ? 'its configuration before' : plan.from;
export const newWay = (plan: Kinded & Pick<Plan, 'to'>): string =>
  kindOf(plan) === 'restart' ? 'its new configuration' : plan.to;
const pairs = [
  ['old_binary', 'new_binary'],
  ['old_command', 'new_command'],
  ['old_image', 'new_image'],
] as const;
const hookPairs = [
  ['start_old', 'start_new'],
  ['old_version', 'new_version'],
] as const;
const swapVersions = (spec: MemberSpec): MemberSpec => {
  const changes = pairs.flatMap(([old, fresh]) => [
    [old, spec[fresh]],
    [fresh, spec[old]],
  ]);
  return { ...spec, ...Object.fromEntries(changes) };
};
const swappedHooks = (hooks: Hooks): Hooks => ({
  ...hooks,
  ...Object.fromEntries(
    hookPairs.flatMap(([old, fresh]) => [
      [old, hooks[fresh]],
      [fresh, hooks[old]],
    ]),
  ),
});
const keepVersion = (spec: MemberSpec, which: 'old' | 'new'): MemberSpec => ({
  ...spec,
  ...Object.fromEntries(
    pairs.flatMap(([old, fresh]) => {
      const runs = spec[which === 'old' ? old : fresh];
      return [
        [old, runs],
        [fresh, runs],
      ];
    }),
  ),
});
/**
 * Returns the cluster file for this kind of plan: a downgrade goes from its new programs to its old programs.
 */
export const viewFor = (
  cluster: ClusterFile,
  plan: {
    readonly kind?: PlanKind | undefined;
    readonly from?: string;
    readonly to?: string;
    readonly options: Pick<PlanOptions, 'keep_program'>;
  },
): ClusterFile => {
  const { to: _, ...rest } = cluster;
  const { from, to } = plan;
  // The rows of a table of versions replace the programs of the file in every kind of plan.
  const usesRows = hasVersions(cluster) && from !== undefined;
  if (plan.kind === 'downgrade') {
    const swapped = {
      ...rest,
      members: cluster.members.map(swapVersions),
      ...(cluster.hooks === undefined ? {} : { hooks: swappedHooks(cluster.hooks) }),
    };
    return usesRows && to !== undefined ? hopView(swapped, from, to) : swapped;
  }
  if (plan.kind === 'restart') {
    const { keep_program: which } = plan.options;
    const view = usesRows ? runningView(rest, from) : rest;
    return which === undefined
      ? view
      : { ...view, members: view.members.map((spec) => keepVersion(spec, which)) };
  }
  return usesRows && to !== undefined ? hopView(cluster, from, to) : cluster;
};
/** Returns whether the member names a program. In a restart the service manager may choose the program. */
export const namesProgram = ({ new_binary, new_command, new_image }: MemberSpec): boolean =>
  new_binary !== undefined || new_command !== undefined || new_image !== undefined;

/** The options to plan again with; the digest covers all other parts of the file. */
const areOptions = (given: unknown): given is PlanOptions => {
  const { accept, copy_data, hold_last, stable_seconds, to, hold_after, stable_before_last_seconds } =
    (given ?? {}) as Record<string, unknown>;
  const isAbsentOr = (type: string, value: unknown): boolean => value === undefined || typeof value === type;
  return (
    Array.isArray(accept) &&
    accept.every((name) => typeof name === 'string') &&
    typeof copy_data === 'boolean' &&
    typeof hold_last === 'boolean' &&
    typeof stable_seconds === 'number' &&
    isAbsentOr('string', to) &&
    [hold_after, stable_before_last_seconds].every((value) => isAbsentOr('number', value))
  );
};
export const readPlan = async (host: Host, path: string): Promise<Plan> => {
  const text = await host.files.read(resolve(host.cwd, path));
  if (text === undefined) throw new AppError('usage', `--plan: file not found: ${path}`, { code: 'NO_PLAN' });
  try {
    const plan = withCurrentFindings(JSON.parse(text) as Plan);
    if (plan.format === 1 && typeof plan.digest === 'string' && areOptions(plan.options)) return plan;
  } catch {
    // Reported below: invalid JSON and a file that is not a plan are the same mistake.
  }
  throw new AppError('usage', `--plan: ${path} is not a plan`, {
    code: 'NO_PLAN',
    tryThis: [next(['kv', 'plan', '--out', 'plan.json'])],
  });
};

type Refused = Pick<Refusal, 'refused' | 'findings'>;
/**
 * The error of a refused plan with all reasons, the first in the message. No changes were made. `tryThis`
 * comes from the hint of the first reason.
 */
export const refusalError = (
  { refused, findings }: Refused,
  tryThis: (hint: Advice | undefined) => readonly Advice[],
): AppError => {
  const [first, ...rest] = refused;
  const more = rest.length === 0 ? '' : ` (and ${rest.length} more)`;
  return new AppError('unsafe', `no changes were made: ${first?.message ?? 'a guard refused'}${more}`, {
    code: first?.guard.toUpperCase().replaceAll('-', '_') ?? 'REFUSED',
    problems:
      rest.length === 0
        ? []
        : refused.map(({ guard, message, hint }) => problem(guard, 'rule', message, hint)),
    tryThis: tryThis(first?.hint),
    data: { refused, findings },
  });
};
