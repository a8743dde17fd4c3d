import { minorOf } from '../../../api-specs/etcd/versions.ts';
import { type Advice, type ShowAdvice, next, showPlain } from '../../../core/next.ts';
import { AppError } from '../../../core/problem.ts';
import { hexId } from '../../client/messages.ts';
import type {
  CanaryReport,
  Detail,
  Finding,
  MemberReport,
  Observation,
  Outcome,
  PlanKind,
  Report,
} from '../../engine/model.ts';
import { kindOf } from '../plan-kind.ts';
import { acceptable } from '../guards/guard.ts';
import { countText, durationText, sizeText, wrap, wrapMessage } from '../../../core/format.ts';
import { dirname, join } from 'node:path';
import { memberState } from './run-model.ts';

const marks = { pass: '✓', unknown: '?', warn: '!', fail: '✗' } as const;
const narrowIndent = 2;
/** The lines of a hint. A command stays on one line, so a long one moves to the left of the column. */
const hintLines = (hint: string, columns: number, indents: readonly number[]): string[] => {
  const drawn = indents.map((indent) =>
    wrapMessage(hint, columns - indent - 2, '')
      .split('\n')
      .map((line, at) => `${' '.repeat(indent)}${at === 0 ? '→' : ' '} ${line}`),
  );
  return drawn.find((lines) => lines.every((line) => line.length <= columns)) ?? (drawn.at(-1) as string[]);
};
/** Places of the names of checks, so that short lists look alike. */
const LEAST_NAME = 20;
const findingText = (
  { level, guard, message, hint }: Finding,
  columns: number,
  show: ShowAdvice,
  wide: number,
): string => {
  const head = `${marks[level]} ${level.padEnd(7)}  `;
  const isWide = columns >= 72;
  const indent = ' '.repeat(isWide ? head.length + wide + 2 : head.length);
  const room = columns - indent.length;
  const first = `${head}${isWide ? `${guard.padEnd(wide)}  ` : `${guard}\n${indent}`}${wrap(message, room, indent)}`;
  return hint === undefined || level === 'pass'
    ? first
    : [first, ...hintLines(show(hint, true), columns, [indent.length, head.length, narrowIndent])].join('\n');
};
/**
 * One line for each finding, the worst last, next to the prompt. Consecutive findings share one hint below
 * the last of them.
 */
