import { acceptable } from '../guards/acceptable.ts';
import type { Finding } from '../../engine/types.ts';

const some = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`;

const countOf = (findings: readonly Finding[], level: Finding['level']): number =>
  findings.filter((one) => one.level === level).length;

/** The warnings and the unknown facts, each with its own count: `, with 1 warning and 2 unknown`. */
const reservations = (findings: readonly Finding[]): string => {
  const [warnings, unknown] = [countOf(findings, 'warn'), countOf(findings, 'unknown')];
  const counts = [
    ...(warnings === 0 ? [] : [some(warnings, 'warning')]),
    ...(unknown === 0 ? [] : [`${unknown} unknown`]),
  ];
  return counts.length === 0 ? '' : `, with ${counts.join(' and ')}`;
};

/** The verdict on a cluster that already runs the target version. */
export const healthClosing = (findings: readonly Finding[], version: string): string => {
  const failures = countOf(findings, 'fail');
  return failures === 0
    ? `Healthy${reservations(findings)}. The cluster already runs ${version}.`
    : `Not healthy: ${some(failures, 'finding')}${reservations(findings)}. The cluster already runs ${version}.`;
};

/** What the findings come to, and what to do next. `options`: the flags of the check, for the upgrade. */
export const closing = (findings: readonly Finding[], options: string): string[] => {
  const failures = findings.filter(({ level }) => level === 'fail');
  if (failures.length === 0)
    return [`Ready for an upgrade${reservations(findings)}.`, `Next: opsctl kv upgrade${options}`];
  const failed = [...new Set(failures.map(({ guard }) => guard))];
  return [
    `${some(failures.length, 'finding')} against an upgrade now; nothing was changed.`,
    // As long as one of them can never be accepted, accepting the others leads nowhere.
    ...(failed.every((guard) => acceptable.includes(guard))
      ? [`To go on all the same, knowing why: ${failed.map((guard) => `--accept ${guard}`).join(' ')}`]
      : []),
  ];
};
