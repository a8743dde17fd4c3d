import { hexId } from './gateway/store.ts';
import { mebibytes } from './guards/guard.ts';
import { minorOf } from '../services/kv/versions.ts';
import type { Finding, Observation, Plan } from './types.ts';

const marks = { pass: '✓', warn: '!', stop: '✗' } as const;
/** One line each, worst last, so that a refusal is what the eye meets. */
export const findingsText = (findings: readonly Finding[]): string => {
  const order = { pass: 0, warn: 1, stop: 2 };
  const lines = findings
    .toSorted((a, b) => order[a.level] - order[b.level])
    .map(({ level, guard, message, hint }) => {
      const first = `${marks[level]} ${level.padEnd(4)}  ${guard.padEnd(20)}  ${message}`;
      return hint === undefined || level === 'pass' ? first : `${first}\n${' '.repeat(30)}→ ${hint}`;
    });
  return lines.join('\n');
};

/** The numbered plan, with the commands that will run and the point of no return. */
export const planText = (plan: Plan): string => {
  const width = String(plan.steps.length).length;
  const lines = plan.steps.flatMap((step, i) => [
    ...(step.is_point_of_no_return === true ? [`${' '.repeat(width)}  ── after this there is no way back to ${plan.from} ──`] : []),
    `${String(i + 1).padStart(width)}. ${step.title}  (${step.why})`,
    ...step.commands.map((command) => `${' '.repeat(width + 4)}$ ${command}`),
  ]);
  const warnings = plan.findings.filter(({ level }) => level === 'warn');
  const head = `Plan for ${plan.cluster}: ${plan.from} → ${plan.to}, ${plan.order.length} of ${plan.observation.members.length} members, in the order ${plan.order.map((name) => (name === plan.observation.leader ? `${name} (leader)` : name)).join(', ')}`;
  return [head, '', ...lines, '', ...(warnings.length === 0 ? [] : [findingsText(warnings), '']), `digest ${plan.digest}`].join('\n');
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

export const observationText = (observation: Observation): string => {
  const rows = observation.members.map((member) => [
    member.name,
    member.client_url,
    member.is_reachable
      ? member.is_healthy
        ? 'healthy'
        : `unhealthy${member.health_reason === undefined ? '' : ` (${member.health_reason})`}`
      : 'unreachable',
    member.server_version ?? '-',
    member.cluster_version ?? '-',
    member.is_leader ? 'leader' : member.is_learner ? 'learner' : '',
    member.raft_index === undefined ? '-' : String(member.raft_index),
    member.db_size_bytes === undefined ? '-' : mebibytes(member.db_size_bytes),
    member.member_id === undefined ? '-' : hexId(member.member_id),
  ]);
  const head = `cluster ${observation.cluster}: version ${observation.cluster_version ?? 'unknown'}${mixedText(observation)}, leader ${observation.leader ?? 'none'}${observation.alarms.length > 0 ? `, alarms ${observation.alarms.map(({ alarm }) => alarm).join(' ')}` : ''}`;
  return [head, '', cells([['MEMBER', 'URL', 'HEALTH', 'VERSION', 'CLUSTER', 'ROLE', 'RAFT INDEX', 'DB', 'ID'], ...rows])].join('\n');
};