export const findingsText = (
  findings: readonly Finding[],
  columns = Number.POSITIVE_INFINITY,
  show: ShowAdvice = showPlain,
): string => {
  const order = { pass: 0, unknown: 1, warn: 2, fail: 3 };
  const sorted = findings.toSorted((a, b) => order[a.level] - order[b.level]);
  const wide = Math.max(LEAST_NAME, ...findings.map(({ guard }) => guard.length));
  return sorted
    .map((one, at) => {
      const { hint, ...rest } = one;
      const next = sorted[at + 1];
      const isSaidBelow =
        next?.level === one.level && next.guard === one.guard && next.hint?.toString() === hint?.toString();
      return findingText(isSaidBelow ? rest : one, columns, show, wide);
    })
    .join('\n');
};
/** The subject of the check: the versions, and the version of each member. */
export const wayText = (
  { cluster, members, leader, lowest }: Observation,
  to: string | undefined,
  columns: number,
): string => {
  const told = members
    .map(
      ({ name, server_version }) => `${name} ${server_version ?? '?'}${name === leader ? ' (leader)' : ''}`,
    )
    .join(', ');
  return wrap(`Cluster ${cluster}: ${lowest ?? '?'} → ${to ?? '?'}; members ${told}`, columns - 2, '  ');
};
export const cells = (rows: readonly (readonly string[])[]): string => {
  const widths = (rows[0] ?? []).map((_, i) => Math.max(...rows.map((row) => (row[i] ?? '').length)));
  return rows
    .map((row) =>
      row
        .map((cell, i) => cell.padEnd(widths[i] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
};
/**
 * Between the first and the last member of an upgrade the cluster reports the old version, so both versions
 * are shown.
 */
const mixedText = ({ members, highest, lowest }: Observation): string => {
  if (highest === undefined || highest === lowest) return '';
  const count = members.filter(({ server_version }) => minorOf(server_version) === highest).length;
  return ` (mixed: ${count} of ${members.length} members run ${highest})`;
};
type Shown = Observation['members'][number];
const healthText = (member: Shown): string => {
  const reason = member.health_reason === undefined ? '' : ` (${member.health_reason})`;
  return { up: 'healthy', unhealthy: `unhealthy${reason}`, down: 'unreachable' }[memberState(member)];
};
/** A narrow terminal omits these columns from the end. */
const statusColumns: readonly (readonly [string, (member: Shown) => string])[] = [
  ['MEMBER', ({ name }) => name],
  ['URL', ({ client_url }) => client_url],
  ['HEALTH', healthText],
  ['VERSION', ({ server_version }) => server_version ?? '-'],
  ['CLUSTER', ({ cluster_version }) => cluster_version ?? '-'],
  ['ROLE', ({ is_leader, is_learner }) => (is_leader ? 'leader' : is_learner ? 'learner' : '')],
  ['RAFT INDEX', ({ raft_index }) => (raft_index === undefined ? '-' : String(raft_index))],
  ['DB', ({ db_size_bytes }) => (db_size_bytes === undefined ? '-' : sizeText(db_size_bytes))],
  ['ID', ({ member_id }) => (member_id === undefined ? '-' : hexId(member_id))],
];
export const observationText = (observation: Observation, columns = Number.POSITIVE_INFINITY): string => {
  const { cluster, cluster_version, leader, alarms, members } = observation;
  const raised = alarms.length > 0 ? `, alarms ${alarms.map(({ alarm }) => alarm).join(' ')}` : '';
  const head = `cluster ${cluster}: version ${cluster_version ?? 'unknown'}${mixedText(observation)}, leader ${leader ?? 'none'}${raised}`;
  const table = (count: number): string => {
    const shown = statusColumns.slice(0, count);
    return cells([
      shown.map(([title]) => title),
      ...members.map((member) => shown.map(([, text]) => text(member))),
    ]);
  };
  let count = statusColumns.length;
  while (
    count > 4 &&
    table(count)
      .split('\n')
      .some((line) => line.length > columns)
  )
    count -= 1;
  return [wrap(head, columns - 2, '  '), '', table(count)].join('\n');
};

/**
 * Formats an entry: `took_ms: 22` → `took 22 ms`, and similar for `size_bytes` and `_seconds`. A flag is its
 * name, or `not` and its name.
 */
const word = (key: string, value: unknown): string => {
  const name = (unit: string): string => key.slice(0, key.length - unit.length).replaceAll('_', ' ');
  if (typeof value === 'boolean') return `${value ? '' : 'not '}${name('')}`;
  if (typeof value !== 'number')
    return `${name('')} ${Array.isArray(value) ? value.join(', ') : String(value)}`;
  // A stop measures the time from the signal to the exit of the process.
  if (key === 'took_ms') return `its process exited after ${value} ms`;
  if (key.endsWith('_ms')) return `${name('_ms')} ${value} ms`;
  if (key.endsWith('_seconds')) return `${name('_seconds')} ${value} s`;
  if (key.endsWith('_bytes')) return sizeText(value);
  return `${name('')} ${value}`;
};
/** A short description of a step's result; undefined if the result has no details. */
export const detailText = (detail: Detail | undefined): string | undefined => {
  const words = Object.entries(detail ?? {}).flatMap(([key, value]) =>
    value === undefined ? [] : [word(key, value)],
  );
  return words.length === 0 ? undefined : words.join(', ');
};

/** `n1 3.4.23 up · n2 3.3.25 up · n3 down`: every final message shows the state of each member. Pure. */
export const membersText = (
  members: readonly Pick<MemberReport, 'name' | 'version_after' | 'state'>[],
): string =>
  members
    .map(({ name, version_after, state }) =>
      [name, version_after, state ?? 'not checked'].filter((word) => word !== undefined).join(' '),
    )
    .join(' · ');

const countOf = (findings: readonly Finding[], level: Finding['level']): number =>
  findings.filter((one) => one.level === level).length;
/** The warnings and the unknown facts, each with its own count: `, with 1 warning and 2 unknown`. */
const reservations = (findings: readonly Finding[]): string => {
  const [warnings, unknown] = [countOf(findings, 'warn'), countOf(findings, 'unknown')];
  const counts = [
    ...(warnings === 0 ? [] : [countText(warnings, 'warning')]),
    ...(unknown === 0 ? [] : [`${unknown} unknown`]),
  ];
  return counts.length === 0 ? '' : `, with ${counts.join(' and ')}`;
};
/** The verdict on a cluster that already runs the target version. */
export const healthClosing = (findings: readonly Finding[], version: string): string => {
  const failures = countOf(findings, 'fail');
  return failures === 0
    ? `Healthy${reservations(findings)}. The cluster already runs ${version}.`
    : `Not healthy: ${countText(failures, 'finding')}${reservations(findings)}. The cluster already runs ${version}.`;
};
/**
 * The overall result of the findings, and the next command. `options`: the flags of the check, for the
 * upgrade.
 */
export const closing = (
  findings: readonly Finding[],
  options: readonly string[],
  show: ShowAdvice = showPlain,
): string[] => {
  const failures = findings.filter(({ level }) => level === 'fail');
  if (failures.length === 0)
    return [
      `Ready for an upgrade${reservations(findings)}.`,
      `Next: ${show(next(['kv', 'upgrade', ...options]))}`,
    ];
  const failed = [...new Set(failures.map(({ guard }) => guard))];
  return [
    `${countText(failures.length, 'finding')} against an upgrade now; no changes were made.`,
    // If one of them can never be accepted, accepting the others does not help.
    ...(failed.every((guard) => acceptable.includes(guard))
      ? [`To continue and accept the risk: ${failed.map((guard) => `--accept ${guard}`).join(' ')}`]
      : []),
  ];
};

const titles: Readonly<Record<PlanKind, string>> = {
  upgrade: 'Upgrade',
  downgrade: 'Downgrade',
  restart: 'Rolling restart',
};
export const outcomeText: Readonly<Record<Outcome, string>> = {
  done: 'done',
  held: 'held',
  stopped: 'stopped part-way',
  'rolled-back': 'rolled back',
  failed: 'failed',
  aborted: 'aborted',
  refused: 'refused',
};
export const outcomeStyle: Readonly<Record<Outcome, 'good' | 'warn' | 'bad'>> = {
  done: 'good',
  held: 'warn',
  stopped: 'warn',
  'rolled-back': 'warn',
  failed: 'bad',
  aborted: 'warn',
  refused: 'bad',
};
/** `12 checks passed, 1 skipped`: a check that could not run is not a pass. */
export const gateText = (gate: Report['members'][number]['gate']): string => {
  const count = (wanted: boolean | null): number =>
    new Set(gate.filter(({ ok }) => ok === wanted).map(({ check }) => check)).size;
  const skipped = count(null);
  return `${countText(count(true), 'check')} passed${skipped === 0 ? '' : `, ${skipped} skipped`}`;
};
/** The facts of a member as the report shows them; undefined for a fact that the run does not have. Pure. */
export const memberTexts = ({ down_ms, gate, snapshot }: Omit<MemberReport, 'name'>) => ({
  unavailable: down_ms === undefined ? undefined : durationText(down_ms),
  health: gateText(gate),
  snapshot:
    snapshot === undefined ? undefined : `revision ${snapshot.revision}, ${sizeText(snapshot.size_bytes)}`,
});
/** The duration of a step; undefined if it did not run. Pure. */
export const stepDuration = ({ outcome, duration_ms }: Report['steps'][number]): string | undefined =>
  outcome === 'skipped' ? undefined : durationText(duration_ms);
/** `ann on host1, process 7`: the operator of a run. Pure. */
export const ownerText = ({ user, host, pid }: Report['owner']): string =>
  `${user ?? 'unknown user'} on ${host}, process ${pid}`;
/** `Upgrade of prod`: the title of a report names the type of the run. Pure. */
export const runTitle = (report: Pick<Report, 'kind' | 'cluster'>): string =>
  `${titles[kindOf(report)]} of ${report.cluster}`;
/** The version of all members, if it is the same. */
const common = (versions: readonly (string | undefined)[]): string | undefined =>
  new Set(versions).size === 1 ? versions[0] : undefined;
/**
 * The versions of the members before and after. A restart keeps the minor version, so it shows patch versions
 * if they differ. Pure.
 */
export const versionNames = (
  report: Pick<Report, 'kind' | 'from' | 'to' | 'members'>,
): { readonly before: string; readonly after: string } => {
  const { from, to, members } = report;
  if (kindOf(report) !== 'restart') return { before: from, after: to };
  const before = common(members.map(({ version_before }) => version_before));
  const after = common(members.map(({ version_after }) => version_after));
  return before !== undefined && after !== undefined && before !== after
    ? { before, after }
    : { before: from, after: `${to}, restarted` };
};
/** `3.5 → 3.6`, `3.5.16 → 3.5.30`; of a restart with the same program `3.5, restarted`. Pure. */
export const versionChange = (report: Parameters<typeof versionNames>[0]): string => {
  const { before, after } = versionNames(report);
  return after.startsWith(`${before},`) ? after : `${before} → ${after}`;
};

/** `canary writes 9, failed 1, longest gap 30 ms`. `lastMs`: latency of the last write, while a run is shown. Pure. */
export const canaryText = (
  { writes, failed, longest_gap_ms }: Pick<CanaryReport, 'writes' | 'failed' | 'longest_gap_ms'>,
  lastMs?: number,
): string => {
  const last = lastMs === undefined ? '' : `, last ${durationText(lastMs)}`;
  return `canary writes ${writes}, failed ${failed}${last}, longest gap ${durationText(longest_gap_ms)}`;
};
/** `n1 310 ms, n2 1.2 s`; empty if no member was unavailable. Pure. */
export const unavailableText = (members: readonly Pick<MemberReport, 'name' | 'down_ms'>[]): string =>
  members
    .flatMap(({ name, down_ms }) => (down_ms === undefined ? [] : [`${name} ${durationText(down_ms)}`]))
    .join(', ');
/** The commands that can follow, the best first. Pure. */
export const nextLines = (next: readonly Advice[], show: ShowAdvice): string[] =>
  next.map((line, at) => `${at === 0 ? 'next:' : '  or:'} ${show(line)}`);
/** A summary of a run's end for logs and for the terminal below the table. */
export const endingText = (
  report: Report,
  columns: number,
  show: ShowAdvice = showPlain,
  showPath: (path: string) => string = (path) => path,
): string => {
  const { canary, members, snapshots, duration_ms } = report;
  const away = unavailableText(members);
  return [
    wrap(
      `${report.message} (${durationText(duration_ms)}, ${countText(snapshots.length, 'verified snapshot')})`,
      columns,
      '  ',
    ),
    ...(away === '' ? [] : [`members unavailable: ${away}`]),
    ...(canary === undefined ? [] : [canaryText(canary)]),
    `members: ${membersText(members)}`,
    `report ${showPath(join(dirname(report.journal), 'report.html'))}`,
    `journal ${showPath(report.journal)}`,
    ...nextLines(report.next ?? [], show),
  ].join('\n');
};
/** Adds the final state of each member to the error of a run, because scripts and users need it first. */
export const errorWithMembers = (
  { category, advice, detail }: AppError,
  report: Report,
  show: ShowAdvice = showPlain,
): AppError => {
  const members = report.members.map(({ name, version_after, state }) => ({
    name,
    version: version_after ?? null,
    state: state ?? null,
  }));
  const findings = Array.isArray(detail.data) ? { findings: detail.data } : {};
  return new AppError(category, advice, {
    ...detail,
    data: { ...findings, members, next: report.next?.map((step) => show(step)) ?? [] },
  });
};
