import { commandLines } from './command-text.ts';
import { estimateLines } from './estimate.ts';
import { hexId } from '../../client/hex-id.ts';
import { mebibytes } from '../guards/guard.ts';
import { downgradeLimits } from '../downgrade.ts';
import { kindOf } from '../plan-kind.ts';
import { wrap } from '../../../core/wrap.ts';
import { minorOf } from '../../../api-specs/etcd/versions.ts';
import type { Finding, Observation, Plan, Step } from '../../engine/types.ts';

const marks = { pass: '✓', unknown: '?', warn: '!', fail: '✗' } as const;
const findingText = ({ level, guard, message, hint }: Finding, columns: number): string => {
  const head = `${marks[level]} ${level.padEnd(7)}  `;
  const isWide = columns >= 72;
  const indent = ' '.repeat(isWide ? head.length + 22 : head.length);
  const room = columns - indent.length;
  const first = `${head}${isWide ? `${guard.padEnd(20)}  ` : `${guard}\n${indent}`}${wrap(message, room, indent)}`;
  return hint === undefined || level === 'pass'
    ? first
    : `${first}\n${indent}→ ${wrap(hint, room - 2, `${indent}  `)}`;
};
/** One line each, worst last, so that a refusal is what the eye meets. What several in a row ask for stands below the last of them. */
export const findingsText = (findings: readonly Finding[], columns = Number.POSITIVE_INFINITY): string => {
  const order = { pass: 0, unknown: 1, warn: 2, fail: 3 };
  const sorted = findings.toSorted((a, b) => order[a.level] - order[b.level]);
  return sorted
    .map((one, at) => {
      const { hint, ...rest } = one;
      const next = sorted[at + 1];
      const isSaidBelow = next?.level === one.level && next.guard === one.guard && next.hint === hint;
      return findingText(isSaidBelow ? rest : one, columns);
    })
    .join('\n');
};

const stepText = (step: Step, number: string, columns: number, isWhole: boolean): string[] => {
  const { title, why } = step;
  const indent = ' '.repeat(number.length + 2);
  const line = `${number}. ${title}  (${why})`;
  const lines =
    line.length <= columns
      ? [line]
      : [`${number}. ${title}`, `${indent}${wrap(`(${why})`, columns - indent.length, indent)}`];
  // A command is copied from here: it stays one line.
  return [...lines, ...commandLines(step, isWhole).map((line) => `${indent}${line}`)];
};

export type PlanLook = {
  readonly columns?: number;
  /** Each command whole. */
  readonly isWhole?: boolean;
  /** How long members took in earlier runs of this cluster. */
  readonly tookMs?: readonly number[];
};
/** The numbered plan, with the commands that will run and the point of no return. */
export const planText = (
  plan: Plan,
  { columns = Number.POSITIVE_INFINITY, isWhole = false, tookMs = [] }: PlanLook = {},
): string => {
  const width = String(plan.steps.length).length;
  const lines = plan.steps.flatMap((step, i) => [
    ...(step.is_point_of_no_return === true
      ? [`${' '.repeat(width)}  ── point of no return: after it the cluster is ${plan.to} for good ──`]
      : []),
    ...stepText(step, String(i + 1).padStart(width), columns, isWhole),
  ]);
  const warnings = plan.findings.filter(({ level }) => level === 'warn');
  const names = plan.order
    .map((name) => (name === plan.observation.leader ? `${name} (leader)` : name))
    .join(', ');
  const limits =
    kindOf(plan) === 'downgrade'
      ? ['Limits of a downgrade:', ...downgradeLimits.map((one) => wrap(`- ${one}`, columns, '  ')), '']
      : [];
  const way = kindOf(plan) === 'restart' ? `restart on ${plan.from}` : `${plan.from} → ${plan.to}`;
  const head = `Plan for ${plan.cluster}: ${way}, ${plan.order.length} of ${plan.observation.members.length} members, in the order ${names}`;
  const warned = warnings.length === 0 ? [] : [findingsText(warnings, columns), ''];
  const estimate = estimateLines(plan, tookMs).map((line) => wrap(line, columns, '  '));
  return [
    wrap(head, columns, '  '),
    ...estimate,
    '',
    ...limits,
    ...lines,
    '',
    ...warned,
    `digest ${plan.digest}`,
  ].join('\n');
};

/** What check looked at: the way, and who runs what. */
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
  return wrap(`Cluster ${cluster}: ${lowest ?? '?'} → ${to ?? '?'}; members ${told}`, columns, '  ');
};

const cells = (rows: readonly (readonly string[])[]): string => {
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

/** Between the first and the last member of an upgrade the cluster reports the old version: both numbers say where it is. */
const mixedText = ({ members, highest, lowest }: Observation): string => {
  if (highest === undefined || highest === lowest) return '';
  const count = members.filter(({ server_version }) => minorOf(server_version) === highest).length;
  return ` (mixed: ${count} of ${members.length} members run ${highest})`;
};

type Shown = Observation['members'][number];
const healthText = ({ is_reachable, is_healthy, health_reason }: Shown): string => {
  if (!is_reachable) return 'unreachable';
  return is_healthy ? 'healthy' : `unhealthy${health_reason === undefined ? '' : ` (${health_reason})`}`;
};
/** The last of these columns are the first that a narrow terminal does without. */
const statusColumns: readonly (readonly [string, (member: Shown) => string])[] = [
  ['MEMBER', ({ name }) => name],
  ['URL', ({ client_url }) => client_url],
  ['HEALTH', healthText],
  ['VERSION', ({ server_version }) => server_version ?? '-'],
  ['CLUSTER', ({ cluster_version }) => cluster_version ?? '-'],
  ['ROLE', ({ is_leader, is_learner }) => (is_leader ? 'leader' : is_learner ? 'learner' : '')],
  ['RAFT INDEX', ({ raft_index }) => (raft_index === undefined ? '-' : String(raft_index))],
  ['DB', ({ db_size_bytes }) => (db_size_bytes === undefined ? '-' : mebibytes(db_size_bytes))],
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
  return [wrap(head, columns, '  '), '', table(count)].join('\n');
};
