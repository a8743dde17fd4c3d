import { wrap } from '../../core/wrap.ts';
import { findingsText } from '../upgrade/present/text.ts';
import type { OperationPlan, OperationReport } from './types.ts';

const titles: Readonly<Record<OperationPlan['operation'], string>> = {
  defrag: 'Defragment',
  compact: 'Compact',
  'recover-space': 'Recover space in',
  'member-add': 'Add a member to',
  'member-promote': 'Promote a member of',
  'member-update': 'Change a member of',
  'member-remove': 'Remove a member from',
  'replace-member': 'Replace a member of',
};

/** `Defragment`, `Replace a member of`: before the name of the cluster. */
export const operationTitle = (operation: OperationPlan['operation']): string => titles[operation];

/** What will be done, in order, with what the operator should know before he confirms it. */
export const operationText = (plan: OperationPlan, columns = Number.POSITIVE_INFINITY): string => {
  const { observation, steps, notes, findings, digest } = plan;
  const members = observation.members
    .map(
      ({ name, server_version }) =>
        `${name} ${server_version ?? '?'}${name === observation.leader ? ' (leader)' : ''}`,
    )
    .join(', ');
  const width = String(steps.length).length;
  const warnings = findings.filter(({ level }) => level === 'warn');
  return [
    wrap(`${titles[plan.operation]} ${plan.cluster}: members ${members}`, columns, '  '),
    '',
    ...steps.flatMap(({ title, why }, i) => [
      wrap(`${String(i + 1).padStart(width)}  ${title}`, columns, ' '.repeat(width + 4)),
      ...(why === undefined ? [] : [wrap(`${' '.repeat(width + 4)}${why}`, columns, ' '.repeat(width + 4))]),
    ]),
    '',
    ...notes.map((note) => wrap(note, columns, '  ')),
    ...(warnings.length === 0 ? [] : [findingsText(warnings, columns)]),
    `digest ${digest}`,
  ].join('\n');
};

const mebibytes = (bytes: number): string => `${(bytes / 2 ** 20).toFixed(1)} MiB`;
export const membersLine = (members: OperationReport['members']): string =>
  members
    .map(({ name, version, state, db_size_bytes }) =>
      [name, version, state, db_size_bytes === undefined ? undefined : mebibytes(db_size_bytes)]
        .filter((word) => word !== undefined)
        .join(' '),
    )
    .join(' · ');

/** What was reached, how each member is, and what can be typed next. */
export const reportText = (report: OperationReport): string => {
  const { message, duration_ms, members, canary, journal, next } = report;
  return [
    `${message} (${(duration_ms / 1000).toFixed(1)} s)`,
    ...(canary === undefined
      ? []
      : [
          `canary writes: ${canary.writes}, failed ${canary.failed}, longest gap ${canary.longest_gap_ms} ms`,
        ]),
    `members: ${membersLine(members)}`,
    `journal ${journal}`,
    ...next.map((line, at) => `${at === 0 ? 'next:' : '  or:'} ${line}`),
  ].join('\n');
};
