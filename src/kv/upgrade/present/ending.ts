import { dirname, join } from 'node:path';
import { AppError } from '../../../core/problem.ts';
import { wrap } from '../../../core/wrap.ts';
import { membersText } from './members-text.ts';
import type { Report } from '../../engine/types.ts';

const nextLines = ({ next = [] }: Report): string[] =>
  next.map((line, at) => `${at === 0 ? 'next:' : '  or:'} ${line}`);

/** How a run ended, in a few lines: what a log keeps, and what a terminal shows under the table. */
export const endingText = (report: Report, columns: number): string => {
  const { canary, members, snapshots, duration_ms } = report;
  const downs = members.flatMap(({ name, down_ms }) =>
    down_ms === undefined ? [] : [`${name} ${down_ms} ms`],
  );
  return [
    wrap(
      `${report.message} (${(duration_ms / 1000).toFixed(1)} s, ${snapshots.length} verified snapshot${snapshots.length === 1 ? '' : 's'})`,
      columns,
      '  ',
    ),
    ...(downs.length === 0 ? [] : [`members unavailable: ${downs.join(', ')}`]),
    ...(canary === undefined
      ? []
      : [
          `canary writes: ${canary.writes}, failed ${canary.failed}, longest gap ${canary.longest_gap_ms} ms`,
        ]),
    `members: ${membersText(members)}`,
    `report ${join(dirname(report.journal), 'report.html')}`,
    `journal ${report.journal}`,
    ...nextLines(report),
  ].join('\n');
};

/** The error of a run with how it left each member: what a script or a person asks first. */
export const errorWithMembers = ({ category, message, detail }: AppError, report: Report): AppError => {
  const members = report.members.map(({ name, version_after, state }) => ({
    name,
    version: version_after ?? null,
    state: state ?? null,
  }));
  const findings = Array.isArray(detail.data) ? { findings: detail.data } : {};
  return new AppError(category, message, {
    ...detail,
    data: { ...findings, members, next: report.next ?? [] },
  });
};
