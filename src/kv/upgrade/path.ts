import { compareVersions, type Minor, minorOf, nextMinor } from '../../api-specs/etcd/versions.ts';
import { durationText } from '../../core/format.ts';
import { argvOf } from '../engine/command-line.ts';
import type {
  ClusterFile,
  CommandLine,
  MemberSpec,
  Observation,
  Plan,
  UpgradePath,
  VersionPrograms,
} from '../engine/model.ts';

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
const applied = (spec: MemberSpec, which: Which, row: VersionPrograms | undefined): Partial<MemberSpec> => {
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
    ...applied(spec, 'old', rowFor(cluster, spec, from)),
    ...applied(spec, 'new', rowFor(cluster, spec, to)),
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
    ...applied(spec, 'old', rowFor(cluster, spec, lowest)),
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
      return [to, Object.fromEntries(Object.entries(row).filter(([, value]) => value !== undefined))];
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
