import { type Advice, next } from '../../core/next.ts';
import { resolve } from 'node:path';
import { minorOf, compareVersions, type Minor, nextMinor } from '../../api-specs/etcd/versions.ts';
import { AppError, problem } from '../../core/problem.ts';
import type { Host } from '../../platform/host.ts';
import { withCurrentFindings } from '../engine/journal.ts';
import type {
  ClusterFile,
  Hooks,
  MemberStatus,
  MemberSpec,
  Plan,
  PlanKind,
  PlanOptions,
  Refusal,
  Observation,
  UpgradePath,
  VersionPrograms,
} from '../engine/model.ts';
import type { Progress } from '../engine/progress.ts';
import { stepId } from '../engine/steps.ts';
import { durationText } from '../../core/format.ts';
import { argvOf, type CommandLine } from '../../core/shell.ts';
import { hexId } from '../client/messages.ts';

/** The limits of a downgrade. The command prints them before the start. */
export const downgradeLimits: readonly string[] = [
  'the path is one minor version, from 3.7 to 3.6 or from 3.6 to 3.5; every member must respond; the data of every key remains',
  'until the downgrade ends, no member of the newer version can be added, because an empty member does not start',
  'remove settings that only the newer version knows: the older version does not start with unknown flags, and ignores unknown keys of the file',
  'until the last member runs the older version, the downgrade can be canceled and a member can return; after that, kv upgrade returns to the newer version',
  'if it fails, run kv restore with a snapshot of one of the two versions',
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
/** `from 3.5 to 3.6`; a restart names only one version. Pure. */
export const runWay = (plan: Kinded & Pick<Plan, 'from' | 'to'>): string =>
  kindOf(plan) === 'restart' ? `on ${plan.from}` : `from ${plan.from} to ${plan.to}`;
/** An action that starts a run is named after the type of its plan: `downgrade`. Pure. */
export const actionName = ({ action, plan }: { readonly action: string; readonly plan: Kinded }): string =>
  action === 'upgrade' ? kindOf(plan) : action;
/** The versions in the direction of the action: a rollback of an upgrade from 3.2 to 3.3 leads from 3.3 to 3.2. Pure. */
export const actionWay = (
  action: string,
  { from, to }: Pick<Plan, 'from' | 'to'>,
): { readonly from: string; readonly to: string } =>
  action === 'rollback' ? { from: to, to: from } : { from, to };
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

/** Returns the versions after `from` up to `to`, oldest first. Empty if `to` is not newer or not known. */
export const minorsBetween = (from: Minor, to: Minor): Minor[] => {
  const found: Minor[] = [];
  for (let at = nextMinor(from); at !== undefined; at = nextMinor(at)) {
    found.push(at);
    if (at === to) return found;
  }
  return [];
};

/** The row of `versions` for one member: the keys of the member precede those of the cluster. */
const rowFor = (cluster: ClusterFile, spec: MemberSpec, minor: string): VersionPrograms | undefined => {
  const [ofAll, own] = [cluster.versions?.[minor], spec.versions?.[minor]];
  return ofAll === undefined && own === undefined ? undefined : { ...ofAll, ...own };
};
/** Returns the command with another program: the flags of a member stay the same between versions. */
const withProgram = (line: CommandLine | undefined, binary: string | undefined): CommandLine | undefined => {
  if (line === undefined || binary === undefined) return line;
  const words = argvOf(line, binary) ?? [];
  return [binary, ...words.slice(1)];
};
type Which = 'old' | 'new';
const applyPrograms = (
  spec: MemberSpec,
  which: Which,
  row: VersionPrograms | undefined,
): Partial<MemberSpec> => {
  if (row === undefined) return {};
  const base = spec[`${which}_command`] ?? spec.new_command ?? spec.old_command;
  const command = row.command ?? withProgram(base, row.binary);
  const binary = row.binary ?? argvOf(row.command, undefined)?.[0];
  return {
    ...(binary === undefined ? {} : { [`${which}_binary`]: binary }),
    ...(row.image === undefined ? {} : { [`${which}_image`]: row.image }),
    ...(command === undefined ? {} : { [`${which}_command`]: command }),
  };
};
/**
 * Returns the cluster file for one hop: the rows of `versions` replace the old and the new programs of the
 * file. Pure.
 */
export const hopView = (cluster: ClusterFile, from: string, to: string): ClusterFile => {
  const members = cluster.members.map((spec) => ({
    ...spec,
    ...applyPrograms(spec, 'old', rowFor(cluster, spec, from)),
    ...applyPrograms(spec, 'new', rowFor(cluster, spec, to)),
  }));
  const { ctl_binary = cluster.ctl_binary, utl_binary = cluster.utl_binary } = cluster.versions?.[from] ?? {};
  return {
    ...cluster,
    members,
    ...(ctl_binary === undefined ? {} : { ctl_binary }),
    ...(utl_binary === undefined ? {} : { utl_binary }),
  };
};
/**
 * Returns the cluster file for work on a running cluster. The row of the lowest running version replaces the
 * old programs. The row of the highest version replaces the new programs, if the members run two versions.
 * Pure.
 */
export const runningView = (cluster: ClusterFile, lowest: string, highest: string = lowest): ClusterFile => {
  const view = hopView(cluster, lowest, highest);
  if (lowest !== highest) return view;
  const members = cluster.members.map((spec) => ({
    ...spec,
    ...applyPrograms(spec, 'old', rowFor(cluster, spec, lowest)),
  }));
  return { ...view, members };
};
/** Returns whether the file has a table of versions. */
export const hasVersions = ({ versions, members }: ClusterFile): boolean =>
  versions !== undefined || members.some((spec) => spec.versions !== undefined);

/** The version that new_binary, new_command and new_image of the file belong to. */
const fileTarget = (cluster: ClusterFile, targets: readonly Minor[]): string | undefined =>
  cluster.to ?? targets.at(-1);
const hasNewProgram = ({ new_binary, new_command, new_image }: MemberSpec): boolean =>
  new_binary !== undefined || new_command !== undefined || new_image !== undefined;
/** The keys that a path needs and the cluster file does not have, for example `versions."3.4"`. Pure. */
export const missingRows = (cluster: ClusterFile, targets: readonly Minor[]): string[] =>
  targets.flatMap((minor) => {
    const without = cluster.members.filter(
      (spec) =>
        rowFor(cluster, spec, minor) === undefined &&
        !(fileTarget(cluster, targets) === minor && hasNewProgram(spec)),
    );
    if (without.length === 0) return [];
    return without.length === cluster.members.length
      ? [`versions."${minor}"`]
      : without.map(({ name }) => `versions."${minor}" of ${name}`);
  });
const programOf = ({ new_binary, new_command, new_image }: MemberSpec): string =>
  new_image ?? new_binary ?? argvOf(new_command, undefined)?.[0] ?? 'the program of its hook';

/**
 * Returns the path from the running version, or undefined if the upgrade has fewer than two hops or the file
 * does not name every program. Pure.
 */
export const pathFrom = (
  cluster: ClusterFile,
  from: Minor,
  to: Minor,
  soakSeconds: number,
): UpgradePath | undefined => {
  const targets = minorsBetween(from, to);
  if (targets.length < 2 || missingRows(cluster, targets).length > 0) return undefined;
  const hops = targets.map((target, i) => {
    const start = i === 0 ? from : (targets[i - 1] as Minor);
    const { members } = hopView(cluster, start, target);
    return {
      from: start,
      to: target,
      programs: Object.fromEntries(members.map((spec) => [spec.name, programOf(spec)])),
    };
  });
  return { to, soak_seconds: soakSeconds, hops };
};
/**
 * Returns the view of the first hop with a row for every hop, including a last hop that uses the new programs
 * of the file. Pure.
 */
export const withTable = (
  view: ClusterFile,
  written: ClusterFile,
  path: UpgradePath | undefined,
): ClusterFile => {
  if (path === undefined) return view;
  const rows = path.hops.map(({ from, to }) => [to, hopView(written, from, to).members] as const);
  const rowsOf = (name: string) =>
    rows.map(([to, members]) => {
      const { new_binary, new_command, new_image } = members.find((one) => one.name === name) as MemberSpec;
      const row = { binary: new_binary, command: new_command, image: new_image };
      return [
        to,
        Object.fromEntries(Object.entries(row).filter(([, value]) => value !== undefined)),
      ] as const;
    });
  const members = view.members.map((spec) => ({ ...spec, versions: Object.fromEntries(rowsOf(spec.name)) }));
  return { ...view, members };
};
/** Returns the version after this plan, if the plan is a hop of an unfinished path. */
export const nextHopOf = ({ to, options: { path } }: Pick<Plan, 'to' | 'options'>): Minor | undefined =>
  path === undefined || compareVersions(to, path.to) >= 0
    ? undefined
    : path.hops.find(({ from }) => from === to)?.to;

const programsText = (programs: Readonly<Record<string, string>>): string => {
  const different = [...new Set(Object.values(programs))];
  return different.length === 1
    ? (different[0] as string)
    : Object.entries(programs)
        .map(([name, program]) => `${name} ${program}`)
        .join(', ');
};
/** All hops of the path with their programs and points of no return, for the plan and the confirmation. */
export const pathLines = ({
  from,
  to,
  options: { path },
}: Pick<Plan, 'from' | 'to' | 'options'>): string[] => {
  if (path === undefined) return [];
  const head = `Path: ${[path.hops[0]?.from, ...path.hops.map((hop) => hop.to)].join(' → ')}, with ${durationText(path.soak_seconds * 1000)} of soak time between two versions`;
  const rows = path.hops.map((hop) => {
    const state =
      hop.from === from && hop.to === to
        ? 'this plan'
        : compareVersions(hop.to, to) < 0
          ? 'done'
          : `planned on ${hop.from}`;
    return `- ${hop.from} → ${hop.to} (${state}): point of no return before the last ${hop.from} member; ${programsText(hop.programs)}`;
  });
  return [head, ...rows];
};

/** The lowest and the highest version that members report, before a driver is open. */
export const rangeOf = (
  versions: readonly (string | undefined)[],
): { readonly lowest: Minor; readonly highest: Minor } | undefined => {
  const found = versions.flatMap((version) => minorOf(version) ?? []).toSorted(compareVersions);
  const [lowest, highest] = [found[0], found.at(-1)];
  return lowest === undefined || highest === undefined ? undefined : { lowest, highest };
};
export type LaterPrograms = NonNullable<Observation['later_programs']>;

/**
 * Returns whether every reachable member accepts members of the older version: the cluster version and the
 * storage version match it.
 */
export const isReadyFor = (to: string, members: readonly MemberStatus[]): boolean =>
  members
    .filter(({ is_reachable }) => is_reachable)
    .every(
      ({ cluster_version, storage_version }) =>
        minorOf(cluster_version) === to && (storage_version === undefined || minorOf(storage_version) === to),
    );
export const unreadyMembersText = (to: string, members: readonly MemberStatus[]): string =>
  members
    .filter((member) => !member.is_reachable || !isReadyFor(to, [member]))
    .map(
      ({ name, member_id, cluster_version, storage_version }) =>
        `${name}${member_id === undefined ? '' : ` (${hexId(member_id)})`}: cluster ${cluster_version ?? 'no response'}, storage ${storage_version ?? '-'}`,
    )
    .join('; ');
